"""Lesson 23: a safetensors file byte by byte, a word on its way through byte-level BPE, and two weights loaded in three ways."""

import json
import pathlib

from course import golden
from svg import Figure

MODEL = pathlib.Path(__file__).resolve().parents[2] / "tests" / "23_real_weights" / "models" / "gpt2"


def file():
    data = (MODEL / "model.safetensors").read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    tensors = [(name, *(8 + length + at for at in entry["data_offsets"])) for name, entry in header.items()
               if name != "__metadata__"]  # fmt: skip
    figure = Figure(
        "The weights of tests/23_real_weights/models/gpt2: 8 bytes with the length of the header, the header in JSON, the numbers of 28 tensors "
        "without gaps; data_offsets count from the end of the header",
        336,
    )
    left, width = 76, 274
    parts = [
        (36, "purple", f"N = {length}", " ".join(f"{byte:02X}" for byte in data[:8]), 0),
        (80, "orange", "JSON, N bytes", '{"__metadata__":{"format":"pt"},', 8),
        (40, "blue", "wte.weight", "297 x 12 numbers of 4 bytes", tensors[0][1]),
        (40, "green", "wpe.weight", "40 x 12 numbers", tensors[1][1]),
        (40, "dim", f"{len(tensors) - 2} more tensors", "h.0.ln_1.weight, … ln_f.bias", tensors[2][1]),
    ]
    top = 30
    figure.text(left - 8, 20, "byte", "dim small", "end")
    for tall, colour, title, text, at in parts:
        figure.rect(left, top, width, tall, colour, 0.14, colour, 0)
        figure.text(left - 8, top + 12, str(at), "small mono", "end")
        figure.text(left + 8, top + 13, title, "small strong")
        figure.text(left + 8, top + 27, text, "small mono dim" if colour in ("purple", "orange") else "small dim")
        if colour == "orange":
            begin, end = header["wte.weight"]["data_offsets"]
            figure.text(left + 8, top + 41, '"wte.weight":{"dtype":"F32",', "small mono dim")
            figure.text(left + 8, top + 55, '"shape":[297,12],', "small mono dim")
            figure.text(left + 8, top + 69, f'"data_offsets":[{begin},{end}]}}, …', "small mono dim")
        top += tall
    figure.text(left - 8, top + 12, str(len(data)), "small mono", "end")
    figure.text(left + 8, top + 14, "the end, where the last tensor ends", "dim small")
    figure.text(
        10, 298, f"wte.weight: 8 + {length} + 0 to 8 + {length} + {header['wte.weight']['data_offsets'][1]}", "small"
    )
    figure.text(10, 313, "Its row i, column j: 4 (12 i + j) bytes further.", "small")
    figure.text(10, 328, "tests/23_real_weights/models/gpt2", "small dim")
    return figure


def merge(pieces, pair):
    merged, at = [], 0
    while at < len(pieces):
        found = tuple(pieces[at : at + 2]) == pair
        merged.append("".join(pieces[at : at + 2]) if found else pieces[at])
        at += 2 if found else 1
    return merged


def merges():
    lines = (MODEL / "merges.txt").read_text().splitlines()[1:]
    ranks = {tuple(line.split(" ")): rank for rank, line in enumerate(lines)}
    ids = json.loads((MODEL / "vocab.json").read_text())
    figure = Figure(
        "The text is cut into words; the bytes of the last word become symbols, and are merged by rank 0, 1 and 3",
        262,
    )
    figure.text(10, 22, "the text", "dim small")
    figure.text(92, 22, "the other theé", "mono small")
    figure.text(10, 52, "words", "dim small")
    x = 92
    for word, colour in (("the", "blue"), ("␣other", "orange"), ("␣theé", "green")):
        figure.box(x, 38, 70, 22, word, "small mono", colour)
        x += 78
    figure.arrow((283, 60), (283, 74))
    figure.text(10, 92, "bytes", "dim small")
    cell, left = 38, 92
    for k, byte in enumerate(" theé".encode()):
        figure.text(left + (k + 0.5) * cell, 92, f"{byte:02X}", "small mono", "middle")
    pieces, top, text = ["Ġ", "t", "h", "e", "Ã", "©"], 104, "symbols"
    while True:
        figure.text(10, top + 16, text, "dim small")
        at = 0
        for piece in pieces:
            figure.box(left + at * cell + 1, top, cell * len(piece) - 2, 24, piece, "small mono", "green")
            at += len(piece)
        known = [pair for pair in zip(pieces, pieces[1:]) if pair in ranks]
        if not known:
            break
        best = min(known, key=ranks.get)
        pieces, top, text = merge(pieces, best), top + 32, f"rank {ranks[best]}"
    at = 0
    figure.text(10, top + 42, "ids", "dim small")
    for piece in pieces:
        figure.text(left + (at + len(piece) / 2) * cell, top + 42, str(ids[piece]), "small mono strong", "middle")
        at += len(piece)
    return figure


def weights():
    """Two weights loaded right, with one transposed, and exchanged: the scores of two tokens, and the attention of the second."""
    figure = Figure(
        "Two 2 x 2 weights loaded right, with W_q transposed, and with W_q and W_k exchanged: every shape is the same, the scores and "
        "the attention of token 1 are not",
        262,
    )
    W_q, W_k = [[1, 2], [0, 1]], [[1, 1], [0, 2]]
    transposed = [list(column) for column in zip(*W_q)]
    panels = [
        ("right", "✓ loaded right", (W_q, W_k)),
        ("transposed", "✗ W_q transposed", (transposed, W_k)),
        ("exchanged", "✗ exchanged", (W_k, W_q)),
    ]
    for k, (case, title, (query, key)) in enumerate(panels):
        left, colour, cell = 12 + 118 * k, "green" if k == 0 else "red", (22, 22)
        figure.text(left + 50, 20, title, f"small strong {colour}", "middle")
        for name, matrix, shift, changed in (("W_q", query, 0, k > 0), ("W_k", key, 56, k == 2)):
            figure.text(left + shift + 22, 42, name, "small dim", "middle")
            if changed:
                figure.rect(left + shift, 48, 44, 44, "red", 0.12, None, 0)
            figure.matrix(left + shift, 48, matrix, 0, cell)
        figure.arrow((left + 50, 98), (left + 50, 112))
        figure.text(left + 58, 109, "Q Kᵀ", "small dim")
        scores = [[sum(a * b for a, b in zip(row, other)) for other in key] for row in query]
        figure.rect(left + 28, 140, 44, 22, colour, 0.2, None, 0)
        figure.matrix(left + 28, 118, scores, 0, cell)
        for j, weight in enumerate(golden("23_real_weights", "worked", case)[1]):
            top = 192 + 22 * j
            figure.text(left, top + 11, f"to {j}", "small dim")
            figure.rect(left + 30, top, 44, 14, "faint", 0.5, None, 2)
            figure.rect(left + 30, top, 44 * weight, 14, colour, 0.75, None, 2)
            figure.text(left + 78, top + 11, f"{weight:.2f}", "small mono")
    figure.text(12, 182, "Attention weights of token 1, the shaded row:", "small")
    figure.text(12, 254, "Token 0 attends to itself alone, in all three.", "small dim")
    return figure


def figures():
    return {"file": file(), "merges": merges(), "weights": weights()}
