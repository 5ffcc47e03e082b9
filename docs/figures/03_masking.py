"""Lesson 03: masks as squares, 1 where a query (row) may attend to a key (column)."""

import numpy as np
from svg import Figure

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


def figures():
    return {"masks": masks(), "more_masks": more_masks()}
