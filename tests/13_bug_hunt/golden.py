"""Lesson 13: what the six files must give. Nothing here is what the bugs give: the learner hunts for those."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64
NEVER = float("-inf")


def tensor(values):
    return torch.tensor(values, dtype=DOUBLE)


def scores_of(Q, K):
    return Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])


def attention(Q, K, V):
    return torch.softmax(scores_of(Q, K), dim=-1) @ V


# ------------------------------------------------------------------------------------------- 13.1 slow_training


def self_attention_case(X, layers, seed=None, with_mistakes=True):
    case = Case(seed).add("X", X, "B L E")
    for name, layer in zip(("query_proj", "key_proj", "value_proj"), layers):
        case.add_linear(name, layer)
    Q, K, V = (layer(X) for layer in layers)
    case.add("output", attention(Q, K, V), "B L E")
    if with_mistakes:
        case.add_mistake("values_from_the_query", output=attention(Q, K, Q))
        case.add_mistake("keys_from_the_query", output=attention(Q, Q, V))
        case.add_mistake("values_from_the_key", output=attention(Q, K, K))
        case.add_mistake("keys_from_the_value", output=attention(Q, V, V))
        case.add_mistake("keys_and_values_swapped", output=attention(Q, V, K))
    return case


def hand_layers():
    layers = []
    for weight in ([[1.0, 1.0], [0.0, 1.0]], [[1.0, 2.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]):
        layer = nn.Linear(2, 2, bias=False, dtype=DOUBLE)
        layer.weight.data = tensor(weight).T.contiguous()
        layers.append(layer)
    return layers


# ------------------------------------------------------------------------------------------- 13.2 sharp_weights


def causal_case(Q, K, seed=None, with_mistakes=True):
    case = Case(seed).add("Q", Q, "N L D").add("K", K, "N S D")
    length, keys, width = Q.shape[1], K.shape[1], Q.shape[2]
    allowed = torch.ones(length, keys, dtype=torch.bool).tril(keys - length)

    def weights(divisor):
        return torch.softmax((Q @ K.transpose(1, 2) / divisor).masked_fill(~allowed, NEVER), dim=-1)

    right = weights(math.sqrt(width))
    case.add("weights", right, "N L S")
    if with_mistakes:
        case.add_mistake("divided_by_dim", weights=weights(width))
        case.add_mistake("divided_by_root_length", weights=weights(math.sqrt(length)))
        case.add_mistake("divided_by_root_keys", weights=weights(math.sqrt(keys)))
        case.add_mistake("multiplied_by_root", weights=weights(1 / math.sqrt(width)))
        case.add_mistake("weights_divided", weights=weights(1) / math.sqrt(width))
    return case


# ------------------------------------------------------------------------------------------- 13.3 equal_weights


def scores_case(Q, K, seed=None, with_mistakes=True):
    case = Case(seed).add("Q", Q, "N L D").add("K", K, "N S D")
    root = math.sqrt(Q.shape[2])
    products = Q @ K.transpose(1, 2)
    case.add("scores", products / root, "N L S")
    if not with_mistakes:
        return case
    case.add_mistake("rounded", scores=torch.round(products) / root)
    case.add_mistake("sum_cut", scores=torch.trunc(products) / root)
    case.add_mistake("scores_rounded_down", scores=torch.floor(products / root))
    case.add_mistake("absolute_values", scores=products.abs() / root)
    # A sum that is kept in float: rounded to 24 bits after every addition.
    in_float = torch.zeros_like(products, dtype=torch.float32)
    for d in range(Q.shape[2]):
        in_float = (in_float.to(DOUBLE) + Q[:, :, None, d] * K[:, None, :, d]).to(torch.float32)
    case.add_mistake("float_sum", scores=in_float.to(DOUBLE) / root)
    return case


# ----------------------------------------------------------------------------------------- 13.4 unequal_lengths


def split(X, num_heads):
    return X.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def merge(X_heads):
    return X_heads.transpose(1, 2).flatten(-2)


def cross_case(Q, K, V, num_heads, seed=None, with_mistakes=True):
    case = Case(seed).add("Q", Q, "B L E").add("K", K, "B S E").add("V", V, "B S E")
    Q_heads, K_heads, V_heads = (split(X, num_heads) for X in (Q, K, V))
    case.add("output", merge(attention(Q_heads, K_heads, V_heads)), "B L E")
    if not with_mistakes:
        return case
    length, keys = Q.shape[1], K.shape[1]
    fitted = [nn.functional.pad(X, (0, 0, 0, length - keys)) for X in (K_heads, V_heads)]  # cuts when negative
    case.add_mistake("keys_made_to_fit", output=merge(attention(Q_heads, *fitted)))
    case.add_mistake("heads_forgotten", output=attention(Q, K, V))
    scores = scores_of(Q_heads, K_heads)
    case.add_mistake("softmax_over_queries", output=merge(torch.softmax(scores, dim=-2) @ V_heads))
    case.add_mistake("divided_by_root_width", output=merge(torch.softmax(scores / math.sqrt(num_heads), dim=-1) @ V_heads))
    return case


# -------------------------------------------------------------------------------------------- 13.5 nan_sentence


def padded_case(Q, K, V, lengths, seed=None, with_mistakes=True):
    case = Case(seed).add("Q", Q, "B L D").add("K", K, "B S D").add("V", V, "B S Dv")
    case.add("lengths", tensor(lengths), "B")
    scores = scores_of(Q, K)

    def output(counts, fill=NEVER):
        allowed = torch.arange(K.shape[1]) < torch.tensor(counts)[:, None, None]
        return torch.softmax(scores.masked_fill(~allowed, fill), dim=-1) @ V

    empty = (torch.tensor(lengths) == 0)[:, None, None]
    right = output(lengths).masked_fill(empty, 0)
    case.add("output", right, "B L Dv")
    if with_mistakes:
        case.add_mistake("large_negative_number", output=output(lengths, fill=-1e9))
        case.add_mistake("first_key_let_in", output=output([max(n, 1) for n in lengths]))
        case.add_mistake("all_keys_let_in", output=output([n or K.shape[1] for n in lengths]))
        case.add_mistake("whole_batch_zero", output=torch.zeros_like(right))
        only_second = output(lengths)
        only_second[1] = torch.nan_to_num(only_second[1])
        case.add_mistake("only_the_second", output=only_second)
    if right.isnan().any():  # one that came in with Q
        case.add_mistake("nan_hidden", output=torch.nan_to_num(right))
    return case


# --------------------------------------------------------------------------------------------- 13.6 mixed_heads


def merge_case(weights, V, num_heads, seed=None, with_mistakes=True):
    batch = weights.shape[0] // num_heads
    weights, V = (x.unflatten(0, (batch, num_heads)) for x in (weights, V))
    case = Case(seed).add("weights", weights, "B H L S").add("V", V, "B H S D")
    context = weights @ V  # (B, H, L, D)
    case.add("output", merge(context), "B L E")
    if with_mistakes:
        case.add_mistake("heads_reversed", output=merge(context.flip(1)))
        case.add_mistake("features_interleaved", output=context.permute(0, 2, 3, 1).flatten(-2))
        by_head = context.flatten(0, 1).unflatten(0, (num_heads, batch)).transpose(0, 1)
        case.add_mistake("slices_by_head", output=merge(by_head))
        down = context.flatten(-2).unflatten(-1, (context.shape[3], context.shape[2])).transpose(-1, -2)
        case.add_mistake("filled_down_the_columns", output=merge(down))
        case.add_mistake("last_head_everywhere", output=context[:, -1].repeat(1, 1, num_heads))
    return case


def cases():
    made = {}
    randn = lambda *size: torch.randn(*size, dtype=DOUBLE)

    made["self_attention_by_hand"] = self_attention_case(tensor([[[1, 0], [0, 2]]]), hand_layers(), None, False)
    torch.manual_seed(131)
    layers = [nn.Linear(4, 4, dtype=DOUBLE) for _ in range(3)]
    made["self_attention"] = self_attention_case(3 * randn(2, 5, 4), layers, 131)

    Q = tensor([[[2, 0, 0, 0], [1, 1, 1, 1]]])
    K = tensor([[[1, 0, 0, 1], [1, 1, 1, 1]]])
    made["causal_by_hand"] = causal_case(Q, K, None, False)
    torch.manual_seed(132)
    made["causal"] = causal_case(randn(2, 3, 5), randn(2, 6, 5), 132)
    torch.manual_seed(133)
    made["wide"] = causal_case(randn(1, 2, 64), randn(1, 3, 64), 133, False)

    Q = tensor([[[1, 1, 1, 1], [1, -1, 2, 0]]])
    K = tensor([[[0.6, 0.7, 0, 0], [0.5, 0.5, 0.5, 0.5]]])
    made["scores_by_hand"] = scores_case(Q, K, None, False)
    torch.manual_seed(134)
    made["scores"] = scores_case(2 * randn(2, 3, 5), 2 * randn(2, 4, 5), 134)
    torch.manual_seed(140)  # products of about 1000 that nearly cancel: a float would show
    K = tensor([1, -1, 1, -1, 0]) + 0.01 * randn(2, 4, 5)
    made["cancelling"] = scores_case(1000 + randn(2, 3, 5), K, 140)

    Q, K, V = tensor([[[1, 2]]]), tensor([[[0, 1], [2, 0]]]), tensor([[[1, 0], [3, 4]]])
    made["cross_by_hand"] = cross_case(Q, K, V, 2, None, False)
    torch.manual_seed(135)
    made["more_keys"] = cross_case(randn(2, 3, 6), randn(2, 5, 6), randn(2, 5, 6), 3, 135)
    torch.manual_seed(136)
    made["fewer_keys"] = cross_case(randn(2, 5, 6), randn(2, 4, 6), randn(2, 4, 6), 3, 136)

    Q, K = tensor([[[1]], [[2]]]), tensor([[[1], [3]], [[0], [1]]])
    V = tensor([[[1, 2], [5, 0]], [[4, 4], [6, 8]]])
    made["padded_by_hand"] = padded_case(Q, K, V, [1, 0], None, False)
    torch.manual_seed(137)
    made["padded"] = padded_case(randn(3, 2, 5), randn(3, 4, 5), randn(3, 4, 6), [3, 0, 0], 137)
    torch.manual_seed(138)
    Q = randn(2, 3, 5)
    Q[0, 1, 2] = math.nan
    case = padded_case(Q, randn(2, 4, 5), randn(2, 4, 6), [2, 0], 138, False)
    made["nan_comes_in"] = case

    weights = tensor([[[1, 0], [0, 1]], [[0.5, 0.5], [0, 1]]])
    V = tensor([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    made["merge_by_hand"] = merge_case(weights, V, 2, None, False)
    torch.manual_seed(139)
    weights = torch.softmax(randn(6, 4, 5), dim=-1)
    made["merge"] = merge_case(weights, randn(6, 5, 7), 3, 139)
    return made
