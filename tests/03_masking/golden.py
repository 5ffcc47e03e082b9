"""Lesson 03: masks, what a fully masked row becomes, and attention under a mask."""

import math

import torch
from golden import Case

DOUBLE = torch.float64
INF = math.inf


def blocked(mask, like):
    """True where the mask is 0, one slice of the mask for each neighbouring group of slices of `like`."""
    return (mask == 0).repeat_interleave(like.shape[0] // mask.shape[0], dim=0)


def safe_softmax(scores):
    """Zeros for a row of nothing but -inf, as PyTorch's own attention gives since 2024 (pull request 131060)."""
    nobody = torch.isneginf(scores).all(dim=-1, keepdim=True)
    weights = torch.softmax(scores, dim=-1)
    return torch.where(nobody, torch.nan_to_num(weights), weights)


def random_mask(*shape):
    """Zeros and ones; no row and no column of a slice is all zeros or all ones."""
    while True:
        mask = (torch.rand(*shape) < 0.6).to(DOUBLE)
        lines = [mask.mean(dim=-1), mask.mean(dim=-2)]
        if all(((line > 0) & (line < 1)).all() for line in lines):
            return mask


# -------------------------------------------------------------------------------------------------- masked_fill


def fill_case(scores, mask, value, seed=None):
    case = Case(seed).add("scores", scores, "N L S").add("mask", mask, "M L S")
    hidden = blocked(mask, scores)
    case.add("filled", scores.masked_fill(hidden, value), "N L S")

    def mistake(name, filled):
        case.add_mistake(name, filled=filled)

    mistake("mask_ignored", scores)
    mistake("polarity_inverted", scores.masked_fill(~hidden, value))
    mistake("scores_times_mask", scores * ~hidden)
    mistake("value_added", scores + torch.zeros_like(scores).masked_fill(hidden, value))
    first = hidden.clone()
    first[1:] = False
    mistake("only_slice_0", scores.masked_fill(first, value))
    if mask.shape[0] > 1:
        mistake("slices_modulo", scores.masked_fill((mask == 0).repeat(len(scores) // len(mask), 1, 1), value))
    # 0 times -inf is NaN
    mistake("fill_by_arithmetic", scores * ~hidden + value * hidden.to(DOUBLE))
    mistake("only_one_allows", scores.masked_fill(blocked(mask == 1, scores), value))
    return case


# -------------------------------------------------------------------------------------------------- masks


def padding_case(lengths, L, S):
    case = Case().add("lengths", torch.tensor(lengths, dtype=DOUBLE), "B")
    lengths = torch.tensor(lengths)
    B = len(lengths)

    def keys(allowed):  # (B, S) -> (B, L, S)
        return allowed.to(DOUBLE).unsqueeze(1).expand(B, L, S)

    j, i = torch.arange(S), torch.arange(L)
    real = j < lengths.unsqueeze(1)
    queries = (i < lengths.unsqueeze(1)).unsqueeze(-1)
    case.add("mask", keys(real), "B L S")
    case.add_mistake("padding_along_queries", mask=queries.to(DOUBLE).expand(B, L, S))
    case.add_mistake("padded_queries_blocked", mask=keys(real) * queries)
    case.add_mistake("padding_inverted", mask=keys(~real))
    case.add_mistake("padding_off_by_one", mask=keys(j <= lengths.unsqueeze(1)))
    case.add_mistake("padding_last_token_lost", mask=keys(j + 1 < lengths.unsqueeze(1)))
    case.add_mistake("padding_of_another_sequence", mask=keys(real[:1].expand(B, S)))
    case.add_mistake("padding_on_the_left", mask=keys(j >= S - lengths.unsqueeze(1)))
    return case


def causal_case(L, S):
    case = Case()
    ones = torch.ones(1, L, S, dtype=DOUBLE)
    case.add("mask", torch.tril(ones, diagonal=S - L), "1 L S")
    case.add_mistake("causal_at_the_start", mask=torch.tril(ones))
    case.add_mistake("causal_sees_one_ahead", mask=torch.tril(ones, diagonal=S - L + 1))
    case.add_mistake("causal_without_itself", mask=torch.tril(ones, diagonal=S - L - 1))
    case.add_mistake("causal_inverted", mask=torch.triu(ones, diagonal=S - L + 1))
    case.add_mistake("causal_upper", mask=torch.triu(ones, diagonal=S - L))
    if L > S:  # i + S - L, unsigned, is huge for the first L - S queries
        wrapped = torch.tril(ones, diagonal=S - L)
        wrapped[:, : L - S] = 1
        case.add_mistake("causal_wraps", mask=wrapped)
    return case


def combine_case(a, b, seed):
    case = Case(seed).add("a", a, "M L S").add("b", b, "M L S")

    def number(mask):
        return (mask != 0).to(DOUBLE)

    both = number(a) * number(b)
    case.add("mask", both, "M L S")
    case.add_mistake("combined_by_or", mask=((a != 0) | (b != 0)).to(DOUBLE))
    case.add_mistake("combined_bitwise", mask=number(a.long() & b.long()))
    case.add_mistake("combined_only_a", mask=number(a))
    if len(a) != len(b):
        only_first = number(a if len(a) > 1 else b)
        only_first[0] = both[0]
        case.add_mistake("combined_only_slice_0", mask=only_first)
    return case


# -------------------------------------------------------------------------------------------------- softmax


def softmax_case(scores, seed=None):
    case = Case(seed).add("scores", scores, "N L S")
    weights = safe_softmax(scores)
    case.add("weights", weights, "N L S")
    case.add_mistake("nan_row", weights=torch.softmax(scores, dim=-1))
    case.add_mistake("uniform_row", weights=torch.softmax(scores.masked_fill(torch.isneginf(scores), -1e20), dim=-1))
    low = (scores < -1e9).all(dim=-1, keepdim=True)
    case.add_mistake("low_taken_for_blocked", weights=weights.masked_fill(low, 0))
    some = torch.isneginf(scores).any(dim=-1, keepdim=True)
    case.add_mistake("zeros_for_any_infinity", weights=weights.masked_fill(some, 0))
    return case


def fully_masked_case(seed):
    """One query that may attend to nobody, and what the three habits make of its weights and its output."""
    scores = 2 * torch.randn(2, 3, 4, dtype=DOUBLE)
    V = torch.randn(2, 4, 5, dtype=DOUBLE)
    mask = torch.ones(2, 3, 4, dtype=DOUBLE)
    mask[0, :, 2:] = 0
    mask[1, 1, :] = 0
    case = Case(seed).add("scores", scores, "B L S").add("V", V, "B S Dv").add("mask", mask, "B L S")
    for name, value in (("minus_1e20", -1e20), ("minus_1e9", -1e9)):
        weights = torch.softmax(scores.masked_fill(mask == 0, value), dim=-1)
        case.add("weights_" + name, weights, "B L S").add("output_" + name, weights @ V, "B L Dv")
    added = torch.softmax(scores + (1 - mask) * -1e9, dim=-1)
    case.add("weights_added", added, "B L S")
    weights = safe_softmax(scores.masked_fill(mask == 0, -INF))
    case.add("weights", weights, "B L S").add("output", weights @ V, "B L Dv")
    return case


# -------------------------------------------------------------------------------------------------- attention


def attention_case(Q, K, V, mask=None, seed=None, without=(), only=None):
    """Q (N L D), K (N S D), V (N S Dv), mask (M L S). `without` are mistakes that give the same as another one here;
    `only` are the ones that this case is for."""
    case = Case(seed).add("Q", Q, "N L D").add("K", K, "N S D").add("V", V, "N S Dv")
    D, Dv, L, S = Q.shape[-1], V.shape[-1], Q.shape[1], K.shape[1]
    products = Q @ K.transpose(-1, -2)
    scores = products / math.sqrt(D)
    if mask is None:
        hidden = torch.zeros_like(scores, dtype=torch.bool)
    else:
        case.add("mask", mask, "M L S")
        hidden = blocked(mask, scores)

    def attend(scores, hidden=hidden):
        return safe_softmax(scores.masked_fill(hidden, -INF)) @ V

    case.add("output", attend(scores), "N L Dv")

    def mistake(name, output):
        if name not in without and (only is None or name in only):
            case.add_mistake(name, output=output)

    mistake("unscaled", attend(products))
    mistake("divided_by_dim", attend(products / D))
    mistake("divided_by_root_value_width", attend(products / math.sqrt(Dv)))
    mistake("divided_by_root_queries", attend(products / math.sqrt(L)))
    mistake("divided_by_root_keys", attend(products / math.sqrt(S)))
    masked = scores.masked_fill(hidden, -INF)
    columns = torch.where(torch.isneginf(masked).all(dim=-2, keepdim=True), 0.0, torch.softmax(masked, dim=-2))
    mistake("softmax_columns", torch.nan_to_num(columns) @ V)
    if mask is None:
        return case
    mistake("mask_ignored", attend(scores, torch.zeros_like(hidden)))
    after = torch.softmax(scores, dim=-1) * ~hidden
    mistake("mask_after_softmax", after @ V)
    if not hidden.all(dim=-1).any():  # there it would be the NaN of nan_row
        mistake("renormalised_after_softmax", after / after.sum(dim=-1, keepdim=True) @ V)
    mistake("polarity_inverted", attend(scores, ~hidden))
    mistake("scores_times_mask", torch.softmax(scores * ~hidden, dim=-1) @ V)
    first = hidden.clone()
    first[1:] = False
    mistake("only_slice_0", attend(scores, first))
    if len(mask) > 1:
        mistake("slices_modulo", attend(scores, (mask == 0).repeat(len(Q) // len(mask), 1, 1)))
    mistake("only_one_allows", attend(scores, blocked(mask == 1, scores)))
    mistake("minus_1e9_added", torch.softmax(scores + hidden * -1e9, dim=-1) @ V)
    mistake("nan_row", torch.softmax(masked, dim=-1) @ V)
    mistake("uniform_row", torch.softmax(scores.masked_fill(hidden, -1e20), dim=-1) @ V)
    return case


def random_attention(seed, N, L, S, D, Dv, spread=1.5):
    torch.manual_seed(seed)
    return (
        spread * torch.randn(N, L, D, dtype=DOUBLE),
        spread * torch.randn(N, S, D, dtype=DOUBLE),
        torch.randn(N, S, Dv, dtype=DOUBLE),
    )


def cases():
    made = {}
    torch.manual_seed(31)
    made["fill_shared"] = fill_case(torch.randn(3, 4, 5, dtype=DOUBLE), random_mask(1, 4, 5), -7.0, 31)
    torch.manual_seed(32)  # B = 2, H = 3
    made["fill_heads"] = fill_case(torch.randn(6, 3, 4, dtype=DOUBLE), random_mask(2, 3, 4), -INF, 32)
    torch.manual_seed(33)
    made["fill_each"] = fill_case(torch.randn(3, 4, 5, dtype=DOUBLE), random_mask(3, 4, 5), -1e9, 33)
    torch.manual_seed(34)
    numbers = random_mask(2, 4, 5)
    numbers[0, 1] *= 2
    numbers[1, 3] *= 7
    made["fill_any_number"] = fill_case(torch.randn(2, 4, 5, dtype=DOUBLE), numbers, -INF, 34)

    made["padding"] = padding_case([3, 5, 1], 4, 6)
    made["padding_empty_sequence"] = padding_case([2, 0], 3, 4)
    made["causal_square"] = causal_case(4, 4)
    made["causal_more_keys"] = causal_case(3, 5)
    made["causal_more_queries"] = causal_case(5, 3)
    torch.manual_seed(35)
    made["combine"] = combine_case(random_mask(2, 4, 5), random_mask(2, 4, 5), 35)
    torch.manual_seed(36)
    made["combine_shared_b"] = combine_case(random_mask(3, 4, 5), random_mask(1, 4, 5), 36)
    torch.manual_seed(37)
    made["combine_shared_a"] = combine_case(random_mask(1, 4, 5), random_mask(3, 4, 5), 37)
    torch.manual_seed(38)
    made["combine_any_number"] = combine_case(2 * random_mask(2, 4, 5), random_mask(2, 4, 5), 38)

    torch.manual_seed(39)
    scores = 2 * torch.randn(2, 4, 5, dtype=DOUBLE)
    scores[0, 1] = -INF
    scores[0, 2, :3] = -INF
    scores[1, 0, 4] = -INF
    scores[1, 3] = -INF
    made["softmax"] = softmax_case(scores, 39)
    torch.manual_seed(40)
    scores = 300 * torch.randn(2, 5, 4, dtype=DOUBLE)
    scores[0, 0, 1:] = -INF
    scores[0, 2] = torch.tensor([-1000.0, -INF, -1001.0, -2000.0])
    scores[1, 1] = -INF
    scores[1, 2] = torch.tensor([-INF, 2000.0, 1999.0, -INF])
    scores[0, 3] = -1e20  # very low, but not blocked
    scores[1, 4] = torch.tensor([-1e5, -1e5 - 1, -INF, -1e5 - 2])
    made["softmax_far_from_zero"] = softmax_case(scores, 40)
    torch.manual_seed(41)
    made["fully_masked"] = fully_masked_case(41)

    # Worked by hand: K so that Q K^T / sqrt(D) is the first three columns of Q.
    Q = torch.tensor([[[2.0, 1.0, 3.0, 0.0], [0.0, 1.0, 5.0, 0.0]]], dtype=DOUBLE)
    K = torch.tensor([[[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]], dtype=DOUBLE)
    V = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [4.0, 4.0]]], dtype=DOUBLE)
    mask = torch.tensor([[[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]], dtype=DOUBLE)
    made["by_hand"] = attention_case(Q, K, V, mask, without=("divided_by_root_value_width", "divided_by_root_queries"))

    made["unmasked"] = attention_case(*random_attention(42, 2, 4, 5, 3, 6), seed=42)
    tensors = random_attention(43, 2, 4, 5, 3, 6)
    made["shared"] = attention_case(*tensors, random_mask(1, 4, 5), 43)
    tensors = random_attention(44, 6, 4, 5, 3, 2)  # B = 2, H = 3
    made["heads"] = attention_case(*tensors, random_mask(2, 4, 5), 44)
    tensors = random_attention(45, 2, 4, 5, 3, 6)
    mask = random_mask(2, 4, 5)
    mask[0, 2] = 0
    mask[1, 0] = 0
    about_rows = ("nan_row", "uniform_row", "minus_1e9_added", "mask_after_softmax", "polarity_inverted")
    made["with_fully_masked_rows"] = attention_case(*tensors, mask, 45, only=about_rows)
    tensors = random_attention(46, 2, 4, 5, 3, 6, spread=40)
    about_size = ("renormalised_after_softmax", "mask_after_softmax", "mask_ignored")
    made["far_from_zero"] = attention_case(*tensors, random_mask(2, 4, 5), 46, only=about_size)

    # B = 2 sequences with 5 and 3 real keys, H = 3 heads; the 4 queries are the last of the sequence.
    tensors = random_attention(47, 6, 4, 5, 3, 2)
    padding = (torch.arange(5) < torch.tensor([[5], [3]])).to(DOUBLE).unsqueeze(1).expand(2, 4, 5)
    causal = torch.tril(torch.ones(1, 4, 5, dtype=DOUBLE), diagonal=1)
    made["padding_and_causal"] = attention_case(*tensors, padding * causal, 47, only=())
    return made
