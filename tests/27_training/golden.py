"""Lesson 27: AdamW, clipping, the schedule of the learning rate, and five steps of small language models, by PyTorch."""

import math

import torch
from golden_helpers import Case, Embedding, Linear, doubles, merge_heads, randn, rounded, split_heads
from torch import nn
from torch.nn import functional as F


def adamw_case(case, values, decayed, gradients, rates, **constants):
    """values: name -> tensor; gradients: name -> (steps, ...). Adds each parameter after each step, and m and v at the end."""
    leaves = {name: nn.Parameter(tensor.clone()) for name, tensor in values.items()}
    decay = constants.pop("weight_decay")
    groups = [{"params": [leaf], "weight_decay": decay if name in decayed else 0.0} for name, leaf in leaves.items()]
    optimizer = torch.optim.AdamW(groups, **constants)
    after = {name: [] for name in values}
    for step, rate in enumerate(rates):
        for group in optimizer.param_groups:
            group["lr"] = rate
        for name, leaf in leaves.items():
            leaf.grad = gradients[name][step].clone()
        optimizer.step()
        for name, leaf in leaves.items():
            after[name].append(leaf.detach().clone())
    for name, leaf in leaves.items():
        axes = "R C" if leaf.dim() == 2 else "C"
        case.add(name, values[name], axes).add("d_" + name, gradients[name], "steps " + axes)
        case.add("after_" + name, torch.stack(after[name]), "steps " + axes)
        case.add("m_" + name, optimizer.state[leaf]["exp_avg"], axes)
        case.add("v_" + name, optimizer.state[leaf]["exp_avg_sq"], axes)
    return case


def drawn_adamw(seed, **constants):
    case = Case(seed)
    values = {"W": randn(3, 4), "b": randn(5), "U": randn(2, 6)}
    gradients = {name: randn(6, *tensor.shape) for name, tensor in values.items()}
    return adamw_case(case, values, ("W", "U"), gradients, RATES, **constants)


RATES = (0.1, 0.2, 0.3, 0.3, 0.2, 0.05)


def adamw_by_hand():
    return adamw_case(
        Case(),
        {"x": doubles([[1]])},
        ("x",),
        {"x": doubles([[[0.5]], [[-0.25]]])},
        (0.1, 0.1),
        betas=(0.9, 0.99),
        eps=1e-8,
        weight_decay=0.1,
    )


def clipping_case(case, max_norm, *gradients):
    leaves = [nn.Parameter(torch.zeros_like(gradient)) for gradient in gradients]
    for leaf, gradient in zip(leaves, gradients):
        leaf.grad = gradient.clone()
    norm = nn.utils.clip_grad_norm_(leaves, max_norm)
    for number, (leaf, gradient) in enumerate(zip(leaves, gradients)):
        case.add(f"gradient_{number}", gradient, "R C").add(f"clipped_{number}", leaf.grad, "R C")
    return case.add("norm", norm.reshape(1, 1), "one one")


def drawn_clipping(seed, max_norm):
    case = Case(seed)
    return clipping_case(case, max_norm, randn(3, 4), randn(1, 5), 4 * randn(2, 6))


def schedule_case(max_rate, min_rate, W, T):
    """PyTorch's own schedulers, for the steps 0 to T."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=max_rate)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 1 / W, 1.0, W - 1)
    rates = []
    for step in range(W):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step + 1 < W:
            warmup.step()
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T - W, min_rate)
    for _ in range(W, T + 1):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        cosine.step()
    return Case().add("rates", doubles([rates]), "one steps")


# ------------------------------------------------------------------------------------------------ small language models


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * (x.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * self.weight


EPSILON = 1e-5


def rope(x):
    """(B, H, L, D), feature j with feature j + D/2."""
    L, D = x.shape[-2:]
    angles = torch.arange(L)[:, None] * 10000.0 ** (-torch.arange(0, D, 2) / D)
    a, b = x.chunk(2, -1)
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, E, D = c, c["E"], c["E"] // c["H"]
        self.query_proj = Linear(E, E, bias=c["gpt2"])
        self.key_proj = Linear(E, D * c["G"], bias=c["gpt2"])
        self.value_proj = Linear(E, D * c["G"], bias=c["gpt2"])
        self.output_proj = Linear(E, E, bias=c["gpt2"])

    def forward(self, X):
        c, L = self.c, X.shape[1]
        Q = split_heads(self.query_proj(X), c["H"])
        K, V = (split_heads(layer(X), c["G"]) for layer in (self.key_proj, self.value_proj))
        if not c["gpt2"]:
            Q, K = rope(Q), rope(K)
        K, V = (x.repeat_interleave(c["H"] // c["G"], dim=1) for x in (K, V))
        scores = Q @ K.transpose(2, 3) / math.sqrt(Q.shape[-1])
        future = torch.ones(L, L, dtype=torch.bool).triu(1)
        return self.output_proj(merge_heads(scores.masked_fill(future, -math.inf).softmax(-1) @ V))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gpt2, E, hidden = c["gpt2"], c["E"], c["F"]
        if not self.gpt2:
            self.gate_proj = Linear(E, hidden, bias=False)
        self.up_proj = Linear(E, hidden, bias=self.gpt2)
        self.down_proj = Linear(hidden, E, bias=self.gpt2)

    def forward(self, x):
        if self.gpt2:
            return self.down_proj(F.gelu(self.up_proj(x), approximate="tanh"))
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention_norm, self.attention = norm(c), Attention(c)
        self.feed_forward_norm, self.feed_forward = norm(c), FeedForward(c)

    def forward(self, X):
        X = X + self.attention(self.attention_norm(X))
        return X + self.feed_forward(self.feed_forward_norm(X))


def norm(c):
    return nn.LayerNorm(c["E"], EPSILON) if c["gpt2"] else RMSNorm(c["E"])


class LanguageModel(nn.Module):
    """With a tied head where `tied`."""

    def __init__(self, **c):
        super().__init__()
        self.c = c
        self.token_embedding = Embedding(c["V"], c["E"])
        self.position_embedding = Embedding(c["P"], c["E"]) if c["gpt2"] else None
        self.blocks = nn.ModuleList(Block(c) for _ in range(c["N"]))
        self.final_norm = norm(c)
        if not c["tied"]:
            self.head = Linear(c["E"], c["V"], bias=False)
        for parameter in self.parameters():
            if parameter.dim() == 1:  # neither ones nor zeros
                nn.init.normal_(parameter, 0.5, 0.3)
            else:
                nn.init.normal_(parameter, 0, 0.4)
        rounded(self)

    def forward(self, ids):
        """(B, L) -> (B, L, V)"""
        X = self.token_embedding(ids)
        if self.c["gpt2"]:
            X = X + self.position_embedding(torch.arange(ids.shape[1]))
        for block in self.blocks:
            X = block(X)
        return F.linear(self.final_norm(X), self.token_embedding.weight if self.c["tied"] else self.head.weight)

    def add_to(self, case, prefix=""):
        """All parameters, named as in C++."""
        for name, x in self.named_parameters():
            if "embedding" in name or name == "head.weight":
                name = name.replace(".weight", "")
            turned = x.dim() == 2 and "embedding" not in name
            case.add(prefix + name, x.T if turned else x, "rows columns" if x.dim() == 2 else "columns")
        return case


# Each step: two batches with different numbers of targets that count. (B, L) each.
STEPS, SIZES = 5, ((2, 5), (3, 4))


def draw_batch(V, B, L):
    ids, targets = torch.randint(V, (B, L)), torch.randint(V, (B, L))
    targets[0, : L - 2] = -100
    return ids, targets


def training_case(seed, **config):
    """W = 2 steps of warm-up of T = 6; the other constants are those of the check."""
    case = Case(seed)
    model = LanguageModel(**config)
    model.add_to(case)
    groups = [
        {"params": [x for x in model.parameters() if x.dim() == 2], "weight_decay": 0.1},
        {"params": [x for x in model.parameters() if x.dim() == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.05, betas=(0.9, 0.95), eps=1e-3)
    cosine = [0.005 + 0.045 * (1 + math.cos(math.pi * s / 4)) / 2 for s in range(4)]
    losses, norms = [], []
    for step, rate in enumerate([0.025, 0.05, *cosine][:STEPS]):
        for group in optimizer.param_groups:
            group["lr"] = rate
        logits, targets = [], []
        for number, size in enumerate(SIZES):
            ids, wanted = draw_batch(config["V"], *size)
            case.add(f"ids_{step}_{number}", ids.T.double(), "L B")
            case.add(f"targets_{step}_{number}", wanted.T.double().clamp(min=-1), "L B")
            logits.append(model(ids).flatten(0, 1))
            targets.append(wanted.flatten())
        loss = F.cross_entropy(torch.cat(logits), torch.cat(targets))  # all targets at once
        optimizer.zero_grad()
        loss.backward()
        losses.append(loss.item())
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 0.5).item())
        optimizer.step()
    case.add("losses", doubles([losses]), "one steps").add("norms", doubles([norms]), "one steps")
    return model.add_to(case, "after.")


def cases():
    return {
        "adamw_by_hand": adamw_by_hand(),
        "adamw": drawn_adamw(271, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1),
        "large_epsilon": drawn_adamw(272, betas=(0.8, 0.99), eps=0.3, weight_decay=0.4),
        "clipping_by_hand": clipping_case(Case(), 6.5, doubles([[3, 4]]), doubles([[12]])),
        "clipped": drawn_clipping(273, 1.5),
        "short_enough": drawn_clipping(274, 100.0),
        "schedule": schedule_case(0.5, 0.1, 4, 13),
        "llama": training_case(275, gpt2=False, V=7, N=2, E=8, F=5, H=4, G=2, tied=False),
        "gpt2": training_case(276, gpt2=True, V=9, N=2, E=6, F=7, H=3, G=3, P=8, tied=True),
    }
