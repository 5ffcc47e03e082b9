"""Lesson 31: block tables that point into a pool of pages, a copy before a shared page is written, and what is wasted."""

from svg import Figure

CELL, GAP = 12, 8


def page(figure, x, y, number, tokens, owners, new=None):
    """A page: the numbers of its tokens, and who owns it."""
    colour = "purple" if "B" in owners else "blue"
    for row in range(4):
        filled = row < len(tokens)
        left = x + row * CELL
        strong = filled and tokens[row] == new
        figure.rect(
            left, y, CELL - 1, 18, colour if filled else "dim", (0.7 if strong else 0.3) if filled else 0.1, None, 1
        )
        if filled:
            figure.text(left + CELL / 2 - 0.5, y + 13, str(tokens[row]), "small mono", "middle")
    figure.text(x + 2 * CELL, y - 4, f"page {number}", "dim small", "middle")
    figure.text(x + 2 * CELL, y + 31, owners or "free", "small" if owners else "dim small", "middle")


def pool(figure, top, pages, new=None):
    for number, (tokens, owners) in enumerate(pages):
        page(figure, 12 + number * (4 * CELL + GAP), top, number, tokens, owners, new)


def tables():
    figure = Figure(
        "A pool of six pages of four tokens. Sequence A has tokens 0 to 3 in page 3 and 4 and 5 in page 0, sequence B three tokens "
        "in page 2. A fork C of A owns the same pages. When C gets token 6, page 0 is copied to page 1, and C's table names the copy",
        348,
    )
    free = ((), "")
    first, last, b = (0, 1, 2, 3), (4, 5), ((0, 1, 2), "B")
    figure.text(12, 20, "A has 6 tokens, B has 3", "strong small")
    pool(figure, 42, [(last, "A"), free, b, (first, "A"), free, free])
    figure.text(12, 100, "tables: A 3 0 | B 2", "small mono")
    figure.text(12, 130, "C is a fork of A", "strong small")
    pool(figure, 152, [(last, "A, C"), free, b, (first, "A, C"), free, free])
    figure.text(12, 210, "tables: A 3 0 | B 2 | C 3 0", "small mono")
    figure.text(12, 240, "C gets token 6: page 0 is copied to page 1", "strong small")
    pool(figure, 262, [(last, "A"), ((4, 5, 6), "C"), b, (first, "A, C"), free, free], new=6)
    figure.text(12, 320, "tables: A 3 0 | B 2 | C 3 1", "small mono")
    figure.text(12, 340, "In a page: its tokens' numbers; below: its owners", "dim small")
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
