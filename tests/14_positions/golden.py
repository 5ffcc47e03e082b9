"""Lesson 14: positions, as sines and cosines, as rotations (RoPE), and as a bias of the scores (ALiBi)."""

import math

import torch
from golden_helpers import Case, doubles, randn


def count(n):
    return torch.arange(n, dtype=torch.float64)


def speeds_of(width, base=10000.0):
    """As _compute_default_rope_parameters: a speed for each pair, 1, then slower and slower."""
    return 1.0 / base ** (torch.arange(0, width, 2, dtype=torch.float64) / width)


def turns(length, width, first=0, base=10000.0):
    """Angles (L, width / 2): each position times each speed."""
    return torch.outer(count(length) + first, speeds_of(width, base))


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


def add_rope(case, X, suffix="", angles=None):
    angles = turns(X.shape[2], X.shape[3]) if angles is None else angles
    case.add("interleaved" + suffix, rotate_interleaved(X, angles), "B H L D")
    return case.add("half_split" + suffix, rotate_half_split(X, angles), "B H L D")


def slowed(speeds, factor, kept):
    """kept: 1 where a pair keeps its speed, 0 where it is slowed down."""
    return speeds / factor * (1 - kept) + speeds * kept


def interpolated(width, factor, base=10000.0):
    """As _compute_linear_scaling_rope_parameters."""
    return speeds_of(width, base) / factor


def ntk(width, factor, base=10000.0):
    """As _compute_dynamic_ntk_parameters, for a text that is `factor` times as long."""
    return speeds_of(width, base * factor ** (width / (width - 2)))


def yarn(width, factor, trained, base=10000.0, beta_fast=32, beta_slow=1):
    """As _compute_yarn_parameters."""

    def dimension(rotations):
        return width * math.log(trained / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(dimension(beta_fast)), 0), min(math.ceil(dimension(beta_slow)), width - 1)
    ramp = (count(width // 2) - low) / (high - low if high != low else 0.001)
    return slowed(speeds_of(width, base), factor, 1 - ramp.clamp(0, 1))


def llama3(width, factor, trained, base=10000.0, low=1, high=4):
    """As _compute_llama3_parameters."""
    speeds = speeds_of(width, base)
    wavelengths = 2 * math.pi / speeds
    result = torch.where(wavelengths > trained / low, speeds / factor, speeds)
    smooth = slowed(speeds, factor, (trained / wavelengths - low) / (high - low))
    return torch.where((wavelengths >= trained / high) & (wavelengths <= trained / low), smooth, result)


def add_speeds(case, **speeds):
    for name, values in speeds.items():
        case.add(name, values, "P")
    return case


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
    case, X = Case(seed), randn(2, 2, 5, 6)
    add_rope(add_rope(case.add("X", X, "B H L D"), X), X, "_later", turns(5, 6, 7))
    add_rope(case.add("speeds", speeds_of(6, 50.0), "P"), X, "_speeds", turns(5, 6, base=50.0))
    for name, rotate in (("interleaved", rotate_interleaved), ("half_split", rotate_half_split)):
        case.add(name + "_far", rotate(1e6 * X, turns(5, 6, 100000)) / 1e6, "B H L D")  # in millions, as the check
    return case


def batch(seed):
    """Two sequences of three heads, each sequence with positions of its own; the other speeds are scaled as in Llama 3.1."""
    case, X = Case(seed), randn(2, 3, 5, 8)
    positions = torch.tensor([[3, 4, 5, 6, 7], [0, 1, 12, 2, 40]])
    speeds = llama3(8, 8, 256)
    case.add("X", X, "B H L D").add("positions", positions.double(), "B L").add("speeds", speeds, "P")
    each = positions[:, None, :, None].double()  # (B, 1, L, 1)
    add_rope(case, X, "", each * speeds_of(8))
    add_rope(case, X, "_speeds", each * speeds)
    return add_rope(case, X, "_of_sequence_1", each[1:] * speeds_of(8))


def scaling_by_hand():
    return add_speeds(
        Case(),
        none=speeds_of(8),
        position_interpolation=interpolated(8, 4),
        ntk_aware=ntk(8, 4),
        yarn=yarn(8, 4, 2048),
        llama3=llama3(8, 4, 2048),
    )


def scaling():
    """The settings of models, then others."""
    return add_speeds(
        Case(),
        llama_3_1=llama3(128, 8, 8192, 500000.0),
        llama_3_2=llama3(64, 32, 8192, 500000.0),
        qwen_2_5=yarn(128, 4, 32768, 1000000.0),
        yarn_llama_2=yarn(128, 16, 4096),
        interpolated_llama_2=interpolated(128, 2),
        ntk_llama_2=ntk(128, 2),
        unscaled=speeds_of(10, 500.0),
        interpolated=interpolated(10, 2.5, 500.0),
        ntk=ntk(10, 2.5, 500.0),
        ntk_of_two_pairs=ntk(4, 3, 50.0),
        yarn_betas=yarn(32, 16, 4096, beta_fast=20, beta_slow=2.5),
        yarn_short=yarn(12, 3, 64),
        yarn_long=yarn(8, 5, 700, 10.0),
        yarn_equal_limits=yarn(14, 3, 6),
        llama3_limits=llama3(32, 16, 1024, low=2, high=6.5),
    )


def cases():
    positions = Case().add("positions", sinusoid(turns(5, 6)), "L E").add("later", sinusoid(turns(5, 6, 7)), "L E")
    alibi = add_bias(add_slopes(Case(), 1, 2, 3, 4, 5, 6, 8, 12, 16), 6, 4, 5)
    return {
        "by_hand": by_hand(),
        "sinusoid": positions.add("far", sinusoid(turns(3, 8, 100000)), "L E"),
        "rope": rope(141),
        "batch": batch(144),
        "scaling_by_hand": scaling_by_hand(),
        "scaling": scaling(),
        "conversion": add_conversion(Case(142), randn(18, 5), randn(18), 3),
        "conversion_square": add_conversion(Case(143), randn(12, 12), randn(12), 2),
        "alibi": add_bias(add_bias(alibi, 2, 5, 3, "_more_queries"), 3, 4, 4, "_square"),
    }
