"""Lesson 21: the way of a token through the layer, and the masks of two sequences that come in three calls."""

from svg import Figure, number


def flow():
    figure = Figure(
        "X is projected to queries, keys and values, and split into heads; queries and keys are normalized and rotated by their "
        "positions; keys and values go into the cache; the queries attend to all of it that the mask shows",
        414,
    )
    columns = {"Q": (80, "blue"), "K": (191, "orange"), "V": (302, "green")}
    wide, rail = 102, 14

    def down(x, y0, y1):
        figure.arrow((x, y0), (x, y1))

    def lines(x, y, *texts):
        for k, (text, kind) in enumerate(texts):
            figure.text(x, y + 15 * k, text, f"small {kind}", "middle")

    def dashed_box(x, y, height, colour):
        figure.parts.append(
            f'<rect x="{number(x - wide / 2)}" y="{number(y)}" width="{wide}" height="{height}" rx="3" '
            f'class="{colour} {colour}-line" fill-opacity="0.05" stroke-dasharray="4 3"/>'
        )

    # the positions go to RoPE and to the mask
    figure.box(6, 10, 106, 24, "positions L x B", "small", "purple")
    figure.line((rail, 34), (rail, 185), colour="purple")
    figure.arrow((rail, 185), (29, 185), colour="purple")
    figure.arrow((rail, 185), (rail, 315), (29, 315), colour="purple")

    figure.box(191 - 57, 10, 114, 24, "X L x E x B", "small", "dim")
    names = {"Q": ("query_proj", "H"), "K": ("key_proj", "G"), "V": ("value_proj", "G")}
    for name, (x, colour) in columns.items():
        proj, heads = names[name]
        figure.line((191, 34), (191, 45), (x, 45))
        down(x, 45, 56)
        figure.rect(x - wide / 2, 56, wide, 54, colour, 0.12, colour)
        lines(x, 72, (proj, ""), ("split_heads", ""), (f"L x D x {heads}·B", "dim"))
    for name in "QK":
        x, colour = columns[name]
        down(x, 110, 124)
        dashed_box(x, 124, 34, colour)
        lines(x, 138, ("QK-norm", ""), ("optional", "dim"))
        down(x, 158, 172)
    figure.box(29, 172, 213, 26, "RoPE", "small", "purple")

    figure.arrow((191, 198), (191, 216))
    figure.arrow((302, 110), (302, 216))
    figure.rect(135, 216, 218, 42, "orange", 0.12, "orange")
    lines(244, 233, ("KV cache: append, then read all", "strong"), ("S x D x G·B, keys are rotated", "dim"))
    down(80, 198, 284)
    down(191, 258, 284)
    down(302, 258, 284)
    for name, (x, colour) in columns.items():
        figure.text(x + 7, 275, name, f"small strong {colour}")
    figure.rect(29, 284, 324, 62, "blue", 0.1, "blue")
    lines(
        191,
        304,
        ("Q Kᵀ / √D, soft cap (optional),", ""),
        ("mask L x S x B, softmax, times V", ""),
        ("H / G query heads share a slice of K and V", "dim"),
    )
    down(191, 346, 360)
    figure.box(191 - 85, 360, 170, 24, "merge_heads, output_proj", "small", "dim")
    down(191, 384, 394)
    figure.text(191, 407, "output L x E x B", "small", "middle")
    return figure


def calls():
    """Two sequences under a window of 3, each in three calls of another size."""
    figure = Figure(
        "Two sequences of 6 and 5 tokens, in calls of 3, 2, 1 and of 1, 1, 3 tokens. Under a window of 3 both fill the same "
        "band along the diagonal, whatever the calls are",
        236,
    )
    cell, window, top = 20, 3, 62
    kinds = {
        "call 1": ("blue", 0.45, None),
        "call 2": ("orange", 0.45, None),
        "call 3": ("green", 0.45, None),
        "too old": ("dim", 0.25, None),
        "future": ("faint", 0, "dim"),
    }

    def kind_of(i, j, call):
        return "future" if j > i else "too old" if j <= i - window else f"call {call + 1}"

    for left, sequence, sizes in ((46, 0, (3, 2, 1)), (222, 1, (1, 1, 3))):
        total = sum(sizes)
        figure.text(left + total * cell / 2, 18, f"sequence {sequence}", "small strong", "middle")
        in_words = "tokens per call: " + ", ".join(str(size) for size in sizes)
        figure.text(left + total * cell / 2, 34, in_words, "dim small", "middle")
        call_of = [call for call, size in enumerate(sizes) for _ in range(size)]
        for i in range(total):
            for j in range(total):
                kind = kind_of(i, j, call_of[i])
                fill, opacity, _ = kinds[kind]
                figure.rect(left + j * cell, top + i * cell, cell, cell, fill, opacity, "faint", 0)
                if kind.startswith("call"):
                    figure.text(left + (j + 0.5) * cell, top + (i + 0.5) * cell + 4, kind[-1], "small strong", "middle")
            figure.text(left - 6, top + (i + 0.5) * cell + 4, str(i), "dim small", "end")
        for j in range(total):
            figure.text(left + (j + 0.5) * cell, top - 6, str(j), "dim small", "middle")
    for k, (name, (fill, opacity, outline)) in enumerate(kinds.items()):
        figure.rect(20 + 66 * k, 196, 10, 10, fill, opacity, outline, 2)
        figure.text(35 + 66 * k, 205, name, "small")
    figure.text(20, 226, "Rows: queries. Columns: keys. Both by position.", "dim small")
    return figure


def figures():
    return {"flow": flow(), "calls": calls()}
