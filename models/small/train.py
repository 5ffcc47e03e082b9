#!/usr/bin/env python3
"""Trains models/small, the language model that ./learn generate and ./learn demo 10 --trained read.

    apt-get install --no-install-recommends python3-torch r-cran-janeaustenr
    OMP_NUM_THREADS=1 /usr/bin/python3 models/small/train.py models/small

Jane Austen's six novels are in the public domain. They come from the R package janeaustenr (MIT licence), whose texts are those
of Project Gutenberg. The last tenth of each novel is held out: nothing is learned from it, neither tokens nor weights.

The files are those that Hugging Face's transformers reads: config.json, model.safetensors (bfloat16), tokenizer.json. It is
trained on pieces of CONTEXT tokens, with full attention: a window of CONTEXT is no different there. Beyond, the window keeps
every distance between query and key within those of training (lesson 17), and the model can go on.
"""

import argparse
import collections
import json
import math
import os
import re
import struct
import subprocess
import time

import torch
import torch.nn.functional as F
from torch import nn

V, E, LAYERS, H, G, HIDDEN, THETA, EPSILON = 2048, 128, 4, 4, 2, 352, 10000.0, 1e-6
CONTEXT, BATCH, STEPS, WARM_UP, PEAK = 128, 32, 3200, 100, 4e-3
END = "<|endoftext|>"

# GPT-2's pattern, for Python's re: [^\W\d_] is a letter.
PIECES = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def novels():
    """The paragraphs of each chapter of each novel, as text without hard line breaks; a list of chapters for each novel."""
    script = "library(janeaustenr); b <- austen_books(); writeLines(paste0(as.integer(b$book), '\\t', b$text))"
    lines = subprocess.run(["Rscript", "-e", script], capture_output=True, check=True, encoding="utf-8").stdout.split(
        "\n"
    )
    books = collections.defaultdict(list)
    for line in filter(None, lines):
        number, text = line.split("\t", 1)
        books[number].append(text.rstrip())
    return [chapters(books[number]) for number in sorted(books)]


def chapters(lines):
    found, paragraph = [], []
    for line in lines + [""]:
        heading = re.match(r"(chapter|volume|the end|finis)\b", line.strip(), re.IGNORECASE) and not paragraph
        if heading and line.lower().startswith("chapter"):
            found.append([])
        if line.strip() and not heading:
            paragraph.append(line.strip())
        elif paragraph:
            if found:  # what comes before the first chapter is the title page
                found[-1].append(re.sub(r"\s+", " ", " ".join(paragraph)))
            paragraph = []
    return ["\n".join(text) + "\n" for text in found if text]


def byte_symbols():
    """GPT-2's character for each byte: printable ones stand for themselves, the others get characters from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(256 + i) for i, b in enumerate(others)}}


class Tokenizer:
    """Byte-level BPE (Sennrich et al. 2016; Radford et al. 2019): merges of the most frequent pair, of equals the first."""

    def __init__(self, text):
        symbols = byte_symbols()
        words = collections.Counter(PIECES.findall(text))
        words = {tuple(symbols[b] for b in word.encode()): count for word, count in words.items()}
        self.merges = []
        self.tokens = [END] + [symbols[b] for b in range(256)]
        while len(self.tokens) < V:
            pairs = collections.Counter()
            for word, count in words.items():
                for pair in zip(word, word[1:]):
                    pairs[pair] += count
            best = min(pairs, key=lambda pair: (-pairs[pair], pair))
            self.merges.append(best)
            self.tokens.append("".join(best))
            words = {self.merge(word, best) if best[0] in word else word: count for word, count in words.items()}
        self.symbols = symbols
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.ranks = {pair: i for i, pair in enumerate(self.merges)}
        self.cache = {}

    @staticmethod
    def merge(word, pair):
        merged, i = [], 0
        while i < len(word):
            joined = word[i : i + 2] == pair
            merged.append("".join(pair) if joined else word[i])
            i += 2 if joined else 1
        return tuple(merged)

    def encode_piece(self, piece):
        if piece not in self.cache:
            word = tuple(self.symbols[b] for b in piece.encode())
            while len(word) > 1:
                best = min(zip(word, word[1:]), key=lambda pair: self.ranks.get(pair, math.inf))
                if best not in self.ranks:
                    break
                word = self.merge(word, best)
            self.cache[piece] = [self.ids[token] for token in word]
        return self.cache[piece]

    def encode(self, text):
        return [i for piece in PIECES.findall(text) for i in self.encode_piece(piece)]

    def decode(self, ids):
        back = {symbol: b for b, symbol in self.symbols.items()}
        return b"".join(END.encode() if i == 0 else bytes(back[c] for c in self.tokens[i]) for i in ids).decode(
            errors="replace"
        )

    def json(self):
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        added = {
            "id": 0,
            "content": END,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        begin = {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": END, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {END: {"id": END, "ids": [0], "tokens": [END]}},
        }
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [added],
            "normalizer": None,
            "pre_tokenizer": level,
            "post_processor": begin,
            "decoder": level,
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "vocab": self.ids,
                "merges": [" ".join(pair) for pair in self.merges],
            },
        }


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON) * self.weight


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(E, E, bias=False)
        self.k_proj = nn.Linear(E, E // H * G, bias=False)
        self.v_proj = nn.Linear(E, E // H * G, bias=False)
        self.o_proj = nn.Linear(E, E, bias=False)

    def forward(self, x, cos, sin):
        q, k, v = (p(x).unflatten(-1, (-1, E // H)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (turn(part, cos, sin) for part in (q, k))
        k, v = (part.repeat_interleave(H // G, dim=1) for part in (k, v))
        scores = q @ k.transpose(2, 3) / math.sqrt(E // H)
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, -math.inf).softmax(-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


def turn(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(E, HIDDEN, bias=False)
        self.up_proj = nn.Linear(E, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, E, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(E), RMSNorm(E)
        self.self_attn, self.mlp = Attention(), MLP()

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Model(nn.Module):
    """The names are those of MistralModel in transformers, and LlamaModel."""

    def __init__(self):
        super().__init__()
        self.embed_tokens = nn.Embedding(V, E)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = RMSNorm(E)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                last = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(
                    weight, std=0.02 if "embed" in name else E**-0.5 / (math.sqrt(2 * LAYERS) if last else 1)
                )

    def forward(self, ids):
        angles = torch.arange(ids.shape[1])[:, None] * THETA ** (-torch.arange(E // H // 2) * 2 / (E // H))
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x, angles.cos(), angles.sin())
        return self.norm(x) @ self.embed_tokens.weight.T


def rate(step):
    """Warm-up, then a cosine down to a hundredth."""
    if step < WARM_UP:
        return PEAK * (step + 1) / WARM_UP
    return PEAK * (0.01 + 0.99 * (1 + math.cos(math.pi * (step - WARM_UP) / (STEPS - WARM_UP))) / 2)


def train(model, tokens):
    matrices = [p for p in model.parameters() if p.dim() == 2]
    rest = [p for p in model.parameters() if p.dim() != 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=PEAK, betas=(0.9, 0.95))
    begun, mean = time.time(), None
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        starts = torch.randint(len(tokens) - CONTEXT - 1, (BATCH,))
        batch = torch.stack([tokens[s : s + CONTEXT + 1] for s in starts])
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        mean = loss.item() if mean is None else 0.98 * mean + 0.02 * loss.item()
        if step % 50 == 0 or step == STEPS - 1:
            print(f"step {step:5} of {STEPS}  loss {mean:.3f}  {time.time() - begun:.0f} s", flush=True)


@torch.no_grad()
def held_out_loss(model, tokens):
    """Nats per token, each token with at least half a context before it (but for the first ones)."""
    total, count, stride = 0.0, 0, CONTEXT // 2
    for start in range(0, len(tokens) - CONTEXT - 1, stride):
        window = tokens[start : start + CONTEXT + 1]
        losses = F.cross_entropy(model(window[None, :-1])[0], window[1:], reduction="none")
        new = losses if start == 0 else losses[-stride:]
        total, count = total + new.sum().item(), count + len(new)
    return total / count


def trigram_loss(training, held_out):
    """Nats per token of an interpolated trigram model with Kneser-Ney smoothing (Chen, Goodman 1999), discount 0.75."""
    training, discount = training.tolist(), 0.75
    three = collections.Counter(zip(training, training[1:], training[2:]))
    two = collections.Counter((b, c) for _, b, c in three)  # how many tokens come before (b, c)
    one = collections.Counter(c for _, c in two)
    totals = {}
    for counts, level in ((three, 3), (two, 2), (one, 1)):
        for key, n in counts.items():
            seen = totals.setdefault((level, key[:-1] if level > 1 else ()), [0, 0])
            seen[0], seen[1] = seen[0] + n, seen[1] + 1

    def probability(history, token, counts_of=(one, two, three)):
        level = len(history) + 1
        lower = probability(history[1:], token) if history else 1 / V
        total, distinct = totals.get((level, history), (0, 0))
        if total == 0:
            return lower
        count = counts_of[level - 1][history + (token,) if history else token]
        return max(count - discount, 0) / total + discount * distinct / total * lower

    tokens = held_out.tolist()
    losses = [-math.log(probability((a, b), c)) for a, b, c in zip(tokens, tokens[1:], tokens[2:])]
    return sum(losses) / len(losses)


def save(folder, model, tokenizer):
    os.makedirs(folder, exist_ok=True)
    config = {
        "architectures": ["MistralForCausalLM"],
        "model_type": "mistral",
        "vocab_size": V,
        "hidden_size": E,
        "intermediate_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": H,
        "num_key_value_heads": G,
        "head_dim": E // H,
        "hidden_act": "silu",
        "max_position_embeddings": 32768,
        "sliding_window": CONTEXT,
        "rms_norm_eps": EPSILON,
        "rope_theta": THETA,
        "tie_word_embeddings": True,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "torch_dtype": "bfloat16",
    }
    for name, value in (("config.json", config), ("tokenizer.json", tokenizer.json())):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, indent=2 if name == "config.json" else None)
            file.write("\n")
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, weight in sorted(model.state_dict().items()):
        bits = weight.bfloat16().view(torch.int16).numpy().astype("<i2").tobytes()
        header["model." + name] = {
            "dtype": "BF16",
            "shape": list(weight.shape),
            "data_offsets": [len(data), len(data) + len(bits)],
        }
        data += bits
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(folder, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    torch.manual_seed(0)
    training, held_out = [], []
    for novel in novels():
        cut = round(len(novel) * 0.9)
        training, held_out = training + novel[:cut], held_out + novel[cut:]
    tokenizer = Tokenizer("".join(training))
    training, held_out = (
        torch.tensor([i for text in part for i in [0, *tokenizer.encode(text)]]) for part in (training, held_out)
    )
    model = Model()
    print(
        f"{sum(p.numel() for p in model.parameters())} parameters, {len(training)} and {len(held_out)} tokens",
        flush=True,
    )
    print(f"held out: a trigram model has {trigram_loss(training, held_out):.3f} nats per token", flush=True)
    train(model, training)
    for weight in model.parameters():  # as it is saved
        weight.data = weight.data.bfloat16().float()
    print(f"held out: {held_out_loss(model, held_out):.3f} nats per token", flush=True)
    save(folder, model, tokenizer)


if __name__ == "__main__":
    main()
