"""Lesson 01: one head, three projections without bias."""

import math

import torch
from golden import Case
from torch import nn

DOUBLE = torch.float64


def attention(Q, K, V, scale=None, floored=False, softmax_dim=-1, transpose_weights=False, swapped=False):
    """softmax(Q K^T / sqrt(E)) V, and every way of getting it wrong. Returns scaled scores, weights and output."""
    scale = math.sqrt(Q.shape[-1]) if scale is None else scale
    scores = Q.transpose(-1, -2) @ K if swapped else Q @ K.transpose(-1, -2)
    scores = torch.floor(scores / scale) if floored else scores / scale
    weights = torch.softmax(scores, dim=softmax_dim)
    output = (weights.transpose(-1, -2) if transpose_weights else weights) @ V
    return scores, weights, output


def attention_case(X, query_proj, key_proj, value_proj, seed=None, with_mistakes=True):
    case = Case(seed).add("X", X, "B L E")
    case.add_linear("query_proj", query_proj).add_linear("key_proj", key_proj).add_linear("value_proj", value_proj)
    Q, K, V = query_proj(X), key_proj(X), value_proj(X)
    scores, weights, output = attention(Q, K, V)
    case.add("weights", weights, "B L L").add("output", output, "B L E")
    if not with_mistakes:  # several would give the same values here, so none can be named
        return case

    def mistake(name, result):
        case.add_mistake(name, weights=result[1], output=result[2])

    dim = X.shape[-1]
    mistake("unscaled", attention(Q, K, V, scale=1))
    mistake("divided_by_dim", attention(Q, K, V, scale=dim))
    mistake("softmax_columns", attention(Q, K, V, softmax_dim=-2))
    mistake("floored", attention(Q, K, V, floored=True))
    mistake("queries_keys_swapped", attention(K, Q, V))
    mistake("multiplied_by_root", attention(Q, K, V, scale=1 / math.sqrt(dim)))
    mistake("divided_by_root_length", attention(Q, K, V, scale=math.sqrt(X.shape[1])))
    plain = attention(Q, K, V, scale=1)
    mistake("scaled_after_softmax", [part / math.sqrt(dim) for part in plain])
    twice = torch.softmax(weights, dim=-1)
    mistake("softmax_twice", (None, twice, twice @ V))
    if X.shape[1] == dim:
        mistake("transposed_product", attention(Q, K, V, swapped=True))
    # These two make the same weights, so only the output tells which it was.
    case.add_mistake("shared_projection", output=attention(Q, query_proj(X), query_proj(X))[2])
    case.add_mistake("key_from_query_proj", output=attention(Q, query_proj(X), V)[2])
    # These leave the weights right.
    case.add_mistake("value_from_query_proj", output=attention(Q, K, query_proj(X))[2])
    case.add_mistake("input_added", output=output + X)
    case.add_mistake("values_are_keys", output=attention(Q, K, K)[2])
    case.add_mistake("values_not_projected", output=attention(Q, K, X)[2])
    case.add_mistake("weights_transposed", output=attention(Q, K, V, transpose_weights=True)[2])
    # The kept weights are the scores in both of these; the output tells them apart.
    case.add_mistake("softmax_forgotten", output=scores @ V)
    case.add_mistake("scores_kept", weights=scores)
    return case


def scores_case(Q, K, seed):
    case = Case(seed).add("Q", Q, "B L D").add("K", K, "B S D")
    scores = torch.einsum("bih,bjh->bij", Q, K)
    case.add("scores", scores, "B L S")
    case.add_mistake("einsum_scaled", scores=scores / math.sqrt(Q.shape[-1]))
    case.add_mistake("einsum_transposed", scores=scores.transpose(-1, -2).contiguous())
    return case


def layer_from(rows):
    """A layer that multiplies by this (in x out) matrix."""
    weight = torch.tensor(rows, dtype=DOUBLE)
    layer = nn.Linear(*weight.shape, bias=False, dtype=DOUBLE)
    layer.weight.data = weight.T.contiguous()
    return layer


def hand_layers():
    return layer_from([[1.0, 1.0], [0.0, 1.0]]), layer_from([[1.0, 2.0], [1.0, 0.0]]), layer_from([[2.0, 0.0], [0.0, 1.0]])


def random_layers(dim):
    return [nn.Linear(dim, dim, bias=False, dtype=DOUBLE) for _ in range(3)]


def cases():
    made = {}
    hand = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]], dtype=DOUBLE)
    made["by_hand"] = attention_case(hand, *hand_layers())
    torch.manual_seed(11)
    made["batch"] = attention_case(3 * torch.randn(2, 4, 3, dtype=DOUBLE), *random_layers(3), 11)
    torch.manual_seed(12)
    made["one_token"] = attention_case(torch.randn(2, 1, 3, dtype=DOUBLE), *random_layers(3), 12, False)
    torch.manual_seed(13)
    made["einsum"] = scores_case(torch.randn(2, 4, 3, dtype=DOUBLE), torch.randn(2, 5, 3, dtype=DOUBLE), 13)
    torch.manual_seed(14)
    made["far_from_zero"] = attention_case(200 * torch.randn(2, 4, 3, dtype=DOUBLE), *random_layers(3), 14, False)
    return made
