"""Lesson 04: dropout on the attention weights, and an output projection."""

import math

import torch
from golden import Case
from torch import nn
from torch.nn import functional as F

DOUBLE = torch.float64


def drawn(seed, x, p):
    """What PyTorch's dropout makes of x while training, and the mask that it drew for it."""
    torch.manual_seed(seed)
    dropped = F.dropout(x, p)
    torch.manual_seed(seed)
    keep = (F.dropout(torch.ones_like(x), p) != 0).to(DOUBLE)  # same seed, same shape: the same mask
    assert torch.allclose(dropped, x * keep / (1 - p))
    return dropped, keep


def dropout_case(x, p, seed=None, keep=None):
    case = Case(seed).add("x", x, "B L E").add("p", torch.tensor([p], dtype=DOUBLE), "one")
    if keep is None:
        output, keep = drawn(seed, x, p)
    else:
        output = x * keep / (1 - p)
    case.add("keep", keep, "B L E").add("output", output, "B L E")
    case.add("eval", F.dropout(x, p, training=False), "B L E")
    case.add_mistake("dropout_not_scaled", output=x * keep)
    case.add_mistake("divided_by_p", output=x * keep / p)
    case.add_mistake("keep_inverted", output=x * (1 - keep) / (1 - p))
    case.add_mistake("scaled_by_share_kept", output=x * keep / keep.mean())
    case.add_mistake("active_in_eval", eval=output)
    case.add_mistake("scaled_in_eval", eval=x / (1 - p))
    case.add_mistake("multiplied_in_eval", eval=x * (1 - p))
    return case


def project(X, proj):
    return torch.split(proj(X), X.shape[-1], dim=-1)


def score(Q, K, scale=None):
    return Q @ K.transpose(-1, -2) / (math.sqrt(Q.shape[-1]) if scale is None else scale)


def softmax(scores, mask=None):
    """Blocked keys get nothing, and a row without any key becomes zeros."""
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    return torch.nan_to_num(torch.softmax(scores, dim=-1), nan=0.0)


def layer_case(X, proj, output_proj, p, seed=None, keep=None, mask=None):
    """The whole layer while training and in evaluation. The mistakes are added by the functions below."""
    case = Case(seed).add("X", X, "B L E").add_linear("proj", proj).add_linear("output_proj", output_proj)
    case.add("p", torch.tensor([p], dtype=DOUBLE), "one")
    Q, K, V = project(X, proj)
    plain = softmax(score(Q, K), mask)
    if keep is None:
        weights, keep = drawn(seed, plain, p)
    else:
        weights = plain * keep / (1 - p)
    case.add("keep", keep, "B L L")
    if mask is not None:
        case.add("mask", mask, "B L L")
    case.add("weights", weights, "B L L").add("output", output_proj(weights @ V), "B L E")
    case.add("eval_weights", plain, "B L L").add("eval_output", output_proj(plain @ V), "B L E")
    return case, keep


def mixing_case(X, proj, output_proj, p, seed=None, keep=None):
    """No mask: what can be wrong with the scores, with dropout and with the output projection."""
    case, keep = layer_case(X, proj, output_proj, p, seed, keep)
    Q, K, V = project(X, proj)
    scores = score(Q, K)
    plain = softmax(scores)
    scale = 1 / (1 - p)
    weights = plain * keep * scale

    def drops(x):
        return x * keep * scale

    def mistake(name, wrong, eval_wrong=None):
        case.add_mistake(name, weights=wrong, output=output_proj(wrong @ V))
        if eval_wrong is not None:
            case.add_mistake(name, eval_weights=eval_wrong, eval_output=output_proj(eval_wrong @ V))

    sharp = softmax(score(Q, K, scale=1))
    flat = softmax(score(Q, K, scale=Q.shape[-1]))
    mistake("unscaled", drops(sharp), sharp)
    mistake("divided_by_dim", drops(flat), flat)
    mistake("dropout_not_scaled", plain * keep)
    mistake("divided_by_p", plain * keep / p)
    mistake("keep_inverted", plain * (1 - keep) * scale)
    mistake("scaled_by_share_kept", plain * keep / keep.mean())
    mistake("dropout_before_softmax", softmax(drops(scores)))
    mistake("rows_renormalised", weights / weights.sum(dim=-1, keepdim=True))
    swapped = softmax(score(K, Q))
    mistake("order_kqv", drops(swapped), swapped)
    case.add_mistake("weights_kept_before_dropout", weights=plain)
    case.add_mistake("dropout_forgotten", output=output_proj(plain @ V))
    case.add_mistake("dropout_applied_twice", output=output_proj(drops(weights) @ V))
    for name, w in (("output", weights), ("eval_output", plain)):
        case.add_mistake("output_projection_missing", **{name: w @ V})
        case.add_mistake("output_bias_forgotten", **{name: w @ V @ output_proj.weight.T})
        turned = w @ V @ output_proj.weight + output_proj.bias
        case.add_mistake("output_weight_transposed", **{name: turned})
        case.add_mistake("projected_before_mixing", **{name: w @ output_proj(V)})
    if X.shape[-1] == X.shape[-2]:  # else the mask that was drawn for the weights does not fit
        case.add_mistake("dropout_on_output", output=drops(output_proj(plain @ V)))
        case.add_mistake("dropout_on_context", output=output_proj(drops(plain @ V)))
        case.add_mistake("dropout_on_values", output=output_proj(plain @ drops(V)))
    return case


def masked_case(X, proj, output_proj, p, mask, seed):
    """With a mask: what can be wrong with it."""
    case, keep = layer_case(X, proj, output_proj, p, seed, mask=mask)
    Q, K, V = project(X, proj)
    scores = score(Q, K)

    def mistake(name, plain):
        weights = torch.where(keep == 0, torch.zeros_like(plain), plain / (1 - p))  # 0, though NaN * 0 is NaN
        case.add_mistake(name, weights=weights, output=output_proj(weights @ V))
        case.add_mistake(name, eval_weights=plain, eval_output=output_proj(plain @ V))

    mistake("mask_forgotten", softmax(scores))
    mistake("mask_inverted", softmax(scores, 1 - mask))
    mistake("mask_of_first_sequence", softmax(scores, mask[:1]))
    mistake("mask_after_softmax", softmax(scores) * mask)
    # The same values in float64 with -1e9: all scores of the row are the same number, whichever it is.
    mistake("filled_with_minus_1e20", torch.softmax(scores.masked_fill(mask == 0, -1e20), dim=-1))
    mistake("nan_row", torch.softmax(scores.masked_fill(mask == 0, -math.inf), dim=-1))
    return case


# ------------------------------------------------- the layers of the documents that the course grew from, in our words


class NotebookA(nn.Module):
    """Document A's SelfAttentionV3: blocked scores become -1e20, dropout on the weights, output projection."""

    def __init__(self, width, p):
        super().__init__()
        self.proj = nn.Linear(width, 3 * width, dtype=DOUBLE)
        self.output_proj = nn.Linear(width, width, dtype=DOUBLE)
        self.p = p

    def forward(self, X, key_mask, seed):
        mask = key_mask[:, None, :].expand(-1, X.shape[1], -1)  # (B, S) -> (B, L, S): the same for every query
        Q, K, V = project(X, self.proj)
        plain = torch.softmax(score(Q, K).masked_fill(mask == 0, -1e20), dim=-1)
        weights, keep = drawn(seed, plain, self.p)
        return keep, weights, self.output_proj(weights @ V)


class NotebookB(nn.Module):
    """Document B's layers: -inf, scores by einsum. Its SelfAttV2 has no dropout; its SelfAttV3 forgets the scale."""

    def __init__(self, width, p=0.0):
        super().__init__()
        self.proj = nn.Linear(width, 3 * width, dtype=DOUBLE)
        self.output_proj = nn.Linear(width, width, dtype=DOUBLE)
        self.p = p

    def forward(self, X, mask, seed=0, scaled=True):
        Q, K, V = project(X, self.proj)
        scores = torch.einsum("bih,bjh->bij", Q, K)
        if scaled:
            scores = scores / math.sqrt(X.shape[-1])
        plain = torch.softmax(scores.masked_fill(mask == 0, -math.inf), dim=-1)
        weights, keep = drawn(seed, plain, self.p)
        return keep, weights, self.output_proj(weights @ V)


def key_mask_of(lengths, S):
    return torch.tensor([[1.0 if j < length else 0.0 for j in range(S)] for length in lengths], dtype=DOUBLE)


def notebook_case(layer, X, lengths, seed):
    case = Case(seed).add("X", X, "B L E").add_linear("proj", layer.proj).add_linear("output_proj", layer.output_proj)
    key_mask = key_mask_of(lengths, X.shape[1])
    case.add("p", torch.tensor([layer.p], dtype=DOUBLE), "one").add("key_mask", key_mask, "B S")
    return case, key_mask


def notebook_a_case(seed):
    torch.manual_seed(seed)
    layer = NotebookA(2, p=0.1)
    X = 2 * torch.randn(3, 4, 2, dtype=DOUBLE)
    case, key_mask = notebook_case(layer, X, (3, 2, 1), seed)
    keep, weights, output = layer(X, key_mask, seed)
    return case.add("keep", keep, "B L L").add("weights", weights, "B L L").add("output", output, "B L E")


def notebook_b_case(seed, p):
    torch.manual_seed(seed)
    layer = NotebookB(2, p)
    X = 2 * torch.randn(3, 4, 2, dtype=DOUBLE)
    case, key_mask = notebook_case(layer, X, (4, 3, 1), seed)
    mask = key_mask[:, None, :].expand(-1, 4, -1)
    keep, weights, output = layer(X, mask, seed)
    case.add("keep", keep, "B L L").add("weights", weights, "B L L").add("output", output, "B L E")
    _, sharp, sharp_output = layer(X, mask, seed, scaled=False)
    case.add_mistake("unscaled", weights=sharp, output=sharp_output)
    return case


# --------------------------------------------------------------------------------------------------------- cases


def hand_layers():
    """The layer of lesson 02, and an output projection."""
    proj, output_proj = nn.Linear(2, 6, dtype=DOUBLE), nn.Linear(2, 2, dtype=DOUBLE)
    weight = torch.tensor([[1.0, 1.0, 1.0, 2.0, 2.0, 0.0], [0.0, 1.0, 1.0, 0.0, 0.0, 1.0]], dtype=DOUBLE)
    proj.weight.data = weight.T.contiguous()
    proj.bias.data = torch.tensor([0.0, 1.0, -1.0, 0.0, 0.0, 1.0], dtype=DOUBLE)
    output_proj.weight.data = torch.tensor([[1.0, 0.0], [2.0, 1.0]], dtype=DOUBLE).T.contiguous()
    output_proj.bias.data = torch.tensor([0.0, -1.0], dtype=DOUBLE)
    return proj, output_proj


def layers(width):
    return nn.Linear(width, 3 * width, dtype=DOUBLE), nn.Linear(width, width, dtype=DOUBLE)


def cases():
    made = {}
    keep = torch.tensor([[[1.0, 0.0], [1.0, 1.0]]], dtype=DOUBLE)
    x = torch.tensor([[[2.0, -1.0], [0.5, 4.0]]], dtype=DOUBLE)
    made["dropout_by_hand"] = dropout_case(x, 0.2, keep=keep)
    torch.manual_seed(50)
    made["dropout"] = dropout_case(torch.randn(2, 5, 3, dtype=DOUBLE), 0.3, 50)
    X = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]], dtype=DOUBLE)
    made["by_hand"] = mixing_case(X, *hand_layers(), 0.2, keep=keep)
    torch.manual_seed(42)
    made["batch"] = mixing_case(3 * torch.randn(2, 5, 4, dtype=DOUBLE), *layers(4), 0.3, 42)
    torch.manual_seed(43)
    made["as_long_as_wide"] = mixing_case(2 * torch.randn(2, 4, 4, dtype=DOUBLE), *layers(4), 0.3, 43)
    mask = torch.ones(2, 5, 5, dtype=DOUBLE)
    mask[0, :, 3:] = 0  # padding in sequence 0
    mask[1, 2, :] = 0  # query 2 of sequence 1 may attend to nobody
    mask[1, 0, 1:4] = 0
    mask[1, 4, 0] = 0
    torch.manual_seed(44)
    made["masked"] = masked_case(2 * torch.randn(2, 5, 4, dtype=DOUBLE), *layers(4), 0.3, mask, 44)
    torch.manual_seed(45)
    X = 2 * torch.randn(2, 5, 4, dtype=DOUBLE)
    made["causal"] = layer_case(X, *layers(4), 0.3, 45, mask=torch.ones(1, 5, 5, dtype=DOUBLE).tril())[0]
    torch.manual_seed(46)
    made["far_from_zero"] = layer_case(200 * torch.randn(2, 5, 4, dtype=DOUBLE), *layers(4), 0.3, 46)[0]
    made["self_attention_v3_of_a"] = notebook_a_case(56)
    made["self_att_v2_of_b"] = notebook_b_case(48, p=0.0)
    made["self_att_v3_of_b"] = notebook_b_case(49, p=0.1)
    return made
