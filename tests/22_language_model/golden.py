"""Lesson 22: a decoder-only language model, sampling, generating text, and perplexity.

Models are written as LlamaForCausalLM, Qwen3ForCausalLM and GPT2LMHeadModel of Hugging Face's transformers are, for whole
sequences: without a cache, and in float64. What a call of extend gives is cut out of that.
"""

import math

import torch
from golden_helpers import Case, Embedding, Linear, doubles, merge_heads, randn, rounded, safe_softmax, set_linear
from golden_helpers import split_heads
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    def __init__(self, dim, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(dim)), epsilon

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


def rope(x):
    """Half-split, base 10000; x (B, H, L, D)"""
    L, D = x.shape[2:]
    angles = torch.arange(L)[:, None] * 10000.0 ** (-torch.arange(0, D, 2).double() / D)
    cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        E, H, G, D, FF = c["E"], c["H"], c["G"], c["D"], c["F"]
        self.c, self.gpt2 = c, c["architecture"] == "gpt2"
        bias = c.get("bias", False)
        norm = nn.LayerNorm if self.gpt2 else RMSNorm
        self.query_proj, self.key_proj = Linear(E, H * D, bias=bias), Linear(E, G * D, bias=bias)
        self.value_proj, self.output_proj = Linear(E, G * D, bias=bias), Linear(H * D, E, bias=bias)
        if not self.gpt2:
            self.gate_proj = Linear(E, FF, bias=False)
        self.up_proj, self.down_proj = Linear(E, FF, bias=self.gpt2), Linear(FF, E, bias=self.gpt2)
        self.attention_norm, self.feed_forward_norm = norm(E, c["epsilon"]), norm(E, c["epsilon"])
        if c.get("qk_norm"):
            self.query_norm, self.key_norm = RMSNorm(D, c["epsilon"]), RMSNorm(D, c["epsilon"])

    def attention(self, X):
        c, L = self.c, X.shape[1]
        Q, K, V = (
            split_heads(proj(X), heads)
            for proj, heads in ((self.query_proj, c["H"]), (self.key_proj, c["G"]), (self.value_proj, c["G"]))
        )
        if c.get("qk_norm"):
            Q, K = self.query_norm(Q), self.key_norm(K)
        if not self.gpt2:
            Q, K = rope(Q), rope(K)
        K, V = (x.repeat_interleave(c["H"] // c["G"], dim=1) for x in (K, V))
        i, j = torch.arange(L)[:, None], torch.arange(L)[None, :]
        visible = (j <= i) & (j > i - c.get("window", math.inf))
        scores = (Q @ K.transpose(2, 3) * c["D"] ** -0.5).masked_fill(~visible, -math.inf)
        return self.output_proj(merge_heads(safe_softmax(scores) @ V))

    def feed_forward(self, x):
        if self.gpt2:
            return self.down_proj(F.gelu(self.up_proj(x), approximate="tanh"))
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))

    def forward(self, X):
        h = X + self.attention(self.attention_norm(X))
        return h + self.feed_forward(self.feed_forward_norm(h))


class LanguageModel(nn.Module):
    def __init__(self, **c):
        super().__init__()
        self.c = c
        norm = nn.LayerNorm if c["architecture"] == "gpt2" else RMSNorm
        self.token_embedding = Embedding(c["V"], c["E"])
        self.position_embedding = Embedding(c["P"], c["E"]) if "P" in c else None
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["N"]))
        self.final_norm = norm(c["E"], c["epsilon"])
        self.lm_head = Linear(c["E"], c["V"], bias=False)
        if c["tied"]:
            self.lm_head.weight = self.token_embedding.weight
        for name, parameter in self.named_parameters():  # none of them ones or zeros
            if parameter.dim() == 1:
                nn.init.normal_(parameter, mean=1.0 if name.endswith("norm.weight") else 0.0, std=0.5)
            elif name.startswith("blocks."):  # so that the blocks count beside the token itself
                parameter.data *= 4
        rounded(self)

    def forward(self, ids):
        """(B, L) -> (B, L, V)"""
        X = self.token_embedding(ids)
        if self.position_embedding is not None:
            X = X + self.position_embedding(torch.arange(ids.shape[1]))
        for block in self.blocks:
            X = block(X)
        return self.lm_head(self.final_norm(X))

    def add_to(self, case):
        case.add("token_embedding", self.token_embedding.weight, "V E")
        if self.position_embedding is not None:
            case.add("position_embedding", self.position_embedding.weight, "P E")
        if not self.c["tied"]:
            case.add("head", self.lm_head.weight.T, "E V")
        for name, module in self.named_modules():
            name = name.replace("blocks.", "")
            if isinstance(module, nn.Linear) and name != "lm_head":
                case.add_linear(name, module)
            elif isinstance(module, (RMSNorm, nn.LayerNorm)):
                case.add(name + ".weight", module.weight, "E")
                if isinstance(module, nn.LayerNorm):
                    case.add(name + ".bias", module.bias, "E")
        return case


# Tokens of each sequence in each of three calls.
LENGTHS = ((4, 2, 5), (1, 5, 3), (4, 0, 2))


def model_case(seed, **config):
    """Sequences of 9, 7 and 10 tokens in three calls, each with a row of padding; a text and its loss; two texts."""
    case = Case(seed)
    model = LanguageModel(**config)
    V = config["V"]
    model.add_to(case)
    wholes = [torch.randint(V, (sum(of_call[b] for of_call in LENGTHS),)) for b in range(3)]
    logits = [model(whole[None])[0] for whole in wholes]
    ends = [0] * 3
    for number, of_call in enumerate(LENGTHS, start=1):
        ids, extended = torch.randint(V, (3, max(of_call) + 1)), torch.zeros(3, max(of_call) + 1, V)
        for b, length in enumerate(of_call):
            ids[b, :length] = wholes[b][ends[b] : ends[b] + length]
            extended[b, :length] = logits[b][ends[b] : ends[b] + length]
            ends[b] += length
        case.add(f"ids_{number}", ids.T.double(), "L B").add(f"logits_{number}", extended, "B L V")
    case.add("text", wholes[2].double()[None], "one n")
    case.add("loss", F.cross_entropy(logits[2][:-1], wholes[2][1:])[None, None], "one one")
    case.add("greedy", texts(model, wholes[2][:3].tolist(), 7), "one n")
    return case.add(
        "drawn", texts(model, wholes[2][:3].tolist(), 7, seed=41, temperature=1.5, top_k=8, top_p=0.9), "one n"
    )


def mt19937_64(seed):
    """The numbers of C++'s std::mt19937_64 (Nishimura 2000)."""
    size, middle, mask = 312, 156, 2**64 - 1
    state = [seed]
    for i in range(1, size):
        state.append((6364136223846793005 * (state[-1] ^ (state[-1] >> 62)) + i) & mask)
    while True:
        for i in range(size):
            x = (state[i] & 0xFFFFFFFF80000000) | (state[(i + 1) % size] & 0x7FFFFFFF)
            state[i] = state[(i + middle) % size] ^ (x >> 1) ^ (0xB5026F5AA96619E9 * (x & 1))
        for y in state:
            y ^= (y >> 29) & 0x5555555555555555
            y ^= (y << 17) & 0x71D67FFFEDA60000
            y ^= (y << 37) & 0xFFF7EEE000000000 & mask
            yield y ^ (y >> 43)


def token_probabilities(logits, temperature=1.0, top_k=0, top_p=1.0):
    """As TemperatureLogitsWarper, TopKLogitsWarper and TopPLogitsWarper of transformers, for one row, with ties by id."""
    if temperature == 0:
        return F.one_hot(logits.argmax(), len(logits)).double()
    scores = logits / temperature
    order = torch.sort(scores, descending=True, stable=True).indices
    if top_k:
        scores[order[top_k:]] = -math.inf
    if top_p < 1:
        cumulative = scores[order].softmax(-1).cumsum(-1)
        reached = torch.cat((torch.zeros(1), cumulative[:-1])) >= top_p  # by the tokens before
        scores[order[reached]] = -math.inf
    return scores.softmax(-1)


def texts(model, prompt, count, seed=0, **sampling):
    """`count` new tokens, each from the whole text. Without sampling: greedy."""
    generator, ids = mt19937_64(seed), list(prompt)
    for _ in range(count):
        probabilities = token_probabilities(model(torch.tensor([ids]))[0, -1], **(sampling or {"temperature": 0}))
        u = (next(generator) >> 11) / 2**53
        ids.append(int((probabilities.cumsum(-1) <= u).sum()))
    return doubles([ids[len(prompt) :]])


def by_hand():
    """The distribution of the chapter, and a model whose blocks add nothing."""
    logits = doubles([1, 3, 0, 2, 2])
    case = Case().add("log_softmax", F.log_softmax(logits, -1)[None], "one V")
    for name, sampling in {
        "plain": {},
        "cold": dict(temperature=0.5),
        "hot": dict(temperature=2),
        "top_k": dict(top_k=2),
        "top_p": dict(top_p=0.75),
        "both": dict(top_k=3, top_p=0.55),
    }.items():
        case.add(name, token_probabilities(logits.clone(), **sampling)[None], "one V")
    embedding = doubles([[3, 4], [4, -3], [0, 5]])
    logits = RMSNorm(2, 0)(embedding) @ embedding.T  # row i: after token i
    after_prompt = token_probabilities(logits[0].clone(), temperature=2)  # the prompt ends with token 0
    first = int((after_prompt.cumsum(-1) <= 0.70).sum())
    after_first = token_probabilities(logits[first].clone(), temperature=2)
    second = int((after_first.cumsum(-1) <= 0.20).sum())
    case.add("drawn_from", torch.stack((after_prompt, after_first)), "L V").add("tokens", doubles([first, second]), "L")
    case.add("loss", F.cross_entropy(logits[[0, 1]], torch.tensor([1, 1]))[None, None], "one one")
    return case.add("logits", logits[None, :2], "B L V")


def sampling(seed):
    case = Case(seed)
    rows = 3 * randn(4, 9)
    rows[2, 5] = -math.inf
    case.add("rows", rows, "L V").add("log_softmax", F.log_softmax(rows, -1), "L V")
    logits = 2 * randn(12)
    case.add("logits", logits, "V")
    for name, how in {
        "temperature": dict(temperature=0.6),
        "top_k": dict(top_k=4),
        "top_p": dict(top_p=0.8),
        "all_three": dict(temperature=1.7, top_k=6, top_p=0.7),
    }.items():
        case.add(name, token_probabilities(logits.clone(), **how), "V")
    return case


LLAMA = dict(architecture="llama", V=11, N=2, F=5, E=6, H=4, G=2, D=4, epsilon=0.3)


def cases():
    return {
        "by_hand": by_hand(),
        "sampling": sampling(221),
        "llama": model_case(222, **LLAMA, tied=True),
        "qwen3": model_case(223, **LLAMA, tied=False, window=4, qk_norm=True),
        "gpt2": model_case(
            224, architecture="gpt2", V=13, N=3, F=7, E=6, H=3, G=3, D=2, P=10, epsilon=0.2, bias=True, tied=True
        ),
    }
