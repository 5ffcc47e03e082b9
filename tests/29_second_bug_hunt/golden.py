"""Lesson 29: what the six files must give, each computed in one piece, without a cache, chunks, blocks or tiles."""

import torch
from golden_helpers import Case, attention, causal_mask, doubles, qkv_case, randn


def half_split(X):
    """Rotary positions 0, 1, ... of (N, L, D), as in GPT-NeoX and Hugging Face's Llama."""
    L, D = X.shape[1:]
    speeds = 10000.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    angles = torch.outer(torch.arange(L, dtype=torch.float64), speeds).repeat(1, 2)
    low, high = X.chunk(2, dim=-1)
    return X * torch.cos(angles) + torch.cat((-high, low), dim=-1) * torch.sin(angles)


def chat_case(case, Q, K, V):
    """29.1 second_turn"""
    case.add("Q", Q, "N L D").add("K", K, "N L D").add("V", V, "N L D")
    output = attention(half_split(Q), half_split(K), V, causal_mask(Q.shape[1]))[1]
    return case.add("output", output, "N L D")


def grouped_case(case, Q, K, V):
    """29.2 converted_checkpoint: Q (B, H, L, D), K and V (B, G, S, D)"""
    case.add("Q", Q, "B H L D").add("K", K, "B G S D").add("V", V, "B G S D")
    K, V = (X.repeat_interleave(Q.shape[1] // K.shape[1], dim=1) for X in (K, V))
    return case.add("output", attention(Q, K, V)[1], "B H L D")


def step_case(case, lengths, keys, values, q, k, v):
    """29.3 short_sentences: each sentence alone, without padding. keys and values (B, H, capacity, D)"""
    case.add("keys", keys, "B H capacity D").add("values", values, "B H capacity D").add("lengths", lengths, "B")
    case.add("q", q, "B H one D").add("k", k, "B H one D").add("v", v, "B H one D")
    alone = []
    for b, length in enumerate(lengths):
        K, V = (torch.cat((old[b, :, :length], new[b]), dim=1) for old, new in ((keys, k), (values, v)))
        alone.append(attention(q[b], K, V)[1])
    return case.add("output", torch.stack(alone), "B H one D")


def random_step(seed, lengths, H, D, capacity):
    """One row after the next token of each sentence holds what another batch left there; the others are zeros."""
    case, B = Case(seed), len(lengths)
    stored, new = randn(2, B, H, capacity, D), 2 * randn(3, B, H, 1, D)
    for b, length in enumerate(lengths):
        stored[:, b, :, length + 2 :] = 0
    return step_case(case, lengths, *stored, *new)


def window_case(case, window, Q, K, V):
    """29.4 long_text"""
    visible = causal_mask(Q.shape[1], K.shape[1])
    too_old = causal_mask(Q.shape[1], K.shape[1]).roll(-window, dims=1)
    too_old[:, -window:] = False
    case.add("Q", Q, "N L D").add("K", K, "N S D").add("V", V, "N S Dv")
    return case.add("output", attention(Q, K, V, visible & ~too_old)[1], "N L Dv")


def causal_case(case, Q, K, V):
    """29.6 cached_prefix"""
    case.add("Q", Q, "N L D").add("K", K, "N S D").add("V", V, "N S Dv")
    return case.add("output", attention(Q, K, V, causal_mask(Q.shape[1], K.shape[1]))[1], "N L Dv")


def column(*numbers):
    """One slice, one column."""
    return doubles(numbers)[None, :, None]


def cases():
    same = doubles([[[2, 0], [2, 0], [2, 0]]])
    heads = (
        doubles([[[[1]], [[2]], [[1]], [[2]]]]),
        doubles([[[[1], [1]], [[0], [1]]]]),
        doubles([[[[1], [3]], [[10], [30]]]]),
    )
    stored = doubles([[[[1], [0], [0]]], [[[0], [1], [0]]]]), doubles([[[[6], [0], [0]]], [[[2], [4], [0]]]])
    new = doubles([[[[1]]], [[[1]]]]), doubles([[[[0]]], [[[2]]]]), doubles([[[[2]]], [[[8]]]])
    return {
        "chat_by_hand": chat_case(Case(), same, same, doubles([[[1, 0], [0, 1], [0, 0]]])),
        "chat": chat_case(Case(291), 2 * randn(3, 7, 4), 2 * randn(3, 7, 4), randn(3, 7, 4)),
        "heads_by_hand": grouped_case(Case(), *heads),
        "two_groups": grouped_case(Case(292), 2 * randn(2, 6, 3, 4), 2 * randn(2, 2, 5, 4), randn(2, 2, 5, 4)),
        "three_groups": grouped_case(Case(293), 2 * randn(2, 6, 3, 4), 2 * randn(2, 3, 5, 4), randn(2, 3, 5, 4)),
        "step_by_hand": step_case(Case(), [1, 2], *stored, *new),
        "step": random_step(294, [1, 5, 3, 0], 2, 3, 7),
        "window_by_hand": window_case(Case(), 2, column(1, 2, 1), column(2, 0, 1, 0, 2), column(16, 8, 4, 2, 1)),
        "window": window_case(Case(295), 5, 2 * randn(2, 7, 4), 2 * randn(2, 11, 4), randn(2, 11, 6)),
        "blocks_by_hand": qkv_case(Case(), column(1), column(0, 1, 2), column(6, 3, 0)),
        "blocks": qkv_case(Case(296), 2 * randn(2, 3, 5), 2 * randn(2, 8, 5), randn(2, 8, 6)),
        "tiles_by_hand": causal_case(Case(), column(1, 1, 1), column(0, 1, 2, 0), column(1, 2, 4, 8)),
        "tiles": causal_case(Case(297), 2 * randn(2, 6, 4), 2 * randn(2, 8, 4), randn(2, 8, 5)),
    }
