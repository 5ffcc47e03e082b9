"""Lesson 28: the backward pass of flash attention. Inputs are float32 numbers, everything is computed from them in float64,
by autograd over whole rows.
"""

import math

import torch
from golden_helpers import INF, Case, doubles, float32_randn, safe_softmax


def as_float(tensor):
    """Rounded to float32, as the lesson gets it, and widened."""
    return tensor.float().double()


def visible_mask(L, S, key_lengths, causal):
    """(B, 1, L, S): the keys j with j <= i + S - L and j < the length of the sequence."""
    i, j = torch.arange(L).unsqueeze(1), torch.arange(S)
    allowed = j < torch.as_tensor(key_lengths).reshape(-1, 1, 1, 1)
    return allowed & (j <= i + S - L) if causal else allowed.expand(-1, -1, L, -1)


def forward_of(Q, K, V, mask):
    """Scores, weights, output and log-sum-exp."""
    scores = (Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])).masked_fill(~mask, -INF)
    weights = safe_softmax(scores)
    return scores, weights, weights @ V, torch.logsumexp(scores, dim=-1)


def dots_case(case, Q, K, V, d_output):
    """delta by its other formula: the sum of weights times their gradients."""
    mask = torch.ones(Q.shape[-2], K.shape[-2], dtype=torch.bool)
    weights, output = forward_of(Q, K, V, mask)[1:3]
    case.add("d_output", d_output, "N L Dv").add("output", output, "N L Dv")
    return case.add("delta", (weights * (d_output @ V.transpose(-1, -2))).sum(dim=-1).T, "L N")


def tile_case(case, Q, K, V, d_output, seen_keys, first, last):
    """Keys first to last - 1 of all are the tile. Query i sees the first seen_keys[i] of all keys."""
    seen_keys = torch.tensor(seen_keys)
    mask = torch.arange(len(K)) < seen_keys.unsqueeze(1)
    leaves = [x.clone().requires_grad_() for x in (K, V)]
    weights, output, log_sum_exp = forward_of(Q, *leaves, mask)[1:]
    delta = (d_output * output).sum(dim=-1).detach()
    d_K, d_V = (gradient[first:last] for gradient in torch.autograd.grad(output, leaves, d_output))
    # The tile's share of d_Q: through its own scores alone.
    q = Q.clone().requires_grad_()
    tile = slice(first, last)
    through = torch.cat((Q @ K[:first].T, q @ K[tile].T, Q @ K[last:].T), dim=1) / math.sqrt(Q.shape[1])
    d_Q = torch.autograd.grad(safe_softmax(through.masked_fill(~mask, -INF)) @ V, q, d_output)[0]
    case.add("Q", Q, "Lb D").add("K", K[tile], "Sb D").add("V", V[tile], "Sb Dv").add("d_output", d_output, "Lb Dv")
    case.add("visible", (seen_keys - first).clamp(min=0), "Lb")
    case.add("log_sum_exp", as_float(log_sum_exp), "Lb").add("delta", as_float(delta), "Lb")
    case.add("weights", weights[:, tile], "Lb Sb")
    return case.add("d_Q", d_Q, "Lb D").add("d_K", d_K, "Sb D").add("d_V", d_V, "Sb Dv")


def random_tile(seen_keys, first, last):
    case = Case(280)
    Q, K, V, d_output = (
        float32_randn(1.2, 4, 3),
        float32_randn(1.2, 9, 3),
        float32_randn(1, 9, 2),
        float32_randn(1, 4, 2),
    )
    return tile_case(case, Q, K, V, d_output, seen_keys, first, last)


def flash_case(case, Q, K, V, d_output, blocks, causal=False, key_lengths=None):
    """Q (B H L D), K (B G S D), V (B G S Dv), d_output (B H L Dv)"""
    case.add("Q", Q, "B H L D").add("K", K, "B G S D").add("V", V, "B G S Dv").add("blocks", blocks, "2")
    case.add("d_output", d_output, "B H L Dv")
    if key_lengths is not None:
        case.add("key_lengths", key_lengths, "B")
    (H, L), (G, S) = Q.shape[1:3], K.shape[1:3]
    mask = visible_mask(L, S, S if key_lengths is None else key_lengths, causal)
    leaves = [x.clone().requires_grad_() for x in (Q, K, V)]
    q, k, v = leaves
    k, v = (x.repeat_interleave(H // G, dim=1) for x in (k, v))
    output, log_sum_exp = forward_of(q, k, v, mask)[2:]
    gradients = torch.autograd.grad(output, leaves, d_output)
    case.add("output", as_float(output), "B H L Dv").add("log_sum_exp", as_float(log_sum_exp).reshape(-1, L).T, "L H·B")
    for name, gradient, axes in zip(("d_Q", "d_K", "d_V"), gradients, ("B H L D", "B G S D", "B G S Dv")):
        case.add(name, gradient, axes)
    return case


def random_case(seed, sizes, blocks, causal=False, key_lengths=None):
    B, H, G, L, S, D, Dv = sizes
    case = Case(seed)
    Q, K, V, d_output = (
        float32_randn(1.2, B, H, L, D),
        float32_randn(1.2, B, G, S, D),
        float32_randn(1, B, G, S, Dv),
        float32_randn(1, B, H, L, Dv),
    )
    return flash_case(case, Q, K, V, d_output, blocks, causal, key_lengths)


def far_case(seed, score):
    """Q K^T / sqrt(D) near this score for every other query; the rest have ordinary scores."""
    B, H, L, S, D, Dv = 2, 2, 5, 7, 4, 3
    case = Case(seed)
    Q, K, V, d_output = (
        float32_randn(1, B, H, L, D),
        float32_randn(1, B, H, S, D),
        float32_randn(1, B, H, S, Dv),
        float32_randn(1, B, H, L, Dv),
    )
    Q[..., 0] = 16.0
    Q[..., 1::2, 0] = 0.0
    K[..., 0] = score / 8
    return flash_case(case, Q, K, V, d_output, (2, 3))


def cost_case(L, S, D, key_block):
    """A row of six numbers, each counted as the sum of its parts: FLOPs, bytes moved, bytes kept; untiled, tiled."""
    product, key_blocks = 2 * L * S * D, math.ceil(S / key_block)
    untiled = (S * D + L * S + L * D) + (L * S + L * D + S * D)  # d_V from weights and d_output; d_weights from both
    untiled += 3 * L * S  # d_scores from weights and d_weights
    untiled += (L * S + S * D + L * D) + (L * S + L * D + S * D)  # d_Q, d_K
    tiled = 2 * L * D + 2 * S * D + 2 * S * D + key_blocks * (L * D + L * D + 2 * L * D)
    kept = L * D + 2 * S * D
    cost = [4 * product, 5 * product, 4 * untiled, 4 * tiled, 4 * (kept + L * S), 4 * (kept + L * D + L)]
    return Case().add("sizes", [L, S, D, key_block], "4").add("cost", cost, "6")


# Scores that are multiples of log 2: weights 1/2, 1/4, 1/4 and 1/8, 1/8, 1/4, 1/2. Query 0 may not attend to key 3.
LOG_2 = torch.tensor(math.log(2), dtype=torch.float32).double()
BY_HAND = (
    LOG_2 * doubles([[1, 0, -1, 5], [0, 0, 1, 2]]),
    2 * doubles([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]]),
    doubles([[1, 0], [0, 2], [4, 0], [2, 2]]),
    doubles([[1, 1], [2, 0]]),
)


def cases():
    causal_by_hand = flash_case(Case(), *(x[None, None] for x in BY_HAND), (2, 2), causal=True)
    torch.manual_seed(281)
    dots = (float32_randn(1, 3, 4, 2), float32_randn(1, 3, 6, 2), float32_randn(1, 3, 6, 5), float32_randn(1, 3, 4, 5))
    return {
        "dots": dots_case(Case(281), *dots),
        "tile_0_by_hand": tile_case(Case(), *BY_HAND, [3, 4], 0, 2),
        "tile_1_by_hand": tile_case(Case(), *BY_HAND, [3, 4], 2, 4),
        "by_hand": causal_by_hand,
        "tile": random_tile([9] * 4, 3, 8),
        # Query 1 sees no key at all, query 2 none of this tile, query 0 its first two.
        "tile_partly_visible": random_tile([5, 0, 2, 9], 3, 8),
        # seed, (B, H, G, L, S, D, Dv)
        "attention": random_case(282, (2, 3, 3, 5, 8, 4, 3), (2, 3)),
        "causal": random_case(283, (2, 3, 3, 5, 8, 4, 3), (2, 3), True),
        "causal_more_queries": random_case(284, (2, 3, 3, 8, 5, 4, 3), (3, 2), True),
        "padded": random_case(285, (3, 2, 2, 4, 8, 5, 3), (3, 2), False, [5, 0, 7]),
        "causal_padded": random_case(286, (3, 2, 2, 5, 8, 4, 3), (2, 3), True, [7, 2, 0]),
        "grouped": random_case(287, (2, 4, 2, 5, 7, 6, 3), (3, 2)),
        "grouped_causal_padded": random_case(288, (2, 6, 2, 5, 7, 3, 4), (2, 3), True, [6, 3]),
        "far_above": far_case(289, 80.0),
        "far_below": far_case(290, -80.0),
        "cost_by_hand": cost_case(5, 7, 4, 3),
        "cost": cost_case(4096, 2048, 64, 128),
        "cost_decode": cost_case(1, 4096, 128, 64),
        "cost_uneven": cost_case(777, 1000, 48, 96),
    }
