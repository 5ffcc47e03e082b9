"""Lesson 08: many heads from one projection, and small Linears that become one."""

import torch
from golden_helpers import (
    Case,
    MultiHeadAttention,
    attention,
    chance,
    doubles,
    dropout_mask,
    merge_heads,
    padding_mask,
    set_linear,
    split_heads,
)
from torch import nn


def attention_case(case, X, H, qkv_proj, output_proj, mask=None, keep=None, p=0.0):
    case.add("X", X, "B L E").add_linear("qkv_proj", qkv_proj).add_linear("output_proj", output_proj)
    if mask is not None:
        case.add("mask", mask, "B H L S" if mask.dim() == 4 else "B L S")
        mask = mask if mask.dim() == 4 else mask[:, None]
    if keep is not None:
        case.add("keep", keep, "B H L S")
    Q, K, V = (split_heads(part, H) for part in qkv_proj(X).chunk(3, dim=-1))
    weights, context = attention(Q, K, V, mask, keep, p)
    return case.add("weights", weights, "B H L S").add("output", output_proj(merge_heads(context)), "B L E")


def by_hand():
    qkv_weight = [
        [1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 2],
        [0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0],
        [1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0],
        [0, 0, 1, 1, 1, 0, 0, 0, 2, 0, 0, 1],
    ]
    qkv_proj = set_linear(nn.Linear(4, 12), qkv_weight, [0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, -1])
    output_weight = [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]
    output_proj = set_linear(nn.Linear(4, 4), output_weight, [0, 0, 1, 0])
    case = attention_case(Case(), doubles([[[1, 0, 1, 0], [0, 2, 0, 1]]]), 2, qkv_proj, output_proj)
    return case.only("weights", "output")


def layers(E):
    return nn.Linear(E, 3 * E), nn.Linear(E, E)


def notebook(seed):
    """The mask of document B: a row of ones and zeros for each sequence, the same for all heads and queries. The second
    sequence may attend to no key."""
    mask = torch.tensor([[False, True], [False, False], [True, False]])[:, None, None, :].expand(3, 4, 2, 2)
    return attention_case(Case(seed), torch.rand(3, 2, 8), 4, *layers(8), mask=mask)


def dropout(seed, masked=False):
    case, X, two, p = Case(seed), 2 * torch.randn(3, 5, 8), layers(8), 0.4
    keep, mask = dropout_mask(p, 3, 2, 5, 5), None
    if masked:
        mask = chance(0.6, 3, 5, 5)
        mask[1, 3] = False  # a query that may attend to no key
    return attention_case(case, X, 2, *two, mask, keep, p)


def fuse(seed):
    """Four layers E -> E, and the projection (in x out) that does what the first three do."""
    case, layer, X = Case(seed), MultiHeadAttention(6, 2), 2 * torch.randn(3, 5, 6)
    three = (layer.query_proj, layer.key_proj, layer.value_proj)
    case.add_layers(layer).add("X", X, "B L E")
    case.add("fused_weight", torch.cat([proj.weight for proj in three]).T, "E 3E")
    case.add("fused_bias", torch.cat([proj.bias for proj in three]), "3E")
    weights, output = layer(X)
    return case.add("weights", weights, "B H L S").add("output", output, "B L E")


def join(seed, *widths):
    """Layers that read the same input, and the one layer that gives their results side by side."""
    case, several = Case(seed), [nn.Linear(4, width) for width in widths]
    for i, layer in enumerate(several):
        case.add_linear(f"layer{i}", layer)
    x = torch.randn(2, 3, 4)
    case.add("x", x, "B L in").add("output", torch.cat([layer(x) for layer in several], dim=-1), "B L out")
    case.add("weight", torch.cat([layer.weight for layer in several]).T, "in out")
    return case.add("bias", torch.cat([layer.bias for layer in several]), "out")


def compose(seed, *widths):
    """Two layers one after the other, and the one layer that does what they do."""
    case, first, second = Case(seed), nn.Linear(*widths[:2]), nn.Linear(*widths[1:])
    x = torch.randn(2, 3, widths[0])
    case.add_linear("first", first).add_linear("second", second)
    case.add("x", x, "B L in").add("output", second(first(x)), "B L out")
    case.add("weight", first.weight.T @ second.weight.T, "in out")
    return case.add("bias", first.bias @ second.weight.T + second.bias, "out")


def article(seed):
    """Document C: queries, keys and values come from three layers E -> E; on each, H small layers E -> D make the
    heads, which are stacked. Four tokens, eight heads."""
    H, E, L = 8, 16, 4
    case, X = Case(seed), 2 * torch.randn(L, E)
    firsts = [nn.Linear(E, E) for _ in range(3)]
    smalls = [nn.Linear(E, E // H) for _ in range(3 * H)]
    output_proj = nn.Linear(E, E)
    case.add("X", X[None], "B L E").add_linear("output_proj", output_proj)
    for kind, several in (("first", firsts), ("small", smalls)):
        for i, layer in enumerate(several):
            case.add_linear(f"{kind}{i}", layer)
    Q, K, V = (torch.stack([small(first(X)) for small in smalls[i * H : (i + 1) * H]]) for i, first in enumerate(firsts))
    weights, context = attention(Q, K, V)  # (H, L, L), (H, L, D)
    output = output_proj(merge_heads(context[None]))
    return case.add("weights", weights[None], "B H L S").add("output", output, "B L E")


def cases():
    padding = padding_mask([3, 5, 2], 5, 5)
    return {
        "by_hand": by_hand(),
        "batch": attention_case(Case(81), 2 * torch.randn(3, 5, 8), 2, *layers(8)),
        "notebook": notebook(82),
        "padding": attention_case(Case(83), 2 * torch.randn(3, 5, 8), 2, *layers(8), mask=padding),
        "dropout": dropout(84),
        "far_from_zero": attention_case(Case(85), 200 * torch.randn(3, 5, 4), 2, *layers(4)).without("weights"),
        "join": join(86, 2, 5, 1),
        "join_two": join(87, 3, 3).without("x", "output"),
        "fuse": fuse(88),
        "compose": compose(89, 4, 3, 5),
        "compose_square": compose(90, 4, 4, 4),
        "article": article(91),
        "masked_dropout": dropout(92, masked=True),
    }
