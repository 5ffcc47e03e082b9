"""Lesson 05: how to spend a quarter of an hour."""

from svg import Figure

MINUTE = 19  # units
PARTS = [  # from, to, colour, title, what to say or write
    (0, 2, "orange", "ask", ["whatever would change the code"]),
    (2, 4, "purple", "shapes", ["X, Q, K, V, scores: as comments"]),
    (4, 6, "blue", "class", ["four projections, dropout, weights"]),
    (
        6,
        12,
        "blue",
        "forward",
        ["project to Q, K and V", "score, divide by √D", "mask, softmax, dropout", "mix V, project"],
    ),
    (12, 15, "green", "test aloud", ["a 2 x 2 example by hand", "the last token, a row without keys"]),
]


def plan():
    figure = Figure("Two minutes of questions, two of shapes, eight of code, and three of tests, said aloud", 322)
    top = 24
    for begin, end, colour, title, lines in PARTS:
        y, height = top + begin * MINUTE, (end - begin) * MINUTE
        figure.rect(40, y + 1, 84, height - 2, colour, 0.16, colour)
        figure.text(82, y + height / 2 + 4, title, f"{colour} strong", "middle")
        for i, line in enumerate(lines):
            step = min(16, height / len(lines))
            figure.text(134, y + height / 2 + 4 + (i - (len(lines) - 1) / 2) * step, line, "small")
        figure.text(32, y + 4, str(begin), "dim small", "end")
    figure.text(32, top + 15 * MINUTE + 4, "15", "dim small", "end")
    figure.text(82, 16, "minutes", "dim small", "middle")
    return figure


def figures():
    return {"plan": plan()}
