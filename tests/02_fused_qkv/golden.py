"""Lesson 02: one projection for Q, K and V."""

import torch
from golden_helpers import Case, Linear, attention, doubles, randn, self_attention_case, set_linear, three_projections


def attention_case(case, X, proj):
    case.add("X", X, "B L E").add_linear("proj", proj)
    return case.add_attention(attention(*proj(X).chunk(3, dim=-1)), axes="B L L")


def fuse(seed, dim):
    """Three layers without bias and the one weight (in x out) that does what they do."""
    case, layers = Case(seed), three_projections(dim)
    self_attention_case(case, 2 * randn(2, 5, dim), layers).without("weights")
    return case.add("fused_weight", torch.cat([layer.weight for layer in layers.values()]).T, "E 3E")


def cases():
    # [W_q | W_k | W_v] with the weights of lesson 01, and a bias
    hand = set_linear(Linear(2, 6), [[1, 1, 1, 2, 2, 0], [0, 1, 1, 0, 0, 1]], [0, 1, -1, 0, 0, 1])
    return {
        "by_hand": attention_case(Case(), doubles([[[1, 0], [0, 2]]]), hand).only("weights", "output"),
        "batch": attention_case(Case(21), 3 * randn(2, 5, 4), Linear(4, 12)),
        "far_from_zero": attention_case(Case(23), 200 * randn(2, 5, 4), Linear(4, 12)).without("weights"),
        "fuse": fuse(22, 4),
    }
