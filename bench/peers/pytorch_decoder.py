"""PyTorch eager as one of the peers that bench/run decode compares (decode.cpp lists what a peer answers): GPT-2 and Llama in
float32, written with torch.nn.functional, with a cache that is allocated once. The weights are used where they are in the file.
"""

import json
import math
import sys
import time

import numpy
import torch
from torch.nn import functional

HEADS = {"gpt2": (12, 12), "llama": (32, 8)}
D = 64


def read_tensors(path):
    """Of a safetensors file in float32, mapped into memory."""
    length = int(numpy.fromfile(path, dtype=numpy.uint64, count=1)[0])
    with open(path, "rb") as file:
        file.seek(8)
        header = json.loads(file.read(length))
    numbers = torch.from_numpy(numpy.memmap(path, dtype=numpy.float32, mode="c", offset=8 + length))
    tensors = {}
    for name, entry in header.items():
        begin, end = (offset // 4 for offset in entry["data_offsets"])
        tensors[name] = numbers[begin:end].view(entry["shape"])
    return tensors


def llama_speeds():
    """Of Llama 3.2: base 500000, factor 32, low_freq_factor 1, high_freq_factor 4, trained with 8192 tokens."""
    speeds = 500000.0 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)
    kept = ((8192 * speeds / (2 * math.pi) - 1) / 3).clamp(0, 1)
    return kept * speeds + (1 - kept) * speeds / 32


def rms_norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


def turn(x, cosine, sine):
    """Half-split pairs. x is (heads, L, D)."""
    half = torch.cat((-x[..., D // 2 :], x[..., : D // 2]), -1)
    return x * cosine + half * sine


class Decoder:
    def __init__(self, path, shape, capacity):
        self.w = read_tensors(path)
        self.shape = shape
        self.H, self.G = HEADS[shape]
        layers = sum(name.endswith(("ln_1.weight", "input_layernorm.weight")) for name in self.w)
        self.keys = torch.zeros(layers, self.G, capacity, D)
        self.values = torch.zeros(layers, self.G, capacity, D)
        self.length = 0
        if shape == "llama":
            angles = torch.outer(torch.arange(capacity, dtype=torch.float64), llama_speeds()).repeat(1, 2)
            self.cosine, self.sine = angles.cos().float(), angles.sin().float()

    def attend(self, n, q, k, v):
        """q is (H, L, D), k and v are (G, L, D). Returns (L, H D)."""
        length = q.shape[1]
        end = self.length + length
        self.keys[n, :, self.length : end] = k
        self.values[n, :, self.length : end] = v
        queries = q.reshape(self.G, self.H // self.G * length, D)  # those that share a key side by side
        scores = queries @ self.keys[n, :, :end].transpose(1, 2) / math.sqrt(D)
        if length > 1:
            blocked = torch.ones(length, end, dtype=torch.bool).triu(end - length + 1)
            scores = scores.view(self.H, length, end).masked_fill(blocked, -math.inf).view(scores.shape)
        context = scores.softmax(-1) @ self.values[n, :, :end]
        return context.view(self.H, length, D).transpose(0, 1).reshape(length, self.H * D)

    def gpt2(self, ids):
        w, length = self.w, len(ids)
        conv1d = lambda x, name: torch.addmm(w[name + ".bias"], x, w[name + ".weight"])
        norm = lambda x, name: functional.layer_norm(x, (x.shape[-1],), w[name + ".weight"], w[name + ".bias"], 1e-5)
        x = w["wte.weight"][ids] + w["wpe.weight"][self.length : self.length + length]
        for n in range(self.keys.shape[0]):
            name = f"h.{n}."
            qkv = conv1d(norm(x, name + "ln_1"), name + "attn.c_attn")
            q, k, v = qkv.view(length, 3, self.H, D).permute(1, 2, 0, 3)
            x = x + conv1d(self.attend(n, q, k, v), name + "attn.c_proj")
            hidden = conv1d(norm(x, name + "ln_2"), name + "mlp.c_fc")
            x = x + conv1d(functional.gelu(hidden, approximate="tanh"), name + "mlp.c_proj")
        return functional.linear(norm(x[-1:], "ln_f"), w["wte.weight"])

    def llama(self, ids):
        w, length = self.w, len(ids)
        cosine, sine = (table[self.length : self.length + length] for table in (self.cosine, self.sine))
        x = w["model.embed_tokens.weight"][ids]
        for n in range(self.keys.shape[0]):
            name = f"model.layers.{n}."
            linear = lambda y, part: functional.linear(y, w[name + part + ".weight"])
            y = rms_norm(x, w[name + "input_layernorm.weight"])
            q, k, v = (
                linear(y, f"self_attn.{part}_proj").view(length, -1, D).transpose(0, 1) for part in ("q", "k", "v")
            )
            context = self.attend(n, turn(q, cosine, sine), turn(k, cosine, sine), v)
            x = x + linear(context, "self_attn.o_proj")
            y = rms_norm(x, w[name + "post_attention_layernorm.weight"])
            hidden = functional.silu(linear(y, "mlp.gate_proj")) * linear(y, "mlp.up_proj")
            x = x + linear(hidden, "mlp.down_proj")
        return functional.linear(rms_norm(x[-1:], w["model.norm.weight"]), w["model.embed_tokens.weight"])

    def extend(self, ids):
        with torch.inference_mode():
            logits = getattr(self, self.shape)(torch.tensor(ids))
        self.length += len(ids)
        return logits


class Peer:
    def version(self):
        return torch.__version__

    def load(self, path, shape, number, capacity, threads):
        torch.set_num_threads(int(threads))
        self.decoder = Decoder(path, shape, int(capacity))
        self.vocabulary = {"gpt2": 50257, "llama": 128256}[shape]
        return "ready"

    def fill(self, length):
        self.length = int(length)
        self.decoder.length = 0
        start = time.perf_counter()
        self.decoder.extend([(7 * i + 1) % self.vocabulary for i in range(self.length)])
        return str(time.perf_counter() - start)

    def one_more(self):
        self.decoder.length = self.length
        return self.decoder.extend([(7 * self.length + 1) % self.vocabulary])

    def write(self, path):
        self.one_more().numpy().tofile(path)
        return "written"

    def time(self, times):
        start = time.perf_counter()
        for _ in range(int(times)):
            self.one_more()
        return str(time.perf_counter() - start)


peer = Peer()
for line in sys.stdin:
    command, *words = line.split()
    try:
        print(getattr(peer, command)(*words), flush=True)
    except Exception as error:
        print("error:", error, flush=True)
