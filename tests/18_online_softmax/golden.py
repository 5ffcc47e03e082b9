"""Lesson 18: softmax in one pass, and attention over blocks of keys that are merged."""

import math

import torch
from golden_helpers import INF, Case, chance, doubles, part_of, qkv_case, randn, random_attention, safe_softmax


def steps():
    """Single steps, each from what was seen before: row t is (maximum, sum)."""
    seen = doubles([[2.0, 1.5], [2.0, 1.5], [-1.0, 3.25], [0.5, 1.0], [-40.0, 2.0], [700.0, 1.75], [-900.0, 1.25]])
    scores = doubles([3.0, 1.25, -1.0, -2.0, 5.0, 701.5, -901.0])
    maximum = torch.maximum(seen[:, 0], scores)
    log_sum = torch.logaddexp(seen[:, 0] + torch.log(seen[:, 1]), scores)
    after = torch.stack((maximum, torch.exp(log_sum - maximum)), dim=-1)
    return Case().add("seen", seen, "T 2").add("scores", scores, "T").add("after", after, "T 2")


def running_case(case, scores):
    """A row, score after score: column t holds maximum and sum of scores 0 ... t."""
    maximum = torch.cummax(scores, dim=0).values
    total = torch.stack([torch.nan_to_num(torch.exp(scores[: t + 1] - maximum[t])).sum() for t in range(len(scores))])
    return case.add("scores", scores, "S").add("running", torch.stack((maximum, total)), "2 S")


def row_case(case, scores):
    return case.add("scores", scores, "S").add("weights", safe_softmax(scores), "S")


def scores_of(Q, K, mask=None):
    scores = Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])
    return scores if mask is None else scores.masked_fill(~mask, -INF)


def partial_case(case, Q, K, V, mask=None):
    """Q (1 L D), K (1 S D), V (1 S Dv)"""
    case.add("Q", Q[0], "L D").add("K", K[0], "S D").add("V", V[0], "S Dv")
    if mask is not None:
        case.add("mask", mask[None], "1 L S")
    return case.add("part", part_of(scores_of(Q[0], K[0], mask), V[0]), "L Dv+2")


def merge_case(case, scores, V, cut):
    """The keys before `cut` are a, the others b. Merged they are the attention over all of them."""
    case.add("a", part_of(scores[:, :cut], V[:cut]), "L Dv+2").add("b", part_of(scores[:, cut:], V[cut:]), "L Dv+2")
    return case.add("merged", part_of(scores, V), "L Dv+2")


def by_hand():
    """K so that Q K^T / sqrt(D) is the first three columns of Q."""
    scores, V = doubles([[1, 3, 2], [1, 0, 4]]), doubles([[1, 0], [0, 2], [4, 4]])
    output, maximum, total = part_of(scores, V).split((2, 1, 1), dim=1)
    case = merge_case(Case(), scores, V, 2).add("output", output / total, "L Dv")
    return case.add("log_sum_exp", maximum + torch.log(total), "L 1")


def finish(seed, scores, V):
    case = Case(seed).add("part", part_of(scores, V), "L Dv+2").add("finished", safe_softmax(scores) @ V, "L Dv")
    return case.add("log_sum_exp", torch.logsumexp(scores, dim=-1, keepdim=True), "L 1")


def masked_attention(seed, masks):
    """B = 2, H = 3. The mask blocks the first block of a query, a middle one, the last one, and all of them."""
    case, tensors, mask = Case(seed), random_attention(6, 4, 8, 3, 5), chance(0.6, 2, 4, 8)
    mask[0, 1, :3] = mask[0, 2, 3:6] = mask[1, 0, 6:] = mask[1, 3] = False
    mask[0, 1, 4] = mask[0, 2, 7] = mask[0, 2, 1] = mask[1, 0, 2] = True
    return qkv_case(case, *tensors, mask[:masks])


def near(score, N, L, S, D, Dv):
    """Scores that lie near `score`: two features of Q and K make that number together."""
    Q, K, V = random_attention(N, L, S, D, Dv)
    Q[..., 0] = 100.0
    K[..., 0] = score * math.sqrt(D) / 100.0 + 0.01 * randn(N, S)
    return Q, K, V


def sorted_case(seed, order):
    """Scores that rise, or fall, from key to key."""
    case, (Q, K, V) = Case(seed), random_attention(2, 4, 7, 3, 5)
    Q[..., 0] = Q[..., 0].abs() + 1
    K[..., 0] = order
    return qkv_case(case, Q, K, V)


def cases():
    blocked, order = doubles([-INF, -INF, 1.0, -INF, 2.5, 0.5, -INF]), torch.linspace(0, 60, 7)
    part_mask = doubles([[1, 0, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 1]]) != 0
    # Query 0 sees keys in b only, query 1 in a only, query 2 nowhere.
    merge_mask = doubles([[0, 0, 0, 0, 1, 0, 1], [1, 1, 0, 1, 0, 0, 0], [0] * 7, [1, 0, 1, 1, 0, 1, 1]]) != 0
    torch.manual_seed(198)
    Q, K, V = (x[0] for x in random_attention(1, 4, 7, 3, 5))
    return {
        "steps": steps(),
        "running_by_hand": running_case(Case(), doubles([1, 3, 2])).only("running"),
        "running": running_case(Case(181), 2 * randn(8)),
        "running_rising": running_case(Case(), doubles([-30.0, -9.0, -8.5, 0.0, 0.25, 40.0])),
        "running_falling": running_case(Case(), doubles([40.0, 0.25, 0.0, -8.5, -9.0, -30.0])),
        "running_blocked": running_case(Case(), blocked),
        "row": row_case(Case(182), 2 * randn(9)),
        "row_by_hand": row_case(Case(), doubles([1, 3, 2])).only("weights"),
        "row_blocked": row_case(Case(), blocked),
        "row_of_minus_infinity": row_case(Case(), doubles([-INF] * 4)),
        "row_far_above": row_case(Case(183), 1e4 + 3 * randn(7)),
        "row_far_below": row_case(Case(184), -1e4 + randn(7)),
        "by_hand": by_hand(),
        "partial": partial_case(Case(185), *random_attention(1, 4, 6, 3, 5)),
        "partial_masked": partial_case(Case(185), *random_attention(1, 4, 6, 3, 5), part_mask),
        "partial_far_below": partial_case(Case(186), *near(-1e4, 1, 4, 6, 3, 5)),
        "partial_far_above": partial_case(Case(187), *near(1e4, 1, 4, 6, 3, 5)),
        "merge": merge_case(Case(198), scores_of(Q, K), V, 4),
        "merge_blocked": merge_case(Case(198), scores_of(Q, K, merge_mask), V, 4),
        "finish": finish(198, scores_of(Q, K, merge_mask), V),
        "attention": qkv_case(Case(189), *random_attention(2, 5, 7, 4, 3)),
        "attention_masked": masked_attention(190, masks=2),
        "attention_shared_mask": masked_attention(190, masks=1),
        "attention_rising": sorted_case(191, order),
        "attention_falling": sorted_case(192, order.flip(0)),
        "attention_far_above": qkv_case(Case(193), *near(1e4, 2, 4, 7, 3, 5)),
        "attention_far_below": qkv_case(Case(194), *near(-1e4, 2, 4, 7, 3, 5)),
    }
