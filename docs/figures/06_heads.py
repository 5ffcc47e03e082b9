"""Lesson 06: why one attention is not enough, how columns become heads, and where their numbers lie in memory."""

from course import golden
from svg import LETTER, Figure

LESSON = "06_heads"
COLOURS = ("blue", "orange")  # of head 0 and of head 1


def cells(figure, x, y, values, colours, width=30, height=24):
    """Integers in cells, each column in the colour of its head."""
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            figure.rect(x + j * width, y + i * height, width, height, colours[j], 0.22, colours[j], 0)
            figure.text(x + (j + 0.5) * width, y + i * height + height / 2 + 4, f"{value:.0f}", "small mono", "middle")


def two_heads():
    figure = Figure("The word it needs two answers: head 0 looks at cat, head 1 at tired", 118)
    words, gap, x = "The cat sat down because it was tired".split(), 9, 34
    middle = {}
    for word in words:
        width = LETTER * len(word)
        middle[word] = x + width / 2
        figure.text(middle[word], 68, word, "strong" if word == "it" else "dim", "middle")
        x += width + gap
    for colour, word, line, tip, bend in (("blue", "cat", 54, 52, 4), ("orange", "tired", 76, 78, 122)):
        start, end = middle["it"], middle[word]
        figure.parts.append(
            f'<path d="M{start:.1f},{line} Q{(start + end) / 2:.1f},{bend} {end:.1f},{tip}" '
            f'class="{colour}-line" stroke-width="2"/>'
        )
        figure.arrow((end + (start - end) * 0.06, tip + (bend - tip) * 0.12), (end, tip), colour=colour)
    figure.text((middle["it"] + middle["cat"]) / 2, 18, "head 0: who is meant?", "blue small", "middle")
    figure.text(348, 112, "head 1: what is said of it?", "orange small", "end")
    return figure


def columns():
    X, heads = golden(LESSON, "by_hand", "X"), golden(LESSON, "by_hand", "heads")
    figure = Figure(
        "The columns of Q, K or V are cut into two heads for each sequence; head h of sequence b becomes slice b·H + h",
        228,
    )
    for b in range(2):
        top = 50 + 98 * b
        figure.text(14, top - 26, f"sequence {b}", "strong")
        cells(figure, 14, top, X[b], [COLOURS[0]] * 2 + [COLOURS[1]] * 2)
        figure.arrow((142, top + 24), (178, top + 24))
        for h, colour in enumerate(COLOURS):
            figure.text(44 + 60 * h, top - 7, f"head {h}", f"{colour} small", "middle")
            left = 192 + 82 * h
            figure.text(left + 30, top - 7, f"slice {2 * b + h}", f"{colour} strong", "middle")
            cells(figure, left, top, heads[b, h], [colour] * 2)
    figure.text(14, 218, "Rows: tokens of Q, K or V. A head keeps them all.", "dim small")
    return figure


def strip(figure, top, title, numbers, heads, brackets):
    """Eight cells of memory; heads: to which head each belongs; brackets: (first, last, label) below the cells."""
    width = 40
    figure.text(20, top - 8, title, "strong")
    cells(figure, 20, top, [numbers], [COLOURS[h] for h in heads], width)
    for first, last, label, colour in brackets:
        left, right = 20 + width * first + 3, 20 + width * (last + 1) - 3
        figure.line((left, top + 29), (left, top + 33), (right, top + 33), (right, top + 29), colour=colour)
        figure.text((left + right) / 2, top + 46, label, f"{colour} small", "middle")


def memory():
    X = golden(LESSON, "by_hand", "X")[0]
    figure = Figure("The memory of one sequence: in Armadillo each head is one block, in PyTorch it is in pieces", 266)
    by_columns, by_rows = X.T.ravel(), X.ravel()
    blue, orange = COLOURS
    blocks = [(0, 3, "head 0: one block", blue), (4, 7, "head 1: one block", orange)]
    strip(figure, 30, "Armadillo: column after column", by_columns, [0] * 4 + [1] * 4, blocks)
    pieces = [(2 * i, 2 * i + 1, f"head {i % 2}", COLOURS[i % 2]) for i in range(4)]
    strip(figure, 118, "PyTorch: row after row", by_rows, [0, 0, 1, 1] * 2, pieces)
    wrong = [(0, 3, "head 0? It is token 0.", blue), (4, 7, "head 1? It is token 1.", orange)]
    strip(figure, 206, "PyTorch, view without transpose: wrong", by_rows, [0] * 4 + [1] * 4, wrong)
    return figure


def figures():
    return {"two_heads": two_heads(), "columns": columns(), "memory": memory()}
