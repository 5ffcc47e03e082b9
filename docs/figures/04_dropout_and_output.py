"""Lesson 04: where the layer sits in a network, and what dropout makes of the weights worked by hand."""

import numpy as np
from course import golden
from svg import Figure

LESSON = "04_dropout_and_output"


def half(figure, y, boxes):
    """Boxes (left, width, lines, colour) from left to right, and the residual connection above them."""
    figure.line((34, y), (34, y - 34), (338, y - 34))
    figure.arrow((338, y - 34), (338, y - 10))
    end = 26
    for left, width, lines, colour in boxes:
        figure.arrow((end, y), (left, y))
        figure.rect(left, y - 20, width, 40, colour, 0.2 if colour == "blue" else 0.1, colour)
        for i, line in enumerate(lines):
            figure.text(left + width / 2, y + 11 - 7 * len(lines) + 14 * i, line, "small", "middle")
        end = left + width
    figure.arrow((end, y), (328, y))
    figure.rect(329, y - 9, 18, 18, "card", 1, "dim", 9)
    figure.text(338, y + 4, "+", "strong", "middle")


def block():
    figure = Figure(
        "A block: norm, attention, W_o, dropout, and X is added; norm, MLP, dropout, and its input is added", 236
    )
    norm, drop = (50, 42, ["norm"], "dim"), (256, 56, ["dropout"], "dim")
    figure.text(12, 68, "X", "strong")
    half(figure, 64, [norm, (106, 84, ["attention", "with dropout"], "blue"), (204, 36, ["W_o"], "blue"), drop])
    figure.text(186, 24, "residual: X is added", "dim small", "middle")
    figure.line((106, 90), (106, 95), (240, 95), (240, 90), colour="blue", width=1.5)
    figure.text(173, 109, "this lesson", "blue strong", "middle")
    figure.line((338, 73), (338, 122), (20, 122), (20, 184), (27, 184))
    half(figure, 184, [norm, (106, 134, ["MLP"], "dim"), drop])
    figure.text(186, 144, "residual", "dim small", "middle")
    figure.arrow((338, 193), (338, 212))
    figure.text(348, 226, "next block", "dim small", "end")
    return figure


def weights():
    before, after = golden(LESSON, "by_hand", "eval_weights")[0], golden(LESSON, "by_hand", "weights")[0]
    figure = Figure("Dropout with p = 0.2: one weight becomes 0, the others grow, and rows no longer sum to one", 136)
    figure.matrix(12, 36, before, 4, (46, 26), shade=1.3, colour="purple")
    figure.text(58, 18, "weights", "purple strong", "middle")
    figure.text(112, 66, "⊙", "strong", "middle")
    figure.matrix(120, 36, 1 * (after > 0), 0, (22, 26))
    figure.text(142, 18, "keep", "strong", "middle")
    figure.text(189, 66, "/ 0.8 =", "dim small", "middle")
    figure.matrix(214, 36, after, 4, (46, 26), shade=1.3, colour="purple")
    figure.text(260, 18, "after dropout", "purple strong", "middle")
    figure.text(334, 18, "sum", "dim small", "middle")
    for i, total in enumerate(np.sum(after, axis=1)):
        figure.text(334, 53 + 26 * i, f"{total:.4f}", "small mono", "middle")
    figure.text(12, 108, "⊙: times, element by element.", "dim small")
    figure.text(12, 124, "Rows sum to one before, and after only on average.", "dim small")
    return figure


def figures():
    return {"block": block(), "weights": weights()}
