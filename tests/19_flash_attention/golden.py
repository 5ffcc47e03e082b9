"""Lesson 19: flash attention. Inputs are float32 numbers, everything is computed from them in float64.

The right values come from the definition, torch.softmax and torch.logsumexp over whole rows. What a mistake gives comes
from the tiles, written in PyTorch (Dao 2023, algorithm 1) with that one thing changed.
"""

import math

import torch
from golden import Case

DOUBLE = torch.float64
INF = math.inf


def doubles(values):
    return torch.tensor(values, dtype=DOUBLE)


def floats(seed, *sizes, spread=1.0):
    """Float32 numbers, widened."""
    torch.manual_seed(seed)
    return [(spread * torch.randn(size, dtype=torch.float32)).to(DOUBLE) for size in sizes]


# ------------------------------------------------------------------------------------------------ the cost


def cost_case(L, S, D, query_block, floor=True):
    """A row (flops, untiled bytes, tiled bytes), each counted as the sum of its parts.

    With three blocks the mistake "floor" gives what another one does: K read three times and V once, as 3 + 1 is 2 + 2.
    """

    def row(factor=2, size=4, scores=4, blocks=None, q_and_output=2):
        blocks = -(-L // query_block) if blocks is None else blocks
        flops = factor * (L * D * S + L * S * D)  # Q K^T, and the weights times V
        untiled = size * (q_and_output * L * D + 2 * S * D + scores * L * S)
        tiled = size * (q_and_output * L * D + blocks * 2 * S * D)
        return doubles([flops, untiled, tiled])

    case = Case().add("sizes", doubles([L, S, D, query_block]), "4").add("cost", row(), "3")
    case.add_mistake("cost_one_flop", cost=row(factor=1))
    case.add_mistake("cost_doubles", cost=row(size=8))
    case.add_mistake("cost_scores_once", cost=row(scores=2))
    if floor:
        case.add_mistake("cost_floor", cost=row(blocks=L // query_block))
    case.add_mistake("cost_fraction", cost=row(blocks=L / query_block))
    case.add_mistake("cost_keys_once", cost=row(blocks=1))
    case.add_mistake("cost_no_output", cost=row(q_and_output=1))
    return case


# ------------------------------------------------------------------------------------------------ who sees what


def visible(L, S, key_length, causal, change=None):
    """The number of keys of each query. From a mask: the keys j with j <= i + S - L and j < key_length."""
    i, j = torch.arange(L).unsqueeze(1), torch.arange(S).unsqueeze(0)
    end = i + S - L
    if change == "causal_at_beginning":
        end = i
    if change == "causal_without_itself":
        end = end - 1
    if change == "causal_one_too_many":
        end = end + 1
    if change == "causal_wraps":  # a number below zero, in whole numbers without a sign
        end = torch.where(end < -1, torch.full_like(end, S), end)
    allowed = (j <= end) if causal and change != "causal_ignored" else torch.ones(L, S, dtype=torch.bool)
    if change == "causal_sees_padding" and causal or change == "key_lengths_ignored":
        key_length = S
    return (allowed & (j < key_length)).sum(dim=1)


def visible_case(L, S, key_length, causal):
    right = visible(L, S, key_length, causal).to(DOUBLE)
    case = Case().add("sizes", doubles([L, S, key_length, causal]), "4").add("visible", right, "L")
    for change in CAUSAL_MISTAKES + ("causal_sees_padding",) * (key_length > 0):  # 0 may have been taken for: all
        case.add_mistake(change, visible=visible(L, S, key_length, causal, change).to(DOUBLE))
    return case


# ------------------------------------------------------------------------------------------------ one block of keys


def add_block(seen, Q, K, V, seen_here, change=None):
    """Lines 8 to 10 of algorithm 1 (Dao 2023); seen_here (Lb) counts the keys of this block."""
    output, maximum, total = seen
    scale = {"unscaled": 1.0, "scaled_by_D": Q.shape[1], "scaled_by_Lb": math.sqrt(Q.shape[0])}
    scores = Q @ K.T / scale.get(change, math.sqrt(Q.shape[1]))
    blocked = torch.arange(len(K)).unsqueeze(0) >= seen_here.unsqueeze(1)
    if change == "visible_ignored":
        blocked = torch.zeros_like(blocked)
    if change == "visible_one_more":
        blocked = torch.arange(len(K)).unsqueeze(0) > seen_here.unsqueeze(1)
    if change == "blocked_is_zero":
        scores = scores.masked_fill(blocked, 0)
    elif change == "blocked_finite":
        scores = scores.masked_fill(blocked, -1e9)
    elif change == "blocked_counts_in_maximum":
        pass
    else:
        scores = scores.masked_fill(blocked, -INF)
    largest = scores.max(dim=1).values
    new = largest if change == "maximum_of_this_block" else torch.maximum(maximum, largest)
    if change == "maximum_of_all_queries":
        new = new.max().expand_as(new)
    subtracted = new if change == "nan_blocked" else new.masked_fill(torch.isneginf(new), 0)
    exponentials = torch.exp(scores - subtracted.unsqueeze(1))
    if change == "blocked_counts_in_maximum":
        exponentials = exponentials.masked_fill(blocked, 0)
    factor = torch.exp(maximum - subtracted)
    if change == "rescaled_wrong_sign":
        factor = torch.exp(subtracted - maximum)
        factor = factor.masked_fill(torch.isposinf(factor), 0)
    if change == "block_not_shifted":
        exponentials = torch.exp(scores)
    old_output, old_total = output * factor.unsqueeze(1), total * factor
    if change in ("output_not_rescaled", "nothing_rescaled"):
        old_output = output
    if change in ("sum_not_rescaled", "nothing_rescaled"):
        old_total = total
    new_total = old_total + exponentials.sum(dim=1)
    new_output = old_output + exponentials @ V
    if change == "divided_in_block":
        here = exponentials.sum(dim=1)
        new_output = old_output + exponentials @ V / here.masked_fill(here == 0, 1).unsqueeze(1)
    return new_output, new, new_total


BLOCK_MISTAKES = (
    "unscaled",
    "scaled_by_D",
    "scaled_by_Lb",
    "visible_ignored",
    "visible_one_more",
    "blocked_is_zero",
    "blocked_finite",
    "blocked_counts_in_maximum",
    "maximum_of_this_block",
    "maximum_of_all_queries",
    "nan_blocked",
    "rescaled_wrong_sign",
    "block_not_shifted",
    "output_not_rescaled",
    "sum_not_rescaled",
    "nothing_rescaled",
    "divided_in_block",
)


def nothing_seen(L, Dv):
    return torch.zeros(L, Dv, dtype=DOUBLE), torch.full((L,), -INF, dtype=DOUBLE), torch.zeros(L, dtype=DOUBLE)


def joined(part):
    """One matrix, so that a mistake is told by all three: the columns of output, then maximum, then sum."""
    return torch.cat((part[0], part[1].unsqueeze(1), part[2].unsqueeze(1)), dim=1)


def part_of(Q, K, V, seen_here):
    """The definition, over all these keys at once."""
    scores = Q @ K.T / math.sqrt(Q.shape[1])
    scores = scores.masked_fill(torch.arange(len(K)).unsqueeze(0) >= seen_here.unsqueeze(1), -INF)
    maximum = scores.max(dim=1).values
    exponentials = torch.nan_to_num(torch.exp(scores - maximum.unsqueeze(1)), nan=0.0)
    return exponentials @ V, maximum, exponentials.sum(dim=1)


def block_case(Q, K, V, seen_keys, cut, seed=None, only=BLOCK_MISTAKES):
    """The keys before `cut` were seen (none: nothing was); the others are the block. seen_keys (L) counts them all."""
    case = Case(seed).add("Q", Q, "Lb D").add("K", K[cut:], "Sb D").add("V", V[cut:], "Sb Dv")
    here = (seen_keys - cut).clamp(min=0)
    case.add("visible", here.to(DOUBLE), "Lb")
    before = nothing_seen(len(Q), V.shape[1]) if cut == 0 else part_of(Q, K[:cut], V[:cut], seen_keys)
    before = tuple(x.to(torch.float32).to(DOUBLE) for x in before)  # as the lesson gets it
    case.add("seen", joined(before), "Lb Dv+2")
    case.add("after", joined(part_of(Q, K, V, seen_keys)), "Lb Dv+2")
    for change in only:
        case.add_mistake(change, after=joined(add_block(before, Q, K[cut:], V[cut:], here, change)))
    return case


# ------------------------------------------------------------------------------------------------ all of it

CAUSAL_MISTAKES = ("causal_at_beginning", "causal_without_itself", "causal_one_too_many", "causal_wraps")
FLASH_MISTAKES = (
    "causal_ignored",
    "key_lengths_ignored",
    "key_lengths_by_batch",
    "key_lengths_in_turn",
    "groups_dealt",
    "last_query_block_lost",
    "last_key_block_lost",
    "last_key_block_only",
    "diagonal_skipped",
    "ends_with_first_query",
    "first_value_block",
    "visible_from_first_key",
    "visible_not_shifted",
    "initial_zero",
    "not_divided",
    "divided_every_block",
    "nan_nobody",
    "lse_without_maximum",
    "lse_log2",
    "lse_zero_for_nobody",
)


def by_definition(Q, K, V, causal, key_lengths):
    """Q (B H L D), K (B G S D), V (B G S Dv): output (B H L Dv) and log-sum-exp (B H L)."""
    B, H, L, D = Q.shape
    G, S = K.shape[1:3]
    keys, values = K.repeat_interleave(H // G, dim=1), V.repeat_interleave(H // G, dim=1)
    scores = Q @ keys.transpose(-1, -2) / math.sqrt(D)
    i, j = torch.arange(L).unsqueeze(1), torch.arange(S).unsqueeze(0)
    if causal:
        scores = scores.masked_fill(j > i + S - L, -INF)
    if key_lengths is not None:
        scores = scores.masked_fill(j >= key_lengths.reshape(B, 1, 1, 1), -INF)
    return torch.nan_to_num(torch.softmax(scores, dim=-1), nan=0.0) @ values, torch.logsumexp(scores, dim=-1)


def in_tiles(Q, K, V, causal, key_lengths, Lb, Sb, change=None):
    """The same in tiles of Lb x Sb, with one thing changed."""
    B, H, L, D = Q.shape
    G, S, Dv = K.shape[1], K.shape[2], V.shape[3]
    output, lse = torch.zeros(B * H, L, Dv, dtype=DOUBLE), torch.zeros(B * H, L, dtype=DOUBLE)
    keys, values = K.reshape(B * G, S, D), V.reshape(B * G, S, Dv)
    lengths = torch.full((B,), S) if key_lengths is None else key_lengths
    for n in range(B * H):
        group = n % (B * G) if change == "groups_dealt" else n // (H // G)
        sequence = {"key_lengths_by_batch": min(n // B, B - 1), "key_lengths_in_turn": n % B}.get(change, n // H)
        counts = visible(L, S, int(lengths[sequence]), causal, change)
        for first in range(0, L, Lb):
            if change == "last_query_block_lost" and first + Lb > L:
                continue
            rows = slice(first, min(first + Lb, L))
            q = Q.reshape(B * H, L, D)[n, rows]
            seen = nothing_seen(len(q), Dv)
            if change == "initial_zero":
                seen = (seen[0], torch.zeros_like(seen[1]), seen[2])
            # the keys of the first query of the block alone, without what its last query sees
            first_alone = change in ("diagonal_skipped", "ends_with_first_query")
            end = int(counts[rows].min() if first_alone else counts[rows].max())
            # the last block of keys is cut there, or not: without a mistake both give the same
            length = end if change in ("ends_with_first_query", "visible_not_shifted") else S
            for key in range(0, S, Sb):
                if key >= end or change == "last_key_block_lost" and key + Sb > S:
                    continue
                block = slice(key, min(key + Sb, length))
                k, v = keys[group, block], values[group, block]
                if change == "first_value_block":
                    v = values[group, : len(k)]
                not_shifted = change in ("visible_from_first_key", "visible_not_shifted")
                here = counts[rows] if not_shifted else (counts[rows] - key).clamp(min=0)
                before = nothing_seen(len(q), Dv) if change == "last_key_block_only" else seen
                seen = add_block(before, q, k, v, here, change)
                if change == "divided_every_block":
                    divisor = seen[2].masked_fill(seen[2] == 0, 1)
                    seen = (seen[0] / divisor.unsqueeze(1), seen[1], seen[2])
            out, maximum, total = seen
            if change != "not_divided":
                divisor = total if change == "nan_nobody" else total.masked_fill(total == 0, 1)
                out = out / divisor.unsqueeze(1)
            output[n, rows] = out
            logarithm = {"lse_without_maximum": torch.log(total), "lse_log2": maximum + torch.log2(total)}
            lse[n, rows] = logarithm.get(change, maximum + torch.log(total))
    if change == "lse_zero_for_nobody":
        lse = lse.masked_fill(torch.isneginf(lse), 0)
    return output.reshape(B, H, L, Dv), lse.reshape(B, H, L)


def by_query(lse):
    """(B H L) -> (L H·B)"""
    return lse.reshape(-1, lse.shape[-1]).T


def flash_case(Q, K, V, blocks, causal=False, key_lengths=None, seed=None, only=()):
    case = Case(seed).add("Q", Q, "B H L D").add("K", K, "B G S D").add("V", V, "B G S Dv")
    case.add("blocks", doubles(blocks), "2")
    if key_lengths is not None:
        case.add("key_lengths", key_lengths.to(DOUBLE), "B")
    output, lse = by_definition(Q, K, V, causal, key_lengths)
    tiled = in_tiles(Q, K, V, causal, key_lengths, *blocks)
    if not (torch.allclose(tiled[0], output, atol=1e-9) and torch.allclose(tiled[1], lse, atol=1e-9)):
        raise AssertionError("the tiles differ from the definition")
    case.add("output", output, "B H L Dv").add("log_sum_exp", by_query(lse), "L H·B")
    for change in only:
        wrong, wrong_lse = in_tiles(Q, K, V, causal, key_lengths, *blocks, change)
        case.add_mistake(change, output=wrong, log_sum_exp=by_query(wrong_lse))
    return case


def random_attention(seed, B, H, G, L, S, D, Dv, spread=1.5):
    Q, K = floats(seed, (B, H, L, D), (B, G, S, D), spread=spread)
    return Q, K, floats(seed + 500, (B, G, S, Dv))[0]


def by_hand_tensors():
    """K so that Q K^T / sqrt(D) is the four columns of Q, then the sum of its first two."""
    Q = doubles([[1, 3, 2, 1], [2, 0, 1, 4], [0, 1, 3, 2]])
    K = 2 * torch.cat((torch.eye(4, dtype=DOUBLE), doubles([[1, 1, 0, 0]])))
    V = doubles([[1, 0], [0, 2], [4, 4], [2, 0], [0, 1]])
    return Q, K, V


def without(mistakes, *names):
    return tuple(name for name in mistakes if name not in names)


def cases():
    made = {
        "cost_by_hand": cost_case(5, 7, 4, 2, floor=False),
        "cost": cost_case(4096, 4096, 64, 64),
        "cost_decode": cost_case(1, 4096, 128, 64),
        "cost_uneven": cost_case(1000, 777, 48, 96),
    }
    for name, sizes in {
        "visible_by_hand": (3, 5, 5, True),
        "visible_causal": (6, 6, 6, True),
        "visible_more_queries": (7, 4, 4, True),
        "visible_padded": (5, 8, 6, False),
        "visible_causal_padded": (5, 8, 6, True),
        "visible_nobody": (4, 7, 0, True),
    }.items():
        made[name] = visible_case(*sizes)

    Q, K, V = by_hand_tensors()
    counts = visible(3, 5, 5, True)
    # In a case there are no mistakes that give the same as another one, be it in the catalogue or not: in the first
    # block, an unshifted score is one minus the old maximum.
    by_hand = without(BLOCK_MISTAKES, "scaled_by_Lb")  # here Lb = Dv
    only = without(by_hand, "block_not_shifted")
    made["block_0_by_hand"] = block_case(Q[:2], K[:2], V[:2], counts[:2], 0, only=only)
    by_hand = without(by_hand, "visible_ignored", "visible_one_more")  # here Sb = 2
    made["block_1_by_hand"] = block_case(Q[:2], K[:4], V[:4], counts[:2], 2, only=by_hand)
    alike = ("blocked_is_zero", "visible_from_first_key", "visible_not_shifted", "ends_with_first_query")
    alike += ("last_query_block_lost", "last_key_block_lost")  # of one query and one key
    only = without(by_hand + FLASH_MISTAKES, *alike)
    made["by_hand"] = flash_case(Q[None, None], K[None, None], V[None, None], (2, 2), causal=True, only=only)

    Q, K = floats(190, (5, 3), (8, 3), spread=1.5)
    (V,) = floats(191, (8, 4))
    everything = torch.full((5,), 8)
    first = without(BLOCK_MISTAKES, "block_not_shifted")
    made["block_first"] = block_case(Q, K, V, everything, 0, 190, only=first)
    made["block_later"] = block_case(Q, K, V, everything, 2, 190)
    # query 1 has seen nothing and sees nothing, query 0 sees its first keys here, query 2 none of these keys
    made["block_partly_visible"] = block_case(Q, K, V, torch.tensor([5, 0, 2, 7, 7]), 2, 190)
    made["block_first_blocked"] = block_case(Q, K[:4], V[:4], torch.tensor([2, 0, 0, 1, 3]), 0, 190, only=first)

    # B, H, G, L, S, D, Dv
    tiles = ("last_query_block_lost", "last_key_block_lost", "last_key_block_only", "first_value_block")
    end = ("not_divided", "divided_every_block", "lse_without_maximum", "lse_log2")
    nobody = ("nan_nobody", "lse_zero_for_nobody")
    tensors = random_attention(192, 2, 3, 3, 5, 8, 4, 3)
    made["attention"] = flash_case(*tensors, (2, 3), seed=192, only=tiles + end)
    tensors = random_attention(193, 2, 3, 3, 5, 8, 4, 3)
    only = CAUSAL_MISTAKES + ("diagonal_skipped", "ends_with_first_query", "causal_ignored")
    made["causal"] = flash_case(*tensors, (2, 3), True, seed=193, only=only)
    tensors = random_attention(194, 2, 3, 3, 8, 5, 4, 3)
    only = CAUSAL_MISTAKES + nobody + ("visible_from_first_key", "visible_not_shifted", "causal_ignored")
    made["causal_more_queries"] = flash_case(*tensors, (3, 2), True, seed=194, only=only)
    tensors = random_attention(195, 3, 2, 2, 4, 8, 5, 3)
    lengths = torch.tensor([5, 0, 7])
    only = nobody + ("key_lengths_ignored", "key_lengths_by_batch", "key_lengths_in_turn")
    made["padded"] = flash_case(*tensors, (3, 2), False, lengths, seed=195, only=only)
    tensors = random_attention(196, 3, 2, 2, 5, 8, 4, 3)
    lengths = torch.tensor([7, 2, 0])
    made["causal_padded"] = flash_case(*tensors, (2, 3), True, lengths, seed=196)
    tensors = random_attention(197, 2, 4, 2, 5, 7, 6, 3)
    made["grouped"] = flash_case(*tensors, (3, 2), seed=197, only=("groups_dealt",))
    tensors = random_attention(198, 2, 4, 2, 5, 7, 3, 2)
    lengths = torch.tensor([6, 3])
    made["grouped_causal_padded"] = flash_case(*tensors, (2, 3), True, lengths, seed=198, only=())
    order = torch.linspace(0, 60, 8, dtype=DOUBLE)
    for name, seed, keys in (("rising", 199, order), ("falling", 200, order.flip(0))):
        Q, K, V = random_attention(seed, 2, 2, 2, 5, 8, 6, 3)
        Q[..., 0] = Q[..., 0].abs() + 1
        K[..., 0] = keys
        made[name] = flash_case(Q, K, V, (2, 3), seed=seed, only=("last_key_block_lost",))
    for name, seed, score in (("far_above", 201, 1e4), ("far_below", 202, -1e4)):
        Q, K, V = random_attention(seed, 2, 2, 2, 5, 7, 6, 3)
        Q[..., 0] = 128.0
        Q[..., 1::2, 0] = 0.0  # every other query has ordinary scores: not all is zero with initial_zero
        K[..., 0] = score / 64  # Q K^T / sqrt(D) is near the score
        K[..., 0] = K[..., 0].to(torch.float32).to(DOUBLE)
        made[name] = flash_case(Q, K, V, (2, 3), seed=seed, only=("initial_zero",))
        made[name].mistakes.get("initial_zero", {}).pop("log_sum_exp", None)  # -inf there may come from elsewhere
    return made
