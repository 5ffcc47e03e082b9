"""Lesson 05: the way through the layer, and what the output becomes when a step is forgotten; numbers as worked by hand."""

import numpy as np
from course import golden, softmax
from svg import Figure

LESSON = "05_interview_self_attention"
X = np.array([[1, 0], [0, 2]])
Q = X @ np.array([[1, 1], [0, 1]]) + np.array([0, 1])
K = X @ np.array([[1, 2], [1, 0]]) + np.array([-1, 0])
V = X @ np.array([[2, 0], [0, 1]]) + np.array([0, 1])
W_O, B_O = np.array([[1, 1], [-1, 1]]), np.array([1, 0])
SCORES = Q @ K.T
ROOT = np.sqrt(2)


def masked(scores):
    return np.where(np.tril(np.ones((2, 2))) > 0, scores, -np.inf)


def projected(weights):
    return weights @ V @ W_O + B_O


def row(output, i):
    """A row of the output, as in the chapter's table."""
    return "(" + ", ".join(f"{x:.0f}" if abs(x - round(x)) < 1e-9 else f"{x:.4f}" for x in output[i]) + ")"


def flow():
    right = softmax(masked(SCORES / ROOT))
    assert np.allclose(projected(right), golden(LESSON, "by_hand", "output")[0])
    unscaled, unmasked = projected(softmax(masked(SCORES))), projected(softmax(SCORES / ROOT))
    late = projected(np.tril(softmax(SCORES / ROOT)))

    steps = [  # label, shape, colour, what goes wrong here
        ("X", "L x E", "dim", ()),
        ("Q, K, V", "L x E", "blue", ()),
        ("scores Q Kᵀ / √D", "L x L", "purple", ("not divided by √D:", f"row 1 {row(unscaled, 1)}")),
        (
            "mask: -∞",
            "L x L",
            "orange",
            ("forgotten:", f"row 0 {row(unmasked, 0)}", "after the softmax:", f"row 0 {row(late, 0)}"),
        ),
        ("softmax of rows", "L x L", "purple", ()),
        ("dropout", "L x L", "purple", ()),
        ("weights times V", "L x E", "green", ()),
        ("project by W_o", "L x E", "green", ("forgotten:", f"row 0 {row(right @ V, 0)}")),
    ]
    figure = Figure(
        "The layer step by step, with shapes; beside a step, what the output becomes when it goes wrong", 402
    )
    figure.text(12, 20, "the layer", "strong")
    figure.text(190, 20, "a mistake, and its output", "red strong small")
    left, width, height, step = 26, 150, 28, 43
    for i, (label, shape, colour, wrong) in enumerate(steps):
        y = 32 + i * step + (8 if i > 2 else 0) + (8 if i > 3 else 0)
        figure.rect(left, y, width, height, colour, 0.12, colour)
        figure.text(left + 8, y + 18, label, "strong small")
        figure.text(left + width - 6, y + 18, shape, "dim small", "end")
        if i:
            figure.arrow((left + width / 2, below), (left + width / 2, y - 2))
        below = y + height
        for n, line in enumerate(wrong):
            figure.text(190, y + 18 + (n - (len(wrong) - 1) / 2) * 13.5, line, "red small")
        if wrong:
            figure.line((left + width + 3, y + 14), (186, y + 14), colour="red")
    figure.arrow((left, 46 + step), (12, 46 + step), (12, 62 + 6 * step), (left - 2, 62 + 6 * step), colour="green")
    figure.text(16, 66 + 3.5 * step, "V", "green small strong")
    figure.text(12, 394, f"right: row 0 {row(projected(right), 0)}, row 1 {row(projected(right), 1)}", "dim small")
    return figure


def figures():
    return {"flow": flow()}
