"""Lesson 02: one projection for Q, K and V."""

import torch
from golden_helpers import Case, attention, doubles, set_linear
from torch import nn


def attention_case(case, X, proj):
    weights, output = attention(*proj(X).chunk(3, dim=-1))
    case.add("X", X, "B L E").add_linear("proj", proj)
    return case.add("weights", weights, "B L L").add("output", output, "B L E")


def fuse(dim):
    """Three layers without bias and the one weight (in x out) that does what they do."""
    case = Case(22)
    layers = nn.ModuleDict(
        {name: nn.Linear(dim, dim, bias=False) for name in ("query_proj", "key_proj", "value_proj")}
    )
    X = 2 * torch.randn(2, 5, dim)
    case.add_layers(layers).add("X", X, "B L E")
    case.add("fused_weight", torch.cat([layer.weight for layer in layers.values()]).T, "E 3E")
    return case.add("output", attention(*(layer(X) for layer in layers.values()))[1], "B L E")


def cases():
    # [W_q | W_k | W_v] with the weights of lesson 01, and a bias
    hand = set_linear(nn.Linear(2, 6), [[1, 1, 1, 2, 2, 0], [0, 1, 1, 0, 0, 1]], [0, 1, -1, 0, 0, 1])
    return {
        "by_hand": attention_case(Case(), doubles([[[1, 0], [0, 2]]]), hand).only("weights", "output"),
        "batch": attention_case(Case(21), 3 * torch.randn(2, 5, 4), nn.Linear(4, 12)),
        "far_from_zero": attention_case(Case(23), 200 * torch.randn(2, 5, 4), nn.Linear(4, 12)).without("weights"),
        "fuse": fuse(4),
    }
