"""Lesson 24: a slope, a graph of five numbers, attention's graph, the softmax's Jacobian, the error of differences."""

from math import log10

import numpy as np
from course import golden, softmax
from svg import Figure

LESSON = "24_attention_backward"


def slope():
    """x² at x = 1, with the secants to x = 1.5 and x = 1.1."""
    figure = Figure(
        "The curve x² with its tangent at x = 1, and two secants: the nearer the second point, the closer", 232
    )
    left, bottom, wide, tall = 34, 186, 190, 62  # of one unit each

    def at(x, y):
        return left + wide * (x - 0.5), bottom - tall * y

    figure.line(at(0.5, 0), at(1.65, 0), colour="faint")
    figure.line(at(0.5, 0), at(0.5, 2.7), colour="faint")
    for x in (0.5, 1, 1.5):
        figure.text(at(x, 0)[0], bottom + 15, f"{x:g}", "dim small", "middle")
    for y in (1, 2):
        figure.text(left - 6, at(0.5, y)[1] + 4, str(y), "dim small", "end")
    figure.line(*(at(k / 40, (k / 40) ** 2) for k in range(20, 66)), colour="ink", width=2)
    ends = []
    for h, colour, dashed in ((0.5, "purple", True), (0.1, "orange", True), (0, "blue", False)):
        rate = ((1 + h) ** 2 - 1) / h if h else 2
        figure.line(at(0.65, 1 - 0.35 * rate), at(1.62, 1 + 0.62 * rate), colour=colour, width=1.6, dashed=dashed)
        ends.append((f"h = {h:g}: {rate:g}" if h else f"tangent: {rate:g}", colour))
        if h:
            x, y = at(1 + h, (1 + h) ** 2)
            figure.rect(x - 3, y - 3, 6, 6, colour, 1, None, 3)
    x, y = at(1, 1)
    figure.rect(x - 3.5, y - 3.5, 7, 7, "ink", 1, None, 3.5)
    figure.text(x + 9, y + 13, "x = 1", "small")
    figure.text(left + 8, 20, "x²", "strong")
    for (label, colour), y in zip(ends, (32, 50, 68)):
        figure.text(266, y, label, f"{colour} small strong")
    figure.text(266, 14, "slope", "dim small")
    figure.text(12, 225, "x up by h: slope = (f(1 + h) − f(1)) / h", "dim small")
    return figure


def scalar_graph():
    """z = x·y + x, L = z² for x = 4, y = 0.5."""
    x, y = 4.0, 0.5
    a = x * y
    z = a + x
    d_z = 2 * z
    values = {
        "x": (x, d_z * y + d_z),
        "y": (y, d_z * x),
        "a = x · y": (a, d_z),
        "z = a + x": (z, d_z),
        "L = z²": (z * z, 1.0),
    }
    figure = Figure("Five numbers: forward from x and y to L, backward from L to x, which is reached on two paths", 234)
    wide, tall = 72, 40
    places = {"x": (8, 36), "y": (8, 142), "a = x · y": (104, 104), "z = a + x": (196, 56), "L = z²": (282, 56)}
    for name, (left, top) in places.items():
        value, gradient = values[name]
        width = 70 if name == "L = z²" else wide
        figure.rect(left, top, width, tall, "blue", 0.12, "blue")
        figure.text(left + width / 2, top + 16, name, "small strong", "middle")
        figure.text(left + 8, top + 33, f"{value:g}", "blue small mono")
        figure.text(left + width - 8, top + 33, f"{gradient:g}", "orange small mono", "end")
    edges = (
        ((80, 48), (196, 66), "1", (140, 50)),
        ((80, 66), (104, 112), f"{y:g}", (112, 92)),
        ((80, 158), (104, 136), f"{x:g}", (98, 162)),
        ((176, 116), (196, 92), "1", (192, 114)),
        ((268, 76), (282, 76), f"{2 * z:g}", (275, 50)),
    )
    for start, end, rate, (left, top) in edges:
        figure.arrow(start, end, colour="dim")
        figure.text(left, top, rate, "purple small strong", "middle")
    figure.text(8, 20, "value", "blue small strong")
    figure.text(52, 20, "gradient", "orange small strong")
    figure.text(118, 20, "rate of a step", "purple small strong")
    figure.text(8, 208, f"d_x = {d_z:g} · {y:g} + {d_z:g} · 1 = {d_z * y + d_z:g}", "orange small mono")
    figure.text(8, 225, "one term for each path from x to L", "dim small")
    return figure


def graph():
    figure = Figure(
        "Attention's four steps downwards, and upwards the same steps in reverse. Each gradient has the shape of what it belongs to",
        456,
    )
    left, right, width, tall, step = 12, 198, 150, 26, 66
    figure.text(left + width / 2, 20, "forward", "blue strong", "middle")
    figure.text(right + width / 2, 20, "backward", "orange strong", "middle")
    rows = [
        ("Q (L x D), K (S x D)", "d_Q, d_K: as Q, K"),
        ("scores (L x S)", "d_scores (L x S)"),
        ("weights (L x S)", "d_weights (L x S)"),
        ("mixing (L x S)", "d_mixing (L x S)"),
        ("context (L x Dv)", "d_context (L x Dv)"),
        ("V (S x Dv)", "d_V (S x Dv)"),
    ]
    steps = [
        ("Q Kᵀ / √D, mask", "two products"),
        ("softmax of each row", "the softmax's rule"),
        ("dropout", "the same mask"),
        ("times V", "a product with V"),
        ("", "a product"),
    ]
    tops = [32 + step * i for i in range(len(rows))]
    middles = [top + tall + (step - tall) / 2 for top in tops]
    for top, (forward, backward) in zip(tops, rows):
        figure.box(left, top, width, tall, forward, "small", "blue")
        figure.box(right, top, width, tall, backward, "small", "orange")
    for i, (forward, backward) in enumerate(steps):
        upper, lower = tops[i] + tall, tops[i + 1]
        down = i < 4
        figure.arrow((left + 12, upper if down else lower), (left + 12, lower if down else upper), colour="blue")
        figure.arrow((right + 22, lower if down else upper), (right + 22, upper if down else lower), colour="orange")
        figure.text(left + 20, middles[i] + 4, forward, "dim small")
        figure.text(right + 32, middles[i] + 4, backward, "dim small")
    # what is saved goes to the step that uses it
    for row, channel, used in ((0, 171, 0), (2, 171, 1), (5, 171, 3)):
        start, end = tops[row] + 13, middles[used]
        points = ((left + width, start), (channel, start), (channel, end), (right + 18, end))
        figure.arrow(*points, colour="purple", dashed=True)
    figure.arrow((left + 70, middles[2]), (right + 18, middles[2]), colour="purple", dashed=True)
    points = ((left + width, tops[3] + 13), (186, tops[3] + 13), (186, middles[4]), (right + 18, middles[4]))
    figure.arrow(*points, colour="dim", dashed=True)
    figure.arrow((left + width, tops[4] + 13), (right, tops[4] + 13), colour="green")
    figure.line((12, 408), (36, 408), colour="purple", dashed=True)
    figure.text(42, 412, "saved: Q, K, V, weights, dropout's mask", "dim small")
    figure.line((12, 424), (36, 424), colour="dim", dashed=True)
    figure.text(42, 428, "mixing: recomputed from weights and mask", "dim small")
    figure.line((12, 440), (36, 440), colour="green")
    figure.text(42, 444, "to the loss, and back", "green small")
    return figure


def signed_matrix(figure, x, y, values, cell, rows=(), columns=()):
    """Positive numbers in blue, negative ones in orange."""
    width, height = cell
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            left, top = x + j * width, y + i * height
            colour = "orange" if value < 0 else "blue"
            figure.rect(left, top, width, height, colour, min(abs(value) / 0.5, 1) * 0.6, "faint", 0)
            text = f"{abs(value):g}"
            figure.text(
                left + width / 2, top + height / 2 + 4, ("−" if value < 0 else "") + text, "small mono", "middle"
            )
    for i, label in enumerate(rows):
        figure.text(x - 6, y + i * height + height / 2 + 4, label, "dim small", "end")
    for j, label in enumerate(columns):
        figure.text(x + j * width + width / 2, y - 6, label, "dim small", "middle")


def jacobian():
    figure = Figure(
        "The Jacobian of the softmax for one row of three weights, and the gradient that goes through it", 250
    )
    p = golden(LESSON, "softmax_by_hand", "weights")[0, 0]
    d_p = golden(LESSON, "softmax_by_hand", "d_weights")[0, 0]
    d_scores = golden(LESSON, "softmax_by_hand", "d_scores")[0, 0]
    matrix = np.diag(p) - np.outer(p, p)
    cell = (60, 26)
    figure.text(12, 20, "How weight k (row) changes with score j (column)", "small strong")
    names = [f"score {j}" for j in range(3)]
    signed_matrix(figure, 112, 52, matrix, cell, [f"weight {k} = {p[k]:g}" for k in range(3)], names)
    figure.text(330, 46, "d_weights", "purple small", "middle")
    for k in range(3):
        figure.text(330, 52 + 26 * k + 17, f"{d_p[k]:g}", "purple small mono", "middle")
    figure.text(106, 152, "column sums", "dim small", "end")
    for j in range(3):
        figure.text(112 + 60 * j + 30, 152, "0", "dim small mono", "middle")
    figure.text(12, 180, "The gradient goes through it", "small strong")
    figure.text(12, 200, "each row times its d_weights, added up:", "small")
    figure.text(106, 234, "d_scores", "small", "end")
    signed_matrix(figure, 112, 217, [d_scores], cell)
    return figure


def loss_of(shift):
    """Of the example under its mask, when `shift` is added to the last number of Q."""
    case = "masked_by_hand"
    Q, K, V, d_context, mask = (golden(LESSON, case, name)[0] for name in ("Q", "K", "V", "d_context", "mask"))
    Q = Q.copy()
    Q[1, 1] += shift
    weights = softmax(np.where(mask != 0, Q @ K.T / np.sqrt(2), -np.inf))
    return (d_context * (weights @ V)).sum()


def step_size():
    figure = Figure(
        "The error of a slope by differences falls with the step size, and rises again through rounding", 214
    )
    exact = golden(LESSON, "masked_by_hand", "d_Q")[0, 1, 1]
    exponents = np.arange(-1, -12.1, -0.5)
    left, right, top, bottom = 56, 340, 40, 170

    def x_of(exponent):
        return left + (-1 - exponent) / 11 * (right - left)

    def y_of(error):
        return bottom + (log10(max(error, 1e-12)) + 11) / -9 * (bottom - top)

    figure.text(12, 20, "error of the slope", "small strong")
    for exponent in (-2, -5, -8, -11):
        y = y_of(10.0**exponent)
        figure.line((left, y), (right, y), colour="faint")
        figure.text(left - 6, y + 4, f"1e{exponent}", "dim small", "end")
    for exponent in (-1, -3, -5, -7, -9, -11):
        figure.text(x_of(exponent), bottom + 20, f"1e{exponent}", "dim small", "middle")
    figure.text((left + right) / 2, bottom + 38, "step size h", "small strong", "middle")
    steps = 10.0**exponents
    central = [abs((loss_of(h) - loss_of(-h)) / (2 * h) - exact) for h in steps]
    one_sided = [abs((loss_of(h) - loss_of(0)) / h - exact) for h in steps]
    for errors, colour in ((one_sided, "orange"), (central, "blue")):
        figure.line(*((x_of(e), y_of(error)) for e, error in zip(exponents, errors)), colour=colour, width=2)
    figure.text(214, 20, "one-sided", "small orange")
    figure.text(286, 20, "central", "small blue")
    return figure


def figures():
    return {
        "slope": slope(),
        "scalar_graph": scalar_graph(),
        "graph": graph(),
        "jacobian": jacobian(),
        "step_size": step_size(),
    }
