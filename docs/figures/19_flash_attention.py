"""Lesson 19: the tiles of causal attention as a staircase, and the memories of a GPU."""

from svg import Figure

BLOCKS, SIZE = 6, 2  # six blocks of two queries, and as many of two keys


def staircase():
    cell, left, top = 16, 44, 46
    tile = SIZE * cell
    figure = Figure("Causal attention in tiles: a staircase; tiles above it are never computed", 316)
    figure.text(left, 18, "keys, in blocks of 2", "dim small")
    figure.arrow((left + 124, 14), (left + 176, 14))
    figure.parts.append(
        f'<text transform="translate(24 {top + 4}) rotate(90)" class="ink dim small">queries, in blocks of 2</text>'
    )
    figure.arrow((27, top + 128), (27, top + 180))
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
            elif i != row:  # there the dashed arrow passes
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
    figure.text(left + 18, legend, "all keys seen by all queries: 15 tiles", "dim small")
    figure.rect(left, legend + 10, 12, 12, "orange", 0.6)
    figure.text(left + 18, legend + 20, "partly seen, so masked: 6 tiles", "dim small")
    figure.line((left + 2, legend + 36), (left + 10, legend + 36), colour="dim", width=2)
    figure.text(left + 18, legend + 40, "nothing seen, so not computed: 15 tiles", "dim small")
    return figure


def memories():
    figure = Figure(
        "The memories of a GPU, from the nearest to the farthest, and what flash attention keeps in each", 330
    )
    figure.text(92, 20, "A100", "strong", "middle")
    figure.text(206, 20, "kept there", "strong")
    for shift in (8, 4):  # two more multiprocessors behind the first
        figure.rect(12 + shift, 32 + shift, 160, 136, "card", 1, "faint", 6)
    figure.rect(12, 32, 160, 136, "card", 1, "dim", 6)
    figure.text(92, 162, "one of 108 SMs", "dim small", "middle")
    levels = (
        (40, 46, "registers", "256 KB", "green", ("output, m, sum;", "the scores of a tile"), "registers"),
        (104, 46, "SRAM", "192 KB", "blue", ("a block of Q; blocks of", "K and V, one by one"), "L1, L2 cache"),
        (198, 36, "L2", "40 MB for all", "purple", ("K and V of a head, if", "they fit: 2 MB in float"), "L3 cache"),
        (262, 54, "HBM", "40 GB", "orange", ("Q, K, V, output, lse:", "whole; no score, ever"), "main memory"),
    )
    for top, height, name, size, colour, kept, processor in levels:
        inside = height == 46
        left, width = (22, 140) if inside else (12, 168)
        figure.rect(left, top, width, height, colour, 0.2, colour)
        figure.text(92, top + height / 2 - 3, name, "strong", "middle")
        figure.text(92, top + height / 2 + 12, size, "dim small", "middle")
        middle = top + height / 2
        figure.text(206, middle - 10, kept[0], "small")
        figure.text(206, middle + 4, kept[1], "small")
        figure.text(206, middle + 19, f"on a CPU: {processor}", "dim small")
    figure.line((44, 86), (44, 104), colour="dim", width=9)
    figure.line((44, 176), (44, 198), colour="dim", width=5)
    figure.text(54, 191, "several TB/s", "dim small")
    figure.line((44, 234), (44, 262), colour="dim", width=2)
    figure.text(54, 252, "1.56 TB/s", "dim small")
    figure.text(54, 99, "19 TB/s, all SMs", "dim small")
    return figure


def figures():
    return {"staircase": staircase(), "memories": memories()}
