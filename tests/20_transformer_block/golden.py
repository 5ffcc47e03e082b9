"""Lesson 20: norms, activations, feed-forward networks, and the block of a transformer."""

import torch
from golden_helpers import Case, Linear, MultiHeadAttention, chance, doubles, randn, rounded, set_linear
from torch import nn
from torch.nn import functional as F


def layer_norm(X, weight=None, bias=None, epsilon=1e-5):
    return F.layer_norm(X, X.shape[-1:], weight, bias, epsilon)


def rms_norm(X, weight=1.0, epsilon=1e-6):
    """Written out: PyTorch has it since 2.4."""
    return X * torch.rsqrt(X.pow(2).mean(-1, keepdim=True) + epsilon) * weight


ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


def norms_by_hand():
    X = doubles([[[8, 2, 2, 0], [5, 5, 5, 5], [1, 3, 5, 7]]])
    return Case().add("layer_norm", layer_norm(X), "B L E").add("rms_norm", rms_norm(X), "B L E")


def norms(seed):
    """Also with a large epsilon, with numbers so small that the usual epsilon counts, and far from zero."""
    case, X = Case(seed), 3 * randn(2, 5, 6) + 1
    weight, bias = randn(6), randn(6)
    case.add("X", X, "B L E").add("weight", weight, "E").add("bias", bias, "E")
    case.add("layer_norm", layer_norm(X, weight, bias), "B L E").add("rms_norm", rms_norm(X, weight), "B L E")
    case.add("layer_norm_half", layer_norm(X, weight, bias, 0.5), "B L E")
    case.add("rms_norm_half", rms_norm(X, weight, 0.5), "B L E")
    case.add("layer_norm_small", layer_norm(X / 1000, weight, bias), "B L E")
    case.add("rms_norm_small", rms_norm(X / 1000, weight), "B L E")
    return case.add("layer_norm_far", layer_norm(X + 10000, weight, bias), "B L E")


def heads(seed):
    """Queries of 3 heads of width 4, as QK-norm has them."""
    case, Q, weight = Case(seed), randn(2, 3, 5, 4), randn(4)
    return case.add("Q", Q, "B H L D").add("weight", weight, "D").add("rms_norm", rms_norm(Q, weight), "B H L D")


def activations_of(case, x):
    case.add("x", x, "B L E")
    for name, function in ACTIVATIONS.items():
        case.add(name, function(x), "B L E")
    return case


def large():
    return activations_of(Case(), doubles([[[-1e4, -800, -700], [-40, -12, -7]], [[7, 12, 40], [700, 800, 1e4]]]))


def feed_forward_by_hand():
    up, down = set_linear(Linear(2, 3), [[1, -1, 2], [1, 1, 0]], [0, 0, -1]), Linear(3, 2)
    set_linear(down, [[1, 0], [0, 1], [1, -1]], [0.5, 0])
    X = doubles([[[1, 0], [-1, 1]]])
    case = Case().add("X", X, "B L E").add_linear("up_proj", up).add_linear("down_proj", down)
    return case.add("hidden", up(X), "B L F").add("output", down(F.gelu(up(X))), "B L E")


def feed_forward(seed):
    case, X, up, down = Case(seed), randn(2, 5, 6), Linear(6, 11), Linear(11, 6)
    case.add("X", X, "B L E").add_linear("up_proj", up).add_linear("down_proj", down)
    for name, function in ACTIVATIONS.items():
        case.add(name, down(function(up(X))), "B L E")
    return case


def swiglu(case, X, gate, up, down):
    case.add("X", X, "B L E").add_linear("gate_proj", gate).add_linear("up_proj", up).add_linear("down_proj", down)
    return case.add("output", down(F.silu(gate(X)) * up(X)), "B L E")


def swiglu_by_hand():
    gate, up, down = (Linear(*sizes, bias=False) for sizes in ((2, 3), (2, 3), (3, 2)))
    set_linear(gate, [[1, -1, 0], [0, 0, 2]])
    set_linear(up, [[2, 2, 1], [0, 1, 1]])
    set_linear(down, [[1, 0], [0, 1], [1, 1]])
    return swiglu(Case(), doubles([[[1, 2], [-2, 0.5]]]), gate, up, down)


def swiglu_random(seed):
    case, X = Case(seed), 2 * randn(2, 5, 6)
    return swiglu(case, X, *(Linear(*sizes, bias=False) for sizes in ((6, 9), (6, 9), (9, 6))))


class Parts:
    """What a block is made of; PyTorch's own layer with these parts, and what it gives."""

    def __init__(self, E, H, hidden):
        self.attention = MultiHeadAttention(E, H)
        self.up_proj, self.down_proj = Linear(E, hidden), Linear(hidden, E)
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(E), nn.LayerNorm(E)

    def draw_norms(self):
        for norm in (self.attention_norm, self.feed_forward_norm):
            nn.init.normal_(norm.weight)
            nn.init.normal_(norm.bias)
            rounded(norm)
        return self

    def library(self, norm_first):
        """Left in training, without dropout: in evaluation PyTorch has another implementation for it."""
        E, H, hidden = self.up_proj.in_features, self.attention.H, self.up_proj.out_features
        layer = nn.TransformerEncoderLayer(
            E, H, hidden, dropout=0.0, activation="gelu", batch_first=True, norm_first=norm_first
        )
        layer.self_attn = self.attention.library()
        layer.linear1, layer.linear2 = self.up_proj, self.down_proj
        layer.norm1, layer.norm2 = self.attention_norm, self.feed_forward_norm
        return layer

    def add_to(self, case):
        case.add_layers(self.attention).add_linear("up_proj", self.up_proj).add_linear("down_proj", self.down_proj)
        for name in ("attention_norm", "feed_forward_norm"):
            norm = getattr(self, name)
            case.add(name + ".weight", norm.weight, "E").add(name + ".bias", norm.bias, "E")
        return case

    def add_outputs(self, case, X, mask=None):
        """mask: broadcasts to (B, H, L, L), True where a query may attend."""
        shape = (len(X), self.attention.H, X.shape[1], X.shape[1])
        blocked = None if mask is None else ~mask.expand(shape).flatten(0, 1)
        for name, norm_first in (("pre", True), ("post", False)):
            case.add(name, self.library(norm_first)(X, src_mask=blocked), "B L E")
            weights = self.attention(self.attention_norm(X) if norm_first else X, mask=mask)[0]
            case.add("weights_" + name, weights, "B H L L")
        return case


def block_by_hand():
    parts = Parts(4, 2, 6)
    for layer in parts.attention.children():
        set_linear(layer, torch.eye(4))
    set_linear(parts.up_proj, [[1, 0, 0, 0, 1, -1], [0, 1, 0, 0, -1, 1], [0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]])
    set_linear(parts.down_proj, torch.cat((torch.eye(4), torch.eye(4)[2:])))
    X = doubles([[[8, 2, 2, 0], [1, 5, 1, 5]]])
    return parts.add_outputs(parts.add_to(Case().add("X", X, "B L E")), X)


# What the cases of the block share: L 5, E 12, H 4, F 20, B 2.
torch.manual_seed(201)
X = 2 * randn(2, 5, 12) + 0.5
BLOCK = Parts(12, 4, 20).draw_norms()


def mask_case(seed, shape, axes):
    """About a third blocked, and never the token itself."""
    case, mask = Case(seed), ~chance(0.35, *shape) | torch.eye(5, dtype=torch.bool)
    case.add("mask", mask, axes)
    return BLOCK.add_outputs(case, X, mask[:, None] if mask.dim() == 3 else mask)


def cases():
    return {
        "norms_by_hand": norms_by_hand(),
        "norms": norms(202),
        "heads": heads(203),
        "activations_by_hand": activations_of(Case(), doubles([[[-3, -2, -1, 0, 1, 2, 3]]])),
        "activations": activations_of(Case(204), 2 * randn(2, 5, 6)),
        "large": large(),
        "feed_forward_by_hand": feed_forward_by_hand(),
        "feed_forward": feed_forward(205),
        "swiglu_by_hand": swiglu_by_hand(),
        "swiglu": swiglu_random(206),
        "block_by_hand": block_by_hand(),
        "block": BLOCK.add_outputs(BLOCK.add_to(Case(201).add("X", X, "B L E")), X),
        # these use the X and the layers of "block"
        "mask_one": mask_case(207, (1, 5, 5), "1 L L"),
        "mask_batch": mask_case(208, (2, 5, 5), "B L L"),
        "mask_heads": mask_case(209, (2, 4, 5, 5), "B H L L"),
    }
