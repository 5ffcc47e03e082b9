"""Lesson 12: the interview's multi-head attention."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64
NAMES = ("query_proj", "key_proj", "value_proj", "output_proj")


def layers(dim):
    return {name: nn.Linear(dim, dim, dtype=DOUBLE) for name in NAMES}


def split(x, heads):
    """(B, L, E) -> (B, H, L, D)"""
    B, L, E = x.shape
    return x.view(B, L, heads, E // heads).transpose(1, 2)


def merge(x):
    """(B, H, L, D) -> (B, L, E)"""
    B, H, L, D = x.shape
    return x.transpose(1, 2).reshape(B, L, H * D)


def weights_of(scores, mask, fill=-math.inf):
    """A row that may attend to nobody gets zeros, where PyTorch's softmax gives NaN."""
    return torch.nan_to_num(torch.softmax(scores.masked_fill(mask == 0, fill), dim=-1))


def attend(X, proj, heads, mask, keep=None, p=0.0, fill=-math.inf, scale=None):
    """mask broadcasts to (B, H, L, L)."""
    Q, K, V = (split(proj[name](X), heads) for name in NAMES[:3])
    scores = Q @ K.transpose(-1, -2) / (math.sqrt(Q.shape[-1]) if scale is None else scale)
    weights = weights_of(scores, mask, fill)
    if keep is not None:
        weights = weights * keep / (1 - p)
    return weights, proj["output_proj"](merge(weights @ V))


def attention_case(X, proj, heads, mask, seed=None, keep=None, p=0.0, with_mistakes=True):
    """mask (1, 1, L, L), (B, 1, L, L) or (B, H, L, L)"""
    case = Case(seed).add("X", X, "B L E").add("mask", mask, "B H L L")
    for name in NAMES:
        case.add_linear(name, proj[name])
    if keep is not None:
        case.add("keep", keep, "B H L L")
    weights, output = attend(X, proj, heads, mask, keep, p)
    case.add("weights", weights, "B H L L").add("output", output, "B L E")
    if not with_mistakes:
        return case

    def mistake(name, result):
        case.add_mistake(name, weights=result[0], output=result[1])

    B, L, dim = X.shape
    Q, K, V = (split(proj[name](X), heads) for name in NAMES[:3])
    W_o = proj["output_proj"]
    scores = Q @ K.transpose(-1, -2) / math.sqrt(dim // heads)
    mistake("unscaled", attend(X, proj, heads, mask, keep, p, scale=1.0))
    mistake("divided_by_root_embed_dim", attend(X, proj, heads, mask, keep, p, scale=math.sqrt(dim)))
    mistake("keys_from_query_proj", attend(X, {**proj, "key_proj": proj["query_proj"]}, heads, mask, keep, p))
    mistake("values_from_query_proj", attend(X, {**proj, "value_proj": proj["query_proj"]}, heads, mask, keep, p))
    context = weights @ V
    case.add_mistake("output_projection_missing", output=merge(context))
    case.add_mistake("merged_without_regrouping", output=W_o(context.reshape(B, L, dim)))
    case.add_mistake("heads_merged_in_reverse", output=W_o(merge(context.flip(1))))
    if keep is None:
        mistake("softmax_across_heads", (lambda w: (w, W_o(merge(w @ V))))(
            torch.nan_to_num(torch.softmax(scores.masked_fill(mask == 0, -math.inf), dim=1))))
    if float(mask.min()) == 0:
        mistake("mask_ignored", attend(X, proj, heads, torch.ones_like(mask), keep, p))
        mistake("polarity_inverted", attend(X, proj, heads, 1 - mask, keep, p))
        if mask.shape[1] == 1:
            mistake("mask_of_sequence_0", attend(X, proj, heads, mask[:1], keep, p))
        first = (torch.ones(B, heads, 1, 1, dtype=DOUBLE) * mask).clone()
        first[:, 1:] = 1
        mistake("mask_on_the_first_head_only", attend(X, proj, heads, first, keep, p))
        mistake("filled_with_a_large_number", attend(X, proj, heads, mask, keep, p, fill=-1e9))
    if keep is not None:
        plain, without = attend(X, proj, heads, mask)
        case.add_mistake("dropout_forgotten", output=without)  # its weights are those of the next one
        case.add_mistake("weights_kept_before_dropout", weights=plain)
    return case


def padding(lengths, length):
    rows = torch.tensor([[1.0 if j < n else 0.0 for j in range(length)] for n in lengths], dtype=DOUBLE)
    return rows.view(-1, 1, 1, length).repeat(1, 1, length, 1)  # (B, S) -> (B, 1, L, S)


def causal(length):
    return torch.ones(1, 1, length, length, dtype=DOUBLE).tril()


def hand_case():
    proj = layers(4)
    for name in NAMES:
        proj[name].weight.data = torch.eye(4, dtype=DOUBLE)
        proj[name].bias.data = torch.zeros(4, dtype=DOUBLE)
    W_k = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], dtype=DOUBLE)  # (in x out)
    proj["key_proj"].weight.data = W_k.T.contiguous()
    proj["output_proj"].bias.data = torch.tensor([0, 0, 0, 1], dtype=DOUBLE)
    X = torch.tensor([[[1.0, 0.0, 2.0, 0.0], [0.0, 1.0, 0.0, 2.0]]], dtype=DOUBLE)
    return attention_case(X, proj, 2, torch.ones(1, 1, 2, 2, dtype=DOUBLE), with_mistakes=False)


def random_case(seed, mask, batch=2, spread=2.0, p=None, with_mistakes=True, one_head=False):
    torch.manual_seed(seed)
    length = mask.shape[-1]
    proj = layers(6)
    X = spread * torch.randn(batch, length, 6, dtype=DOUBLE)
    keep = None
    if p is not None:  # the very mask that PyTorch's dropout draws
        keep = (nn.functional.dropout(torch.ones(batch, 3, length, length, dtype=DOUBLE), p) != 0).to(DOUBLE)
    case = attention_case(X, proj, 3, mask, seed, keep, p or 0.0, with_mistakes)
    if one_head:
        case.add("one_head", attend(X, proj, 1, mask)[1], "B L E")
    return case


def mask_per_head(seed, length):
    """Every query may attend to its own token, and to others as it comes."""
    torch.manual_seed(seed)
    drawn = (torch.rand(2, 3, length, length) < 0.5).to(DOUBLE)
    return torch.maximum(drawn, torch.eye(length, dtype=DOUBLE))


def cases():
    return {
        "by_hand": hand_case(),
        "unmasked": random_case(121, torch.ones(1, 1, 4, 4, dtype=DOUBLE), one_head=True),
        "padded": random_case(122, padding([3, 2], 4)),
        "mask_per_head": random_case(127, mask_per_head(128, 4)),
        "causal": random_case(123, causal(5)),
        "dropout": random_case(124, padding([3, 1], 4), p=0.4),
        "nobody": random_case(125, padding([3, 0], 4)),
        "far_from_zero": random_case(126, padding([4, 3], 4), spread=200.0, with_mistakes=False),
    }
