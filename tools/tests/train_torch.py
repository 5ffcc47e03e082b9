#!/usr/bin/env python3
"""Reads what ./learn train --text saved in PyTorch, and prints what the program printed: bits per character, and a text.

    /usr/bin/python3 train_torch.py TEXT PROMPT TOKENS FOLDER...

From the files alone: config.json, tokenizer.json and model.safetensors. The models and the rules of the tokenizer are those
that lesson 23's golden values come from. Prints for each folder the bits per character of the held-out tenth, and in one
line the prompt with the most likely tokens.
"""

import functools
import json
import math
import pathlib
import struct
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/23_real_weights"))
import models

MEASURED = 50_000  # characters
attend = models.attend


class Tokenizer(models.Tokenizer):
    def __init__(self, file):
        model = json.loads(file.read_text())["model"]
        self.ids, self.specials = model["vocab"], {}
        self.merges = [tuple(merge.split(" ")) for merge in model["merges"]]
        self.split, self.ignore_merges = models.split_gpt2, False

    def decode(self, ids):
        tokens = {id: token for token, id in self.ids.items()}
        byte_of = {symbol: byte for byte, symbol in models.SYMBOLS.items()}
        return bytes(byte_of[symbol] for id in ids for symbol in tokens[id]).decode(errors="replace")


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


def bits_per_character(logits_of, context, before, tokens, characters):
    """Windows that overlap by half."""
    stride, nats = context // 2, 0.0
    text = torch.tensor(before[-context:] + tokens)
    for begin in range(0, len(tokens), stride):
        counted = min(stride, len(tokens) - begin)
        start = begin + counted - 1
        logits = logits_of(text[start : start + context])[-counted:]
        targets = text[start + context - counted + 1 : start + context + 1]
        nats += F.cross_entropy(logits, targets, reduction="sum").item()
    return nats / math.log(2) / characters


@torch.no_grad()
def show(folder, before, held_out, prompt, count):
    config = json.loads((folder / "config.json").read_text())
    tokenizer, weights = Tokenizer(folder / "tokenizer.json"), tensors(folder / "model.safetensors")
    is_gpt2 = config["model_type"] == "gpt2"
    context = config["n_positions" if is_gpt2 else "sliding_window"]
    models.attend = functools.partial(attend, window=0 if is_gpt2 else context)  # lesson 23 has no model with a window
    logits_of = functools.partial(models.gpt2_logits if is_gpt2 else models.llama_logits, weights, config)
    bits = bits_per_character(logits_of, context, tokenizer.encode(before), tokenizer.encode(held_out), len(held_out))
    print(f"bits {bits:.3f}")
    ids = tokenizer.encode(prompt)
    for _ in range(count):
        ids.append(logits_of(torch.tensor(ids))[-1].argmax().item())
    print("text", tokenizer.decode(ids).replace("\n", " "))


def main():
    file, prompt, count, *folders = sys.argv[1:]
    data = pathlib.Path(file).read_bytes()
    cut = len(data) * 9 // 10
    while data[cut] & 0xC0 == 0x80:
        cut -= 1
    for folder in folders:
        show(pathlib.Path(folder), data[:cut].decode(), data[cut:].decode()[:MEASURED], prompt, int(count))


if __name__ == "__main__":
    main()
