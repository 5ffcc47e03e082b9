"""Lesson 21: the attention layer of a decoder-only model.

Written as LlamaAttention, Qwen3Attention and Gemma2Attention of Hugging Face's transformers are, for whole sequences: without
a cache, and in float64. What a call of extend gives is cut out of that.
"""

import math

import torch
from golden_helpers import Case, Linear, chance, doubles, merge_heads, randn, rounded, safe_softmax, set_linear
from golden_helpers import split_heads
from torch import nn


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def half_split_rope(x, angles):
    """x (B, H, L, D), angles (L, D / 2)"""
    angles = torch.cat((angles, angles), dim=-1)
    return x * angles.cos() + rotate_half(x) * angles.sin()


def interleaved_rope(x, angles):
    """As Meta's code for Llama does it: each pair is a complex number."""
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def rms_norm(x, weight, epsilon=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * weight


def visible(queries, keys, window=0):
    """(L, S) of positions: causal, and not before the window; transformers' kv_idx > q_idx - sliding_window."""
    q_idx, kv_idx = queries[:, None], keys[None, :]
    return (kv_idx <= q_idx) & (kv_idx > q_idx - (window or math.inf))


def grouped_attention(Q, K, V, mask=None, soft_cap=0.0):
    """Q (B, H, L, D), K and V (B, G, S, D), mask (B or 1, L, S), True where a query may attend."""
    K, V = (x.repeat_interleave(Q.shape[1] // K.shape[1], dim=1) for x in (K, V))
    scores = Q @ K.transpose(2, 3) * Q.shape[-1] ** -0.5
    if soft_cap:
        scores = torch.tanh(scores / soft_cap) * soft_cap
    if mask is not None:
        scores = scores.masked_fill(~mask[:, None], -math.inf)
    return safe_softmax(scores) @ V


class DecoderAttention(nn.Module):
    def __init__(self, E, H, G, D, bias=False):
        super().__init__()
        self.H, self.G, self.D = H, G, D
        self.query_proj = Linear(E, H * D, bias=bias)
        self.key_proj = Linear(E, G * D, bias=bias)
        self.value_proj = Linear(E, G * D, bias=bias)
        self.output_proj = Linear(H * D, E, bias=bias)

    def forward(self, X, window=0, norms=None, soft_cap=0.0, rope=half_split_rope, speeds=None):
        """Keys as they are cached (B, G, L, D), and the output (B, L, E). norms: the weights of both."""
        positions = torch.arange(X.shape[1])
        if speeds is None:
            speeds = 10000.0 ** (-torch.arange(0, self.D, 2).double() / self.D)
        angles = positions[:, None] * speeds
        Q, K = split_heads(self.query_proj(X), self.H), split_heads(self.key_proj(X), self.G)
        if norms is not None:
            Q, K = rms_norm(Q, norms[0]), rms_norm(K, norms[1])
        Q, K = rope(Q, angles), rope(K, angles)
        V = split_heads(self.value_proj(X), self.G)
        context = grouped_attention(Q, K, V, visible(positions, positions, window)[None], soft_cap)
        return K, self.output_proj(merge_heads(context))


def by_hand():
    """A quarter of a turn for each token: numbers stay integers."""
    layer = DecoderAttention(3, 2, 1, 2)
    set_linear(layer.query_proj, [[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])
    set_linear(layer.key_proj, [[1, 0], [0, 0], [0, 1]])
    set_linear(layer.value_proj, [[0, 0], [1, 0], [0, 1]])
    set_linear(layer.output_proj, [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    X = doubles([[[1, 0, 1], [0, 1, 1], [2, 1, 0], [1, 0, 2]]])
    keys, output = layer(X, window=3, speeds=doubles([math.pi / 2]))
    case = (
        Case().add("keys", keys, "B G S D").add("prompt", output[:, :3], "B L E").add("token", output[:, 3:], "B L E")
    )
    Q, V = doubles([[[[0, -1]], [[2, 0]]]]), split_heads(layer.value_proj(X), 1)
    return case.add("context", grouped_attention(Q, keys, V, torch.tensor([[[False, True, True, True]]])), "B H L D")


def masks():
    """Three sequences with 3, 1 and 0 tokens, and then 2, 5 and 0 more, in 5 rows; room for 7."""
    case = Case()
    for window in (0, 2, 4):
        mask = torch.zeros(3, 5, 7, dtype=torch.bool)
        for b, (old, new) in enumerate(((3, 2), (1, 5), (0, 0))):
            mask[b, :new] = visible(old + torch.arange(new), torch.arange(7), window)
        case.add(f"window_{window}", mask, "B L S")
    return case


def grouped(seed):
    """Eight query heads, two key/value heads, three sequences; one query that may attend to no key."""
    B, H, G, L, S, D = 3, 8, 2, 5, 9, 7
    case = Case(seed)
    Q, K, V = 2 * randn(B, H, L, D), 2 * randn(B, G, S, D), randn(B, G, S, D)
    mask = chance(0.6, B, L, S)
    mask[1, 3] = False
    case.add("Q", Q, "B H L D").add("K", K, "B G S D").add("V", V, "B G S D").add("mask", mask, "B L S")
    case.add("unmasked", grouped_attention(Q, K, V), "B H L D")
    case.add("output", grouped_attention(Q, K, V, mask), "B H L D")
    return case.add("capped", grouped_attention(Q, K, V, mask, 2.5), "B H L D")


# Tokens of each sequence in each of three calls.
LENGTHS = ((4, 2, 5), (1, 5, 3), (4, 0, 2))


def chunks(seed):
    """Sequences of 9, 7 and 10 tokens in three calls. After the tokens of a sequence a row or more of padding."""
    case, layer, E = Case(seed), DecoderAttention(14, 8, 2, 6), 14
    wholes = [2 * randn(sum(of_call[b] for of_call in LENGTHS), E) for b in range(3)]
    norms = 1 + 0.5 * randn(6), 1 + 0.5 * randn(6)
    case.add_layers(layer).add("query_norm", norms[0], "D").add("key_norm", norms[1], "D")
    ends = [0] * 3
    for number, of_call in enumerate(LENGTHS, start=1):
        chunk = 2 * randn(3, max(of_call) + 1, E)
        for b, length in enumerate(of_call):
            chunk[b, :length] = wholes[b][ends[b] : ends[b] + length]
            ends[b] += length
        case.add(f"chunk_{number}", chunk, "B L E")
    return case, layer, wholes, norms


def outputs(case, layer, wholes, **options):
    """What each call gives, with zeros where there is padding; and the cached keys of the longest sequence."""
    results = [layer(whole[None], **options) for whole in wholes]
    ends = [0] * 3
    for number, of_call in enumerate(LENGTHS, start=1):
        extended = torch.zeros(3, max(of_call) + 1, 14)
        for b, length in enumerate(of_call):
            extended[b, :length] = results[b][1][0, ends[b] : ends[b] + length]
            ends[b] += length
        case.add(f"extended_{number}", extended, "B L E")
    return case.add("keys_of_2", results[2][0], "B G S D")


def biased(seed):
    """Also another width, other heads, and other speeds: those of Llama 3, base 500000."""
    case, layer, X = Case(seed), DecoderAttention(9, 6, 3, 4, bias=True), 2 * randn(2, 5, 9)
    for proj in layer.children():
        nn.init.normal_(proj.bias)
        rounded(proj)
    speeds = 500000.0 ** (-torch.arange(0, 4, 2).double() / 4)
    case.add_layers(layer).add("X", X, "B L E").add("speeds", speeds, "D/2")
    return case.add("output", layer(X, speeds=speeds)[1], "B L E")


def cases():
    case, layer, wholes, norms = chunks(211)
    everything = dict(window=4, norms=norms, soft_cap=1.5, rope=interleaved_rope)
    return {
        "by_hand": by_hand(),
        "masks": masks(),
        "grouped": grouped(212),
        "llama": outputs(case, layer, wholes),
        # these use the layers and the chunks of "llama"
        "mistral": outputs(Case(), layer, wholes, window=4),
        "qwen3": outputs(Case(), layer, wholes, norms=norms),
        "gemma2": outputs(Case(), layer, wholes, soft_cap=1.5),
        "everything": outputs(Case(), layer, wholes, **everything),
        "biased": biased(213),
    }
