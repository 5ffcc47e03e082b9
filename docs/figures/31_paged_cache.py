"""Lesson 31: block tables that point into a pool of pages, and a copy before a shared page is written."""

from svg import Figure

CELL, GAP = 12, 8


def page(figure, x, y, tokens, colour, number, owners, size=4):
    """A page with so many tokens, its number and how many owners it has."""
    for row in range(size):
        filled = row < tokens
        figure.rect(x + row * CELL, y, CELL - 1, 18, colour if filled else "faint", 0.75 if filled else 0.25, None, 1)
    figure.text(x + size * CELL / 2, y - 4, f"page {number}", "dim small", "middle")
    if owners:
        figure.text(x + size * CELL / 2, y + 31, f"{owners} owner{'s' if owners > 1 else ''}", "small", "middle")
    else:
        figure.text(x + size * CELL / 2, y + 31, "free", "dim small", "middle")


def pool(figure, top, pages):
    for number, (tokens, colour, owners) in enumerate(pages):
        page(figure, 12 + number * (4 * CELL + GAP), top, tokens, colour, number, owners)


def tables():
    figure = Figure(
        "A pool of six pages of four tokens. Sequence A has six tokens in pages 3 and 0, sequence B three tokens in page 2. A "
        "fork C of A has the same pages. When C gets a seventh token, page 0 is copied to page 1, and C's table names the copy",
        330,
    )
    empty = (0, "orange", 0)
    figure.text(12, 20, "A has 6 tokens, B has 3", "strong small")
    pool(figure, 42, [(2, "orange", 1), empty, (3, "green", 1), (4, "orange", 1), empty, empty])
    figure.text(12, 100, "tables: A 3 0 | B 2", "small mono")
    figure.text(12, 130, "C is a fork of A", "strong small")
    pool(figure, 152, [(2, "orange", 2), empty, (3, "green", 1), (4, "orange", 2), empty, empty])
    figure.text(12, 210, "tables: A 3 0 | B 2 | C 3 0", "small mono")
    figure.text(12, 240, "C gets one more token: page 0 is copied to page 1", "strong small")
    pool(figure, 262, [(2, "orange", 1), (2, "orange", 1), (3, "green", 1), (4, "orange", 2), empty, empty])
    figure.rect(12 + (4 * CELL + GAP) + 2 * CELL, 262, CELL - 1, 18, "blue", 0.85, None, 1)  # the new token
    figure.arrow((59, 271), (68, 271), colour="ink")
    figure.text(12, 320, "tables: A 3 0 | B 2 | C 3 1", "small mono")
    return figure


def waste():
    """Three requests that reserve 2048 rows each, and the same in pages of 16."""
    lengths, reserved = (37, 512, 900), 2048
    figure = Figure(
        "Three texts of 37, 512 and 900 tokens. When each reserves 2048 rows, 76 % of the rows hold no token; in pages of 16 rows, "
        "1.6 % hold none",
        196,
    )
    width = 330 / reserved

    def bars(top, rows_of):
        for k, length in enumerate(lengths):
            y = top + 20 * k
            figure.rect(14, y, rows_of(length) * width, 13, "dim", 0.25, None, 2)
            figure.rect(14, y, length * width, 13, "orange", 0.75, None, 2)
            figure.text(14 + max(length * width, 4) + 6, y + 11, f"{length} tokens", "small")

    rows = sum(-(-length // 16) * 16 for length in lengths)
    wasted = 100 * (1 - sum(lengths) / (len(lengths) * reserved))
    figure.text(14, 20, f"2048 rows reserved for each: {wasted:.0f} % hold no token", "strong small")
    bars(30, lambda length: reserved)
    figure.text(14, 112, f"in pages of 16 rows: {100 * (1 - sum(lengths) / rows):.1f} % hold none", "strong small")
    bars(122, lambda length: -(-length // 16) * 16)
    return figure


def figures():
    return {"tables": tables(), "waste": waste()}
