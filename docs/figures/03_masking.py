"""Lesson 03: masks as squares, 1 where a query (row) may attend to a key (column); a row masked before and after softmax."""

import numpy as np
from course import softmax
from svg import Figure, text_of

CAUSAL = np.tri(4, dtype=int)


def draw_mask(figure, left, name, mask, cell, rows, columns):
    right, _ = figure.matrix(left, 42, mask, 0, (cell, 22), shade=1.6, rows=rows, columns=columns)
    figure.text((left + right) / 2, 18, name, "strong", "middle")


def masks():
    figure = Figure("Three masks: padding blocks a column, the causal mask a triangle, and the two together both", 172)
    tokens = ("the", "cat", "sat", "pad")
    padding = np.tile([1, 1, 1, 0], (4, 1))
    draw_mask(figure, 40, "padding", padding, 24, tokens, tokens)
    draw_mask(figure, 148, "causal", CAUSAL, 24, (), tokens)
    draw_mask(figure, 256, "both (AND)", padding & CAUSAL, 24, (), tokens)
    figure.text(12, 150, "Row: the query. Column: the key. 1: may attend.", "dim small")
    figure.text(12, 164, "The row of pad is computed, but never read.", "dim small")
    return figure


def more_masks():
    figure = Figure("Three more masks: a text that goes on, padding on the left, and two texts in one row", 186)
    draw_mask(figure, 28, "2 queries, 5 keys", np.tri(2, 5, 3, dtype=int), 18, "de", "abcde")
    padding = np.tile([0, 1, 1, 1], (4, 1))
    draw_mask(figure, 160, "left padding", padding & CAUSAL, 22, ("pad", *"abc"), ("pad", *"abc"))
    packed = np.kron(np.eye(2, dtype=int), np.ones((2, 2), dtype=int))
    draw_mask(figure, 274, "packed", packed & CAUSAL, 20, "abxy", "abxy")
    figure.text(12, 150, "2 queries, 5 keys: the last query sees every key.", "dim small")
    figure.text(12, 164, "Left padding: the row of pad sees no key at all.", "dim small")
    figure.text(12, 178, "Packed: the texts ab and xy never meet.", "dim small")
    return figure


def steps(figure, left, title, colour, rows):
    """The way of one row of scores, downwards: (values, what comes after them)."""
    figure.text(left + 63, 20, title, f"{colour} strong", "middle")
    for j in range(3):
        figure.text(left + 21 + 42 * j, 38, f"key {j}", ("orange" if j == 2 else "dim") + " small", "middle")
    for i, (values, after) in enumerate(rows):
        top = 44 + 50 * i
        for j, value in enumerate(values):
            figure.rect(left + 42 * j, top, 42, 24, "orange" if j == 2 else "card", 0.15 if j == 2 else 0, "faint", 0)
            text = "−∞" if np.isinf(value) else text_of(value, 2)
            figure.text(left + 21 + 42 * j, top + 16, text, "small mono", "middle")
        if i < len(rows) - 1:
            figure.arrow((left + 8, top + 27), (left + 8, top + 47))
            figure.text(left + 18, top + 41, after, ("orange strong" if "mask" in after else "dim") + " small")
        else:
            figure.text(left + 63, top + 42, after, f"{colour} strong", "middle")


def order():
    scores = np.array([2.0, 1.0, 3.0])
    masked = np.where([0, 0, 1], -np.inf, scores)
    late = softmax(scores) * [1, 1, 0]
    figure = Figure("Masked before the softmax, the weights sum to one; masked after it, they do not", 250)

    def divided(exponentials):
        return f"divided by {exponentials.sum():.2f}"

    before = [(scores, "mask"), (masked, "exp"), (np.exp(masked), divided(np.exp(masked)))]
    before.append((softmax(masked), f"sum {softmax(masked).sum():.0f}"))
    after = [(scores, "exp"), (np.exp(scores), divided(np.exp(scores))), (softmax(scores), "mask")]
    after.append((late, f"sum {late.sum():.2f}"))
    steps(figure, 24, "right: mask first", "green", before)
    steps(figure, 210, "wrong: mask last", "red", after)
    return figure


def figures():
    return {"masks": masks(), "more_masks": more_masks(), "order": order()}
