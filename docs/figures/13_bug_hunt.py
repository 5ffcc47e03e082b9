"""Lesson 13: what each of the six bugs makes of the same attention."""

import numpy as np
from course import softmax
from svg import Figure, number

QUERIES, KEYS, HEADS, WIDTH = 4, 5, 2, 16  # WIDTH: of a head
SEEN = np.tri(QUERIES, KEYS, KEYS - QUERIES)  # causal, aligned at the end


def split(X):
    """(rows x H·D) -> (H x rows x D)"""
    return X.reshape(len(X), HEADS, WIDTH).transpose(1, 0, 2)


def scores_of(Q, K):
    return Q @ K.transpose(0, 2, 1)


def summed_in_an_int(Q, K):
    """The dot products, when each partial sum loses its fraction."""
    products = np.zeros((HEADS, QUERIES, KEYS))
    for d in range(WIDTH):
        products = np.trunc(products + Q[:, :, None, d] * K[:, None, :, d])
    return products


def reshaped(X, rows):
    """A reshape in Armadillo's order, to (H x rows x D): numbers that are too many are dropped."""
    return X.flatten(order="F")[: rows * HEADS * WIDTH].reshape(rows, WIDTH, HEADS, order="F").transpose(2, 0, 1)


def maps():
    """{name: (right map, wrong map)} and the right weights of each head, without a mask.

    A map: how much of each token reaches the first number of each row.
    """
    draw = np.random.default_rng(13)
    Y = draw.standard_normal((KEYS, HEADS * WIDTH))  # the tokens; the queries are those of the last four
    W_q, W_k = draw.standard_normal((2, HEADS * WIDTH, HEADS * WIDTH)) / np.sqrt(HEADS * WIDTH)
    query_rows, key_rows = Y[KEYS - QUERIES :] @ W_q, Y @ W_k
    Q, K, root = split(query_rows), split(key_rows), np.sqrt(WIDTH)
    right = softmax(scores_of(Q, K) / root)

    # The output's first column holds feature 0 of head 0, which mixes column 0 of the values.
    found = {"13.1": (right[0], softmax(scores_of(Q, split(Y @ W_q)) / root)[0])}
    future = np.where(SEEN, 0, -np.inf)
    found["13.2"] = (softmax(scores_of(Q, K) / root + future)[0], softmax(scores_of(Q, K) + future)[0])
    found["13.3"] = (right[0], softmax(summed_in_an_int(Q, K) / root)[0])
    # Reshaped to four rows, column 0 of the values keeps tokens 0 to 3.
    cut = softmax(scores_of(Q, reshaped(key_rows, QUERIES)) / root)[0]
    found["13.4"] = (right[0], np.hstack([cut, np.zeros((QUERIES, KEYS - QUERIES))]))
    with np.errstate(invalid="ignore"):
        blocked = np.full((QUERIES, KEYS), -np.inf)
        found["13.5"] = (np.zeros((QUERIES, KEYS)), np.exp(blocked - blocked.max(axis=1, keepdims=True)))
    # Written in the order in which they are made: H tokens of one head fill a row.
    found["13.6"] = (right[0], right.reshape(HEADS * QUERIES, KEYS)[::HEADS])
    return found, right


def bugs():
    found, _ = maps()
    assert np.isnan(found["13.5"][1]).all()
    figure = Figure("Six pairs of maps of the same attention: the correct one, and what each bug makes of it", 316)
    cell = 13
    wide, tall = cell * KEYS, cell * QUERIES
    queries = [f"q{i}" for i in range(KEYS - QUERIES, KEYS)]
    notes = {"13.2": "causal", "13.5": "zeros"}
    for place, (name, (right, wrong)) in enumerate(found.items()):
        left, top = 32 + 172 * (place % 2), 44 + 92 * (place // 2)
        other = left + wide + 12
        figure.text(left, top - 20, notes.get(name, "correct"), "dim small")
        figure.text(other, top - 20, name, "strong small")
        figure.matrix(left, top, right, None, (cell, cell), shade=0.7, colour="purple", rows=queries)
        if np.isnan(wrong).any():
            figure.rect(other, top, wide, tall, "red", 0.2, "red", 0)
            figure.text(other + wide / 2, top + tall / 2 + 4, "NaN", "red strong", "middle")
        else:
            figure.matrix(other, top, wrong, None, (cell, cell), shade=0.7, colour="red")
        for x in (left, other):
            for j in range(KEYS):
                figure.text(x + (j + 0.5) * cell, top - 4, str(j), "dim small", "middle")
            for i in range(QUERIES) if name == "13.1" else ():  # the query's own token
                at = (x + (i + KEYS - QUERIES + 0.5) * cell, top + (i + 0.5) * cell)
                figure.parts.append(f'<circle cx="{number(at[0])}" cy="{number(at[1])}" r="1.6" class="ink"/>')
            for i, j in np.argwhere(SEEN == 0) if name == "13.2" else ():
                figure.line((x + j * cell, top + (i + 1) * cell), (x + (j + 1) * cell, top + i * cell))
    figure.text(12, 298, "Purple: correct; red: with the bug. A row is an", "dim small")
    figure.text(12, 311, "output; column j: the share of value j in it.", "dim small")
    return figure


def rows():
    """13.6: where the rows of its map come from."""
    found, right = maps()
    wrong = found["13.6"][1]
    cell, width = 15, 15 * KEYS
    figure = Figure("Task 13.6: its map takes every other row of head 0, then every other row of head 1", 206)
    figure.text(62, 22, "correct weights", "strong")
    figure.text(226, 22, "13.6 mixes with", "strong")
    tops = (40, 40 + cell * QUERIES + 20)
    queries = [f"q{i + 1}" for i in range(QUERIES)]
    for head, top in enumerate(tops):
        figure.text(40, top - 5, f"head {head}", "dim small", "end")
        figure.matrix(62, top, right[head], None, (cell, cell), shade=0.7, colour="purple", rows=queries)
    target = 40 + (cell * QUERIES + 20) / 2
    figure.matrix(234, target, wrong, None, (cell, cell), shade=0.7, colour="red")
    for place in range(QUERIES):
        head, row = divmod(place * HEADS, QUERIES)
        assert np.allclose(wrong[place], right[head][row])
        start = tops[head] + cell * (row + 0.5)
        figure.arrow((64 + width, start), (230, target + cell * (place + 0.5)), colour="red")
    for line, words in enumerate(("rows q1 to q4 of head 0", "would be correct here")):
        figure.text(234 + width / 2, target + cell * QUERIES + 18 + 14 * line, words, "dim small", "middle")
    return figure


def figures():
    return {"bugs": bugs(), "rows": rows()}
