"""The legend of docs/conventions.md: what the colours of the pictures mean, and what says the same without colour."""

from svg import Figure

MEANINGS = (
    ("blue", "Q", "queries; head 0"),
    ("orange", "K", "keys; head 1"),
    ("green", "V", "values"),
    ("purple", "W", "attention weights: the darker, the larger"),
    ("green", "✓", "right"),
    ("red", "✗", "wrong"),
)


def figures():
    figure = Figure(
        "Blue: queries and head 0. Orange: keys and head 1. Green: values. Purple: weights. Red: wrong", 182
    )
    for i, (colour, letter, words) in enumerate(MEANINGS):
        y = 14 + 27 * i
        figure.box(14, y, 34, 20, letter, "strong", colour, 0.25)
        figure.text(60, y + 14, words)
    return {"legend": figure}
