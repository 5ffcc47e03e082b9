"""Lesson 19: the tiles of causal attention as a staircase, and the memories of a GPU as a pyramid."""

from svg import Figure, number

BLOCKS, SIZE = 6, 2  # six blocks of two queries, and as many of two keys


def staircase():
    cell, left, top = 16, 44, 46
    tile = SIZE * cell
    figure = Figure("Causal attention in tiles: a staircase; tiles above it are never computed", 316)
    figure.text(left, 18, "keys, in blocks of 2", "dim small")
    figure.arrow((left + 124, 14), (left + 176, 14))
    figure.text(8, top + 12, "que-", "dim small")
    figure.text(8, top + 25, "ries", "dim small")
    figure.arrow((20, top + 34), (20, top + 86))
    for j in range(BLOCKS):
        figure.text(left + (j + 0.5) * tile, top - 8, f"{j}", "dim small", "middle")
    row = 4  # the block of queries that is followed
    for i in range(BLOCKS):
        for j in range(BLOCKS):
            x, y = left + j * tile, top + i * tile
            if j < i:
                figure.rect(x + 1, y + 1, tile - 2, tile - 2, "blue", 0.6 if i == row else 0.25, None, 2)
            elif j == i:
                for q in range(SIZE):
                    for k in range(q + 1):
                        opacity = 0.85 if i == row else 0.5
                        figure.rect(x + k * cell + 1, y + q * cell + 1, cell - 2, cell - 2, "orange", opacity, None, 2)
                figure.line(
                    (x, y), (x + tile, y), (x + tile, y + tile), (x, y + tile), (x, y), colour="orange", width=1
                )
            else:
                figure.line((x + 12, y + 16), (x + 20, y + 16), colour="dim", width=2)
    edge = left + BLOCKS * tile
    middle = top + (row + 0.5) * tile
    figure.arrow((left + 8, middle), (left + (row + 1) * tile - 4, middle), colour="ink")
    figure.arrow((left + (row + 1) * tile + 2, middle), (edge + 12, middle), colour="ink", dashed=True)
    figure.box(edge + 14, middle - 14, 100, 28, "output / sum", "small", "green")
    figure.text(edge + 14, middle - 38, "m, sum, output", "small mono")
    figure.text(edge + 14, middle - 24, "travel along", "dim small")
    legend = top + BLOCKS * tile + 24
    figure.rect(left, legend - 10, 12, 12, "blue", 0.4)
    figure.text(left + 18, legend, "all queries see all keys: 15", "dim small")
    figure.rect(left, legend + 10, 12, 12, "orange", 0.6)
    figure.text(left + 18, legend + 20, "some see some keys, masked: 6", "dim small")
    figure.line((left + 2, legend + 36), (left + 10, legend + 36), colour="dim", width=2)
    figure.text(left + 18, legend + 40, "no query sees a key, not computed: 15", "dim small")
    return figure


def trapezoid(figure, middle, top, widths, height, fill):
    (upper, lower), bottom = widths, top + height
    corners = [
        (middle - upper / 2, top),
        (middle + upper / 2, top),
        (middle + lower / 2, bottom),
        (middle - lower / 2, bottom),
    ]
    path = " ".join(f"{number(x)},{number(y)}" for x, y in corners)
    figure.parts.append(f'<polygon points="{path}" class="{fill} {fill}-line" fill-opacity="0.2"/>')


def pyramid():
    figure = Figure("The memories of a GPU: the faster, the smaller; and what flash attention keeps in each", 288)
    levels = (
        ("registers", "255 per thread", "", "green", ("output, m, sum;", "the scores of a tile"), "registers"),
        (
            "SRAM",
            "192 KB per SM",
            "19 TB/s",
            "blue",
            ("blocks of Q, K and V,", "one after the other"),
            "L1 and L2 cache",
        ),
        ("HBM", "40 GB", "1.5 TB/s", "orange", ("Q, K, V, output: whole;", "no score, ever"), "main memory"),
    )
    figure.text(90, 20, "A100", "strong", "middle")
    figure.text(196, 20, "kept there", "strong")
    middle, height = 90, 76
    for i, (name, size, speed, colour, kept, processor) in enumerate(levels):
        top = 32 + i * (height + 4)
        trapezoid(figure, middle, top, (90 + 25 * i, 90 + 25 * (i + 1)), height, colour)
        figure.text(middle, top + 22, name, "strong", "middle")
        figure.text(middle, top + 40, size, "dim small", "middle")
        figure.text(middle, top + 55, speed, "dim small", "middle")
        figure.text(196, top + 20, kept[0], "small")
        figure.text(196, top + 34, kept[1], "small")
        figure.text(196, top + 56, "on a processor:", "dim small")
        figure.text(196, top + 69, processor, "dim small")
    return figure


def figures():
    return {"staircase": staircase(), "pyramid": pyramid()}
