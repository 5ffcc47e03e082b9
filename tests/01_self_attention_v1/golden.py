"""Lesson 01: one head, three projections without bias."""

import torch
from golden_helpers import Case, attention, doubles, set_linear
from torch import nn


def three_layers(dim):
    names = ("query_proj", "key_proj", "value_proj")
    return nn.ModuleDict({name: nn.Linear(dim, dim, bias=False) for name in names})


def attention_case(case, X, layers):
    weights, output = attention(*(layer(X) for layer in layers.values()))
    case.add("X", X, "B L E").add_layers(layers)
    return case.add("weights", weights, "B L L").add("output", output, "B L E")


def by_hand():
    layers = three_layers(2)
    for layer, weight in zip(layers.values(), ([[1, 1], [0, 1]], [[1, 2], [1, 0]], [[2, 0], [0, 1]])):
        set_linear(layer, weight)
    return attention_case(Case(), doubles([[[1, 0], [0, 2]]]), layers).only("weights", "output")


def scores_case(case, Q, K):
    case.add("Q", Q, "B L D").add("K", K, "B S D")
    return case.add("scores", torch.einsum("bih,bjh->bij", Q, K), "B L S")


def cases():
    return {
        "by_hand": by_hand(),
        "batch": attention_case(Case(11), 3 * torch.randn(2, 4, 3), three_layers(3)),
        "one_token": attention_case(Case(12), torch.randn(2, 1, 3), three_layers(3)).without("weights"),
        "einsum": scores_case(Case(13), torch.randn(2, 4, 3), torch.randn(2, 5, 3)),
        "far_from_zero": attention_case(Case(14), 200 * torch.randn(2, 4, 3), three_layers(3)).without("weights"),
    }
