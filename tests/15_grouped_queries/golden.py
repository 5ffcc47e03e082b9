"""Lesson 15: many query heads that share few key/value heads."""

import math

import torch
from golden_helpers import Case, MultiHeadAttention, chance, doubles, merge_heads, randn


def by_groups(layer, X):
    """Section 2.2 of the paper word by word: each group of queries with its one key and value head."""
    Q, K, V = layer.heads(X, X, X)
    Q = Q.unflatten(1, (layer.G, -1))  # (B, G, H / G, L, D)
    weights = torch.softmax(torch.einsum("bgrid,bgjd->bgrij", Q, K) / math.sqrt(Q.shape[-1]), dim=-1)
    context = torch.einsum("bgrij,bgjd->bgrid", weights, V)
    return weights.flatten(1, 2), layer.output_proj(merge_heads(context.flatten(1, 2)))


def attention_case(case, layer, X):
    result = layer(X)
    for ours, papers in zip(result, by_groups(layer, X)):
        assert torch.allclose(ours, papers, rtol=0, atol=1e-12)
    return case.add_layers(layer).add("X", X, "B L E").add_attention(result)


def by_hand():
    """Every column of Q, K and V is a column of X, and the output adds the columns of the contexts in the same way."""
    layer = MultiHeadAttention(E=5, H=6, G=2, D=2)
    folded = torch.eye(5)[[column % 5 for column in range(12)]]  # (H·D x E)
    for proj, weight in zip(layer.children(), (folded, torch.eye(5)[[1, 2, 4, 0]], torch.eye(5)[:4], folded.T)):
        proj.weight.data = weight.contiguous()  # (out x in)
        proj.bias.data.zero_()
    X = doubles([[[0, 1, 2, 2, 2], [2, 1, 1, 0, 1], [2, 0, 1, 1, 0]]])
    return attention_case(Case(), layer, X).only("weights", "output")


def batch(seed):
    """Six query heads, three key/value heads: pairs. H / G = 2 differs from G = 3."""
    B, L, E, H, G = 2, 5, 24, 6, 3
    case, layer = Case(seed), MultiHeadAttention(E, H, G)
    X = 2 * randn(B, L, E)
    attention_case(case, layer, X)

    shared = torch.ones(1, L, L, dtype=torch.bool)
    shared[0, 0, 3:] = shared[0, 1, :2] = shared[0, 3, 0] = shared[0, 4, 1:4] = False
    padding = torch.ones(B, L, L, dtype=torch.bool)
    padding[0, :, 4:] = padding[1, :, 2:] = False
    heads = chance(0.6, B, H, L, L)
    heads[1, 1, 0, :] = heads[0, 4, 3, :] = False  # a query that may attend to no key
    case.add("mask_shared", shared, "1 L S").add("mask_batch", padding, "B L S").add("mask_heads", heads, "B H L S")
    for suffix, mask in (("_shared", shared), ("_batch", padding), ("_heads", heads)):
        case.add_attention(layer(X, mask=mask), suffix)
    return case.without("weights_shared", "weights_batch")


def multi_head(seed):
    """As many key/value heads as query heads: PyTorch's own layer."""
    case, layer = Case(seed), MultiHeadAttention(12, 3)
    library, X = layer.library(), 2 * randn(2, 5, 12)
    output, weights = library(X, X, X, average_attn_weights=False)
    return case.add_layers(layer).add("X", X, "B L E").add_attention((weights, output))


def pooled(seed):
    """A multi-head layer, and the grouped one that the paper makes of it by averaging the heads of each group."""
    E, H, G = 12, 6, 3
    case, full, grouped = Case(seed), MultiHeadAttention(E, H), MultiHeadAttention(E, H, G)
    state = full.state_dict()
    for name in ("key_proj.weight", "key_proj.bias", "value_proj.weight", "value_proj.bias"):
        state[name] = state[name].unflatten(0, (G, H // G, E // H)).mean(dim=1).flatten(0, 1)
    grouped.load_state_dict(state)
    X = 2 * randn(2, 5, E)
    case.add_layers(full).add("X", X, "B L E").add("output", grouped(X)[1], "B L E")
    case.add_linear("pooled.key_proj", grouped.key_proj)
    return case.add_linear("pooled.value_proj", grouped.value_proj)


def cases():
    return {
        "by_hand": by_hand(),
        "batch": batch(151),
        "two_groups": attention_case(Case(152), MultiHeadAttention(24, 6, 2), 2 * randn(3, 5, 24)),
        "multi_query": attention_case(Case(153), MultiHeadAttention(12, 4, 1), 2 * randn(3, 5, 12)),
        "multi_head": multi_head(154),
        "far_from_zero": attention_case(Case(155), MultiHeadAttention(12, 6, 3), 400 * randn(4, 5, 12)),
        "pooled": pooled(156),
        "wide_heads": attention_case(Case(157), MultiHeadAttention(24, 6, 2, 5), 2 * randn(4, 7, 24)),
    }
