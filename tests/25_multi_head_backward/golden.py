"""Lesson 25: gradients of a layer of multi-head attention and of its parts, by PyTorch's autograd in float64."""

import math

import torch
from golden_helpers import Case, Linear, attention, causal_mask, chance, doubles, dropout_mask, merge_heads, randn
from golden_helpers import set_linear, split_heads
from torch import nn


def half_split_rope(x, angles):
    """x (..., L, D), angles (L, D / 2) or what broadcasts: as in Hugging Face's transformers"""
    half = x.shape[-1] // 2
    angles = torch.cat((angles, angles), dim=-1)
    return x * angles.cos() + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * angles.sin()


def interleaved_rope(x, angles):
    """As Meta's code for Llama does it: each pair is a complex number."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def usual_speeds(D):
    return 10000.0 ** (-torch.arange(0, D, 2).double() / D)


def with_gradients(case, output, d_output, leaves):
    """Adds the gradients of the sum of d_output times the output. leaves: name, tensor, axes. Those of weights are turned,
    to (in x out)."""
    gradients = torch.autograd.grad(output, [tensor for _, tensor, _ in leaves], d_output)
    for (name, _, axes), gradient in zip(leaves, gradients):
        if axes == "out in":
            gradient, axes = gradient.T, "in out"
        case.add("d_" + name, gradient, axes)
    return case


def parameters_of(name, layer):
    """The leaves of a linear layer."""
    leaves = [(name + ".weight", layer.weight, "out in")]
    return leaves if layer.bias is None else leaves + [(name + ".bias", layer.bias, "out")]


def linear_case(case, layer, X, d_Y):
    X = X.clone().requires_grad_()
    case.add("X", X, "B L I").add("d_Y", d_Y, "B L O").add_linear("layer", layer)
    return with_gradients(case, layer(X), d_Y, [("X", X, "B L I")] + parameters_of("layer", layer))


def drawn_linear(seed, bias):
    case = Case(seed)
    return linear_case(case, Linear(5, 2, bias), randn(3, 4, 5), randn(3, 4, 2))


def rope_case(seed, rope, speeds=None):
    """Three sequences of two heads; each sequence begins at a position of its own."""
    case, B, H, L, D = Case(seed), 3, 2, 5, 6
    X, d_Y = randn(B, H, L, D).requires_grad_(), randn(B, H, L, D)
    positions = torch.tensor([[0], [7], [40]]) + torch.arange(L)
    speeds = usual_speeds(D) if speeds is None else speeds
    Y = rope(X, positions[:, None, :, None] * speeds)
    case.add("d_Y", d_Y, "B H L D").add("positions", positions.T, "L B").add("speeds", speeds[None], "1 D/2")
    return with_gradients(case, Y, d_Y, [("X", X, "B H L D")])


def groups_case(seed):
    case, B, G, S, D, size = Case(seed), 2, 2, 4, 5, 3
    X, d_heads = randn(B, G, S, D).requires_grad_(), randn(B, G * size, S, D)
    case.add("d_heads", d_heads, "B H S D")
    return with_gradients(case, X.repeat_interleave(size, dim=1), d_heads, [("X", X, "B G S D")])


def fused_case(seed, bias):
    """One projection of width 6 for queries, 4 for keys and 4 for values."""
    case, layer = Case(seed), Linear(5, 14, bias)
    X, d_QKV = randn(2, 3, 5).requires_grad_(), randn(2, 3, 14)
    case.add("X", X, "B L E").add_linear("qkv_proj", layer)
    for name, part in zip(("d_Q", "d_K", "d_V"), d_QKV.split((6, 4, 4), dim=-1)):
        case.add(name, part, "B L O")
    return with_gradients(case, layer(X), d_QKV, [("X", X, "B L E")] + parameters_of("qkv_proj", layer))


class Layer(nn.Module):
    """As LlamaAttention of transformers, for whole sequences, with a mask and with dropout that are given."""

    def __init__(self, E, H, G, D, bias=False):
        super().__init__()
        self.H, self.G, self.D = H, G, D
        self.query_proj = Linear(E, H * D, bias=bias)
        self.key_proj = Linear(E, G * D, bias=bias)
        self.value_proj = Linear(E, G * D, bias=bias)
        self.output_proj = Linear(H * D, E, bias=bias)

    def forward(self, X, mask=None, keep=None, p=0.0, rope=half_split_rope, speeds=None):
        """mask broadcasts to (B, H, L, L), keep is (B, H, L, L). Merged (B, L, H·D), and output (B, L, E)."""
        speeds = usual_speeds(self.D) if speeds is None else speeds
        angles = torch.arange(X.shape[1])[:, None] * speeds
        Q = rope(split_heads(self.query_proj(X), self.H), angles)
        K = rope(split_heads(self.key_proj(X), self.G), angles)
        V = split_heads(self.value_proj(X), self.G)
        K, V = (x.repeat_interleave(self.H // self.G, dim=1) for x in (K, V))
        merged = merge_heads(attention(Q, K, V, mask, keep, p)[1])
        return merged, self.output_proj(merged)


def layer_case(case, layer, X, d_output, mask=None, keep=None, p=0.0, **options):
    X = X.clone().requires_grad_()
    case.add("X", X, "B L E").add_layers(layer).add("d_output", d_output, "B L E")
    if mask is not None:
        case.add("mask", mask, "M L S")
        mask = mask[:, None]
    if keep is not None:
        case.add("keep", keep, "B H L S")
    if options.get("speeds") is not None:
        case.add("speeds", options["speeds"][None], "1 D/2")
    merged, output = layer(X, mask, keep, p, **options)
    case.add("merged", merged, "B L I").add("output", output, "B L E")
    leaves = [("X", X, "B L E")]
    for name, child in layer.named_children():
        leaves += parameters_of(name, child)
    return with_gradients(case, output, d_output, leaves)


def by_hand():
    """Two tokens, E = 2, two query heads that share a key/value head of width 2; a quarter of a turn for each token."""
    layer = Layer(2, 2, 1, 2)
    set_linear(layer.query_proj, [[1, 0, 0, 1], [0, 1, 1, 0]])
    set_linear(layer.key_proj, [[1, 0], [0, 1]])
    set_linear(layer.value_proj, [[2, 0], [0, 1]])
    set_linear(layer.output_proj, [[1, 0], [0, 1], [0, 1], [1, 0]])
    X, d_output = doubles([[[1, 0], [0, 1]]]), doubles([[[1, 0], [1, -1]]])
    return layer_case(Case(), layer, X, d_output, causal_mask(2)[None], speeds=doubles([math.pi / 2]))


def drawn_layer(seed, E, H, G, D, L, B, bias, mask=None, p=None, **options):
    """mask: "causal", or a number of slices; then a query of the first slice may attend to no key."""
    case, layer = Case(seed), Layer(E, H, G, D, bias)
    X, d_output = 2 * randn(B, L, E), randn(B, L, E)
    if mask == "causal":
        mask = causal_mask(L)[None]
    elif mask is not None:
        mask = chance(0.6, mask, L, L)
        mask[0, 2] = False
    keep = None if p is None else dropout_mask(p, B, H, L, L)
    return layer_case(case, layer, X, d_output, mask, keep, p or 0.0, **options)


def linear_by_hand():
    layer = set_linear(Linear(2, 3), [[1, 0, 2], [0, 3, 1]], [1, 1, 1])
    return linear_case(Case(), layer, doubles([[[1, 2], [3, 4]]]), doubles([[[1, 0, -1], [2, 1, 0]]]))


def cases():
    slow = doubles([0.9, 0.4, 0.05])
    return {
        "linear_by_hand": linear_by_hand(),
        "by_hand": by_hand(),
        "linear": drawn_linear(251, True),
        "no_bias": drawn_linear(252, False),
        "half_split": rope_case(253, half_split_rope),
        "interleaved": rope_case(254, interleaved_rope, slow),
        "groups": groups_case(255),
        "fused": fused_case(256, True),
        "fused_no_bias": fused_case(257, False),
        "plain": drawn_layer(258, E=5, H=3, G=3, D=2, L=4, B=2, bias=True),
        "llama": drawn_layer(259, E=7, H=6, G=2, D=4, L=5, B=3, bias=False, mask="causal"),
        "everything": drawn_layer(
            260, E=7, H=4, G=2, D=6, L=5, B=3, bias=True, mask=3, p=0.3, rope=interleaved_rope, speeds=slow
        ),
    }
