"""Lesson 25: the layer forward and backward, outer products, what is used several times, and a rotation with its inverse."""

from math import atan2, cos, hypot, pi, sin

import numpy as np
from course import golden
from svg import Figure, number

LESSON = "25_multi_head_backward"


def graph():
    figure = Figure(
        "The layer forward, on the left and downwards, and backward, on the right and upwards: the same steps in reverse",
        506,
    )
    left, right, width, tall, step = 10, 186, 164, 26, 68
    figure.text(left + width / 2, 20, "forward", "blue strong", "middle")
    figure.text(right + width / 2, 20, "backward", "orange strong", "middle")
    rows = [
        ("X (L x E)", "d_X (L x E)"),
        ("Q, K, V: H, G, G heads", "d_Q, d_K, d_V: H, G, G"),
        ("Q, K, V: H heads each", "d_Q, d_K, d_V: H each"),
        ("context: H heads", "d_context: H heads"),
        ("merged (L x H·D)", "d_merged (L x H·D)"),
        ("output (L x E)", "d_output (L x E)"),
    ]
    steps = [
        (("X W + b, three times,", "split_heads"), ("merge_heads, times Wᵀ:", "three shares, added up")),
        (("rotate Q and K,", "repeat K and V"), ("add up over groups,", "rotate d_Q, d_K back")),
        (("attention", "(lesson 24)"), ("attention_backward", "(lesson 24)")),
        (("merge_heads",), ("split_heads",)),
        (("merged W_o + b",), ("times W_oᵀ",)),
    ]
    tops = [32 + step * i for i in range(len(rows))]
    for top, (forward, backward) in zip(tops, rows):
        figure.box(left, top, width, tall, forward, "small", "blue")
        figure.box(right, top, width, tall, backward, "small", "orange")
    for i, (forward, backward) in enumerate(steps):
        upper, lower = tops[i] + tall, tops[i + 1]
        figure.arrow((left + 10, upper), (left + 10, lower), colour="blue")
        figure.arrow((right + 10, lower), (right + 10, upper), colour="orange")
        for x, lines in ((left, forward), (right, backward)):
            for k, line in enumerate(lines):
                figure.text(x + 18, (upper + lower) / 2 + 4 + 14 * (k - (len(lines) - 1) / 2), line, "dim small")
    for i in (0, 2, 4):  # what is saved goes to the step that uses it
        figure.arrow(
            (left + width, tops[i] + 13), (right + 6, (tops[i] + tall + tops[i + 1]) / 2), colour="purple", dashed=True
        )
    figure.arrow((left + width, tops[5] + 13), (right, tops[5] + 13), colour="green")
    figure.text(180, tops[5] + 46, "green: to the loss, and back", "green small", "middle")
    figure.line((12, 444), (36, 444), colour="purple", dashed=True)
    figure.text(42, 448, "saved: X and merged, for d_W; Q, K, V, weights", "dim small")
    figure.text(12, 472, "Gradients of the weights:", "orange small")
    figure.text(12, 490, "d_W_q = Xᵀ d_Q, ..., d_W_o = mergedᵀ d_output", "dim small")
    return figure


def pair(values):
    return "(" + ", ".join(f"{x:.2f}".replace("-", "−") for x in values) + ")"


def rotated_keys_gradients():
    """d_K of token 1 for each query head, before it is rotated back: of the example worked by hand."""
    X, W_k = golden(LESSON, "by_hand", "X")[0], golden(LESSON, "by_hand", "key_proj.weight").T
    d_W = golden(LESSON, "by_hand", "d_key_proj.weight")
    a, b = d_W[1]  # X is the identity: rows of d_W are those of the gradient of X W_k
    assert (X == W_k).all()
    return (-b, 0.0), (0.0, a), (-b, a), (a, b)


def shared():
    figure = Figure(
        "One key is read by two query heads, so its gradient is the sum of two; X is read by three projections, so its gradient "
        "is the sum of three",
        322,
    )
    head_0, head_1, total, _ = rotated_keys_gradients()
    figure.text(12, 20, "Used several times: gradients add up", "small strong")
    figure.box(12, 78, 106, 34, "key 1, shared", "small", "purple")
    for y, name, share in ((44, "query head 0", head_0), (118, "query head 1", head_1)):
        figure.box(252, y, 96, 30, name, "small", "blue")
        figure.arrow((118, 92), (252, y + 10), colour="blue")
        figure.arrow((252, y + 22), (118, 104 + (y - 81) / 8), colour="orange")
    figure.text(248, 38, pair(head_0), "orange small mono", "end")
    figure.text(248, 160, pair(head_1), "orange small mono", "end")
    figure.text(65, 132, "d_key 1 =", "orange small", "middle")
    figure.text(65, 148, pair(total), "orange small mono", "middle")
    figure.line((12, 174), (348, 174), colour="faint")
    figure.box(12, 204, 106, 74, "X", "small", "purple")
    for y, name, end in ((186, "query_proj", 214), (228, "key_proj", 237), (270, "value_proj", 260)):
        figure.box(252, y, 96, 30, name, "small", "blue")
        figure.arrow((118, end), (252, y + 10), colour="blue")
        figure.arrow((252, y + 22), (118, end + 9), colour="orange")
    figure.text(65, 294, "d_X = sum of three", "orange small", "middle")
    figure.text(12, 312, "d_W: the sum over all tokens", "dim small")
    return figure


def outer_products():
    """d_W of the linear layer worked by hand: a share of each token."""
    X, d_Y = (golden(LESSON, "linear_by_hand", name)[0] for name in ("X", "d_Y"))
    shares = [np.outer(x, d_y) for x, d_y in zip(X, d_Y)]
    total = sum(shares)
    figure = Figure("The gradient of a weight: one outer product for each token, added up", 274)
    cell = (30, 22)

    def cells(x, y, values, colour, shade):
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                left, top = x + j * cell[0], y + i * cell[1]
                figure.rect(left, top, *cell, colour, min(abs(value) / shade, 1) * 0.55, "faint", 0)
                text = f"{abs(value):g}" if value >= 0 else f"−{abs(value):g}"
                figure.text(left + cell[0] / 2, top + 15, text, "small mono", "middle")

    figure.text(12, 20, "Each token adds an outer product to d_W", "small strong")
    for k, (x, d_y, share, colour) in enumerate(zip(X, d_Y, shares, ("blue", "orange"))):
        y = 58 + 92 * k
        figure.text(27, y - 8, f"x{'₀₁'[k]}ᵀ", f"{colour} small strong", "middle")
        cells(12, y, x[:, None], colour, 5)
        figure.text(54, y + 27, "·", "strong", "middle")
        figure.text(111, y + 3, f"d_y{'₀₁'[k]}", f"{colour} small strong", "middle")
        cells(66, y + 11, d_y[None], colour, 5)
        figure.text(170, y + 27, "=", "strong", "middle")
        cells(184, y, share, colour, 12)
        figure.text(292, y + 27, f"token {k}", f"{colour} small strong")
    figure.text(229, 121, "+", "strong", "middle")
    figure.text(170, 245, "=", "strong", "middle")
    cells(184, 218, total, "green", 12)
    figure.text(160, 245, "d_W = Xᵀ d_Y", "green small strong", "end")
    assert (total == golden(LESSON, "linear_by_hand", "d_layer.weight")).all()
    return figure


def clock(figure, x, y, radius, hands):
    """As in lesson 14: (a, b) points up by a and to the right by b, and a positive angle turns clockwise."""
    figure.parts.append(
        f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" class="faint-line" fill="none"/>'
    )
    figure.line((x - radius, y), (x + radius, y), colour="faint")
    figure.line((x, y - radius), (x, y + radius), colour="faint")
    figure.text(x, y - radius - 5, "a", "dim small", "middle")
    figure.text(x + radius + 5, y + 4, "b", "dim small")
    for (a, b), colour, dashed in hands:
        figure.arrow((x, y), (x + (radius - 1) * b, y - (radius - 1) * a), colour=colour, dashed=dashed)


def arc(figure, x, y, radius, begin, end, colour):
    """From the angle begin to end, counted clockwise from the top."""
    steps = [begin + (end - begin) * k / 16 for k in range(17)]
    figure.arrow(*((x + radius * sin(t), y - radius * cos(t)) for t in steps), colour=colour)


def rotation():
    figure = Figure(
        "Forward, a key is rotated by 90 degrees, clockwise. Backward, its gradient is rotated by minus 90 degrees", 218
    )
    *_, before, after = rotated_keys_gradients()
    radius, y = 62, 112
    for x, heading, colour in ((92, "forward: by +t", "blue"), (268, "backward: by −t", "orange")):
        figure.text(x, 20, heading, f"{colour} small strong", "middle")
    clock(figure, 92, y, radius, (((0, 1), "dim", True), ((-1, 0), "blue", False)))
    arc(figure, 92, y, 28, pi / 2 + 0.08, pi - 0.12, "blue")
    figure.text(106, y - 6, "(0, 1)", "dim small mono")
    figure.text(86, y + 56, "(−1, 0)", "blue small mono", "end")
    length = hypot(*before)
    hands = (tuple(v / length for v in vector) for vector in (before, after))
    clock(figure, 268, y, radius, tuple(zip(hands, ("dim", "orange"), (True, False))))
    begin, end = (atan2(vector[1], vector[0]) for vector in (before, after))
    arc(figure, 268, y, 28, begin - 0.08, end + 0.12, "orange")
    figure.text(268, 198, f"{pair(before)} becomes", "dim small", "middle")
    figure.text(268, 213, pair(after), "orange small", "middle")
    figure.text(92, 198, "key of token 1,", "dim small", "middle")
    figure.text(92, 213, "t = 90 degrees", "dim small", "middle")
    return figure


def figures():
    return {"graph": graph(), "outer_products": outer_products(), "shared": shared(), "rotation": rotation()}
