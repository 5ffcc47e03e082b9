"""Lesson 10: from a sentence to the rows of X and its mask; padding on either side; and what two heads made by hand look at."""

import numpy as np
from course import softmax
from svg import Figure

VOCABULARY = ["?", "the", "cat", "sleeps"]
TABLE = [[1, 1, 0], [0, 2, 1], [2, 0, 1], [1, 0, 3]]
COLOURS = ["orange", "blue", "green", "purple"]
MAX_LENGTH = 6


def hatch(figure, x, y, width, height, step=6):
    """Slanted lines below the numbers of a box, for what is padding."""
    lines = []
    for start in np.arange(step, width + height, step):
        x0, y0 = min(start, width), max(start - width, 0)
        x1, y1 = max(start - height, 0), min(start, height)
        lines.append(f"M{x + x0:.1f} {y + y0:.1f}L{x + x1:.1f} {y + y1:.1f}")
    first_text = next(i for i, part in enumerate(figure.parts) if part.startswith("<text"))
    figure.parts.insert(first_text, f'<path d="{"".join(lines)}" class="faint-line" stroke-width="1.2"/>')


def cell(figure, x, y, width, height, text, colour, opacity=0.16):
    figure.rect(x, y, width, height, colour, opacity, "faint", 0)
    figure.text(x + width / 2, y + height / 2 + 4, text, "small mono", "middle")


def pipeline():
    tokens = "The fat cat sleeps".lower().split()
    length = len(tokens)
    ids = [VOCABULARY.index(token) if token in VOCABULARY else 0 for token in tokens] + [0] * (MAX_LENGTH - length)

    figure = Figure("A sentence becomes tokens, ids, rows of the table, a slice of X, and a mask without padding", 344)
    left, width = 70, 46
    for y, label in ((20, "sentence"), (54, "tokens"), (100, "ids")):
        figure.text(12, y, label, "strong")
    figure.text(left + 2 * width, 20, "The fat cat sleeps", "", "middle")
    for i, token in enumerate(tokens):
        figure.arrow((left + (i + 0.5) * width, 26), (left + (i + 0.5) * width, 37))
        cell(figure, left + i * width, 38, width, 22, token, COLOURS[ids[i]])
        figure.arrow((left + (i + 0.5) * width, 60), (left + (i + 0.5) * width, 83))
    figure.text(left + (length + 2) * width, 62, "max_length 6:", "dim small", "end")
    figure.text(left + (length + 2) * width, 77, "2 of padding", "dim small", "end")
    for i, number in enumerate(ids):
        cell(figure, left + i * width, 84, width, 22, str(number), COLOURS[number])
    hatch(figure, left + length * width, 84, 2 * width, 22)
    figure.text(left, 122, "fat is unknown: 0, as padding is", "dim small")

    top, high = 172, 20
    figure.text(69, top - 22, "table", "strong", "middle")
    figure.text(69, top - 8, "a row for each id", "dim small", "middle")
    for number, row in enumerate(TABLE):
        figure.text(26, top + number * high + 14, str(number), f"{COLOURS[number]} strong small", "end")
        for j, value in enumerate(row):
            cell(figure, 32 + j * 25, top + number * high, 25, high, str(value), COLOURS[number])
    figure.arrow((111, top + 2 * high), (135, top + 2 * high))

    figure.text(178, top - 22, "X", "strong", "middle")
    figure.text(178, top - 8, "one slice, L x E", "dim small", "middle")
    for i, number in enumerate(ids):
        for j, value in enumerate(TABLE[number]):
            cell(figure, 140 + j * 25, top + i * high, 25, high, str(value), COLOURS[number])
    hatch(figure, 140, top + length * high, 75, (MAX_LENGTH - length) * high)

    figure.text(291, top - 22, "mask", "strong", "middle")
    figure.text(291, top - 8, "from lengths = 4", "dim small", "middle")
    for i in range(MAX_LENGTH):
        for j in range(MAX_LENGTH):
            cell(figure, 231 + j * high, top + i * high, high, high, "1" if j < length else "0", "faint", 0)
    hatch(figure, 231 + length * high, top, (MAX_LENGTH - length) * high, MAX_LENGTH * high)
    figure.text(12, 316, "Hatched: padding. Its columns are blocked, in every", "dim small")
    figure.text(12, 331, "row. The column of the unknown word is not.", "dim small")
    return figure


def sides():
    """A batch of three sentences, padded on the right and on the left: word and position in each cell."""
    sentences = [text.split() for text in ("the fat cat sleeps", "the cat", "sleeps the cat")]
    length, width, high = 4, 57, 24
    figure = Figure(
        "The same batch with padding on the right and on the left: only there the last row holds last words", 262
    )
    for left, title in ((6, "padding on the right"), (184, "padding on the left")):
        on_left = left > 100
        figure.text(left + 1.5 * width, 20, title, "strong", "middle")
        for b, words in enumerate(sentences):
            first = length - len(words) if on_left else 0
            x = left + b * width
            figure.text(x + width / 2, 38, f"b = {b}", "dim small", "middle")
            for i in range(length):
                y = 46 + i * high
                if not first <= i < first + len(words):
                    cell(figure, x, y, width, high, "", "faint", 0)
                    hatch(figure, x, y, width, high)
                    continue
                word = words[i - first]
                number = VOCABULARY.index(word) if word in VOCABULARY else 0
                last = i == first + len(words) - 1
                cell(figure, x, y, width, high, f"{word} {i - first}", COLOURS[number], 0.45 if last else 0.12)
        top = 46 + length * high
        if on_left:
            figure.text(left + 1.5 * width, top + 16, "last words in one row", "dim small", "middle")
        else:
            figure.text(left + 1.5 * width, top + 16, "last words in three rows", "dim small", "middle")
        figure.text(left, top + 42, "mask, b = 1, any row:", "small")
        first = length - 2 if on_left else 0
        for j in range(length):
            seen = first <= j < first + 2
            cell(
                figure,
                left + j * 30,
                top + 50,
                30,
                22,
                str(int(seen)),
                "blue" if seen else "faint",
                0.16 if seen else 0,
            )
            if not seen:
                hatch(figure, left + j * 30, top + 50, 30, 22)
    figure.text(6, 236, "Strong: the last word. Beside each word its position,", "dim small")
    figure.text(6, 251, "counted from the first word on either side.", "dim small")
    return figure


def heads():
    """As `./learn demo 10` makes them for two sentences: a match has the score 5, all else 0."""
    sentences = ("the cat saw the other cat", "a small dog chased another ball")
    same, before = (np.array([sentence.split().index(word) for word in sentence.split()]) for sentence in sentences)
    same = softmax(5.0 * (same[:, None] == same[None, :]))
    # No word occurs twice in the second sentence, so the word numbered before is the word to the left.
    before = softmax(5.0 * (before[:, None] == before[None, :] + 1))
    figure = Figure("Two heads made by hand: each word looks at its own copies, or at the word before it", 362)
    titles = ("head 0: the same word", "head 1: the word before")
    for top, weights, title, sentence in zip((44, 214), (same, before), titles, sentences):
        figure.text(12, top - 24, title, "strong")
        tokens = sentence.split()
        figure.matrix(56, top, weights, None, (48, 20), 1, "purple", tokens, tokens)
        for i, j in np.ndindex(weights.shape):
            if weights[i, j] >= 0.02:
                figure.text(80 + 48 * j, top + 14 + 20 * i, f"{100 * weights[i, j]:.0f}", "small mono", "middle")
    figure.text(12, 353, "Percent of a row; empty: below 2. Row: who looks.", "dim small")
    return figure


def figures():
    return {"pipeline": pipeline(), "sides": sides(), "heads": heads()}
