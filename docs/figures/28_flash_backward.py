"""Lesson 28: one block of keys while all queries pass by, and what is saved for the backward pass."""

from svg import Figure

LESSON = "28_flash_backward"
BLOCKS = 5


def triangle(figure, left, top, tile, column, done, now):
    """The tiles of causal attention; in `column`, the first `done` are added and the row `now` is being added."""
    for j in range(BLOCKS):
        kind = "blue strong small" if j == column else "dim small"
        figure.text(left + (j + 0.5) * tile, top - 5, f"{j}", kind, "middle")
    for i in range(BLOCKS):
        figure.text(
            left - 7, top + (i + 0.5) * tile + 4, f"{i}", "ink strong small" if i == now else "dim small", "end"
        )
        for j in range(i + 1):
            x, y = left + j * tile, top + i * tile
            opacity = 0.1
            if j == column:
                opacity = 0.85 if i == now else 0.5 if i < column + done else 0.1
            figure.rect(x + 1, y + 1, tile - 2, tile - 2, "orange" if i == j else "blue", opacity, None, 2)
    x = left + column * tile
    outline = [(x, top), (x + tile, top), (x + tile, top + BLOCKS * tile), (x, top + BLOCKS * tile), (x, top)]
    figure.line(*outline, colour="blue", width=1.6)


def columns():
    tile, left, column = 20, 36, 1
    figure = Figure("One block of keys in three steps, in causal attention with five blocks of queries and keys", 496)
    size = BLOCKS * tile
    tops = (50, 196, 342)
    words = left + size + 22

    top = tops[0]
    figure.text(12, top - 26, "1  Hold a block of keys", "strong")
    triangle(figure, left, top, tile, column, 0, None)
    figure.box(words, top + 4, 92, 22, "K, V: read", "small", "blue")
    figure.box(words, top + 34, 148, 22, "d_K, d_V: the sums so far", "small", "purple")
    figure.text(words, top + 76, "All four stay in the fast", "dim small")
    figure.text(words, top + 91, "memory until step 3.", "dim small")

    top = tops[1]
    figure.text(12, top - 26, "2  Let the blocks of queries pass by", "strong")
    triangle(figure, left, top, tile, column, 2, 3)
    y = top + 3.5 * tile
    figure.arrow((words - 4, y), (left + (column + 1) * tile + 2, y), colour="ink")
    figure.text(words, top + 10, "done: 1 and 2; now: 3", "dim small")
    figure.text(words, top + 34, "read Q, d_output,", "small")
    figure.text(words, top + 49, "log_sum_exp, delta", "small")
    figure.box(words, y - 10, 148, 20, "add the tile", "small strong", "blue")
    figure.text(words, y + 26, "d_Q: read, add, write", "green small strong")

    top = tops[2]
    figure.text(12, top - 26, "3  Write d_K and d_V, once", "strong")
    triangle(figure, left, top, tile, column, BLOCKS, None)
    x = left + (column + 0.5) * tile
    figure.arrow((x, top + size + 2), (x, top + size + 20), colour="purple")
    figure.text(x + 10, top + size + 17, "d_K, d_V", "purple small strong")
    figure.text(words, top + 20, "Then block 2 is held; query", "dim small")
    figure.text(words, top + 35, "blocks 2 to 4 pass by.", "dim small")
    figure.text(words, top + 59, "Rows: blocks of queries;", "dim small")
    figure.text(words, top + 74, "columns: blocks of keys.", "dim small")
    figure.text(words, top + 89, "Empty: not computed.", "dim small")
    figure.rect(12, top + size + 36, 12, 12, "orange", 0.5)
    figure.text(30, top + size + 46, "on the diagonal: masked again, before exp", "dim small")
    return figure


def kept():
    figure = Figure(
        "What the forward pass saves for the backward pass, to scale for L = S = 64 D; only the log-sum-exp is drawn too thick",
        404,
    )
    tall, thin = 128, 2
    figure.text(12, 20, "Lesson 24 saves", "strong")
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
    figure.text(12, top - 28, "This lesson saves", "strong")
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
