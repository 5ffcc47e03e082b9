"""Lesson 11: PyTorch's packed parameters taken apart, and what the mean of two heads hides."""

from course import golden
from svg import Figure

LESSON = "11_nn_multihead_attention"
PARTS = (("q", "blue"), ("k", "orange"), ("v", "green"))


def packed():
    weight, bias = (golden(LESSON, "by_hand", name) for name in ("in_proj_weight", "in_proj_bias"))
    E, cell = weight.shape[1], (32, 22)
    band = E * cell[1]

    figure = Figure("in_proj_weight is three blocks of E rows; each, transposed, is one of W_q, W_k and W_v", 262)
    figure.text(124, 22, "in_proj_weight", "strong", "middle")
    figure.text(124, 37, "3E x E (out x in)", "dim small", "middle")
    figure.text(290, 22, "here", "strong", "middle")
    figure.text(290, 37, "E x E (in x out)", "dim small", "middle")
    for part, (name, colour) in enumerate(PARTS):
        top = 46 + part * band
        block = weight[part * E : (part + 1) * E]
        figure.rect(92, top, E * cell[0], band, colour, 0.14, colour, 0)
        figure.matrix(92, top, block, 0, cell)
        figure.arrow((162, top + band / 2), (246, top + band / 2), colour=colour)
        figure.text(204, top + band / 2 - 5, "transpose", "dim small", "middle")
        figure.rect(252, top + 3, E * cell[0], band - 6, colour, 0.14, colour, 0)
        figure.matrix(252, top + 3, block.T, 0, (cell[0], cell[1] - 3))
        figure.text(324, top + band / 2 + 4, f"W_{name}", f"{colour} strong")
        for h in range(E):  # two heads, one row each
            figure.text(88, top + (h + 0.5) * cell[1] + 4, f"row {part * E + h}, head {h}", f"{colour} small", "end")

    top = 206
    figure.text(84, top + 15, "in_proj_bias", "strong small", "end")
    for part, (name, colour) in enumerate(PARTS):
        left = 92 + part * (E * cell[0] + 6)
        figure.rect(left, top, E * cell[0], cell[1], colour, 0.14, colour, 0)
        figure.matrix(left, top, [bias[part * E : (part + 1) * E]], 0, cell)
        figure.text(left + cell[0], top + 38, f"b_{name}", f"{colour} strong", "middle")
    figure.text(310, top + 15, "3E", "dim small")
    return figure


def mean():
    heads = golden(LESSON, "by_hand", "head_weights")
    figure = Figure("Query 0: head 0 prefers key 1, head 1 key 0; their mean is what neither head did", 186)
    for left, weights, title, colour in (
        (28, heads[0], "head 0", "blue"),
        (148, heads[1], "head 1", "orange"),
        (268, heads.mean(axis=0), "their mean", "purple"),
    ):
        figure.text(left + 32, 22, title, f"{colour} strong", "middle")
        figure.bars(left, 134, weights[0], 28, 84, 8, colour=colour, digits=2, labels=("key 0", "key 1"))
    figure.text(120, 92, "and", "dim", "middle")
    figure.text(240, 92, "give", "dim", "middle")
    figure.text(12, 174, "Query 0: the mean is what neither head did.", "dim small")
    return figure


def figures():
    return {"packed": packed(), "mean": mean()}
