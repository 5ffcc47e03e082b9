"""Lesson 19: flash attention. Inputs are float32 numbers, everything is computed from them in float64, by the
definition over whole rows.
"""

import math

import torch
from golden_helpers import INF, Case, doubles, float32_randn, part_of, safe_softmax


def cost_case(L, S, D, query_block):
    """A row (flops, untiled bytes, tiled bytes), each counted as the sum of its parts."""
    flops = 2 * (L * D * S + L * S * D)  # Q K^T, and the weights times V
    untiled = 4 * (2 * L * D + 2 * S * D + 4 * L * S)
    tiled = 4 * (2 * L * D + math.ceil(L / query_block) * 2 * S * D)
    return Case().add("sizes", [L, S, D, query_block], "4").add("cost", [flops, untiled, tiled], "3")


def visible_mask(L, S, key_lengths, causal):
    """(B, 1, L, S): the keys j with j <= i + S - L and j < the length of the sequence."""
    i, j = torch.arange(L).unsqueeze(1), torch.arange(S)
    allowed = j < torch.as_tensor(key_lengths).reshape(-1, 1, 1, 1)
    return allowed & (j <= i + S - L) if causal else allowed.expand(-1, -1, L, -1)


def visible_case(L, S, key_length, causal):
    counts = visible_mask(L, S, key_length, causal)[0, 0].sum(dim=-1)
    return Case().add("sizes", [L, S, key_length, int(causal)], "4").add("visible", counts, "L")


def seen_part(Q, K, V, seen_keys):
    """Query i sees the first seen_keys[i] keys."""
    scores = Q @ K.T / math.sqrt(Q.shape[1])
    return part_of(scores.masked_fill(torch.arange(len(K)) >= seen_keys.unsqueeze(1), -INF), V)


def block_case(case, Q, K, V, seen_keys, cut):
    """The keys before `cut` were seen (none: nothing was); the others are the block. seen_keys counts them all."""
    seen_keys = torch.tensor(seen_keys)
    before = torch.tensor([0.0] * V.shape[1] + [-INF, 0.0]).expand(len(Q), -1)
    if cut > 0:
        before = seen_part(Q, K[:cut], V[:cut], seen_keys)
    case.add("Q", Q, "Lb D").add("K", K[cut:], "Sb D").add("V", V[cut:], "Sb Dv")
    case.add("visible", (seen_keys - cut).clamp(min=0), "Lb")
    case.add("seen", before.float().double(), "Lb Dv+2")  # float32, as the lesson gets it
    return case.add("after", seen_part(Q, K, V, seen_keys), "Lb Dv+2")


def random_block(K_rows, seen_keys, cut):
    """seen_keys counts each query's keys of the first K_rows."""
    case, Q, K = Case(190), float32_randn(1.5, 5, 3), float32_randn(1.5, 8, 3)
    torch.manual_seed(191)
    return block_case(case, Q, K[:K_rows], float32_randn(1, 8, 4)[:K_rows], seen_keys, cut)


def flash_case(case, Q, K, V, blocks, causal=False, key_lengths=None):
    """Q (B H L D), K (B G S D), V (B G S Dv)"""
    case.add("Q", Q, "B H L D").add("K", K, "B G S D").add("V", V, "B G S Dv").add("blocks", blocks, "2")
    if key_lengths is not None:
        case.add("key_lengths", key_lengths, "B")
    (H, L), (G, S) = Q.shape[1:3], K.shape[1:3]
    K, V = (x.repeat_interleave(H // G, dim=1) for x in (K, V))
    mask = visible_mask(L, S, S if key_lengths is None else key_lengths, causal)
    scores = (Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])).masked_fill(~mask, -INF)
    case.add("output", safe_softmax(scores) @ V, "B H L Dv")
    return case.add("log_sum_exp", torch.logsumexp(scores, dim=-1).reshape(-1, L).T, "L H·B")


def random_tensors(seed, B, H, G, L, S, D, Dv):
    case, Q, K = Case(seed), float32_randn(1.5, B, H, L, D), float32_randn(1.5, B, G, S, D)
    torch.manual_seed(seed + 500)
    return case, Q, K, float32_randn(1, B, G, S, Dv)


def random_case(seed, sizes, blocks, causal=False, key_lengths=None):
    return flash_case(*random_tensors(seed, *sizes), blocks, causal, key_lengths)


def sorted_case(seed, first_feature):
    """Scores that rise, or fall, from key to key."""
    case, Q, K, V = random_tensors(seed, 2, 2, 2, 5, 8, 6, 3)
    Q[..., 0] = Q[..., 0].abs() + 1
    K[..., 0] = first_feature
    return flash_case(case, Q, K, V, (2, 3))


def far_case(seed, score):
    """Q K^T / sqrt(D) near this score for every other query; the rest have ordinary scores."""
    case, Q, K, V = random_tensors(seed, 2, 2, 2, 5, 7, 6, 3)
    Q[..., 0] = 128.0
    Q[..., 1::2, 0] = 0.0
    K[..., 0] = torch.tensor(score / 64).float().double()
    return flash_case(case, Q, K, V, (2, 3))


def cases():
    # K so that Q K^T / sqrt(D) is the four columns of Q, then the sum of its first two.
    Q = doubles([[1, 3, 2, 1], [2, 0, 1, 4], [0, 1, 3, 2]])
    K = 2 * torch.cat((torch.eye(4), doubles([[1, 1, 0, 0]])))
    V = doubles([[1, 0], [0, 2], [4, 4], [2, 0], [0, 1]])
    order = torch.linspace(0, 60, 8)
    return {
        "cost_by_hand": cost_case(5, 7, 4, 2),
        "cost": cost_case(4096, 4096, 64, 64),
        "cost_decode": cost_case(1, 4096, 128, 64),
        "cost_uneven": cost_case(1000, 777, 48, 96),
        "visible_by_hand": visible_case(3, 5, 5, True),
        "visible_causal": visible_case(6, 6, 6, True),
        "visible_more_queries": visible_case(7, 4, 4, True),
        "visible_padded": visible_case(5, 8, 6, False),
        "visible_causal_padded": visible_case(5, 8, 6, True),
        "visible_nobody": visible_case(4, 7, 0, True),
        "block_0_by_hand": block_case(Case(), Q[:2], K[:2], V[:2], [3, 4], 0),
        "block_1_by_hand": block_case(Case(), Q[:2], K[:4], V[:4], [3, 4], 2),
        "by_hand": flash_case(Case(), Q[None, None], K[None, None], V[None, None], (2, 2), causal=True),
        "block_first": random_block(8, [8] * 5, 0),
        "block_later": random_block(8, [8] * 5, 2),
        # Query 1 has seen nothing and sees nothing, query 0 sees its first keys here, query 2 none of these keys.
        "block_partly_visible": random_block(8, [5, 0, 2, 7, 7], 2),
        "block_first_blocked": random_block(4, [2, 0, 0, 1, 3], 0),
        # seed, (B, H, G, L, S, D, Dv)
        "attention": random_case(192, (2, 3, 3, 5, 8, 4, 3), (2, 3)),
        "causal": random_case(193, (2, 3, 3, 5, 8, 4, 3), (2, 3), True),
        "causal_more_queries": random_case(194, (2, 3, 3, 8, 5, 4, 3), (3, 2), True),
        "padded": random_case(195, (3, 2, 2, 4, 8, 5, 3), (3, 2), False, [5, 0, 7]),
        "causal_padded": random_case(196, (3, 2, 2, 5, 8, 4, 3), (2, 3), True, [7, 2, 0]),
        "grouped": random_case(197, (2, 4, 2, 5, 7, 6, 3), (3, 2)),
        "grouped_causal_padded": random_case(198, (2, 4, 2, 5, 7, 3, 2), (2, 3), True, [6, 3]),
        "rising": sorted_case(199, order),
        "falling": sorted_case(200, order.flip(0)),
        "far_above": far_case(201, 1e4),
        "far_below": far_case(202, -1e4),
    }
