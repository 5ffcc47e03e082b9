#!/usr/bin/env python3
"""Reads what ./learn train --text saved in PyTorch, and prints what the program printed: bits per character, and a text.

    /usr/bin/python3 train_torch.py FOLDER TEXT [PROMPT TOKENS]

The models are written anew here, from the files alone: config.json, tokenizer.json and model.safetensors, with the names of
Hugging Face's transformers. Prints the bits per character of the held-out tenth, and the prompt with the most likely tokens.
"""

import json
import math
import pathlib
import re
import struct
import sys

import torch
import torch.nn.functional as F

# GPT-2's pattern, for Python's re: [^\W\d_] is a letter.
PIECES = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
MEASURED = 50_000  # characters


def byte_symbols():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    return {**{b: chr(b) for b in printable}, **{b: chr(256 + i) for i, b in enumerate(others)}}


class Tokenizer:
    def __init__(self, file):
        model = json.loads(file.read_text())["model"]
        self.ids = model["vocab"]
        self.ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(model["merges"])}
        self.symbols = byte_symbols()

    def encode(self, text):
        return [self.ids[token] for piece in PIECES.findall(text) for token in self.cut(piece)]

    def cut(self, piece):
        word = [self.symbols[b] for b in piece.encode()]
        while len(word) > 1:
            rank, at = min((self.ranks.get(pair, math.inf), i) for i, pair in enumerate(zip(word, word[1:])))
            if rank == math.inf:
                break
            word[at : at + 2] = ["".join(word[at : at + 2])]
        return word

    def decode(self, ids):
        tokens = {i: token for token, i in self.ids.items()}
        back = {symbol: b for b, symbol in self.symbols.items()}
        return bytes(back[c] for i in ids for c in tokens[i]).decode(errors="replace")


def tensors(file):
    data = file.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__")
    found = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", name
        begin, end = entry["data_offsets"]
        numbers = torch.frombuffer(bytearray(data[8 + size + begin : 8 + size + end]), dtype=torch.float32)
        found[name] = numbers.reshape(entry["shape"]).double()
    return found


def heads(x, count):
    """(B, L, count D) to (B, count, L, D)"""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def attend(q, k, v, window):
    """(B, H, L, D) each, with fewer heads of k and v; to (B, L, H D)"""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])
    rows, columns = torch.arange(q.shape[2])[:, None], torch.arange(q.shape[2])[None]
    hidden = (columns > rows) | (columns <= rows - window)
    return (scores.masked_fill(hidden, -math.inf).softmax(-1) @ v).transpose(1, 2).flatten(2)


def gpt2(config, w, ids):
    def linear(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]  # Conv1D: (in x out)

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], config["layer_norm_epsilon"])

    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
    for n in range(config["n_layer"]):
        h = f"h.{n}."
        q, k, v = (
            heads(part, config["n_head"]) for part in linear(norm(x, h + "ln_1"), h + "attn.c_attn").chunk(3, -1)
        )
        x = x + linear(attend(q, k, v, math.inf), h + "attn.c_proj")
        y = linear(norm(x, h + "ln_2"), h + "mlp.c_fc")
        y = 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
        x = x + linear(y, h + "mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def turn(x, theta):
    D = x.shape[-1]
    angles = torch.arange(x.shape[2], dtype=x.dtype)[:, None] * theta ** (-torch.arange(0, D, 2, dtype=x.dtype) / D)
    a, b = x.chunk(2, -1)
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1)


def llama(config, w, ids):
    def norm(x, name):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + config["rms_norm_eps"]) * w[name + ".weight"]

    x = w["model.embed_tokens.weight"][ids]
    for n in range(config["num_hidden_layers"]):
        name = f"model.layers.{n}."
        y = norm(x, name + "input_layernorm")
        q, k, v = (F.linear(y, w[f"{name}self_attn.{part}_proj.weight"]) for part in "qkv")
        q = turn(heads(q, config["num_attention_heads"]), config["rope_theta"])
        k = turn(heads(k, config["num_key_value_heads"]), config["rope_theta"])
        v = heads(v, config["num_key_value_heads"])
        x = x + F.linear(attend(q, k, v, config["sliding_window"]), w[name + "self_attn.o_proj.weight"])
        y = norm(x, name + "post_attention_layernorm")
        y = F.silu(F.linear(y, w[name + "mlp.gate_proj.weight"])) * F.linear(y, w[name + "mlp.up_proj.weight"])
        x = x + F.linear(y, w[name + "mlp.down_proj.weight"])
    return norm(x, "model.norm") @ w["model.embed_tokens.weight"].T


def bits_per_character(logits_of, context, before, tokens, characters):
    """Windows that overlap by half."""
    stride, nats = context // 2, 0.0
    text = torch.tensor(before[-context:] + tokens)
    for begin in range(0, len(tokens), stride):
        counted = min(stride, len(tokens) - begin)
        start = begin + counted - 1
        logits = logits_of(text[None, start : start + context])[0, -counted:]
        targets = text[start + context - counted + 1 : start + context + 1]
        nats += F.cross_entropy(logits, targets, reduction="sum").item()
    return nats / math.log(2) / characters


@torch.no_grad()
def main():
    folder, file = (pathlib.Path(argument) for argument in sys.argv[1:3])
    config = json.loads((folder / "config.json").read_text())
    tokenizer, weights = Tokenizer(folder / "tokenizer.json"), tensors(folder / "model.safetensors")
    is_gpt2 = config["model_type"] == "gpt2"

    def logits_of(ids):
        return (gpt2 if is_gpt2 else llama)(config, weights, ids)

    data = file.read_bytes()
    cut = len(data) * 9 // 10
    while data[cut] & 0xC0 == 0x80:
        cut -= 1
    before, held_out = data[:cut].decode(), data[cut:].decode()[:MEASURED]
    context = config["n_positions" if is_gpt2 else "sliding_window"]
    bits = bits_per_character(logits_of, context, tokenizer.encode(before), tokenizer.encode(held_out), len(held_out))
    print(f"{bits:.3f}")
    if len(sys.argv) > 3:
        ids = tokenizer.encode(sys.argv[3])
        for _ in range(int(sys.argv[4])):
            ids.append(logits_of(torch.tensor([ids]))[0, -1].argmax().item())
        print(tokenizer.decode(ids))


if __name__ == "__main__":
    main()
