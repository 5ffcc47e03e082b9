"""Lesson 01: the way from X to the context, with the numbers worked by hand; and a map of weights with words."""

import numpy as np
from course import golden, softmax
from svg import Figure

LESSON = "01_self_attention_v1"


def flow():
    X = np.array([[1, 0], [0, 2]])
    Q, K, V = (X @ np.array(W) for W in ([[1, 1], [0, 1]], [[1, 2], [1, 0]], [[2, 0], [0, 1]]))
    weights, context = golden(LESSON, "by_hand", "weights")[0], golden(LESSON, "by_hand", "output")[0]
    scores = Q @ K.T / np.sqrt(2)

    figure = Figure(
        "From X to the context: Q meets K in the scores, the softmax makes weights of them, and these mix V", 316
    )
    small, wide = (24, 22), (44, 24)
    figure.matrix(12, 143, X, 0, small)
    figure.text(36, 136, "X", "strong", "middle")
    figure.text(36, 204, "L x E", "dim small", "middle")
    for name, values, top, colour in (("Q", Q, 40, "blue"), ("K", K, 143, "orange"), ("V", V, 256, "green")):
        figure.matrix(108, top, values, 0, small, shade=6, colour=colour)
        figure.text(132, top - 7, name, f"{colour} strong", "middle")
        figure.arrow((62, 165), (76, 165), (76, top + 22), (104, top + 22))
        figure.text(80, top + 14, f"W_{name.lower()}", "dim small")
    figure.matrix(196, 40, scores, 2, wide)
    figure.text(240, 33, "scores Q Kᵀ / √D", "strong", "middle")
    figure.arrow((160, 62), (192, 62))
    figure.line((160, 165), (174, 165), (174, 62))
    figure.text(178, 108, "Kᵀ", "orange strong")
    figure.text(290, 66, "L x L", "dim small")
    figure.arrow((240, 92), (240, 124))
    figure.text(248, 112, "softmax of", "dim small")
    figure.text(248, 124, "each row", "dim small")
    figure.matrix(196, 146, weights, 4, wide, shade=1, colour="purple")
    figure.text(240, 139, "weights", "purple strong", "middle")
    figure.text(290, 167, "rows: Q,", "dim small")
    figure.text(290, 181, "columns: K", "dim small")
    figure.arrow((240, 198), (240, 234))
    figure.text(248, 219, "times V", "dim small")
    figure.matrix(196, 256, context, 4, wide)
    figure.text(240, 249, "context", "strong", "middle")
    figure.text(290, 284, "L x E", "dim small")
    figure.arrow((160, 278), (192, 278))
    return figure


# What each word offers (its key) and asks for (its query), chosen by hand: a thing, a deed, a state.
WORDS = {
    "The": ((0, 0, 0), (0.7, 0, 0.2)),
    "cat": ((1, 0, 0), (0.6, 0, 0.6)),
    "sat": ((0, 1, 0), (0.8, 0.4, 0)),
    "down": ((0, 0, 0.4), (0, 0.9, 0)),
    "because": ((0, 0, 0), (0, 0.7, 0.7)),
    "it": ((0.3, 0, 0), (1, 0, 0)),
    "was": ((0, 0.3, 0), (0, 0, 0.9)),
    "tired": ((0, 0, 1), (0.8, 0, 0.3)),
}


def heat():
    keys, queries = (7 * np.array([word[n] for word in WORDS.values()]) for n in (0, 1))
    weights = softmax(queries @ keys.T / 7 / np.sqrt(3))
    figure = Figure('A map of weights with a word for each row and column: the row of "it" takes most from "cat"', 282)
    left, top, width, height = 66, 70, 35, 21
    names = list(WORDS)
    figure.matrix(left, top, weights, 2, (width, height), shade=1, colour="purple")
    for n, name in enumerate(names):
        strong = "blue strong" if name == "it" else "dim"
        figure.text(left - 6, top + n * height + 15, name, f"{strong} small", "end")
        figure.parts.append(
            f'<text transform="translate({left + n * width + 21} {top - 6}) rotate(-50)" '
            f'class="{"orange strong" if name == "cat" else "dim"} small">{name}</text>'
        )
    figure.rect(left, top + names.index("it") * height, len(names) * width, height, "card", 0, "blue", 0)
    figure.text(12, 260, "Row: the query, which takes. Column: the key.", "dim small")
    figure.text(12, 275, "Rounded: a row may seem to sum to 0.98 or 1.03.", "dim small")
    return figure


def figures():
    return {"flow": flow(), "weights": heat()}
