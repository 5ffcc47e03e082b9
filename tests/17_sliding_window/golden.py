"""Lesson 17: the sliding window and its sinks, as a mask and as attention."""

import torch
from golden_helpers import Case, doubles, qkv_case, random_attention


def window_mask(L, S, window, sinks=0):
    """(L, S), for queries that are the last L of S tokens: the newest keys of the past, and the first ones."""
    i, j = torch.arange(L).unsqueeze(1) + S - L, torch.arange(S)
    return (j <= i) & ((j > i - window) | (j < sinks))


def mask_case(*sizes):
    """`listed` is how often each key is in the list of a query, `mask` is 1 where it is."""
    mask = window_mask(*sizes)[None]
    return Case().add("listed", mask, "1 L S").add("mask", mask, "1 L S")


def attention_case(case, Q, K, V, window, sinks=0):
    mask = window_mask(Q.shape[1], K.shape[1], window, sinks)
    return qkv_case(case, Q, K, V, mask[None]).without("mask")


def by_hand():
    Q = doubles([[[2, 0, 2, 0], [0, 2, 0, 1], [2, 2, 0, 0]]])
    K = [[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 2], [2, 0, 0, 1], [0, 0, 1, 2], [1, 0, 0, 1], [0, 1, 2, 0]]
    V = [[4, 0], [0, 2], [1, 1], [0, 4], [2, 0], [3, 1], [0, 3]]
    return attention_case(Case(), Q, doubles([K]), doubles([V]), 3, 2).only("output")


def cases():
    return {
        "mask_by_hand": mask_case(3, 7, 3, 2),
        "mask_square": mask_case(9, 9, 4, 2),
        "mask_more_keys": mask_case(6, 11, 3, 2),
        "mask_without_sinks": mask_case(5, 8, 3),
        "mask_more_queries": mask_case(7, 4, 2, 1),
        "by_hand": by_hand(),
        "square": attention_case(Case(171), *random_attention(3, 9, 9, 4, 2), 4, 2),
        "more_keys": attention_case(Case(172), *random_attention(2, 6, 11, 3, 4), 3, 2),
        "without_sinks": attention_case(Case(173), *random_attention(2, 5, 8, 4, 6), 3),
        "more_queries": attention_case(Case(174), *random_attention(2, 7, 4, 3, 5), 2, 1),
        "far_from_zero": attention_case(Case(175), *random_attention(2, 5, 7, 3, 4, spread=40), 3, 1),
    }
