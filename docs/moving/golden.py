#!/usr/bin/env python3
"""Prints golden.json: what models/small makes of some texts, with its weights rounded to float16, as figures/small.vue has them.

Plain Python, apart from the course's code: Mistral's architecture, and greedy byte-pair merges. ./golden.py >golden.json
"""

import json
import math
import pathlib
import re
import struct

SMALL = pathlib.Path(__file__).resolve().parents[2] / "models/small"
TEXTS = [("Elizabeth looked at her sister, and", 5), ("It is a truth", 0)]
ROWS = [(0, 3, 1), (1, 0, 2), (2, 2, -1)]  # layer, head, row of a map

config = json.loads((SMALL / "config.json").read_text())
tokenizer = json.loads((SMALL / "tokenizer.json").read_text())["model"]
H, G, D = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]


def tensors():
    """By name: rows of numbers, rounded to float16."""
    data = (SMALL / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        numbers = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
        numbers = struct.unpack(f"<{len(numbers)}e", struct.pack(f"<{len(numbers)}e", *numbers))
        columns = entry["shape"][-1]
        found[name] = [numbers[i : i + columns] for i in range(0, len(numbers), columns)]
    return found


weights = tensors()


def ids_of(text):
    """English text alone: words with the space before them, and signs."""
    merges = [tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in tokenizer["merges"]]
    rank = {pair: n for n, pair in enumerate(merges)}
    ids = []
    for word in re.findall(r" ?[A-Za-z]+| ?[^\sA-Za-z]+|\s+", text):
        parts = list(word.replace(" ", "Ġ"))
        while True:
            pairs = [(rank[pair], i) for i, pair in enumerate(zip(parts, parts[1:])) if pair in rank]
            if not pairs:
                break
            _, i = min(pairs)
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
        ids += [tokenizer["vocab"][part] for part in parts]
    return ids


def linear(name, x):
    return [math.fsum(a * b for a, b in zip(row, x)) for row in weights[name + ".weight"]]


def norm(name, x):
    scale = 1 / math.sqrt(math.fsum(a * a for a in x) / len(x) + config["rms_norm_eps"])
    return [a * scale * w for a, w in zip(x, weights[name + ".weight"][0])]


def rotated(head, position):
    half = D // 2
    result = list(head)
    for p in range(half):
        angle = position * config["rope_theta"] ** (-2 * p / D)
        a, b = head[p], head[p + half]
        result[p] = a * math.cos(angle) - b * math.sin(angle)
        result[p + half] = a * math.sin(angle) + b * math.cos(angle)
    return result


def heads_of(x, count):
    return [x[h * D : (h + 1) * D] for h in range(count)]


def softmax(scores):
    largest = max(scores)
    exponentials = [math.exp(score - largest) for score in scores]
    total = math.fsum(exponentials)
    return [x / total for x in exponentials]


class Model:
    def __init__(self):
        self.keys = [[] for _ in range(config["num_hidden_layers"])]
        self.values = [[] for _ in range(config["num_hidden_layers"])]
        self.maps = {}  # (layer, head, row) -> weights

    def next(self, token):
        """Takes a token, and gives the logits of the one after it."""
        x = list(weights["model.embed_tokens.weight"][token])
        for layer in range(config["num_hidden_layers"]):
            name = f"model.layers.{layer}."
            normed = norm(name + "input_layernorm", x)
            position = len(self.keys[layer])
            queries = heads_of(linear(name + "self_attn.q_proj", normed), H)
            keys = heads_of(linear(name + "self_attn.k_proj", normed), G)
            self.keys[layer].append([rotated(key, position) for key in keys])
            self.values[layer].append(heads_of(linear(name + "self_attn.v_proj", normed), G))
            context = []
            for h, query in enumerate(queries):
                g = h * G // H
                query = rotated(query, position)
                row = softmax(
                    [math.fsum(a * b for a, b in zip(query, key[g])) / math.sqrt(D) for key in self.keys[layer]]
                )
                self.maps[layer, h, position] = row
                context += [math.fsum(w * value[g][d] for w, value in zip(row, self.values[layer])) for d in range(D)]
            x = [a + b for a, b in zip(x, linear(name + "self_attn.o_proj", context))]
            normed = norm(name + "post_attention_layernorm", x)
            gate, up = linear(name + "mlp.gate_proj", normed), linear(name + "mlp.up_proj", normed)
            hidden = [a / (1 + math.exp(-a)) * b for a, b in zip(gate, up)]
            x = [a + b for a, b in zip(x, linear(name + "mlp.down_proj", hidden))]
        final = norm("model.norm", x)
        return [math.fsum(a * b for a, b in zip(row, final)) for row in weights["model.embed_tokens.weight"]]


def case(text, count):
    model, ids = Model(), ids_of(text)
    for token in ids:
        logits = model.next(token)
    probabilities = softmax(logits)
    likely = sorted(range(len(logits)), key=lambda i: -probabilities[i])[:10]
    maps = {}
    for layer, head, row in ROWS:
        row = row % len(ids)
        maps[f"{layer}.{head}.{row}"] = model.maps[layer, head, row] + [0.0] * (len(ids) - row - 1)
    written = []
    while len(written) < count:  # at temperature 0
        written.append(max(range(len(logits)), key=lambda i: logits[i]))
        if len(written) < count:
            logits = model.next(written[-1])
    return {
        "text": text,
        "temperature": 0,
        "top_p": 1,
        "seed": 0,
        "ids": ids,
        "next": [{"id": i, "probability": probabilities[i]} for i in likely],
        "weights": maps,
        "written": written,
    }


print("[" + ",\n".join(json.dumps(case(text, count)) for text, count in TEXTS) + "]")
