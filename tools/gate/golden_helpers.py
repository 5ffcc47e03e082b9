"""What the golden.py of several lessons share: cases, masks, attention and its layers.

Everything is float64, which importing this makes PyTorch's default. Masks are boolean, True where a query may attend.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

torch.set_default_dtype(torch.float64)
INF = math.inf
DECIMALS = 3


def numbers(tensor):
    """Row-major, with text for what JSON lacks."""
    special = {INF: "inf", -INF: "-inf"}
    return ["nan" if math.isnan(x) else special.get(x, x) for x in tensor.reshape(-1).tolist()]


def rounded(module):
    """Rounds what a module draws for its parameters, in the way of randn()."""
    for parameter in module.parameters():
        parameter.data = parameter.data.round(decimals=DECIMALS)
    return module


def randn(*shape):
    """Few decimals, so that the file is short and its outputs belong to exactly the inputs that it holds."""
    return torch.randn(*shape).round(decimals=DECIMALS)


def float32_randn(spread, *shape):
    """Numbers that float32 holds exactly, widened: multiples of 1/128."""
    return (spread * torch.randn(shape, dtype=torch.float32)).double().mul(128).round().div(128)


class Rounded(nn.Module):
    """Rounds the parameters of a layer as randn() does."""

    def reset_parameters(self):
        super().reset_parameters()
        rounded(self)


class Linear(Rounded, nn.Linear):
    pass


class Embedding(Rounded, nn.Embedding):
    pass


class Case:
    """One golden case. It seeds PyTorch, so that what is drawn next belongs to it.

    add() takes PyTorch's axes as text: case.add("X", X, "B L E").
    """

    def __init__(self, seed=None):
        self.seed = seed
        self.arrays = {}
        if seed is not None:
            torch.manual_seed(seed)

    def add(self, name, values, axes):
        tensor, axes = torch.as_tensor(values).detach(), axes.split()
        if tensor.dtype == torch.float32:
            raise TypeError(f"{name} is float32, expected float64")
        if len(axes) != tensor.dim():
            raise ValueError(f"{name} has {tensor.dim()} axes, but letters for {len(axes)}: {axes}")
        self.arrays[name] = {"axes": axes, "shape": list(tensor.shape), "data": numbers(tensor.double())}
        return self

    def add_linear(self, name, layer):
        self.add(name + ".weight", layer.weight, "out in")
        return self if layer.bias is None else self.add(name + ".bias", layer.bias, "out")

    def add_layers(self, module, prefix=""):
        for name, layer in module.named_children():
            self.add_linear(prefix + name, layer)
        return self

    def add_attention(self, result, suffix="", axes="B H L S"):
        """result: weights and output"""
        return self.add("weights" + suffix, result[0], axes).add("output" + suffix, result[1], "B L E")

    def only(self, *names):
        """Keeps these: a check by hand has its inputs in its own code."""
        self.arrays = {name: self.arrays[name] for name in names}
        return self

    def without(self, *names):
        for name in names:
            del self.arrays[name]
        return self

    def to_json(self):
        return {"seed": self.seed, "arrays": self.arrays}


def doubles(values):
    return torch.tensor(values, dtype=torch.float64)


def chance(probability, *shape):
    """True as often as that. Drawn in float32, which is another sequence than torch.rand's in float64."""
    return torch.rand(*shape, dtype=torch.float32) < probability


def dropout_mask(p, *shape):
    """The mask that PyTorch's dropout draws, True for what is kept."""
    return F.dropout(torch.ones(*shape), p) != 0


def padding_mask(lengths, L, S):
    """(B, L, S): the first keys of each sequence."""
    return (torch.arange(S) < torch.tensor(lengths)[:, None, None]).expand(-1, L, -1)


def causal_mask(L, S=None):
    """(L, S): the past of each query, where the last query sees all keys."""
    S = L if S is None else S
    return torch.ones(L, S, dtype=torch.bool).tril(S - L)


def set_linear(layer, weight, bias=None):
    """Sets the weight (in x out) as the chapters print it, and the bias, by default zeros."""
    layer.weight.data = torch.as_tensor(weight, dtype=torch.float64).T.contiguous()
    if layer.bias is not None:
        layer.bias.data = torch.zeros(layer.out_features) if bias is None else doubles(bias)
    return layer


def safe_softmax(scores):
    """Zeros for a row of nothing but -inf, as PyTorch's own attention gives since 2024 (pull request 131060)."""
    no_key = torch.isneginf(scores).all(dim=-1, keepdim=True)
    return torch.softmax(scores, dim=-1).masked_fill(no_key, 0)


def attention(Q, K, V, mask=None, keep=None, p=0.0):
    """softmax(Q K^T / sqrt(D)) V for (..., L, D), (..., S, D) and (..., S, Dv): weights after dropout, and output."""
    scores = Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -INF)
    weights = safe_softmax(scores)
    if keep is not None:
        weights = weights * keep / (1 - p)
    return weights, weights @ V


def three_projections(dim, bias=False):
    return nn.ModuleDict({name: Linear(dim, dim, bias=bias) for name in ("query_proj", "key_proj", "value_proj")})


def self_attention_case(case, X, projections):
    """One head, without a mask."""
    case.add("X", X, "B L E").add_layers(projections)
    return case.add_attention(attention(*(proj(X) for proj in projections.values())), axes="B L L")


def self_attention_by_hand():
    """The numbers of lesson 01."""
    projections = three_projections(2)
    for proj, weight in zip(projections.values(), ([[1, 1], [0, 1]], [[1, 2], [1, 0]], [[2, 0], [0, 1]])):
        set_linear(proj, weight)
    return self_attention_case(Case(), doubles([[[1, 0], [0, 2]]]), projections)


def random_attention(N, L, S, D, Dv, spread=1.5):
    """Q (N, L, D), K (N, S, D), V (N, S, Dv)"""
    return spread * randn(N, L, D), spread * randn(N, S, D), randn(N, S, Dv)


def qkv_case(case, Q, K, V, mask=None):
    """Q (N, L, D), K (N, S, D), V (N, S, Dv); each slice of the mask (M, L, S) is for N / M neighbouring ones."""
    case.add("Q", Q, "N L D").add("K", K, "N S D").add("V", V, "N S Dv")
    if mask is not None:
        case.add("mask", mask, "M L S")
        mask = mask.repeat_interleave(len(Q) // len(mask), dim=0)
    return case.add("output", attention(Q, K, V, mask)[1], "N L Dv")


def part_of(scores, V):
    """Attention before the division, as one matrix (L, Dv + 2): output, maximum and sum."""
    maximum = scores.max(dim=-1, keepdim=True).values
    exponentials = torch.nan_to_num(torch.exp(scores - maximum), nan=0.0)
    return torch.cat((exponentials @ V, maximum, exponentials.sum(dim=-1, keepdim=True)), dim=-1)


def split_heads(x, H):
    """(B, L, H·D) -> (B, H, L, D)"""
    return x.unflatten(-1, (H, -1)).transpose(1, 2)


def merge_heads(x):
    """(B, H, L, D) -> (B, L, H·D)"""
    return x.transpose(1, 2).flatten(2)


class MultiHeadAttention(nn.Module):
    """Four projections around H heads of width D; groups of query heads share G key/value heads."""

    def __init__(self, E, H=1, G=None, D=None):
        super().__init__()
        self.H, self.G = H, H if G is None else G
        D = E // H if D is None else D
        self.query_proj = Linear(E, H * D)
        self.key_proj = Linear(E, D * self.G)
        self.value_proj = Linear(E, D * self.G)
        self.output_proj = Linear(H * D, E)

    def heads(self, query, key, value):
        """(B, H, L, D), (B, G, S, D), (B, G, S, D)"""
        Q = split_heads(self.query_proj(query), self.H)
        return Q, split_heads(self.key_proj(key), self.G), split_heads(self.value_proj(value), self.G)

    def forward(self, query, key=None, value=None, mask=None, keep=None, p=0.0):
        """Weights (B, H, L, S) and output (B, L, E). mask and keep broadcast to (B, L, S) or (B, H, L, S)."""
        mask, keep = (x[:, None] if x is not None and x.dim() == 3 else x for x in (mask, keep))
        key = query if key is None else key
        value = key if value is None else value
        Q, K, V = self.heads(query, key, value)
        if self.G != self.H:
            K, V = (x.repeat_interleave(self.H // self.G, dim=1) for x in (K, V))
        weights, context = attention(Q, K, V, mask, keep, p)
        return weights, self.output_proj(merge_heads(context))

    def library(self):
        """PyTorch's own layer with these weights, where G is H."""
        layer = nn.MultiheadAttention(self.output_proj.in_features, self.H, batch_first=True)
        three = (self.query_proj, self.key_proj, self.value_proj)
        layer.in_proj_weight.data = torch.cat([proj.weight.data for proj in three])
        layer.in_proj_bias.data = torch.cat([proj.bias.data for proj in three])
        layer.out_proj.load_state_dict(self.output_proj.state_dict())
        return layer
