"""Lesson 02: three weights side by side, and where Q, K and V lie in memory, with the numbers worked by hand."""

import numpy as np
from svg import Figure

X = np.array([[1, 0], [0, 2]])
W = np.array([[1, 1, 1, 2, 2, 0], [0, 1, 1, 0, 0, 1]])
B = np.array([0, 1, -1, 0, 0, 1])
PARTS = (("q", "blue"), ("k", "orange"), ("v", "green"))


def colour_of(column):
    return PARTS[column // 2][1]


def thirds(figure, x, y, values, cell):
    """Six columns in the colours of Q, K and V, two of each."""
    width, height = cell
    for part, (_, colour) in enumerate(PARTS):
        figure.rect(x + 2 * part * width, y, 2 * width, height * len(values), colour, 0.25, None, 0)
    figure.matrix(x, y, values, 0, cell)


def frame(figure, x, y, width, height):
    figure.line((x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y), colour="ink", width=2)


def fused():
    figure = Figure(
        "X times W_q, W_k and W_v side by side gives Q, K and V side by side; column by column, nothing changes", 236
    )
    cell, left = (36, 24), 116
    for part, (name, colour) in enumerate(PARTS):
        centre = left + (2 * part + 1) * cell[0]
        figure.text(centre, 22, f"W_{name}", f"{colour} strong", "middle")
        figure.text(centre, 186, name.upper(), f"{colour} strong", "middle")
    thirds(figure, left, 30, W, cell)
    figure.text(102, 59, "W", "strong", "end")
    figure.matrix(30, 120, X, 0, cell)
    figure.text(66, 112, "X", "strong", "middle")
    thirds(figure, left, 120, X @ W, cell)
    column = left + 2 * cell[0]
    frame(figure, column, 30, cell[0], 48)
    frame(figure, column, 120, cell[0], 48)
    figure.arrow((column + 18, 82), (column + 18, 116))
    figure.text(column + 26, 103, "X times this column", "dim small")
    figure.text(12, 208, "Each column of the result needs one column of W.", "dim small")
    figure.text(12, 224, "The result is X W: no bias is added yet.", "dim small")
    return figure


def memory():
    figure = Figure(
        "In Armadillo's memory Q, K and V are one block each; in PyTorch's each token has a piece of each", 276
    )
    QKV = X @ W + B
    cell, left = 26, 24

    for part, (name, colour) in enumerate(PARTS):
        figure.text(116 + (2 * part + 1) * 30, 18, name.upper(), f"{colour} strong", "middle")
    thirds(figure, 116, 26, QKV, (30, 22))
    for token in (0, 1):
        figure.text(108, 41 + 22 * token, f"token {token}", "dim small", "end")

    def strip(y, places, title):
        figure.text(12, y - 10, title, "strong")
        for i, (token, column) in enumerate(places):
            figure.rect(left + i * cell, y, cell, 24, colour_of(column), 0.25, "faint", 0)
            figure.text(left + i * cell + cell / 2, y + 16, f"{QKV[token, column]}", "small mono", "middle")

    def below(y, first, count, label, kind):
        figure.line((left + first * cell + 3, y), (left + (first + count) * cell - 3, y), colour=kind, width=2)
        figure.text(left + (first + count / 2) * cell, y + 14, label, f"{kind} small", "middle")

    strip(112, [(token, column) for column in range(6) for token in (0, 1)], "Armadillo: column after column")
    for part, (name, colour) in enumerate(PARTS):
        below(142, 4 * part, 4, f"{name.upper()}, one block", colour)

    strip(202, [(token, column) for token in (0, 1) for column in range(6)], "PyTorch: row after row")
    for piece in range(6):
        name, colour = PARTS[piece % 3]
        below(232, 2 * piece, 2, name.upper(), colour)
    for token in (0, 1):
        figure.text(left + (6 * token + 3) * cell, 264, f"token {token}", "dim small", "middle")
    return figure


def figures():
    return {"fused": fused(), "memory": memory()}
