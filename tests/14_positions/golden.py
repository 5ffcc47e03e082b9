"""Lesson 14: positions, as sines and cosines, as rotations (RoPE), and as a bias of the scores (ALiBi)."""

import math

import torch
from golden import Case

DOUBLE = torch.float64


def count(n):
    return torch.arange(n, dtype=DOUBLE)


def speeds(width, base=10000.0):
    """One for each pair: 1, then slower and slower."""
    return 1.0 / base ** (torch.arange(0, width, 2, dtype=DOUBLE) / width)


def turns(length, width, first=0, base=10000.0):
    return torch.outer(count(length) + first, speeds(width, base))


def wrong_turns(length, width, first, base=10000.0):
    """Angles (L, width / 2) with a mistake in the position or in the speed of a pair: sines and rotations share them."""
    right = turns(length, width, first, base)
    positions, pairs = count(length) + first, count(width // 2)
    unsigned = torch.where(pairs == 0, 1.0, math.inf).to(DOUBLE)  # -2 * p goes round to 1.8e19
    yield "half_exponent", torch.outer(positions, base ** (-pairs / width))
    yield "from_one", turns(length, width, first + 1, base)
    yield "degrees", torch.deg2rad(right)
    yield "same_speed", torch.outer(positions, torch.ones_like(pairs))
    yield "growing_speed", torch.outer(positions, base ** (2 * pairs / width))
    yield "unsigned", torch.outer(positions, unsigned)
    yield "slowest_first", right.flip(-1)
    yield "first_position_ignored", turns(length, width, 0, base)


# ------------------------------------------------------------------------------------------------------- sinusoidal


def interleave(even, odd):
    return torch.stack((even, odd), dim=-1).flatten(-2)


def sinusoid(angles):
    return interleave(torch.sin(angles), torch.cos(angles))


def add_sinusoid(case, name, length, width, first=0):
    right = turns(length, width, first)
    case.add(name, sinusoid(right), "L E")

    def mistake(what, wrong):
        case.add_mistake("sinusoid_" + what, **{name: wrong})

    for what, angles in wrong_turns(length, width, first):
        case.add_mistake(what, **{name: sinusoid(angles)})
    each = torch.outer(count(length) + first, 10000.0 ** (-count(width) / width))  # every column its own speed
    mistake("by_feature", interleave(torch.sin(each[:, ::2]), torch.cos(each[:, 1::2])))
    doubled = torch.outer(count(length) + first, 10000.0 ** (-2 * count(width) / width))
    mistake("by_feature_doubled", interleave(torch.sin(doubled[:, ::2]), torch.cos(doubled[:, 1::2])))
    mistake("cosine_first", interleave(torch.cos(right), torch.sin(right)))
    mistake("in_halves", torch.cat((torch.sin(right), torch.cos(right)), dim=-1))
    mistake("sines_only", interleave(torch.sin(right), torch.sin(right)))


# ------------------------------------------------------------------------------------------------------------- RoPE


def rotate_interleaved(X, angles):
    """As Meta's Llama: a pair is one complex number."""
    pairs = torch.view_as_complex(X.reshape(*X.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def rotate_half_split(X, angles):
    """As GPT-NeoX and Hugging Face's Llama."""
    both = torch.cat((angles, angles), dim=-1)
    low, high = X.chunk(2, dim=-1)
    return X * torch.cos(both) + torch.cat((-high, low), dim=-1) * torch.sin(both)


def apart(X, pairing):
    return (X[..., ::2], X[..., 1::2]) if pairing == "interleaved" else X.chunk(2, dim=-1)


def together(a, b, pairing):
    return interleave(a, b) if pairing == "interleaved" else torch.cat((a, b), dim=-1)


ROTATE = {"interleaved": rotate_interleaved, "half_split": rotate_half_split}


def rope_mistakes(X, pairing, first, base=10000.0):
    B, H, L, D = X.shape
    right = turns(L, D, first, base)
    other = "half_split" if pairing == "interleaved" else "interleaved"
    # polar() of infinity is not what sin() and cos() of it are: so not by complex numbers here
    a, b = apart(X, pairing)

    def turned(angles_a, angles_b=None, sign_a=-1, sign_b=1):
        angles_b = angles_a if angles_b is None else angles_b
        new_a = a * torch.cos(angles_a) + sign_a * b * torch.sin(angles_a)
        return together(new_a, b * torch.cos(angles_b) + sign_b * a * torch.sin(angles_b), pairing)

    for what, angles in wrong_turns(L, D, first, base):
        yield what, turned(angles)
    exponents = count(D)
    each = torch.outer(count(L) + first, base ** (-exponents / D))
    doubled = torch.outer(count(L) + first, base ** (-2 * exponents / D))
    yield "rope_by_feature", turned(*apart(each, pairing))
    yield "rope_by_feature_doubled", turned(*apart(doubled, pairing))
    yield "rope_both_plus", turned(right, sign_a=1)
    yield "rope_both_minus", turned(right, sign_b=-1)
    yield "rope_turned_back", turned(right, sign_a=1, sign_b=-1)
    cos, sin = torch.cos(right), torch.sin(right)
    yield "rope_sine_for_cosine", together(a * sin - b * cos, a * cos + b * sin, pairing)
    changed = a * cos - b * sin
    yield "rope_used_after_change", together(changed, changed * sin + b * cos, pairing)
    yield "rope_other_pairing", ROTATE[other](X, right)
    yield "rope_base_ignored", turned(turns(L, D, first))
    yield "rope_not_turned", X
    yield "rope_added", X + (sinusoid(right) if pairing == "interleaved" else torch.cat((sin, cos), dim=-1))
    slices = torch.arange(B * H, dtype=DOUBLE).view(B, H, 1, 1)
    yield "rope_slices_continued", turned(right + L * slices * speeds(D, base))
    if pairing == "half_split":
        mirrored = b.flip(-1)  # the partner of p is D - 1 - p
        yield "rope_mirrored", together(a * cos - mirrored * sin, (a * sin + mirrored * cos).flip(-1), pairing)
    first_only = X.clone()
    first_only[0, 0] = turned(right)[0, 0]
    yield "rope_first_slice_only", first_only


def add_rope(case, X, first=0, base=10000.0, suffix="", only=None):
    for pairing, rotate in ROTATE.items():
        name = pairing + suffix
        case.add(name, rotate(X, turns(X.shape[2], X.shape[3], first, base)), "B H L D")
        for what, wrong in rope_mistakes(X, pairing, first, base):
            if only is None or what in only:
                case.add_mistake(what, **{name: wrong})


# ------------------------------------------------------------------------------------------- one pairing to the other


def permute(w, heads):
    """As convert_llama_weights_to_hf.py: w is (out, ...)."""
    return w.view(heads, w.shape[0] // heads // 2, 2, -1).transpose(1, 2).reshape(w.shape)


def permute_back(w, heads):
    return w.view(heads, 2, w.shape[0] // heads // 2, -1).transpose(1, 2).reshape(w.shape)


def add_conversion(case, weight, bias, heads):
    """weight is (out, in) as in PyTorch; the wanted one is stored (in, out), as Linear has it."""
    case.add("proj.weight", weight, "out in").add("proj.bias", bias, "out")
    case.add("converted.weight", permute(weight, heads).T, "in out").add("converted.bias", permute(bias, heads), "out")

    def mistake(what, change):
        case.add_mistake("convert_" + what, **{"converted.weight": change(weight).T})

    mistake("back", lambda w: permute_back(w, heads))
    mistake("across_heads", lambda w: permute(w, 1))
    mistake("nothing", lambda w: w)
    mistake("first_head_only", lambda w: torch.cat((permute(w, heads)[: len(w) // heads], w[len(w) // heads :])))
    mistake("heads_alike", lambda w: permute(w, heads)[: len(w) // heads].repeat(heads, 1))
    mistake("odd_first", lambda w: torch.roll(permute(w, heads).view(heads, 2, -1), 1, 1).reshape(w.shape))
    case.add_mistake("convert_bias_forgotten", **{"converted.bias": bias})
    if weight.shape[0] == weight.shape[1]:
        case.add_mistake("convert_rows", **{"converted.weight": permute(weight.T.contiguous(), heads)})


# ------------------------------------------------------------------------------------------------------------ ALiBi


def slopes_of(heads):
    """The authors' get_slopes: a geometric sequence for a power of two, and else two of them."""
    if math.log2(heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(heads) - 3)))
        return start ** (1 + count(heads))
    power = 2 ** math.floor(math.log2(heads))
    return torch.cat((slopes_of(power), slopes_of(2 * power)[0::2][: heads - power]))


def wrong_slopes(heads):
    numbers = 1 + count(heads)
    power = 2 ** math.floor(math.log2(heads))
    more = slopes_of(2 * power)
    yield "from_zero", 2.0 ** (-8 * (numbers - 1) / heads)
    yield "without_eight", 2.0 ** (-numbers / heads)
    if heads in (2, 3, 4, 16):  # elsewhere it is what others give, or right
        yield "always_halved", 2.0**-numbers
    yield "whole_numbers", 2.0 ** -torch.div(8 * numbers, heads, rounding_mode="floor")
    yield "one_formula", 2.0 ** (-8 * numbers / heads)
    yield "next_power", slopes_of(2 * power if power < heads else power)[:heads]
    yield "consecutive", torch.cat((slopes_of(power), more[: heads - power]))
    if heads - power != 1:  # one that is added cannot tell these two apart
        yield "even_ones", torch.cat((slopes_of(power), more[1::2][: heads - power]))
        yield "power_not_doubled", torch.cat((slopes_of(power), 2.0 ** (-8 * (2 * count(heads - power) + 1) / power)))
    ratio = slopes_of(power)[0]
    yield "going_on", ratio**numbers
    yield "sorted", slopes_of(heads).sort(descending=True).values
    if heads != 2:  # where the two would be the same
        yield "fast_last", slopes_of(heads).flip(0)
        if power == heads > 1:
            yield "half_power", torch.cat((slopes_of(heads // 2), slopes_of(heads)[0::2]))
    yield "negative", -slopes_of(heads)
    yield "growing", 1 / slopes_of(heads)
    yield "went_round", torch.full((heads,), math.inf, dtype=DOUBLE)
    added = 2.0 ** -((8 // (2 * power)) * (2 * count(heads - power) + 1))
    yield "whole_eight", torch.cat((2.0 ** -((8 // power) * (1 + count(power))), added))


def add_slopes(case, heads):
    name = f"slopes_{heads}"
    case.add(name, slopes_of(heads), "H")
    for what, wrong in wrong_slopes(heads):
        case.add_mistake("slopes_" + what, **{name: wrong})


def add_bias(case, heads, L, S, suffix=""):
    name, slopes = "alibi" + suffix, slopes_of(heads).view(-1, 1, 1)
    i, j = count(L).view(-1, 1), count(S)
    distance = i + S - L - j
    case.add(name, -slopes * distance, "H L S")

    def mistake(what, wrong):
        case.add_mistake("bias_" + what, **{name: wrong})

    mistake("positive", slopes * distance)
    mistake("aligned_at_start", -slopes * (i - j))
    mistake("absolute", -slopes * distance.abs())
    mistake("future_zero", -slopes * distance.clamp(min=0))
    mistake("future_blocked", (-slopes * distance).masked_fill(distance < 0, -math.inf))
    mistake("went_round", -slopes * torch.where(distance < 0, distance + 2.0**64, distance))
    mistake("one_slope", (-slopes[0] * distance).expand(heads, L, S))
    mistake("from_one", -slopes * (distance + 1))
    mistake("without_slope", (-distance).expand(heads, L, S))
    mistake("keys_only", (slopes * j).expand(heads, L, S))


# ------------------------------------------------------------------------------------------------------------ cases


def by_hand():
    case = Case()
    add_sinusoid(case, "positions", 3, 4)
    X = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 4], [5, 0, 0, 2]], dtype=DOUBLE).view(1, 1, 3, 4)
    add_rope(case.add("X", X, "B H L D"), X)
    add_bias(case, 2, 2, 3)
    add_slopes(case, 2)
    weight = torch.tensor([[c, 100 + c] for c in range(12)], dtype=DOUBLE)  # 2 heads of 6 columns
    add_conversion(case, weight, 1000 + weight[:, 0], 2)
    return case


def sinusoid_case():
    case = Case()
    add_sinusoid(case, "positions", 5, 6)
    add_sinusoid(case, "later", 5, 6, 7)
    case.add("far", sinusoid(turns(3, 8, 100000)), "L E")
    return case


def rope(seed):
    torch.manual_seed(seed)
    X = torch.randn(2, 2, 5, 6, dtype=DOUBLE)
    case = Case(seed).add("X", X, "B H L D")
    add_rope(case, X)
    add_rope(case, X, 7, suffix="_later", only={"from_one", "first_position_ignored", "rope_slices_continued"})
    add_rope(case, X, base=50.0, suffix="_base", only={"rope_base_ignored", "half_exponent", "growing_speed"})
    for pairing, rotate in ROTATE.items():
        case.add(pairing + "_far", rotate(1e6 * X, turns(5, 6, 100000)) / 1e6, "B H L D")  # in millions, as the check
    return case


def conversion(seed, out, width, heads):
    torch.manual_seed(seed)
    case = Case(seed)
    add_conversion(case, torch.randn(out, width, dtype=DOUBLE), torch.randn(out, dtype=DOUBLE), heads)
    return case


def alibi():
    case = Case()
    for heads in (1, 2, 3, 4, 5, 6, 8, 12, 16):
        add_slopes(case, heads)
    add_bias(case, 6, 4, 5)
    add_bias(case, 2, 5, 3, "_more_queries")
    add_bias(case, 3, 4, 4, "_square")
    return case


def cases():
    return {
        "by_hand": by_hand(),
        "sinusoid": sinusoid_case(),
        "rope": rope(141),
        "conversion": conversion(142, 18, 5, 3),
        "conversion_square": conversion(143, 12, 12, 2),
        "alibi": alibi(),
    }
