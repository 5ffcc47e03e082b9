"""Lesson 05: the interview's self-attention: separate projections, mask, dropout on the weights, output projection."""

import torch
from golden_helpers import Case, MultiHeadAttention, causal_mask, doubles, dropout_mask, padding_mask, randn, set_linear


def attention_case(case, layer, X, mask, keep=None, p=0.0):
    """mask (1, L, L) or (B, L, L), keep (B, L, L)"""
    case.add("X", X, "B L E").add("mask", mask, "B L L").add_layers(layer)
    if keep is not None:
        case.add("keep", keep, "B L L")
    weights, output = layer(X, mask=mask, keep=keep, p=p)
    return case.add_attention((weights[:, 0], output), axes="B L L")


def by_hand():
    layer = MultiHeadAttention(2)
    set_linear(layer.query_proj, [[1, 1], [0, 1]], [0, 1])
    set_linear(layer.key_proj, [[1, 2], [1, 0]], [-1, 0])
    set_linear(layer.value_proj, [[2, 0], [0, 1]], [0, 1])
    set_linear(layer.output_proj, [[1, 1], [-1, 1]], [1, 0])
    case = attention_case(Case(), layer, doubles([[[1, 0], [0, 2]]]), causal_mask(2)[None])
    return case.only("weights", "output")


def random_case(seed, mask, B=2, spread=2.0, p=0.0):
    case, layer, L = Case(seed), MultiHeadAttention(4), mask.shape[-1]
    X = spread * randn(B, L, 4)
    return attention_case(case, layer, X, mask, dropout_mask(p, B, L, L) if p > 0 else None, p)


def cases():
    return {
        "by_hand": by_hand(),
        "unmasked": random_case(51, torch.ones(1, 5, 5, dtype=torch.bool)).without("mask"),
        "padded": random_case(52, padding_mask([4, 2], 5, 5)),
        "causal": random_case(53, causal_mask(5)[None]),
        "dropout": random_case(54, padding_mask([4, 3, 1], 5, 5), B=3, p=0.4),
        "nobody": random_case(55, padding_mask([3, 0], 5, 5)),
        "far_from_zero": random_case(56, padding_mask([5, 3], 5, 5), spread=200.0).without("weights"),
    }
