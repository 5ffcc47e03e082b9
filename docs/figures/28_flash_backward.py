"""Lesson 28: one block of keys while all queries pass by, what is kept for the way back, and the example's tiles."""

from svg import Figure

LESSON = "28_flash_backward"
BLOCKS = 5


def columns():
    tile, left, top = 34, 92, 96
    figure = Figure("One block of keys stays, and the blocks of queries pass by: causal attention in tiles", 444)
    column = 1
    edge, bottom = left + BLOCKS * tile, top + BLOCKS * tile
    figure.text(left + (column + 0.5) * tile, 18, "K, V: read once", "blue small", "middle")
    figure.box(left + column * tile - 10, 26, tile + 20, 22, "keys 1", "small", "blue")
    figure.arrow((left + (column + 0.5) * tile, 50), (left + (column + 0.5) * tile, top - 20), colour="blue")
    figure.text(left - 8, top - 6, "keys", "dim small", "end")
    for j in range(BLOCKS):
        figure.text(left + (j + 0.5) * tile, top - 6, f"{j}", "dim small", "middle")
    for j in range(BLOCKS):
        for i in range(BLOCKS):
            x, y = left + j * tile, top + i * tile
            if j > i:
                figure.line((x + 13, y + 17), (x + 21, y + 17), colour="dim", width=2)
                continue
            colour = "orange" if j == i else "blue"
            figure.rect(x + 1, y + 1, tile - 2, tile - 2, colour, 0.65 if j == column else 0.18, None, 2)
    for i in range(BLOCKS):
        y = top + (i + 0.5) * tile
        figure.text(8, y + 4, f"queries {i}", "dim small")
        if i < column:
            continue
        figure.arrow((left - 20, y), (left + column * tile - 1, y), colour="ink")
        figure.arrow((left + (column + 1) * tile + 12, y), (edge + 10, y), colour="green")
        figure.arrow((edge - 2, y), (left + (column + 1) * tile + 2, y), colour="green")
        figure.box(edge + 12, y - 11, 50, 22, "d_Q", "small", "green")
        figure.text(edge + 66, y + 4, "+=", "green small mono")
    figure.arrow(
        (left + (column + 0.5) * tile, bottom + 2), (left + (column + 0.5) * tile, bottom + 22), colour="purple"
    )
    figure.box(left + column * tile - 28, bottom + 24, tile + 56, 22, "d_K, d_V", "small", "purple")
    figure.text(left + (column + 1) * tile + 34, bottom + 39, "written once", "purple small")
    legend = bottom + 70
    figure.line((12, legend - 4), (24, legend - 4), colour="ink", width=2)
    figure.text(30, legend, "read: Q, d_output, log_sum_exp, delta", "small")
    figure.line((12, legend + 16), (24, legend + 16), colour="green", width=2)
    figure.text(30, legend + 20, "d_Q: read, added to, written back", "small")
    figure.rect(12, legend + 30, 12, 12, "orange", 0.5)
    figure.text(30, legend + 40, "some queries see some keys: masked again", "dim small")
    figure.rect(12, legend + 50, 12, 12, "blue", 0.18)
    figure.text(30, legend + 60, "pale: the tiles of other key blocks", "dim small")
    figure.line((14, legend + 76), (22, legend + 76), colour="dim", width=2)
    figure.text(30, legend + 80, "no query sees a key: not computed", "dim small")
    return figure


def kept():
    figure = Figure(
        "What is kept from the forward pass to the backward pass, to scale for L = S = 64 D, but for the log-sum-exp, which would be 64 times as thin as the output",
        404,
    )
    tall, thin = 128, 2
    figure.text(12, 20, "Lesson 24 keeps", "strong")
    top = 48
    x = 30
    for name in ("Q", "K", "V"):
        figure.rect(x, top, thin, tall, "blue", 0.5, "blue", 0)
        figure.text(x + thin / 2, top - 6, name, "small", "middle")
        x += thin + 24
    figure.rect(x, top, tall, tall, "orange", 0.4, "orange", 0)
    figure.text(x + tall / 2, top - 6, "weights", "small", "middle")
    figure.text(x + tall / 2, top + tall / 2 + 4, "L x S", "strong", "middle")
    figure.text(x + tall + 12, top + 30, "L = S = 4096,", "dim small")
    figure.text(x + tall + 12, top + 45, "D = 64, float,", "dim small")
    figure.text(x + tall + 12, top + 60, "8 heads:", "dim small")
    figure.text(x + tall + 12, top + 80, "512 MiB", "orange strong")
    figure.text(x + tall + 12, top + 110, "Q, K, V:", "dim small")
    figure.text(x + tall + 12, top + 125, "8 MiB each", "blue small")
    top = 248
    figure.text(12, top - 28, "This lesson keeps", "strong")
    x = 30
    for name in ("Q", "K", "V"):
        figure.rect(x, top, thin, tall, "blue", 0.5, "blue", 0)
        figure.text(x + thin / 2, top - 6, name, "small", "middle")
        x += thin + 24
    x += 16
    figure.rect(x, top, thin, tall, "green", 0.5, "green", 0)
    figure.text(x + thin / 2, top - 6, "output", "small", "middle")
    x += thin + 56
    figure.line((x, top), (x, top + tall), colour="green", width=0.5)
    figure.text(x, top - 6, "log-sum-exp", "small", "middle")
    figure.text(x + 46, top + 40, "output: 8 MiB", "dim small")
    figure.text(x + 46, top + 55, "log-sum-exp:", "dim small")
    figure.text(x + 46, top + 74, "128 KiB", "green strong")
    return figure


def figures():
    return {"columns": columns(), "kept": kept()}
