"""Lesson 24: the computation graph forward and backward, the softmax's Jacobian, and the error of differences."""

from math import log10

import numpy as np
from course import golden, softmax
from svg import Figure

LESSON = "24_attention_backward"


def graph():
    figure = Figure(
        "Forward, on the left and downwards: scores, softmax, dropout, values. Backward, on the right and upwards: the same steps "
        "in reverse. Each gradient has the shape of what it belongs to",
        440,
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
        ("Q Kᵀ / √D, mask", "d_scores K: d_Q"),
        ("softmax of each row", "− row sum, ∘ weights"),
        ("dropout", "dropout, same mask"),
        ("times V", "times Vᵀ"),
        ("", "mixingᵀ d_context"),
    ]
    tops = [32 + step * i for i in range(len(rows))]
    for top, (forward, backward) in zip(tops, rows):
        figure.box(left, top, width, tall, forward, "small", "blue")
        figure.box(right, top, width, tall, backward, "small", "orange")
    for i, (forward, backward) in enumerate(steps):
        upper, lower = tops[i] + tall, tops[i + 1]
        down = i < 4
        figure.arrow((left + 12, upper if down else lower), (left + 12, lower if down else upper), colour="blue")
        figure.arrow((right + 12, lower if down else upper), (right + 12, upper if down else lower), colour="orange")
        figure.text(left + 20, (upper + lower) / 2 + 4, forward, "dim small")
        figure.text(right + 20, (upper + lower) / 2 + (-3 if i == 0 else 4), backward, "dim small")
    figure.text(right + 20, tops[0] + tall + 32, "d_scoresᵀ Q: d_K", "dim small")
    # what is kept goes across
    figure.arrow((left + width, tops[0] + 13), (right, tops[0] + 13), colour="purple", dashed=True)
    figure.arrow(
        (left + width, tops[2] + 13),
        (180, tops[2] + 13),
        (180, tops[1] + 13),
        (right, tops[1] + 13),
        colour="purple",
        dashed=True,
    )
    figure.arrow((left + width, tops[4] + 13), (right, tops[4] + 13), colour="green")
    figure.text(180, tops[4] + 6, "loss", "green small", "middle")
    figure.line((12, 410), (36, 410), colour="purple", dashed=True)
    figure.text(42, 414, "kept for the way back. Also kept, not drawn:", "dim small")
    figure.text(42, 430, "V for d_mixing; dropout's mask, for mixing", "dim small")
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
    return {"graph": graph(), "jacobian": jacobian(), "step_size": step_size()}
