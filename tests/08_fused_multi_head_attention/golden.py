"""Lesson 08: many heads from one projection, and small Linears that become one."""

import torch
from golden_helpers import Case, Linear, MultiHeadAttention, attention, chance, doubles, dropout_mask, merge_heads
from golden_helpers import padding_mask, randn, set_linear, split_heads


def attention_case(case, X, H, qkv_proj, output_proj, mask=None, keep=None, p=0.0):
    """mask (B, 1 or H, L, S), keep (B, H, L, S)"""
    case.add("X", X, "B L E").add_linear("qkv_proj", qkv_proj).add_linear("output_proj", output_proj)
    if mask is not None:
        case.add("mask", *((mask[:, 0], "B L S") if mask.shape[1] == 1 else (mask, "B H L S")))
    if keep is not None:
        case.add("keep", keep, "B H L S")
    Q, K, V = (split_heads(part, H) for part in qkv_proj(X).chunk(3, dim=-1))
    weights, context = attention(Q, K, V, mask, keep, p)
    return case.add_attention((weights, output_proj(merge_heads(context))))


def by_hand():
    qkv_weight = [
        [1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 2],
        [0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0],
        [1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0],
        [0, 0, 1, 1, 1, 0, 0, 0, 2, 0, 0, 1],
    ]
    qkv_proj = set_linear(Linear(4, 12), qkv_weight, [0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, -1])
    output_weight = [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]
    output_proj = set_linear(Linear(4, 4), output_weight, [0, 0, 1, 0])
    case = attention_case(Case(), doubles([[[1, 0, 1, 0], [0, 2, 0, 1]]]), 2, qkv_proj, output_proj)
    return case.only("weights", "output")


def layers(E):
    return Linear(E, 3 * E), Linear(E, E)


def dropout(seed, masked=False):
    case, X, two, p = Case(seed), 2 * randn(3, 5, 8), layers(8), 0.4
    keep, mask = dropout_mask(p, 3, 2, 5, 5), None
    if masked:
        mask = chance(0.6, 3, 1, 5, 5)
        mask[1, 0, 3] = False  # a query that may attend to no key
    return attention_case(case, X, 2, *two, mask, keep, p)


def fuse(seed):
    """Four layers E -> E, and the projection (in x out) that does what the first three do."""
    case, layer, X = Case(seed), MultiHeadAttention(6, 2), 2 * randn(3, 5, 6)
    weights, biases = zip(*((proj.weight, proj.bias) for proj in list(layer.children())[:3]))
    case.add_layers(layer).add("X", X, "B L E").add_attention(layer(X))
    return case.add("fused_weight", torch.cat(weights).T, "E 3E").add("fused_bias", torch.cat(biases), "3E")


def join(seed, *widths):
    """Layers that read the same input, and the one layer that gives their results side by side."""
    case, several, x = Case(seed), [Linear(4, width) for width in widths], randn(2, 3, 4)
    for i, layer in enumerate(several):
        case.add_linear(f"layer{i}", layer)
    case.add("x", x, "B L in").add("output", torch.cat([layer(x) for layer in several], dim=-1), "B L out")
    case.add("weight", torch.cat([layer.weight for layer in several]).T, "in out")
    return case.add("bias", torch.cat([layer.bias for layer in several]), "out")


def compose(seed, *widths):
    """Two layers one after the other, and the one layer that does what they do."""
    case, first, second = Case(seed), Linear(*widths[:2]), Linear(*widths[1:])
    x = randn(2, 3, widths[0])
    case.add_linear("first", first).add_linear("second", second)
    case.add("x", x, "B L in").add("output", second(first(x)), "B L out")
    case.add("weight", first.weight.T @ second.weight.T, "in out")
    return case.add("bias", first.bias @ second.weight.T + second.bias, "out")


def article(seed):
    """Document C: queries, keys and values come from three layers E -> E; on each, H small layers E -> D make the
    heads, which are stacked. Four tokens, eight heads."""
    H, E, L = 8, 16, 4
    case, X = Case(seed), 2 * randn(L, E)
    firsts, smalls = ([Linear(E, width) for _ in range(count)] for width, count in ((E, 3), (E // H, 3 * H)))
    for i, layer in enumerate(firsts):
        case.add_linear(f"first{i}", layer)
    for i, layer in enumerate(smalls):
        case.add_linear(f"small{i}", layer)
    output_proj = Linear(E, E)
    case.add("X", X[None], "B L E").add_linear("output_proj", output_proj)
    parts = [torch.stack([small(first(X)) for small in smalls[i * H :][:H]]) for i, first in enumerate(firsts)]
    weights, context = attention(*parts)  # (H, L, L), (H, L, D)
    return case.add_attention((weights[None], output_proj(merge_heads(context[None]))))


def cases():
    # The mask of document B: a row of ones and zeros for each sequence, the same for all heads and queries. The second
    # sequence may attend to no key.
    rows = torch.tensor([[False, True], [False, False], [True, False]])[:, None, None, :].expand(3, 4, 2, 2)
    padding = padding_mask([3, 5, 2], 5, 5)[:, None]
    return {
        "by_hand": by_hand(),
        "batch": attention_case(Case(81), 2 * randn(3, 5, 8), 2, *layers(8)),
        "notebook": attention_case(Case(82), torch.rand(3, 2, 8).round(decimals=3), 4, *layers(8), mask=rows),
        "padding": attention_case(Case(83), 2 * randn(3, 5, 8), 2, *layers(8), mask=padding),
        "dropout": dropout(84),
        "far_from_zero": attention_case(Case(85), 200 * randn(3, 5, 4), 2, *layers(4)).without("weights"),
        "join": join(86, 2, 5, 1),
        "join_two": join(87, 3, 3).without("x", "output"),
        "fuse": fuse(88),
        "compose": compose(89, 4, 3, 5),
        "compose_square": compose(90, 4, 4, 4),
        "article": article(91),
        "masked_dropout": dropout(92, masked=True),
    }
