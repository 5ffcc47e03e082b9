"""Lesson 18: bars that are rescaled when a larger score comes, and a tree of merges."""

import numpy as np
from svg import Figure, text_of

ROW = (1.0, 3.0, 2.0)  # as in "Worked by hand"
SCORES = (1.0, 3.0, 2.0, 0.0, 4.0, 1.0, 2.0, 3.0)


def bars():
    figure = Figure("The row (1, 3, 2), score after score: when 3 comes, the bar of 1 shrinks by exp(1 - 3)", 234)
    base, tall, width, gap = 154, 74, 26, 8
    for t in range(len(ROW)):
        left = 14 + 116 * t
        maximum = max(ROW[: t + 1])
        terms = np.exp(np.array(ROW[: t + 1]) - maximum)
        figure.text(left, 22, f"score {ROW[t]:g} arrives", "strong")
        figure.text(left, 38, f"m = {maximum:g}", "dim")
        if t > 0:
            figure.text(left, 54, "old × exp(1 − 3)" if t == 1 else "old × exp(0)", "blue small")
        for j, term in enumerate(terms):
            x, high = left + j * (width + gap), tall * term
            colour = "orange" if j == t else "blue"
            figure.rect(x, base - high, width, high, colour, 0.75, None, 2)
            figure.text(x + width / 2, base - high - 4, text_of(term, 2), "small mono", "middle")
            figure.text(x + width / 2, base + 14, f"{ROW[j]:g}", "dim small", "middle")
            if t == 1 and j == 0:  # where it stood before
                figure.line(
                    (x, base - high - 17),
                    (x, base - tall),
                    (x + width, base - tall),
                    (x + width, base - high - 17),
                    colour="blue",
                    dashed=True,
                )
                figure.arrow((x + width / 2, base - tall + 4), (x + width / 2, base - high - 19), colour="blue")
        figure.line((left - 4, base), (left + 96, base), colour="faint")
        figure.text(left, base + 32, f"sum = {text_of(terms.sum(), 4)}", "mono")
    figure.text(14, 208, "Orange: the new term. Blue: the old terms.", "dim small")
    figure.text(14, 223, "When m rises, one factor shrinks all old terms.", "dim small")
    return figure


def tree():
    figure = Figure("Eight parts, each of one key, merged in pairs: three levels instead of seven steps", 264)
    width, height = 38, 32
    parts = [(score, 1.0) for score in SCORES]
    middles = [8 + 43.3 * j + width / 2 for j in range(8)]
    figure.text(8, 16, "one part for each key: m above, sum below", "dim small")
    top, colours = 24, ("blue", "purple", "orange", "green")
    for level in range(4):
        for (maximum, total), middle in zip(parts, middles):
            figure.rect(middle - width / 2, top, width, height, colours[level], 0.15, colours[level])
            figure.text(middle, top + 13, f"{maximum:g}", "small mono strong", "middle")
            figure.text(middle, top + 27, text_of(total, 2), "small mono", "middle")
        if level == 3:
            break
        below, merged, centres = top + height + 28, [], []
        for left in range(0, len(parts), 2):
            (m_a, sum_a), (m_b, sum_b) = parts[left : left + 2]
            m = max(m_a, m_b)
            merged.append((m, sum_a * np.exp(m_a - m) + sum_b * np.exp(m_b - m)))
            centre = (middles[left] + middles[left + 1]) / 2
            centres.append(centre)
            for middle in middles[left : left + 2]:
                figure.arrow(
                    (middle, top + height),
                    (middle, top + height + 10),
                    (centre, top + height + 10),
                    (centre, below - 1),
                )
        parts, middles, top = merged, centres, below
    (m, total), (middle,) = parts[0], middles
    figure.text(middle + 22, top + 13, f"finish divides by {total:.2f};", "dim small")
    figure.text(middle + 22, top + 27, "log-sum-exp:", "dim small")
    figure.text(middle + 22, top + 41, f"{m:g} + log({total:.4f}) = {m + np.log(total):.4f}", "dim small")
    return figure


def figures():
    return {"rescaling": bars(), "tree": tree()}
