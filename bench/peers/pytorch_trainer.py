"""PyTorch eager as one of the peers that bench/run train compares (train.cpp lists what a peer answers): GPT-2 in float32 as
nanoGPT writes it, with one product for queries, keys and values, and F.scaled_dot_product_attention where PyTorch has it.
AdamW is the quickest that it has: fused, foreach or one parameter after the other, tried when the model is loaded.
"""

import math
import sys
import time

import numpy
import torch
from torch import nn
from torch.nn import functional

V, BATCHES = 256, 4
RATE, MIN_RATE, WARMUP, TOTAL = 1e-3, 1e-4, 10, 1000


class Block(nn.Module):
    def __init__(self, E, H, L):
        super().__init__()
        self.H = H
        self.ln_1, self.ln_2 = nn.LayerNorm(E), nn.LayerNorm(E)
        self.qkv, self.output = nn.Linear(E, 3 * E), nn.Linear(E, E)
        self.up, self.down = nn.Linear(E, 4 * E), nn.Linear(4 * E, E)
        self.register_buffer("blocked", torch.ones(L, L, dtype=torch.bool).triu(1), persistent=False)

    def attend(self, x):
        B, L, E = x.shape
        q, k, v = (part.view(B, L, self.H, E // self.H).transpose(1, 2) for part in self.qkv(x).split(E, 2))
        if hasattr(functional, "scaled_dot_product_attention"):
            context = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) * (1 / math.sqrt(E // self.H))
            context = scores.masked_fill(self.blocked[:L, :L], -math.inf).softmax(3) @ v
        return self.output(context.transpose(1, 2).contiguous().view(B, L, E))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.down(functional.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self, E, H, N, L):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(V, E), nn.Embedding(L, E)
        self.blocks = nn.ModuleList(Block(E, H, L) for _ in range(N))
        self.norm = nn.LayerNorm(E)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.tokens.weight)
        return functional.cross_entropy(logits.view(-1, V), targets.view(-1))

    def read(self, path):
        """The parameters in the order of the course's parameters_of, as train.cpp writes them."""
        numbers = torch.from_numpy(numpy.fromfile(path, dtype=numpy.float32))
        place = 0

        def take(tensor, turned=False):
            nonlocal place
            part = numbers[place : place + tensor.numel()]
            place += tensor.numel()
            tensor.copy_(part.view(tensor.shape[::-1]).t() if turned else part.view(tensor.shape))

        with torch.no_grad():
            take(self.tokens.weight, True)
            take(self.positions.weight, True)
            for block in self.blocks:
                take(block.ln_1.weight), take(block.ln_1.bias)
                for weight, bias in zip(block.qkv.weight.chunk(3), block.qkv.bias.chunk(3)):
                    take(weight), take(bias)
                for layer in (block.output, block.ln_2, block.up, block.down):
                    take(layer.weight), take(layer.bias)
            take(self.norm.weight), take(self.norm.bias)
        assert place == len(numbers)


def batches(B, L):
    """As train.cpp draws them: a linear congruential generator."""
    x, drawn = 1, []
    for _ in range(BATCHES):
        ids = torch.empty(B, L + 1, dtype=torch.int64)
        for b in range(B):
            for i in range(L + 1):
                x = (x * 1103515245 + 12345) % 2**31
                ids[b, i] = (x >> 16) % V if i % 2 == 0 else (ids[b, i - 1] * 5 + 1) % V
        drawn.append((ids[:, :-1].contiguous(), ids[:, 1:].contiguous()))
    return drawn


def rate_at(step):
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    return MIN_RATE + (RATE - MIN_RATE) * (1 + math.cos(math.pi * (step - WARMUP) / (TOTAL - WARMUP))) / 2


class Peer:
    optimizer = "loop"

    def version(self):
        return torch.__version__

    def start(self):
        path, B, L, E, H, N = self.loaded
        self.model = GPT2(E, H, N, L)
        self.model.read(path)
        matrices = [p for p in self.model.parameters() if p.dim() > 1]
        others = [p for p in self.model.parameters() if p.dim() == 1]
        kinds = {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
        self.adamw = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
            lr=RATE,
            betas=(0.9, 0.95),
            **kinds[self.optimizer],
        )
        self.steps = 0

    def load(self, path, B, L, E, H, N, threads):
        torch.set_num_threads(int(threads))
        self.loaded = (path, *map(int, (B, L, E, H, N)))
        self.data = batches(int(B), int(L))
        self.start()
        return "ready"

    def choose(self):
        """Of the ways to compute AdamW, the quickest in three steps; then it begins again."""
        taken = {}
        for self.optimizer in ("loop", "foreach", "fused"):
            try:
                self.start()
                self.step()
                taken[self.optimizer] = min(float(self.time(1)) for _ in range(3))
            except (RuntimeError, TypeError):  # PyTorch 1.13 has no fused AdamW on a processor
                continue
        self.optimizer = min(taken, key=taken.get)
        self.start()
        return self.optimizer

    def use(self, optimizer):
        self.optimizer = optimizer
        self.start()
        return "ready"

    def step(self):
        loss = self.model(*self.data[self.steps % BATCHES])
        self.adamw.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for group in self.adamw.param_groups:
            group["lr"] = rate_at(self.steps)
        self.adamw.step()
        self.steps += 1
        return loss

    def losses(self, count):
        return " ".join(f"{self.step().item():.8g}" for _ in range(int(count)))

    def time(self, times):
        start = time.perf_counter()
        for _ in range(int(times)):
            self.step()
        return str(time.perf_counter() - start)


peer = Peer()
for line in sys.stdin:
    command, *words = line.split()
    try:
        print(getattr(peer, command)(*words), flush=True)
    except Exception as error:
        print("error:", error, flush=True)
