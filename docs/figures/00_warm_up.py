"""Lesson 00: what a temperature does to the softmax of (2, 4)."""

import numpy as np
from course import softmax
from svg import Figure


def figures():
    scores = np.array([[2.0, 4.0]])
    figure = Figure("The softmax of (2, 4) at temperatures 0.5, 1 and 4: the colder, the closer to all or nothing", 126)
    for i, temperature in enumerate((0.5, 1, 4)):
        left = 34 + 112 * i
        figure.text(left + 30, 22, f"T = {temperature:g}", "dim", "middle")
        figure.bars(left, 100, softmax(scores / temperature)[0], labels=("2", "4"), width=26, gap=8)
    return {"temperature": figure}
