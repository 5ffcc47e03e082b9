"""Lesson 13: what each of the six bugs makes of the same input."""

import numpy as np
from course import softmax
from svg import Figure

QUERIES, KEYS, HEADS, WIDTH = 4, 5, 2, 16  # WIDTH: of a head


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
    """{name: map}: how much of each token's value reaches the first number of each row of the output."""
    draw = np.random.default_rng(13)
    Y = draw.standard_normal((KEYS, HEADS * WIDTH))  # the tokens; the queries are those of the first four
    W_q, W_k = draw.standard_normal((2, HEADS * WIDTH, HEADS * WIDTH)) / np.sqrt(HEADS * WIDTH)
    query_rows, key_rows = Y[:QUERIES] @ W_q, Y @ W_k
    Q, K, root = split(query_rows), split(key_rows), np.sqrt(WIDTH)
    right = softmax(scores_of(Q, K) / root)

    # The output's first column holds feature 0 of head 0, which mixes column 0 of the values.
    found = {"right": right[0]}
    found["13.1"] = softmax(scores_of(Q, split(Y @ W_q)) / root)[0]
    found["13.2"] = softmax(scores_of(Q, K))[0]
    found["13.3"] = softmax(summed_in_an_int(Q, K) / root)[0]
    # Reshaped to four rows, column 0 of the values keeps tokens 0 to 3.
    cut = softmax(scores_of(Q, reshaped(key_rows, QUERIES)) / root)[0]
    found["13.4"] = np.hstack([cut, np.zeros((QUERIES, KEYS - QUERIES))])
    with np.errstate(invalid="ignore"):
        blocked = np.full((QUERIES, KEYS), -np.inf)
        found["13.5"] = np.exp(blocked - blocked.max(axis=1, keepdims=True))
    # Written in the order in which they are made: H tokens of one head fill a row.
    found["13.6"] = right.reshape(HEADS * QUERIES, KEYS)[::HEADS]
    return found


def bugs():
    found = maps()
    assert np.isnan(found["13.5"]).all()
    figure = Figure("Maps of the same input: the right weights, and what each of the six bugs makes of them", 226)
    cell = 15
    seen = ("", "diagonal", "nearly 0 or 1", "many alike", "last unseen", "length 0", "wrong rows")
    for place, ((name, values), words) in enumerate(zip(found.items(), seen)):
        left, top = 9 + 89 * (place % 4), 28 + 106 * (place // 4)
        middle = left + cell * KEYS / 2
        figure.text(middle, top - 7, name, "strong", "middle")
        if np.isnan(values).any():
            figure.rect(left, top, cell * KEYS, cell * QUERIES, "orange", 0.2, "orange", 0)
            figure.text(middle, top + cell * QUERIES / 2 + 4, "NaN", "orange strong", "middle")
        else:
            figure.matrix(left, top, values, None, (cell, cell), shade=0.7, colour="purple" if place == 0 else "orange")
        figure.text(middle, top + cell * QUERIES + 15, words, "dim small", "middle")
    for line, words in enumerate(("a row: one", "output row", "a column:", "one token")):
        figure.text(276, 146 + 15 * line, words, "dim small")
    return figure


def figures():
    return {"bugs": bugs()}
