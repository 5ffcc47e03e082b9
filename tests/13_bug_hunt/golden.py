"""Lesson 13: what the six files must give."""

import math

import torch
from golden_helpers import Case, attention, causal_mask, doubles, merge_heads, padding_mask, randn
from golden_helpers import self_attention_by_hand, self_attention_case, split_heads, three_projections


def self_attention(seed):
    """13.1 slow_training"""
    case, layers = Case(seed), three_projections(4, bias=True)
    return self_attention_case(case, 3 * randn(2, 5, 4), layers).without("weights")


def causal_case(case, Q, K):
    """13.2 sharp_weights"""
    weights = attention(Q, K, K, causal_mask(Q.shape[1], K.shape[1]))[0]
    return case.add("Q", Q, "N L D").add("K", K, "N S D").add("weights", weights, "N L S")


def scores_case(case, Q, K):
    """13.3 equal_weights"""
    scores = Q @ K.transpose(1, 2) / math.sqrt(Q.shape[2])
    return case.add("Q", Q, "N L D").add("K", K, "N S D").add("scores", scores, "N L S")


def cancelling(seed):
    """Products of about 1000 that nearly cancel: a float would show."""
    case, K = Case(seed), doubles([1, -1, 1, -1, 0]) + 0.01 * randn(2, 4, 5)
    return scores_case(case, 1000 + randn(2, 3, 5), K)


def cross_case(case, Q, K, V, H):
    """13.4 unequal_lengths"""
    case.add("Q", Q, "B L E").add("K", K, "B S E").add("V", V, "B S E")
    return case.add("output", merge_heads(attention(*(split_heads(X, H) for X in (Q, K, V)))[1]), "B L E")


def padded_case(case, Q, K, V, lengths):
    """13.5 nan_sentence"""
    case.add("Q", Q, "B L D").add("K", K, "B S D").add("V", V, "B S Dv").add("lengths", lengths, "B")
    mask = padding_mask(lengths, Q.shape[1], K.shape[1])
    return case.add("output", attention(Q, K, V, mask)[1], "B L Dv")


def nan_comes_in(seed):
    case, Q = Case(seed), randn(2, 3, 5)
    Q[0, 1, 2] = math.nan
    return padded_case(case, Q, randn(2, 4, 5), randn(2, 4, 6), [2, 0])


def merge_case(case, weights, V, H):
    """13.6 mixed_heads: weights and V have B·H slices."""
    weights, V = weights.unflatten(0, (-1, H)), V.unflatten(0, (-1, H))
    case.add("weights", weights, "B H L S").add("V", V, "B H S D")
    return case.add("output", merge_heads(weights @ V), "B L E")


def cases():
    cross = doubles([[[1, 2]]]), doubles([[[0, 1], [2, 0]]]), doubles([[[1, 0], [3, 4]]])
    padded = doubles([[[1]], [[2]]]), doubles([[[1], [3]], [[0], [1]]]), doubles([[[1, 2], [5, 0]], [[4, 4], [6, 8]]])
    sharp = doubles([[[2, 0, 0, 0], [1, 1, 1, 1]]]), doubles([[[1, 0, 0, 1], [1, 1, 1, 1]]])
    equal = doubles([[[1, 1, 1, 1], [1, -1, 2, 0]]]), doubles([[[0.6, 0.7, 0, 0], [0.5, 0.5, 0.5, 0.5]]])
    mixed = doubles([[[1, 0], [0, 1]], [[0.5, 0.5], [0, 1]]]), doubles([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    return {
        "self_attention_by_hand": self_attention_by_hand().without("weights"),
        "self_attention": self_attention(131),
        "causal_by_hand": causal_case(Case(), *sharp),
        "causal": causal_case(Case(132), randn(2, 3, 5), randn(2, 6, 5)),
        "wide": causal_case(Case(133), randn(1, 2, 64), randn(1, 3, 64)),
        "scores_by_hand": scores_case(Case(), *equal),
        "scores": scores_case(Case(134), 2 * randn(2, 3, 5), 2 * randn(2, 4, 5)),
        "cancelling": cancelling(140),
        "cross_by_hand": cross_case(Case(), *cross, 2),
        "more_keys": cross_case(Case(135), randn(2, 3, 6), randn(2, 5, 6), randn(2, 5, 6), 3),
        "fewer_keys": cross_case(Case(136), randn(2, 5, 6), randn(2, 4, 6), randn(2, 4, 6), 3),
        "padded_by_hand": padded_case(Case(), *padded, [1, 0]),
        "padded": padded_case(Case(137), randn(3, 2, 5), randn(3, 4, 5), randn(3, 4, 6), [3, 0, 0]),
        "nan_comes_in": nan_comes_in(138),
        "merge_by_hand": merge_case(Case(), *mixed, 2),
        "merge": merge_case(Case(139), torch.softmax(randn(6, 4, 5), dim=-1), randn(6, 5, 7), 3),
    }
