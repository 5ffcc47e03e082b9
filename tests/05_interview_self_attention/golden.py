"""Lesson 05: the interview's self-attention: separate projections, mask, dropout on the weights, output projection."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64
NAMES = ("query_proj", "key_proj", "value_proj", "output_proj")


def layers(dim):
    return {name: nn.Linear(dim, dim, dtype=DOUBLE) for name in NAMES}


def attend(X, proj, mask, keep=None, p=0.0, fill=-math.inf, scale=None):
    """The layer as it should be: a row that may attend to nobody gets zeros, where PyTorch's softmax gives NaN."""
    Q, K, V = (proj[name](X) for name in NAMES[:3])
    scores = Q @ K.transpose(-1, -2) / (math.sqrt(X.shape[-1]) if scale is None else scale)
    weights = torch.softmax(scores.masked_fill(mask == 0, fill), dim=-1)
    weights = torch.where(torch.isnan(weights) & torch.isinf(torch.tensor(fill)), torch.zeros((), dtype=DOUBLE), weights)
    if keep is not None:
        weights = weights * keep / (1 - p)
    return weights, proj["output_proj"](weights @ V)


def attention_case(X, proj, mask, seed=None, keep=None, p=0.0, with_mistakes=True):
    case = Case(seed).add("X", X, "B L E").add("mask", mask, "B L L")
    for name in NAMES:
        case.add_linear(name, proj[name])
    full = torch.ones(X.shape[0], 1, 1, dtype=DOUBLE) * mask
    if keep is not None:
        case.add("keep", keep, "B L L")
    weights, output = attend(X, proj, mask, keep, p)
    case.add("weights", weights, "B L L").add("output", output, "B L E")
    if not with_mistakes:
        return case

    def mistake(name, result):
        case.add_mistake(name, weights=result[0], output=result[1])

    dim = X.shape[-1]
    Q, K, V = (proj[name](X) for name in NAMES[:3])
    W_o = proj["output_proj"]
    mistake("unscaled", attend(X, proj, mask, keep, p, scale=1.0))
    mistake("divided_by_dim", attend(X, proj, mask, keep, p, scale=dim))
    mistake("divided_by_root_length", attend(X, proj, mask, keep, p, scale=math.sqrt(X.shape[1])))
    mistake("keys_from_query_proj", attend(X, {**proj, "key_proj": proj["query_proj"]}, mask, keep, p))
    mistake("values_from_query_proj", attend(X, {**proj, "value_proj": proj["query_proj"]}, mask, keep, p))
    if keep is None:
        columns = torch.softmax((Q @ K.transpose(-1, -2) / math.sqrt(dim)).masked_fill(mask == 0, -math.inf), dim=-2)
        columns = torch.nan_to_num(columns)
        mistake("softmax_columns", (columns, W_o(columns @ V)))
    case.add_mistake("values_not_projected", output=W_o(weights @ X))
    case.add_mistake("output_projection_missing", output=weights @ V)
    if float(mask.min()) == 0:
        unmasked = attend(X, proj, torch.ones_like(mask), keep, p)
        mistake("mask_ignored", unmasked)
        mistake("polarity_inverted", attend(X, proj, 1 - mask, keep, p))
        mistake("mask_of_sequence_0", attend(X, proj, mask[:1], keep, p))
        before = torch.softmax(Q @ K.transpose(-1, -2) / math.sqrt(dim), dim=-1) * full
        after = before if keep is None else before * keep / (1 - p)
        mistake("mask_after_softmax", (after, W_o(after @ V)))
        mistake("filled_with_a_large_number", attend(X, proj, mask, keep, p, fill=-1e9))
    if keep is not None:
        plain, without = attend(X, proj, mask)
        case.add_mistake("dropout_forgotten", output=without)  # its weights are those of the next one
        sums = weights.sum(dim=-1, keepdim=True)
        again = torch.where(sums > 0, weights / sums, weights)
        mistake("rows_made_to_sum_to_one", (again, W_o(again @ V)))
        case.add_mistake("weights_kept_before_dropout", weights=plain)
        case.add_mistake("dropout_not_rescaled", weights=plain * keep, output=W_o((plain * keep) @ V))
        scores = (Q @ K.transpose(-1, -2) / math.sqrt(dim) * keep / (1 - p)).masked_fill(mask == 0, -math.inf)
        early = torch.softmax(scores, dim=-1)
        mistake("dropout_before_softmax", (early, W_o(early @ V)))
    return case


def padding(lengths, length):
    rows = torch.tensor([[1.0 if j < n else 0.0 for j in range(length)] for n in lengths], dtype=DOUBLE)
    return rows.unsqueeze(1).repeat(1, length, 1)  # (B, S) -> (B, L, S), as the notebook does


def causal(length):
    return torch.ones(1, length, length, dtype=DOUBLE).tril()


def hand_case():
    proj = layers(2)
    weights = ([[1, 1], [0, 1]], [[1, 2], [1, 0]], [[2, 0], [0, 1]], [[1, 1], [-1, 1]])  # (in x out)
    biases = ([0, 1], [-1, 0], [0, 1], [1, 0])
    for name, weight, bias in zip(NAMES, weights, biases):
        proj[name].weight.data = torch.tensor(weight, dtype=DOUBLE).T.contiguous()
        proj[name].bias.data = torch.tensor(bias, dtype=DOUBLE)
    return attention_case(torch.tensor([[[1.0, 0.0], [0.0, 2.0]]], dtype=DOUBLE), proj, causal(2), with_mistakes=False)


def random_case(seed, mask, batch=2, spread=2.0, p=None, with_mistakes=True):
    torch.manual_seed(seed)
    length = mask.shape[-1]
    proj = layers(4)
    X = spread * torch.randn(batch, length, 4, dtype=DOUBLE)
    keep = None
    if p is not None:  # the very mask that PyTorch's dropout draws
        keep = (nn.functional.dropout(torch.ones(batch, length, length, dtype=DOUBLE), p) != 0).to(DOUBLE)
    return attention_case(X, proj, mask, seed, keep, p or 0.0, with_mistakes)


def cases():
    return {
        "by_hand": hand_case(),
        "unmasked": random_case(51, torch.ones(1, 5, 5, dtype=DOUBLE)),
        "padded": random_case(52, padding([4, 2], 5)),
        "causal": random_case(53, causal(5)),
        "dropout": random_case(54, padding([4, 3, 1], 5), batch=3, p=0.4),
        "nobody": random_case(55, padding([3, 0], 5)),
        "far_from_zero": random_case(56, padding([5, 3], 5), spread=200.0, with_mistakes=False),
    }
