"""Lesson 12: the interview's multi-head attention."""

import torch
from golden_helpers import Case, MultiHeadAttention, causal_mask, chance, doubles, dropout_mask, padding_mask, randn
from golden_helpers import set_linear


def attention_case(case, layer, X, mask, keep=None, p=0.0):
    """mask (1, 1, L, L), (B, 1, L, L) or (B, H, L, L)"""
    case.add("X", X, "B L E").add("mask", mask, "B H L L").add_layers(layer)
    if keep is not None:
        case.add("keep", keep, "B H L L")
    weights, output = layer(X, mask=mask, keep=keep, p=p)
    if keep is None:
        # PyTorch's own layer gives the same; for a query without keys it gives NaN, or did.
        blocked = ~mask.expand(weights.shape).flatten(0, 1)
        expected = layer.library()(X, X, X, attn_mask=blocked)[0]
        assert torch.allclose(torch.where(expected.isnan(), output, expected), output)
    return case.add_attention((weights, output), axes="B H L L")


def by_hand():
    layer = MultiHeadAttention(4, 2)
    set_linear(layer.query_proj, torch.eye(4))
    set_linear(layer.key_proj, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    set_linear(layer.value_proj, torch.eye(4))
    set_linear(layer.output_proj, torch.eye(4), [0, 0, 0, 1])
    mask = torch.ones(1, 1, 2, 2, dtype=torch.bool)
    return attention_case(Case(), layer, doubles([[[1, 0, 2, 0], [0, 1, 0, 2]]]), mask).only("weights", "output")


def random_case(seed, mask, spread=2.0, p=0.0):
    case, layer, L = Case(seed), MultiHeadAttention(6, 3), mask.shape[-1]
    X = spread * randn(2, L, 6)
    return attention_case(case, layer, X, mask, dropout_mask(p, 2, 3, L, L) if p > 0 else None, p)


def unmasked(seed):
    """With the output of the same projections around one head."""
    case, layer, X = Case(seed), MultiHeadAttention(6, 3), 2 * randn(2, 4, 6)
    attention_case(case, layer, X, torch.ones(1, 1, 4, 4, dtype=torch.bool))
    layer.H = layer.G = 1
    return case.add("one_head", layer(X)[1], "B L E").without("mask")


def mask_per_head(seed, L):
    """Every query may attend to its own token, and to others as it comes."""
    torch.manual_seed(seed)
    return chance(0.5, 2, 3, L, L) | torch.eye(L, dtype=torch.bool)


def padding(lengths, L):
    return padding_mask(lengths, L, L)[:, None]


def cases():
    return {
        "by_hand": by_hand(),
        "unmasked": unmasked(121),
        "padded": random_case(122, padding([3, 2], 4)),
        "mask_per_head": random_case(127, mask_per_head(128, 4)),
        "causal": random_case(123, causal_mask(5)[None, None]),
        "dropout": random_case(124, padding([3, 1], 4), p=0.4),
        "nobody": random_case(125, padding([3, 0], 4)),
        "far_from_zero": random_case(126, padding([3, 2], 4), spread=200.0).without("weights"),
    }
