"""Lesson 14: positions, as sines and cosines, as rotations (RoPE), and as a bias of the scores (ALiBi)."""

import math

import torch
from golden_helpers import Case, doubles


def count(n):
    return torch.arange(n, dtype=torch.float64)


def turns(length, width, first=0, base=10000.0):
    """Angles (L, width / 2): each position times a speed for each pair, 1, then slower and slower."""
    return torch.outer(count(length) + first, 1.0 / base ** (torch.arange(0, width, 2) / width))


def sinusoid(angles):
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=-1).flatten(-2)


def rotate_interleaved(X, angles):
    """As Meta's Llama: a pair is one complex number."""
    pairs = torch.view_as_complex(X.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def rotate_half_split(X, angles):
    """As GPT-NeoX and Hugging Face's Llama."""
    both = torch.cat((angles, angles), dim=-1)
    low, high = X.chunk(2, dim=-1)
    return X * torch.cos(both) + torch.cat((-high, low), dim=-1) * torch.sin(both)


def add_rope(case, X, suffix="", **options):
    angles = turns(X.shape[2], X.shape[3], **options)
    case.add("interleaved" + suffix, rotate_interleaved(X, angles), "B H L D")
    return case.add("half_split" + suffix, rotate_half_split(X, angles), "B H L D")


def permute(w, heads):
    """As convert_llama_weights_to_hf.py: w is (out, ...)."""
    return w.view(heads, w.shape[0] // heads // 2, 2, -1).transpose(1, 2).reshape(w.shape)


def add_conversion(case, weight, bias, heads):
    """weight is (out, in) as in PyTorch; the converted one is (in, out), as Linear has it."""
    case.add("proj.weight", weight, "out in").add("proj.bias", bias, "out")
    case.add("converted.weight", permute(weight, heads).T, "in out")
    return case.add("converted.bias", permute(bias, heads), "out")


def slopes_of(heads):
    """The authors' get_slopes: a geometric sequence for a power of two, and else two of them."""
    if math.log2(heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(heads) - 3)))
        return start ** (1 + count(heads))
    power = 2 ** math.floor(math.log2(heads))
    return torch.cat((slopes_of(power), slopes_of(2 * power)[0::2][: heads - power]))


def add_slopes(case, *numbers):
    for heads in numbers:
        case.add(f"slopes_{heads}", slopes_of(heads), "H")
    return case


def add_bias(case, heads, L, S, suffix=""):
    distance = count(L).view(-1, 1) + S - L - count(S)
    return case.add("alibi" + suffix, -slopes_of(heads).view(-1, 1, 1) * distance, "H L S")


def by_hand():
    case = add_slopes(add_bias(Case(), 2, 2, 3), 2).add("positions", sinusoid(turns(3, 4)), "L E")
    add_rope(case, doubles([[1, 2, 3, 4], [1, 2, 3, 4], [5, 0, 0, 2]]).view(1, 1, 3, 4))
    weight = doubles([[c, 100 + c] for c in range(12)])  # 2 heads of 6 columns
    return add_conversion(case, weight, 1000 + weight[:, 0], 2)


def rope(seed):
    case, X = Case(seed), torch.randn(2, 2, 5, 6)
    add_rope(add_rope(case.add("X", X, "B H L D"), X), X, "_later", first=7)
    add_rope(case, X, "_base", base=50.0)
    for name, rotate in (("interleaved", rotate_interleaved), ("half_split", rotate_half_split)):
        case.add(name + "_far", rotate(1e6 * X, turns(5, 6, 100000)) / 1e6, "B H L D")  # in millions, as the check
    return case


def cases():
    positions = Case().add("positions", sinusoid(turns(5, 6)), "L E").add("later", sinusoid(turns(5, 6, 7)), "L E")
    alibi = add_bias(add_slopes(Case(), 1, 2, 3, 4, 5, 6, 8, 12, 16), 6, 4, 5)
    return {
        "by_hand": by_hand(),
        "sinusoid": positions.add("far", sinusoid(turns(3, 8, 100000)), "L E"),
        "rope": rope(141),
        "conversion": add_conversion(Case(142), torch.randn(18, 5), torch.randn(18), 3),
        "conversion_square": add_conversion(Case(143), torch.randn(12, 12), torch.randn(12), 2),
        "alibi": add_bias(add_bias(alibi, 2, 5, 3, "_more_queries"), 3, 4, 4, "_square"),
    }
