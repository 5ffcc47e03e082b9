"""Lesson 26: gradients of norms, activations, feed-forward networks, embeddings, blocks and whole language models, by
PyTorch's autograd in float64.

Blocks and models are written as LlamaForCausalLM and GPT2LMHeadModel of Hugging Face's transformers are, for whole
sequences.
"""

import math

import torch
from golden_helpers import Case, Embedding, Linear, attention, doubles, merge_heads, randn, rounded, split_heads
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, dim, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(dim)), epsilon

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


class FeedForward(nn.Module):
    def __init__(self, E, hidden, function):
        super().__init__()
        self.up_proj, self.down_proj, self.function = Linear(E, hidden), Linear(hidden, E), function

    def forward(self, x):
        return self.down_proj(self.function(self.up_proj(x)))


class SwiGLU(nn.Module):
    def __init__(self, E, hidden):
        super().__init__()
        self.gate_proj, self.up_proj = Linear(E, hidden, bias=False), Linear(E, hidden, bias=False)
        self.down_proj = Linear(hidden, E, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


ACTIVATIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


def rope(x):
    """Half-split, base 10000; x (B, H, L, D)"""
    L, D = x.shape[2:]
    angles = torch.arange(L)[:, None] * 10000.0 ** (-torch.arange(0, D, 2).double() / D)
    cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


def causal(L, window=0):
    """(L, L), True where a query may attend"""
    i, j = torch.arange(L)[:, None], torch.arange(L)[None, :]
    return (j <= i) & (j > i - (window or math.inf))


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        E, H, G, D, self.c = c["E"], c["H"], c["G"], c["D"], c
        for name, sizes in (("query", (E, H * D)), ("key", (E, G * D)), ("value", (E, G * D)), ("output", (H * D, E))):
            setattr(self, name + "_proj", Linear(*sizes, bias=c["gpt2"]))

    def forward(self, X):
        c = self.c
        Q, K, V = (
            split_heads(proj(X), heads)
            for proj, heads in ((self.query_proj, c["H"]), (self.key_proj, c["G"]), (self.value_proj, c["G"]))
        )
        if not c["gpt2"]:
            Q, K = rope(Q), rope(K)
        K, V = (x.repeat_interleave(c["H"] // c["G"], dim=1) for x in (K, V))
        context = attention(Q, K, V, causal(X.shape[1], c.get("window", 0)))[1]
        return self.output_proj(merge_heads(context))


def make_norm(c):
    return (nn.LayerNorm if c["gpt2"] else RMSNorm)(c["E"], c["epsilon"])


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention_norm, self.feed_forward_norm = make_norm(c), make_norm(c)
        self.attention = Attention(c)
        gelu = ACTIVATIONS["gelu_tanh"]
        self.feed_forward = FeedForward(c["E"], c["F"], gelu) if c["gpt2"] else SwiGLU(c["E"], c["F"])

    def forward(self, X):
        h = X + self.attention(self.attention_norm(X))
        return h + self.feed_forward(self.feed_forward_norm(h))


class LanguageModel(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.token_embedding = Embedding(c["V"], c["E"])
        self.position_embedding = Embedding(c["P"], c["E"]) if c["gpt2"] else None
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["N"]))
        self.final_norm = make_norm(c)
        self.head = None if c["tied"] else Linear(c["E"], c["V"], bias=False)

    def forward(self, ids):
        """(B, L) -> (B, L, V)"""
        X = self.token_embedding(ids)
        if self.position_embedding is not None:
            X = X + self.position_embedding(torch.arange(ids.shape[1]))
        for block in self.blocks:
            X = block(X)
        return F.linear(self.final_norm(X), (self.token_embedding if self.head is None else self.head).weight)


def drawn(module):
    """None of the parameters ones or zeros, and the branches large enough to count beside the stream."""
    for name, parameter in module.named_parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, mean=1.0 if name.endswith("norm.weight") else 0.0, std=0.5)
        elif "proj" in name:
            parameter.data *= 2
    return rounded(module)


def add_parameters(case, module, gradients):
    """Each parameter by its name, and as d_<name> its gradient, which of a layer's weight is turned to (in, out)."""
    for (name, parameter), gradient in zip(module.named_parameters(), gradients):
        if parameter.dim() == 1:
            case.add(name, parameter, "E").add("d_" + name, gradient[None], "1 E")
        elif "embedding" in name:
            case.add(name, parameter, "V E").add("d_" + name, gradient, "V E")
        else:
            case.add(name, parameter, "out in").add("d_" + name, gradient.T, "in out")
    return case


def layer_case(case, layer, X, d_output):
    """What a layer gives for X (B, L, E), and the gradients of X and of its parameters."""
    X = X.clone().requires_grad_()
    output = layer(X)
    d_X, *gradients = torch.autograd.grad(output, [X, *layer.parameters()], d_output)
    case.add("X", X, "B L E").add("output", output, "B L E").add("d_output", d_output, "B L E")
    return add_parameters(case, layer, gradients).add("d_X", d_X, "B L E")


def norm_by_hand(layer, X, weight, d_output):
    layer.weight.data = doubles(weight)
    return layer_case(Case(), layer, doubles([X]), doubles([d_output]))


def norm_case(seed, make, epsilon, scale=2.0):
    case = Case(seed)
    X, d_output = scale * (randn(2, 5, 6) + 0.5), randn(2, 5, 6)
    return layer_case(case, drawn(nn.ModuleDict({"norm": make(6, epsilon)}))["norm"], X, d_output)


def activations_case(case, x, d_y):
    case.add("x", x, "B L F").add("d_y", d_y, "B L F")
    for name, function in ACTIVATIONS.items():
        leaf = x.clone().requires_grad_()
        case.add(name, torch.autograd.grad(function(leaf), leaf, d_y)[0], "B L F")
    return case


def drawn_activations(seed):
    case = Case(seed)
    return activations_case(case, 2 * randn(2, 5, 6), randn(2, 5, 6))


def feed_forward_case(seed, activation):
    case = Case(seed)
    X, d_output = 2 * randn(2, 5, 6), randn(2, 5, 6)
    return layer_case(case, drawn(FeedForward(6, 9, ACTIVATIONS[activation])), X, d_output)


def swiglu_by_hand():
    layer = SwiGLU(1, 1)
    for proj, weight in ((layer.gate_proj, 0.5), (layer.up_proj, 1.5), (layer.down_proj, 2.0)):
        proj.weight.data = doubles([[weight]])
    return layer_case(Case(), layer, doubles([[[2.0]]]), doubles([[[1.0]]]))


def swiglu_case(seed):
    case = Case(seed)
    X, d_output = 2 * randn(2, 5, 6), randn(2, 5, 6)
    return layer_case(case, drawn(SwiGLU(6, 9)), X, d_output)


def embedding_case(case, ids, d_Y, V):
    """ids (B, L), d_Y (B, L, E)"""
    weight = torch.zeros(V, d_Y.shape[-1], requires_grad=True)
    (d_weight,) = torch.autograd.grad(F.embedding(ids, weight), weight, d_Y)
    return case.add("ids", ids.T, "L B").add("d_Y", d_Y, "B L E").add("d_weight", d_weight, "V E")


def drawn_embedding(seed):
    case = Case(seed)
    return embedding_case(case, torch.randint(4, (3, 5)), randn(3, 5, 2), 7)


def block_case(seed, c):
    case = Case(seed)
    X, d_output = randn(3, 5, c["E"]), randn(3, 5, c["E"])
    return layer_case(case, drawn(Block(c)), X, d_output)


def model_case(seed, c, L, ignored=()):
    """Three sequences of L tokens; `ignored` are sequence and token of targets that do not count, kept as -1."""
    case = Case(seed)
    model = drawn(LanguageModel(c))
    ids, targets = torch.randint(c["V"] - 2, (3, L)), torch.randint(c["V"], (3, L))
    for b, i in ignored:
        targets[b, i] = -100
    loss = F.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    case.add("ids", ids.T, "L B").add("targets", targets.T.clamp(min=-1), "L B").add("loss", loss[None, None], "1 1")
    add_parameters(case, model, gradients)
    with torch.no_grad():  # one step downhill
        for parameter, gradient in zip(model.parameters(), gradients):
            parameter -= 0.1 * gradient
        loss = F.cross_entropy(model(ids).flatten(0, 1), targets.flatten())
    return case.add("loss_after_a_step", loss[None, None], "1 1")


LLAMA = dict(gpt2=False, V=11, N=2, F=5, E=6, H=4, G=2, D=4, epsilon=0.3)
GPT2 = dict(gpt2=True, V=13, N=2, F=7, E=6, H=3, G=3, D=2, P=9, epsilon=0.2)
PADDING = [(0, 6), (1, 5), (1, 6)]


def cases():
    return {
        "layer_norm_by_hand": norm_by_hand(nn.LayerNorm(4), [[8, 2, 2, 0]], [1, 2, 3, -1], [[6, 0, 1, -3]]),
        "rms_norm_by_hand": norm_by_hand(RMSNorm(2, 0.0), [[1, 7]], [1, 1], [[5, -5]]),
        "layer_norm": norm_case(261, nn.LayerNorm, 1e-5),
        "layer_norm_half": norm_case(262, nn.LayerNorm, 0.5),
        "rms_norm": norm_case(263, RMSNorm, 1e-6),
        "rms_norm_half": norm_case(264, RMSNorm, 0.5),
        "activations_by_hand": activations_case(
            Case(), doubles([[[-3, -2, -1, 0, 1, 2, 3]]]), doubles([[[1, 1, 1, 1, 1, 1, 1]]])
        ),
        "activations": drawn_activations(265),
        **{"feed_forward_" + name: feed_forward_case(266 + k, name) for k, name in enumerate(ACTIVATIONS)},
        "swiglu_by_hand": swiglu_by_hand(),
        "swiglu": swiglu_case(270),
        "embedding_by_hand": embedding_case(Case(), torch.tensor([[2, 0, 2]]), doubles([[[1, 2], [3, 4], [5, 6]]]), 4),
        "embedding": drawn_embedding(271),
        "block_llama": block_case(272, dict(LLAMA, window=3)),
        "block_gpt2": block_case(273, GPT2),
        "llama": model_case(274, dict(LLAMA, tied=True, window=3), 7, PADDING),
        "llama_untied": model_case(275, dict(LLAMA, tied=False), 7),
        "gpt2": model_case(276, dict(GPT2, tied=True), 7),
        "gpt2_untied": model_case(277, dict(GPT2, tied=False, window=3), 7, PADDING),
    }
