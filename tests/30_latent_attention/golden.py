"""Lesson 30: multi-head latent attention.

After the equations of DeepSeek-V2's appendix C, head by head, with keys and values of all heads: never absorbed, and
never with a cache. The RMSNorms and the layout of the weights are those of DeepseekV3Attention in transformers.
"""

import math

import torch
from golden_helpers import INF, Case, Linear, causal_mask, doubles, randn, set_linear
from torch import nn


def rms_norm(x, weight, epsilon=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * weight


def rope(x):
    """x (B, S, R) at the positions 0, 1, 2, ...: each pair of neighbours is a complex number."""
    angles = torch.arange(x.shape[1])[:, None] * 10000.0 ** (-torch.arange(0, x.shape[-1], 2).double() / x.shape[-1])
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


class LatentAttention(nn.Module):
    def __init__(self, E, H, D, R, Dv, C, Cq):
        super().__init__()
        self.H, self.D, self.R, self.Dv, self.C = H, D, R, Dv, C
        self.query_down = Linear(E, Cq, bias=False)
        self.query_up = Linear(Cq, H * (D + R), bias=False)
        self.latent_down = Linear(E, C + R, bias=False)
        self.latent_up = Linear(C, H * (D + Dv), bias=False)
        self.output_proj = Linear(H * Dv, E, bias=False)
        self.query_norm, self.latent_norm = torch.ones(Cq), torch.ones(C)

    def rows(self, X):
        """(B, S, C + R): what is cached of each token."""
        compressed = self.latent_down(X)
        return torch.cat(
            (rms_norm(compressed[..., : self.C], self.latent_norm), rope(compressed[..., self.C :])), dim=-1
        )

    def queries(self, X):
        """(B, H, S, D + R)"""
        latent = rms_norm(self.query_down(X), self.query_norm)
        heads = []
        for weight in self.query_up.weight.chunk(self.H):  # (D + R, Cq)
            plain, rotated = latent @ weight[: self.D].T, latent @ weight[self.D :].T
            heads.append(torch.cat((plain, rope(rotated)), dim=-1))
        return torch.stack(heads, dim=1)

    def context(self, Q, rows):
        """Q (B, H, L, D + R), rows (B, S, C + R) -> (B, H, L, Dv)"""
        latents, rotated = rows[..., : self.C], rows[..., self.C :]
        heads = []
        for h, weight in enumerate(self.latent_up.weight.chunk(self.H)):  # (D + Dv, C)
            K = torch.cat((latents @ weight[: self.D].T, rotated), dim=-1)
            V = latents @ weight[self.D :].T
            scores = Q[:, h] @ K.transpose(1, 2) / math.sqrt(self.D + self.R)
            scores = scores.masked_fill(~causal_mask(Q.shape[2], rows.shape[1]), -INF)
            heads.append(scores.softmax(dim=-1) @ V)
        return torch.stack(heads, dim=1)

    def forward(self, X):
        context = self.context(self.queries(X), self.rows(X))
        return self.output_proj(context.transpose(1, 2).flatten(2))


def add_layer(case, layer):
    for name in ("query_down", "query_up", "latent_down", "latent_up", "output_proj"):
        case.add_linear(name, getattr(layer, name))
    return case.add("query_norm", layer.query_norm, "Cq").add("latent_norm", layer.latent_norm, "C")


def by_hand():
    """The latents and the shared keys are in X itself."""
    layer = LatentAttention(E=4, H=2, D=1, R=2, Dv=1, C=2, Cq=2)
    set_linear(layer.query_down, [[1, 0], [0, 1], [0, 0], [0, 0]])
    set_linear(layer.query_up, [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 1]])
    set_linear(layer.latent_down, torch.eye(4))
    set_linear(layer.latent_up, [[1, 1, 0, 1], [2, 0, 1, -1]])
    set_linear(layer.output_proj, [[1, 0, 1, 0], [0, 1, 0, 1]])
    X = doubles([[[1, 1, 1, 0], [7, 1, 1, 0], [1, -1, 0, 1]]])
    Q, rows = layer.queries(X), layer.rows(X)
    context = layer.context(Q, rows)
    case = Case().add("rows", rows, "B S C+R").add("queries", Q, "B H L D+R").add("context", context, "B H L Dv")
    return case.add("output", layer(X), "B L E")


def whole(seed, spread=1.0):
    """11 tokens of two sequences; the last 5 as queries."""
    B, L, S = 2, 5, 11
    case = Case(seed)
    layer = LatentAttention(E=9, H=3, D=4, R=6, Dv=7, C=8, Cq=13)
    layer.query_norm, layer.latent_norm = spread * randn(13), randn(8)
    X = randn(B, S, 9)
    add_layer(case.add("X", X, "B S E"), layer)
    Q, rows = layer.queries(X), layer.rows(X)
    case.add("rows", rows, "B S C+R").add("queries", Q[:, :, S - L :], "B H L D+R")
    case.add("context", layer.context(Q[:, :, S - L :], rows), "B H L Dv")
    return case.add("output", layer(X), "B S E")


def products(*shapes):
    """FLOPs of products (m x k) times (k x n)."""
    return sum(2 * m * k * n for m, k, n in shapes)


def cost():
    """Of the sizes of `layer`, and of DeepSeek-V2, for L queries and S rows: every matrix product, head by head."""
    small, v2, calls = (
        (3, 4, 6, 7, 8),
        (128, 128, 64, 128, 512),
        ((1, 1), (1, 3), (5, 11), (11, 11), (1, 4096), (512, 4096)),
    )
    expanded, absorbed = [], []
    for L, S in calls:
        expanded.append(
            [H * products((S, C, D), (S, C, Dv), (L, D, S), (L, R, S), (L, S, Dv)) for H, D, R, Dv, C in (small, v2)]
        )
        absorbed.append(
            [H * products((L, D, C), (L, C, S), (L, R, S), (L, S, C), (L, C, Dv)) for H, D, R, Dv, C in (small, v2)]
        )
    bytes_of_a_token = [60 * (512 + 64) * 2, 61 * (512 + 64) * 2, 5 * (8 + 6) * 8]
    case = Case().add("calls", doubles(calls), "calls LS").add("bytes", doubles([bytes_of_a_token]), "1 models")
    return case.add("expanded", doubles(expanded), "calls layer").add("absorbed", doubles(absorbed), "calls layer")


def cases():
    return {
        "by_hand": by_hand(),
        "layer": whole(301),
        "far_from_zero": whole(302, spread=3000),
        "cost": cost(),
    }
