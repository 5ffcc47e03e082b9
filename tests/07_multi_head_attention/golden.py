"""Lesson 07: multi-head attention with four separate projections."""

import math

import torch
from golden_helpers import Case, Embedding, MultiHeadAttention, chance, doubles, dropout_mask, randn, set_linear

# What most cases share, with H 3 and D 4.
torch.manual_seed(71)
X = 3 * randn(2, 5, 12)
LAYER = MultiHeadAttention(12, 3)


def attention_case(case, X, layer):
    return case.add("X", X, "B L E").add_layers(layer).add_attention(layer(X), axes="B H L L")


def by_hand():
    """Head 0 looks at the token itself, head 1 at the other one."""
    layer = MultiHeadAttention(4, 2)
    set_linear(layer.query_proj, torch.eye(4))
    set_linear(layer.key_proj, [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 2, 0]])
    set_linear(layer.value_proj, [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 2]])
    set_linear(layer.output_proj, [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]])
    return attention_case(Case(), doubles([[[1, 0, 0, 2], [0, 1, 2, 0]]]), layer)


def mask_case(seed, shape, axes, no_key=()):
    """About a third blocked, and never the token itself. `no_key` indexes a query that may attend to no key."""
    case, mask = Case(seed), ~chance(0.35, *shape) | torch.eye(5, dtype=torch.bool)
    if no_key:
        mask[no_key] = False
    return case.add("mask", mask, axes).add_attention(LAYER(X, mask=mask), axes="B H L L")


def dropout(seed, p):
    case, keep = Case(seed), dropout_mask(p, 2, 3, 5, 5)
    return case.add("keep", keep, "B H L L").add_attention(LAYER(X, keep=keep, p=p), axes="B H L L")


def wave(rows, columns, start):
    """Numbers without a pattern that the checks can compute too, so that a file need not hold them: sin(k²) for k =
    start + 1, start + 2, ..., row by row."""
    numbers = [math.sin(float(k * k)) for k in range(start + 1, start + 1 + rows * columns)]
    return doubles(numbers).view(rows, columns)


def notebook():
    """A notebook's layer at its own sizes: B 3, L 2, E 128, H 8, the same mask for all."""
    B, L, E, H = 3, 2, 128, 8
    layer = MultiHeadAttention(E, H)
    for number, proj in enumerate(layer.children(), start=1):
        proj.weight.data = wave(E, E, 20000 * number) / 8
        proj.bias.data = wave(1, E, 1000 * number)[0]
    mask = torch.tensor([[True, True], [True, False]]).expand(B, H, L, L)
    result = layer(wave(B * L, E, 0).view(B, L, E), mask=mask)
    return Case().add("mask", mask, "B H L L").add_attention(result, axes="B H L L")


def article(seed):
    """An article's layer over one sentence: five known words, an unknown one, padding up to ten tokens; no mask. The
    unknown word and the padding are both token 0, so that they get the same row of the embedding."""
    case, tokens = Case(seed), torch.tensor([[1, 2, 3, 0, 4, 5, 0, 0, 0, 0]])
    return attention_case(case, Embedding(6, 16)(tokens), MultiHeadAttention(16, 8))


def cases():
    return {
        "by_hand": by_hand(),
        "batch": attention_case(Case(71), X, LAYER),
        # these use the X and the layer of "batch"
        "mask_one": mask_case(72, (1, 5, 5), "1 L L"),
        "mask_batch": mask_case(73, (2, 5, 5), "B L L", (1, 2)),
        "mask_heads": mask_case(74, (2, 3, 5, 5), "B H L L", (0, 1, 4)),
        "dropout": dropout(75, 0.3),
        "far_from_zero": Case(71).add_attention(LAYER(100 * X), axes="B H L L"),
        # these have layers of their own
        "notebook": notebook(),
        "article": article(77),
    }
