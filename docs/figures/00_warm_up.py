"""Lesson 00: the two parts with the numbers worked by hand, and what a temperature does to the softmax of (2, 4)."""

import numpy as np
from course import golden, softmax
from svg import Figure

LESSON = "00_warm_up"


def parts():
    figure = Figure(
        "A linear layer makes another row of each token's row; a softmax makes weights of each row of scores", 232
    )
    figure.text(12, 22, "A linear layer rewrites each token.", "blue strong")
    figure.matrix(62, 48, [[1, 2], [3, 4]], 0, (40, 24), rows=("token 0", "token 1"), columns=("in 0", "in 1"))
    figure.arrow((150, 72), (216, 72))
    figure.text(182, 65, "x W + b", "dim small", "middle")
    figure.matrix(224, 48, golden(LESSON, "linear_by_hand", "y"), 1, (40, 24), columns=("out 0", "out 1"))
    figure.text(62, 112, 'W and b: see "Worked by hand".', "dim small")

    figure.text(12, 130, "A softmax turns scores into shares.", "purple strong")
    figure.matrix(62, 156, [[1, 0], [2, 4]], 0, (40, 24), rows=("query 0", "query 1"), columns=("key 0", "key 1"))
    figure.arrow((150, 180), (216, 180))
    figure.text(182, 173, "softmax", "dim small", "middle")
    figure.matrix(
        224, 156, golden(LESSON, "softmax_by_hand", "weights"), 2, (40, 24), 1, "purple", columns=("key 0", "key 1")
    )
    for top in (156, 180):
        figure.text(310, top + 16, "sum 1", "dim small")
    figure.text(12, 222, "Two separate examples; lesson 01 joins the parts.", "dim small")
    return figure


def temperature():
    scores = np.array([[2.0, 4.0]])
    figure = Figure("The softmax of (2, 4) / T for T = 0.5, 1 and 4: the smaller T, the closer to all or nothing", 160)
    figure.text(12, 20, "softmax of (2, 4) / T", "strong")
    for i, (temperature, effect) in enumerate(((0.5, "sharp"), (1, "as it is"), (4, "flat"))):
        left = 42 + 112 * i
        figure.text(left + 30, 46, f"T = {temperature:g}", "", "middle")
        figure.bars(
            left, 122, softmax(scores / temperature)[0], labels=("2", "4"), colour="purple", width=26, gap=8, height=56
        )
        figure.text(left + 30, 152, effect, "dim", "middle")
    return figure


def figures():
    return {"parts": parts(), "temperature": temperature()}
