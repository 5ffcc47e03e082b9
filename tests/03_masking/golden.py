"""Lesson 03: masks, what a fully masked row becomes, and attention under a mask."""

import torch
from golden_helpers import INF, Case, causal_mask, chance, doubles, padding_mask, qkv_case, randn, random_attention
from golden_helpers import safe_softmax


def random_mask(*shape):
    """No row and no column of a slice is all True or all False."""
    while True:
        mask = chance(0.6, *shape)
        lines = (mask.double().mean(dim=-1), mask.double().mean(dim=-2))
        if all(((line > 0) & (line < 1)).all() for line in lines):
            return mask


def fill_case(case, scores, mask, value):
    blocked = (mask == 0).repeat_interleave(len(scores) // len(mask), dim=0)
    case.add("scores", scores, "N L S").add("mask", mask, "M L S")
    return case.add("filled", scores.masked_fill(blocked, value), "N L S")


def fill_any_number(seed):
    case, numbers = Case(seed), random_mask(2, 4, 5).double()
    numbers[0, 1] *= 2
    numbers[1, 3] *= 7
    return fill_case(case, randn(2, 4, 5), numbers, -INF)


def padding_case(lengths, L, S):
    return Case().add("lengths", lengths, "B").add("mask", padding_mask(lengths, L, S), "B L S")


def combine_case(case, a, b):
    return case.add("a", a, "M L S").add("b", b, "M L S").add("mask", (a != 0) & (b != 0), "M L S")


def softmax(seed):
    case, scores = Case(seed), 2 * randn(2, 4, 5)
    scores[0, 1] = scores[0, 2, :3] = scores[1, 0, 4] = scores[1, 3] = -INF
    return case.add("scores", scores, "N L S").add("weights", safe_softmax(scores), "N L S")


def softmax_far_from_zero(seed):
    case, scores = Case(seed), 300 * randn(2, 5, 4)
    scores[0, 0, 1:] = scores[1, 1] = -INF
    scores[0, 2] = doubles([-1000.0, -INF, -1001.0, -2000.0])
    scores[0, 3] = -1e20  # very low, but not blocked
    scores[1, 2] = doubles([-INF, 2000.0, 1999.0, -INF])
    scores[1, 4] = doubles([-1e5, -1e5 - 1, -INF, -1e5 - 2])
    return case.add("scores", scores, "N L S").add("weights", safe_softmax(scores), "N L S")


def fully_masked(seed):
    """One query that may attend to no key, and what three habits make of its weights and its output."""
    case, scores, V = Case(seed), 2 * randn(2, 3, 4), randn(2, 4, 5)
    mask = torch.ones(2, 3, 4, dtype=torch.bool)
    mask[0, :, 2:] = mask[1, 1, :] = False
    case.add("scores", scores, "B L S").add("V", V, "B S Dv").add("mask", mask, "B L S")
    for name, value in (("_minus_1e20", -1e20), ("_minus_1e9", -1e9), ("", -INF)):
        weights = safe_softmax(scores.masked_fill(~mask, value))
        case.add("weights" + name, weights, "B L S").add("output" + name, weights @ V, "B L Dv")
    return case.add("weights_added", torch.softmax(scores + (~mask) * -1e9, dim=-1), "B L S")


def by_hand():
    """K so that Q K^T / sqrt(D) is the first three columns of Q."""
    Q, K, V = doubles([[[2, 1, 3, 0], [0, 1, 5, 0]]]), 2 * torch.eye(3, 4)[None], doubles([[[1, 0], [0, 2], [4, 4]]])
    return qkv_case(Case(), Q, K, V, doubles([[[1, 1, 0], [0, 0, 0]]]) != 0)


def with_fully_masked_rows(seed):
    case, tensors, mask = Case(seed), random_attention(2, 4, 5, 3, 6), random_mask(2, 4, 5)
    mask[0, 2] = mask[1, 0] = False
    return qkv_case(case, *tensors, mask)


def cases():
    padding_and_causal = padding_mask([5, 3], 4, 5) & causal_mask(4, 5)
    return {
        "fill_shared": fill_case(Case(31), randn(3, 4, 5), random_mask(1, 4, 5), -7.0),
        "fill_heads": fill_case(Case(32), randn(6, 3, 4), random_mask(2, 3, 4), -INF),  # B = 2, H = 3
        "fill_each": fill_case(Case(33), randn(3, 4, 5), random_mask(3, 4, 5), -1e9),
        "fill_any_number": fill_any_number(34),
        "padding": padding_case([3, 5, 1], 4, 6),
        "padding_empty_sequence": padding_case([2, 0], 3, 4),
        "causal_square": Case().add("mask", causal_mask(4)[None], "1 L S"),
        "causal_more_keys": Case().add("mask", causal_mask(3, 5)[None], "1 L S"),
        "causal_more_queries": Case().add("mask", causal_mask(5, 3)[None], "1 L S"),
        "combine": combine_case(Case(35), random_mask(2, 4, 5), random_mask(2, 4, 5)),
        "combine_shared_b": combine_case(Case(36), random_mask(3, 4, 5), random_mask(1, 4, 5)),
        "combine_shared_a": combine_case(Case(37), random_mask(1, 4, 5), random_mask(3, 4, 5)),
        "combine_any_number": combine_case(Case(38), 2 * random_mask(2, 4, 5), random_mask(2, 4, 5)),
        "softmax": softmax(39),
        "softmax_far_from_zero": softmax_far_from_zero(40),
        "fully_masked": fully_masked(41),
        "by_hand": by_hand(),
        "unmasked": qkv_case(Case(42), *random_attention(2, 4, 5, 3, 6)),
        "shared": qkv_case(Case(43), *random_attention(2, 4, 5, 3, 6), random_mask(1, 4, 5)),
        "heads": qkv_case(Case(44), *random_attention(6, 4, 5, 3, 2), random_mask(2, 4, 5)),  # B = 2, H = 3
        "with_fully_masked_rows": with_fully_masked_rows(45),
        "far_from_zero": qkv_case(Case(46), *random_attention(2, 4, 5, 3, 6, 40), random_mask(2, 4, 5)),
        # B = 2 sequences with 5 and 3 real keys, H = 3 heads. The 4 queries are the last ones of the sequence.
        "padding_and_causal": qkv_case(Case(47), *random_attention(6, 4, 5, 3, 2), padding_and_causal),
    }
