"""Lesson 18: softmax in one pass, and attention over blocks of keys that are merged."""

import math

import torch
from golden import Case

DOUBLE = torch.float64
INF = math.inf


def doubles(values):
    return torch.tensor(values, dtype=DOUBLE)


# ------------------------------------------------------------------------------------------------ one row of scores


def step(seen, score, change=None):
    """One step of algorithm 3 of Milakov and Gimelshein (2018), or of what becomes of it with a mistake."""
    maximum, total = seen
    new = torch.maximum(maximum, score)
    if change == "maximum_replaced":
        new = score
    if change == "minimum_taken":
        new = torch.minimum(maximum, score)
    if torch.isneginf(maximum) and torch.isneginf(score) and change != "nan_add":
        return seen
    factor = torch.exp(maximum - new)
    added = torch.exp(score - new)
    if change == "sum_rescaled_by_score":
        factor = torch.exp(maximum - score)
    if change == "sum_not_rescaled":
        factor = torch.ones_like(factor)
    if change == "sum_rescaled_wrong_sign":
        factor = torch.exp(new - maximum)
    if change == "score_not_shifted":
        added = torch.exp(score)
    if change == "score_counts_as_one":
        added = torch.ones_like(added)
    return new, total * factor + added


STEP_MISTAKES = (
    "sum_not_rescaled",
    "sum_rescaled_wrong_sign",
    "sum_rescaled_by_score",
    "score_not_shifted",
    "score_counts_as_one",
    "maximum_replaced",
    "minimum_taken",
    "nan_add",
)


def steps_case():
    """Single steps, each from what was seen before: row t is (maximum, sum)."""
    seen = doubles([[2.0, 1.5], [2.0, 1.5], [-1.0, 3.25], [0.5, 1.0], [-40.0, 2.0], [700.0, 1.75], [-900.0, 1.25]])
    scores = doubles([3.0, 1.25, -1.0, -2.0, 5.0, 701.5, -901.0])

    def after(change=None):
        return torch.stack([torch.stack(step(tuple(s), x, change)) for s, x in zip(seen, scores)])

    # the definition: the scores seen so far may have been the maximum and log(sum - 1) below it
    maximum = torch.maximum(seen[:, 0], scores)
    log_sum = torch.logaddexp(seen[:, 0] + torch.log(seen[:, 1]), scores)
    right = torch.stack((maximum, torch.exp(log_sum - maximum)), dim=-1)
    case = Case().add("seen", seen, "T 2").add("scores", scores, "T").add("after", right, "T 2")
    for change in STEP_MISTAKES:
        case.add_mistake(change, after=after(change))
    return case


def running_case(scores, seed=None, without=()):
    """A row, score after score: column t holds maximum and sum of scores 0 ... t."""
    case = Case(seed).add("scores", scores, "S")

    def walk(change=None):
        seen = (doubles(-INF), doubles(0.0))
        rows = []
        for score in scores:
            seen = step(seen, score, change)
            rows.append(torch.stack(seen))
        return torch.stack(rows, dim=-1)

    maximum = torch.cummax(scores, dim=0).values
    total = torch.stack([torch.nan_to_num(torch.exp(scores[: t + 1] - maximum[t])).sum() for t in range(len(scores))])
    case.add("running", torch.stack((maximum, total)), "2 S")
    for change in STEP_MISTAKES:
        if change not in without:
            case.add_mistake(change, running=walk(change))
    return case


def row_case(scores, seed=None, only=None):
    weights = torch.softmax(scores, dim=0)
    case = Case(seed).add("scores", scores, "S").add("weights", torch.nan_to_num(weights, nan=0.0), "S")
    exponentials = torch.exp(scores - scores.max())
    from_zero = torch.exp(scores - torch.clamp(scores.max(), min=0))
    mistakes = {
        "nan_row": weights,
        "weights_not_divided": exponentials,
        # a sum that underflowed to 0 is taken for a row of -inf
        "initial_zero": torch.nan_to_num(from_zero / from_zero.sum(), nan=0.0),
        "row_maximum_forgotten": torch.exp(scores) / exponentials.sum(),
    }
    for name, wrong in mistakes.items():
        if only is None or name in only:
            case.add_mistake(name, weights=wrong)
    return case


# ------------------------------------------------------------------------------------------------ a block of keys


def masked_scores(Q, K, mask=None, scale=None):
    scores = Q @ K.transpose(-1, -2) / (math.sqrt(Q.shape[-1]) if scale is None else scale)
    return scores if mask is None else scores.masked_fill(mask == 0, -INF)


def part_of(scores, V, maximum=None):
    """Output, maximum and sum; the maximum of each row, unless another is given."""
    maximum = scores.max(dim=-1, keepdim=True).values if maximum is None else maximum
    exponentials = torch.nan_to_num(torch.exp(scores - maximum), nan=0.0, posinf=INF)
    return exponentials @ V, maximum, exponentials.sum(dim=-1, keepdim=True)


def joined(part):
    """One matrix, so that a mistake is told by all three: the columns of output, then maximum, then sum."""
    return torch.cat(part, dim=-1)


def add_part(case, name, part):
    case.add(name, joined(part), "L Dv+2")


def add_part_mistake(case, mistake, name, part):
    case.add_mistake(mistake, **{name: joined(part)})


def partial_case(Q, K, V, mask=None, seed=None, without=()):
    case = Case(seed).add("Q", Q, "L D").add("K", K, "S D").add("V", V, "S Dv")
    scores = masked_scores(Q, K, mask)
    part = part_of(scores, V)
    add_part(case, "part", part)

    def mistake(name, wrong):
        if name not in without:
            add_part_mistake(case, name, "part", wrong)

    divided = torch.nan_to_num(part[0] / part[2], nan=0.0)
    mistake("divided_in_block", (divided, part[1], part[2]))
    mistake("unscaled", part_of(masked_scores(Q, K, mask, scale=1), V))
    mistake("maximum_of_all_queries", part_of(scores, V, scores.max().expand_as(part[1])))
    mistake("no_maximum", part_of(scores, V, torch.zeros_like(part[1])))
    mistake("initial_zero", part_of(scores, V, part[1].clamp(min=0)))
    mistake("minimum_taken", part_of(scores, V, scores.min(dim=-1, keepdim=True).values))
    if mask is None:
        return case
    case.add("mask", mask.unsqueeze(0), "1 L S")
    plain = masked_scores(Q, K)
    mistake("mask_ignored", part_of(plain, V))
    mistake("maximum_before_mask", part_of(scores, V, plain.max(dim=-1, keepdim=True).values))
    mistake("mask_inverted", part_of(masked_scores(Q, K, 1 - mask), V))
    mistake("fill_1e9", part_of(plain.masked_fill(mask == 0, -1e9), V))
    mistake("fill_zero", part_of(plain.masked_fill(mask == 0, 0), V))
    exponentials = torch.exp(scores - part[1])  # NaN where a row is -inf throughout
    mistake("nan_partial", (exponentials @ V, part[1], exponentials.sum(dim=-1, keepdim=True)))
    return case


# ------------------------------------------------------------------------------------------------ merging and finishing


def merged(a, b, change=None):
    (Oa, ma, da), (Ob, mb, db) = a, b
    m = torch.maximum(ma, mb)
    if change == "merge_takes_b":
        m = mb
    if change == "minimum_taken":
        m = torch.minimum(ma, mb)
    factor_a, factor_b = torch.exp(ma - m), torch.exp(mb - m)
    if change == "merge_factors_swapped":
        factor_a, factor_b = factor_b, factor_a
    if change not in ("nan_merge", "merge_takes_b"):
        factor_a, factor_b = torch.nan_to_num(factor_a, nan=0.0), torch.nan_to_num(factor_b, nan=0.0)
    if change == "merge_wrong_sign":
        factor_a, factor_b = torch.exp(m - ma), torch.exp(m - mb)
    one = torch.ones_like(factor_a)
    if change == "blocks_own_maximum":
        factor_a, factor_b = one, one
    if change == "merge_a_not_rescaled":
        factor_a = one
    if change == "merge_b_not_rescaled":
        factor_b = one
    Fa, Fb = factor_a, factor_b
    if change == "merge_sums_not_rescaled":
        factor_a, factor_b = one, one
    if change == "merge_outputs_not_rescaled":
        Fa, Fb = one, one
    if change == "merge_weighs_by_sum":
        return (Oa * Fa * da + Ob * Fb * db) / (factor_a * da + factor_b * db), m, factor_a * da + factor_b * db
    return Oa * Fa + Ob * Fb, m, da * factor_a + db * factor_b


MERGE_MISTAKES = (
    "merge_takes_b",
    "minimum_taken",
    "merge_factors_swapped",
    "nan_merge",
    "merge_wrong_sign",
    "blocks_own_maximum",
    "merge_a_not_rescaled",
    "merge_b_not_rescaled",
    "merge_sums_not_rescaled",
    "merge_outputs_not_rescaled",
    "merge_weighs_by_sum",
)


def finished(part):
    output, maximum, total = part
    return torch.nan_to_num(output / total, nan=0.0), maximum + torch.log(total)


def merge_case(Q, K, V, cut, mask=None, seed=None, only=MERGE_MISTAKES):
    """The keys before `cut` are a, the others b. Merged they are the attention over all of them."""
    case = Case(seed)
    scores = masked_scores(Q, K, mask)
    a, b = part_of(scores[:, :cut], V[:cut]), part_of(scores[:, cut:], V[cut:])
    add_part(case, "a", a)
    add_part(case, "b", b)
    add_part(case, "merged", part_of(scores, V))
    for change in only:
        add_part_mistake(case, change, "merged", merged(a, b, change))
    return case


def finish_case(Q, K, V, mask, seed):
    case = Case(seed)
    scores = masked_scores(Q, K, mask)
    part = part_of(scores, V)
    add_part(case, "part", part)
    weights = torch.softmax(scores, dim=-1)
    output, lse = torch.nan_to_num(weights, nan=0.0) @ V, torch.logsumexp(scores, dim=-1, keepdim=True)
    case.add("finished", output, "L Dv").add("log_sum_exp", lse, "L 1")
    case.add_mistake("not_divided", finished=part[0])
    case.add_mistake("nan_finish", finished=part[0] / part[2])
    case.add_mistake("lse_without_maximum", log_sum_exp=torch.log(part[2]))
    case.add_mistake("lse_zero_for_nobody", log_sum_exp=lse.masked_fill(torch.isneginf(lse), 0))
    return case


# ------------------------------------------------------------------------------------------------ all of it


def attend(Q, K, V, hidden=None):
    """Zeros for a query that may attend to nobody."""
    scores = masked_scores(Q, K)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -INF)
    return torch.nan_to_num(torch.softmax(scores, dim=-1), nan=0.0) @ V


def finished_in_turn(parts):
    """What becomes of the slices when each begins with what the slice before it has seen."""
    seen = [parts[0]]
    for part in parts[1:]:
        seen.append(merged(seen[-1], part))
    return torch.stack([finished(part)[0] for part in seen])


def keep(case, *names):
    """Only these mistakes: with scores that lie far apart, other wrong answers look like the rest of them."""
    case.mistakes = {name: wrong for name, wrong in case.mistakes.items() if name in names}
    return case


def attention_case(Q, K, V, block, mask=None, seed=None):
    """Q (N L D), K (N S D), V (N S Dv), mask (M L S); the mistakes are those of blocks of `block` keys."""
    case = Case(seed).add("Q", Q, "N L D").add("K", K, "N S D").add("V", V, "N S Dv")
    N, S = len(Q), K.shape[1]
    hidden = torch.zeros(N, Q.shape[1], S, dtype=torch.bool)
    if mask is not None:
        case.add("mask", mask, "M L S")
        hidden = (mask == 0).repeat_interleave(N // len(mask), dim=0)
    case.add("output", attend(Q, K, V, hidden), "N L Dv")

    starts = range(0, S, block)
    parts = [attend(Q, K[:, s : s + block], V[:, s : s + block], hidden[..., s : s + block]) for s in starts]
    case.add_mistake("blocks_averaged", output=sum(parts) / len(parts))
    case.add_mistake("last_block_only", output=parts[-1])
    whole = S // block * block
    if whole < S:
        case.add_mistake("last_block_lost", output=attend(Q, K[:, :whole], V[:, :whole], hidden[..., :whole]))
    twice = [j for s in starts for j in range(s, min(s + block + 1, S))]  # blocks that end one key too late
    case.add_mistake("key_counted_twice", output=attend(Q, K[:, twice], V[:, twice], hidden[..., twice]))
    case.add_mistake("first_value_block", output=attend(Q, K, torch.cat([V[:, :block]] * len(parts), 1)[:, :S], hidden))
    scores = masked_scores(Q, K).masked_fill(hidden, -INF)
    case.add_mistake("seen_not_reset", output=finished_in_turn([part_of(s, v) for s, v in zip(scores, V)]))
    from_zero = torch.exp(scores - scores.max(dim=-1, keepdim=True).values.clamp(min=0))
    total = from_zero.sum(dim=-1, keepdim=True)
    # what underflowed to a sum of 0 is taken for a query without keys
    case.add_mistake("initial_zero", output=torch.nan_to_num(from_zero / total, nan=0.0) @ V)
    if mask is None:
        return case
    case.add_mistake("mask_ignored", output=attend(Q, K, V))
    at_zero = masked_scores(Q, K).masked_fill(hidden, 0)
    case.add_mistake("fill_zero", output=torch.softmax(at_zero, dim=-1) @ V)
    first = torch.cat([hidden[..., :block]] * len(parts), dim=-1)[..., :S]
    case.add_mistake("mask_of_first_block", output=attend(Q, K, V, first))
    case.add_mistake("mask_slice_0", output=attend(Q, K, V, hidden[:1].expand_as(hidden)))
    if 1 < len(mask) < N:
        case.add_mistake("mask_slices_mixed", output=attend(Q, K, V, (mask == 0).repeat(N // len(mask), 1, 1)))
    nobody_yet = hidden[..., :block].all(dim=-1, keepdim=True)  # (N, L, 1)
    right = attend(Q, K, V, hidden)
    case.add_mistake("nan_merge", output=right.masked_fill(nobody_yet, math.nan))
    case.add_mistake("first_block_blocked", output=right.masked_fill(nobody_yet, 0))
    return case


def random_attention(seed, N, L, S, D, Dv, spread=1.5):
    torch.manual_seed(seed)
    return (
        spread * torch.randn(N, L, D, dtype=DOUBLE),
        spread * torch.randn(N, S, D, dtype=DOUBLE),
        torch.randn(N, S, Dv, dtype=DOUBLE),
    )


def near(seed, N, L, S, D, Dv, score):
    """Scores that lie near `score`: two features of Q and K make that number together."""
    Q, K, V = random_attention(seed, N, L, S, D, Dv)
    Q[..., 0] = 100.0
    K[..., 0] = score * math.sqrt(D) / 100.0 + 0.01 * torch.randn(N, S, dtype=DOUBLE)
    return Q, K, V


def by_hand():
    """K so that Q K^T / sqrt(D) is the first three columns of Q."""
    Q = doubles([[1.0, 3.0, 2.0, 0.0], [1.0, 0.0, 4.0, 1.0]])
    K = 2 * torch.eye(4, dtype=DOUBLE)[:3]
    V = doubles([[1.0, 0.0], [0.0, 2.0], [4.0, 4.0]])
    case = Case().add("Q", Q, "L D").add("K", K, "S D").add("V", V, "S Dv")
    scores = masked_scores(Q, K)
    a, b, whole = part_of(scores[:, :2], V[:2]), part_of(scores[:, 2:], V[2:]), part_of(scores, V)
    add_part(case, "a", a)
    add_part(case, "b", b)
    add_part(case, "merged", whole)
    output, lse = finished(whole)
    case.add("output", output, "L Dv").add("log_sum_exp", lse, "L 1")
    add_part_mistake(case, "divided_in_block", "a", (a[0] / a[2], a[1], a[2]))
    add_part_mistake(case, "unscaled", "a", part_of(masked_scores(Q, K[:2], scale=1), V[:2]))
    for change in MERGE_MISTAKES:
        add_part_mistake(case, change, "merged", merged(a, b, change))
    case.add_mistake("not_divided", output=whole[0])
    case.add_mistake("lse_without_maximum", log_sum_exp=torch.log(whole[2]))
    return case


def cases():
    made = {"steps": steps_case(), "running_by_hand": running_case(doubles([1.0, 3.0, 2.0]))}
    torch.manual_seed(181)
    made["running"] = running_case(2 * torch.randn(8, dtype=DOUBLE), 181)
    made["running_rising"] = running_case(doubles([-30.0, -9.0, -8.5, 0.0, 0.25, 40.0]))
    made["running_falling"] = running_case(doubles([40.0, 0.25, 0.0, -8.5, -9.0, -30.0]))
    blocked = doubles([-INF, -INF, 1.0, -INF, 2.5, 0.5, -INF])
    other_when_blocked = ("sum_rescaled_wrong_sign", "sum_rescaled_by_score", "maximum_replaced", "minimum_taken")
    made["running_blocked"] = running_case(blocked, without=other_when_blocked)
    torch.manual_seed(182)
    made["row"] = row_case(2 * torch.randn(9, dtype=DOUBLE), 182)
    made["row_by_hand"] = row_case(doubles([1.0, 3.0, 2.0]))
    made["row_blocked"] = row_case(blocked)
    made["row_of_minus_infinity"] = row_case(doubles([-INF] * 4), only=("nan_row",))
    torch.manual_seed(183)
    made["row_far_above"] = row_case(1e4 + 3 * torch.randn(7, dtype=DOUBLE), 183, only=())
    torch.manual_seed(184)
    made["row_far_below"] = row_case(-1e4 + torch.randn(7, dtype=DOUBLE), 184, only=("initial_zero",))

    made["by_hand"] = by_hand()
    Q, K, V = (x[0] for x in random_attention(185, 1, 4, 6, 3, 5))
    made["partial"] = partial_case(Q, K, V, seed=185)
    mask = doubles([[1, 0, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [1, 1, 1, 0, 1, 1]])
    made["partial_masked"] = partial_case(Q, K, V, mask, seed=185)
    Q, K, V = (x[0] for x in near(186, 1, 4, 6, 3, 5, -1e4))
    made["partial_far_below"] = partial_case(Q, K, V, seed=186, without=("no_maximum", "initial_zero"))
    Q, K, V = (x[0] for x in near(187, 1, 4, 6, 3, 5, 1e4))
    made["partial_far_above"] = partial_case(Q, K, V, seed=187)

    Q, K, V = (x[0] for x in random_attention(198, 1, 4, 7, 3, 5))
    made["merge"] = merge_case(Q, K, V, 4, seed=198)
    # query 0 sees keys in b only, query 1 in a only, query 2 nowhere
    mask = doubles([[0, 0, 0, 0, 1, 0, 1], [1, 1, 0, 1, 0, 0, 0], [0] * 7, [1, 0, 1, 1, 0, 1, 1]])
    made["merge_blocked"] = merge_case(Q, K, V, 4, mask, seed=198, only=("nan_merge",))
    made["finish"] = finish_case(Q, K, V, mask, 198)

    made["attention"] = attention_case(*random_attention(189, 2, 5, 7, 4, 3), block=3, seed=189)
    Q, K, V = random_attention(190, 6, 4, 8, 3, 5)  # B = 2, H = 3
    mask = (torch.rand(2, 4, 8) < 0.6).to(DOUBLE)
    mask[0, 1, :3] = 0  # the first block of a query, a middle one, the last one, and all of them
    mask[0, 2, 3:6] = 0
    mask[1, 0, 6:] = 0
    mask[1, 3] = 0
    mask[0, 1, 4] = mask[0, 2, 7] = mask[0, 2, 1] = mask[1, 0, 2] = 1
    made["attention_masked"] = attention_case(Q, K, V, 3, mask, 190)
    made["attention_shared_mask"] = attention_case(Q, K, V, 3, mask[:1], 190)
    order = torch.linspace(0, 60, 7, dtype=DOUBLE)
    for name, seed, keys in (("rising", 191, order), ("falling", 192, order.flip(0))):
        Q, K, V = random_attention(seed, 2, 4, 7, 3, 5)
        Q[..., 0] = Q[..., 0].abs() + 1
        K[..., 0] = keys
        made["attention_" + name] = keep(attention_case(Q, K, V, 2, seed=seed), "blocks_averaged", "last_block_lost")
    for name, seed, score in (("above", 193, 1e4), ("below", 194, -1e4)):
        tensors = near(seed, 2, 4, 7, 3, 5, score)
        made["attention_far_" + name] = keep(attention_case(*tensors, 3, seed=seed), "initial_zero")
    return made
