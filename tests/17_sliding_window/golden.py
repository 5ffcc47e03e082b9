"""Lesson 17: the sliding window and its sinks, as a mask and as attention."""

import math

import torch
from golden import Case

DOUBLE = torch.float64
INF = math.inf


class Window:
    """Who sees whom, for queries that are the last L of S tokens: (L, S) truth values, and each mistake's."""

    def __init__(self, L, S, window, sinks):
        self.window, self.sinks = window, sinks
        self.i = torch.arange(L).unsqueeze(1)
        self.j = torch.arange(S).unsqueeze(0)
        self.place = self.i + S - L
        self.past = self.j <= self.place
        self.is_sink = self.j < sinks
        self.in_window = self.newest(window)
        self.allowed = self.past & (self.in_window | self.is_sink)

    def newest(self, count):
        return self.past & (self.j > self.place - count)

    def or_sinks(self, in_window):
        return in_window | (self.past & self.is_sink)

    def mistakes(self):
        w, i, j, place = self.window, self.i, self.j, self.place
        yield "window_too_long", self.or_sinks(self.newest(w + 1))
        yield "window_too_short", self.or_sinks(self.newest(w - 1))
        yield "window_centred", self.or_sinks((j >= place - w // 2) & (j <= place + w // 2))
        yield "window_both_ways", self.or_sinks((j - place).abs() < w)
        yield "window_in_queries", self.or_sinks(self.past & (j > i - w))
        yield "at_the_start", (j <= i) & ((j > i - w) | self.is_sink)
        yield "sinks_in_the_future", self.newest(w) | (self.is_sink & (place >= 0))
        yield "sinks_ignored", self.in_window
        yield "sinks_in_the_budget", self.or_sinks(self.newest(max(0, w - self.sinks)))
        yield "sinks_as_more_window", self.newest(w + self.sinks)
        yield "one_sink_missing", self.newest(w) | (self.past & (j + 1 < self.sinks))
        yield "one_sink_more", self.newest(w) | (self.past & (j <= self.sinks))
        yield "window_forgotten", self.past
        end = torch.clamp(place + 2, max=j.numel())  # the query taken for the token behind it
        yield "one_ahead", (j < end) & ((j >= end - w) | self.is_sink)
        yield "own_key_missing", (j < place) & ((j >= place - w) | self.is_sink)
        full = (place + 1 >= w).expand(self.past.shape)
        yield "early_queries_blind", self.or_sinks(self.in_window & full)
        turned = j.numel() - 1 - i  # the place, counted from the end of the text
        yield "counted_from_the_end", (j <= turned) & ((j > turned - w) | self.is_sink)
        if self.sinks > 0:
            yield "window_and_sinks_swapped", self.newest(self.sinks) | (self.past & (j < w))

    def all_sinks_and_window(self):
        """How often each key is listed when all sinks are, and then the window."""
        return (self.is_sink & (self.place >= 0)).to(DOUBLE) + self.in_window.to(DOUBLE)


# With one sink and so few keys these are the same as simpler mistakes.
SAME_BY_HAND = ("window_both_ways", "sinks_in_the_budget", "one_sink_missing", "window_in_queries")
# Three queries that see three keys each.
SAME_ROOTS = ("divided_by_root_of_keys", "divided_by_root_of_queries")


def mask_case(L, S, window, sinks=0, only=None, without=()):
    """`listed` is how often each key stands in the list of a query, `mask` is 1 where it does. `only` are the mistakes
    that this case is for; `without` are those that give the same as another one here."""
    sees = Window(L, S, window, sinks)
    right = sees.allowed.to(DOUBLE).unsqueeze(0)
    case = Case().add("listed", right, "1 L S").add("mask", right, "1 L S")
    for name, wrong in sees.mistakes():
        if name not in without and (only is None or name in only):
            wrong = wrong.to(DOUBLE).unsqueeze(0)
            case.add_mistake(name, listed=wrong, mask=wrong)
    case.add_mistake("sink_twice", listed=right + (sees.is_sink & sees.in_window).to(DOUBLE))
    if only is None:
        case.add_mistake("all_sinks_listed", listed=sees.all_sinks_and_window().unsqueeze(0))
    case.add_mistake("mask_inverted", mask=1 - right)
    return case


def attend(scores, V, times):
    """One softmax over the keys that are listed, each counted as often as it is listed. Zeros for a row without any."""
    listed = (scores + torch.log(times)).masked_fill(times == 0, -INF)
    return torch.nan_to_num(torch.softmax(listed, dim=-1)) @ V


def attention_mistakes(Q, K, V, sees):
    D, Dv = Q.shape[-1], V.shape[-1]
    products = Q @ K.transpose(-1, -2)
    scores = products / math.sqrt(D)

    def times(who_sees_whom):
        return who_sees_whom.to(DOUBLE).expand(scores.shape)

    listed = times(sees.allowed)
    for name, wrong in sees.mistakes():
        yield name, attend(scores, V, times(wrong))
    yield "sink_twice", attend(scores, V, listed + times(sees.in_window & sees.is_sink))
    yield "all_sinks_listed", attend(scores, V, sees.all_sinks_and_window().expand(scores.shape))
    older_sinks = sees.is_sink & sees.allowed & ~sees.in_window
    apart = attend(scores, V, times(sees.in_window)) + attend(scores, V, times(older_sinks))
    yield "softmax_apart", apart
    yield "softmax_apart_averaged", apart / (1 + older_sinks.any(dim=-1, keepdim=True).to(DOUBLE))
    whole = torch.nan_to_num(torch.softmax(scores.masked_fill(~sees.past, -INF), dim=-1))
    yield "cut_after_softmax", (whole * listed) @ V
    yield "unscaled", attend(products, V, listed)
    yield "divided_by_dim", attend(products / D, V, listed)
    yield "divided_by_root_value_width", attend(products / math.sqrt(Dv), V, listed)
    yield "divided_by_root_of_keys", attend(products / listed.sum(dim=-1, keepdim=True).clamp(min=1).sqrt(), V, listed)
    yield "divided_by_root_of_queries", attend(products / math.sqrt(Q.shape[1]), V, listed)
    yield "multiplied_by_root", attend(products * math.sqrt(D), V, listed)
    yield "softmax_forgotten", (scores * listed) @ V
    yield "softmax_of_single_scores", listed @ V
    right = torch.nan_to_num(torch.softmax(scores.masked_fill(listed == 0, -INF), dim=-1))
    keys = [row.nonzero().flatten() for row in sees.allowed]
    first_rows = [right[:, i : i + 1, row] @ V[:, : row.numel()] for i, row in enumerate(keys)]
    yield "first_rows_of_values", torch.cat(first_rows, dim=1)
    powers = torch.exp(scores).masked_fill(listed == 0, 0.0)
    yield "maximum_not_subtracted", (powers / powers.sum(dim=-1, keepdim=True)) @ V  # NaN where exp overflows
    yield "first_keys", attend(Q @ K[:1].transpose(-1, -2) / math.sqrt(D), V, listed)
    yield "first_values", attend(scores, V[:1], listed)


def attention_case(Q, K, V, window, sinks=0, seed=None, only=None, without=()):
    """Q (N L D), K (N S D), V (N S Dv). `only` and `without` as above."""
    case = Case(seed).add("Q", Q, "N L D").add("K", K, "N S D").add("V", V, "N S Dv")
    sees = Window(Q.shape[1], K.shape[1], window, sinks)
    scores = Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])
    case.add("output", attend(scores, V, sees.allowed.to(DOUBLE).expand(scores.shape)), "N L Dv")
    for name, wrong in attention_mistakes(Q, K, V, sees):
        if name not in without and (only is None or name in only):
            case.add_mistake(name, output=wrong)
    return case


def random_attention(seed, N, L, S, D, Dv, spread=1.5):
    torch.manual_seed(seed)
    return (
        spread * torch.randn(N, L, D, dtype=DOUBLE),
        spread * torch.randn(N, S, D, dtype=DOUBLE),
        torch.randn(N, S, Dv, dtype=DOUBLE),
    )


def by_hand():
    Q = torch.tensor([[[2, 0, 2, 0], [0, 2, 0, 1], [2, 2, 0, 0]]], dtype=DOUBLE)
    K = torch.tensor(
        [[[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 0, 2], [2, 0, 0, 1], [0, 0, 1, 2]]], dtype=DOUBLE
    )
    V = torch.tensor([[[4, 0], [0, 2], [1, 1], [0, 4], [2, 0]]], dtype=DOUBLE)
    return attention_case(Q, K, V, 2, 1, without=SAME_BY_HAND + SAME_ROOTS)


def cases():
    made = {}
    made["mask_by_hand"] = mask_case(3, 5, 2, 1, without=SAME_BY_HAND)
    made["mask_square"] = mask_case(9, 9, 4, 2)
    made["mask_more_keys"] = mask_case(6, 11, 3, 2)
    made["mask_without_sinks"] = mask_case(5, 8, 3)
    made["mask_more_queries"] = mask_case(7, 4, 2, 1, only=("sinks_in_the_future", "sinks_ignored", "mask_inverted"))

    made["by_hand"] = by_hand()
    made["square"] = attention_case(*random_attention(171, 3, 9, 9, 4, 2), 4, 2, 171)
    made["more_keys"] = attention_case(*random_attention(172, 2, 6, 11, 3, 4), 3, 2, 172)
    made["without_sinks"] = attention_case(*random_attention(173, 2, 5, 8, 4, 6), 3, 0, 173)
    about_nobody = ("sinks_in_the_future", "sinks_ignored", "unscaled")
    made["more_queries"] = attention_case(*random_attention(174, 2, 7, 4, 3, 5), 2, 1, 174, about_nobody)
    made["far_from_zero"] = attention_case(
        *random_attention(175, 2, 5, 7, 3, 4, spread=40), 3, 1, 175, ("maximum_not_subtracted", "cut_after_softmax")
    )
    return made
