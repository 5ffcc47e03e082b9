"""Lesson 16: how a KV cache fills, which scores are computed with and without it, and the roofline of decoding."""

from math import atan2, log10, pi

from svg import Figure


def appending():
    """Three calls: what each reads, the rows of the cache after it, and what its last query attends to."""
    words = ["the", "cat", "sat", "down", "because"]
    figure = Figure(
        "Prefill fills three rows of the KV cache; each decode step appends one row, and its query attends to all rows",
        236,
    )
    top, height = 78, 22
    panels = ((8, "prefill", 3, 0, "down"), (126, "decode", 4, 3, "because"), (250, "decode", 5, 4, "it"))
    for left, call, rows, old, written in panels:
        figure.text(left, 20, call, "strong")
        figure.text(left, 38, "reads: " + " ".join(words[old:rows]), "small")
        figure.text(left + 57, 70, "K", "dim small", "middle")
        figure.text(left + 81, 70, "V", "dim small", "middle")
        for i in range(rows):
            y = top + i * height
            figure.text(left + 42, y + 15, words[i], "small", "end")
            for column, colour in ((46, "orange"), (70, "green")):
                figure.rect(left + column, y + 2, 22, height - 4, colour, 0.12 if i < old else 0.75, colour, 2)
        figure.line(
            (left + 98, top + 4),
            (left + 102, top + 4),
            (left + 102, top + rows * height - 4),
            (left + 98, top + rows * height - 4),
            colour="ink",
        )
        figure.text(left, 54, f"writes: {written}", "small")
    bottom = top + 5 * height + 16
    for left, opacity, words in ((8, 0.75, "appended by this call"), (182, 0.12, "kept from before")):
        figure.rect(left, bottom - 9, 10, 10, "orange", opacity, "orange", 2)
        figure.rect(left + 12, bottom - 9, 10, 10, "green", opacity, "green", 2)
        figure.text(left + 28, bottom, words, "small")
    figure.text(8, bottom + 20, "The bracket: rows that the last query attends to.", "dim small")
    return figure


def triangle():
    """The causal triangle of six tokens: prompt and decode steps, and what the last step repeats without a cache."""
    prompt, total, cell = 3, 6, 22
    figure = Figure(
        "With a KV cache prefill computes the first three rows of the causal triangle and each decode step adds one row; "
        "without it, every step computes all rows again",
        250,
    )
    panels = ((64, "with a KV cache", "blue"), (216, "without, at token 5", "dim"))
    for left, title, colour in panels:
        cached = left == panels[0][0]
        figure.text(left + total * cell / 2, 22, title, f"{colour} strong small", "middle")
        for i in range(total):
            for j in range(total):
                if j > i:
                    fill, opacity = "faint", 0
                elif cached:
                    fill, opacity = ("blue", 0.55) if i < prompt else ("orange", 0.55)
                else:
                    fill, opacity = ("orange", 0.55) if i == total - 1 else ("dim", 0.3)
                figure.rect(left + j * cell, 46 + i * cell, cell, cell, fill, opacity, "faint", 0)
        for j in range(total):
            figure.text(left + (j + 0.5) * cell, 40, str(j), "dim small", "middle")
    for i in range(total):
        figure.text(58, 50 + (i + 0.5) * cell, f"query {i}", "dim small", "end")
    bottom = 46 + total * cell
    rows = [i + 1 for i in range(total)]
    figure.rect(10, bottom + 12, 10, 10, "blue", 0.55, None, 2)
    figure.text(26, bottom + 21, "prefill", "small")
    figure.rect(80, bottom + 12, 10, 10, "orange", 0.55, None, 2)
    figure.text(96, bottom + 21, "decode, row by row", "small")
    figure.rect(236, bottom + 12, 10, 10, "dim", 0.3, None, 2)
    figure.text(252, bottom + 21, "computed again", "small")
    anew = [sum(rows[:n]) for n in range(prompt, total + 1)]
    figure.text(10, bottom + 44, f"With a cache: {sum(rows)} scores in all.", "strong small")
    sums = " + ".join(str(n) for n in anew)
    figure.text(10, bottom + 60, f"Without: {sums} = {sum(anew)}. Drawn: the last {anew[-1]}.", "dim small")
    return figure


def roofline():
    """An A100 in 16 bits, and the attention layer of OPT-13B with 2048 tokens for each sequence."""
    E, S = 5120, 2048
    peak, bandwidth = 312.0, 1.555  # TFLOP/s, TB/s
    projections, cache = 8 * E * E, 4 * S * E  # FLOPs, and as many bytes at two per number

    def intensity(batch):
        return batch * (projections + cache) / (projections + batch * cache)

    figure = Figure(
        "A roofline: decoding does 1 to 6 FLOPs for each byte and reaches at most 9 TFLOP/s; prefill reaches the peak of 312",
        254,
    )
    left, right, top, bottom = 52, 346, 30, 190

    def x(flops_per_byte):
        return left + (right - left) * log10(flops_per_byte / 0.5) / log10(4096 / 0.5)

    def y(tera):
        return bottom - (bottom - top) * log10(tera / 0.5) / log10(600 / 0.5)

    ridge = peak / bandwidth
    limit = 1 + 2 * E / S
    figure.rect(left, top, x(limit) - left, bottom - top, "orange", 0.1, None, 0)
    figure.line((left, top), (left, bottom), (right, bottom), colour="faint")
    figure.line((left, y(0.5 * bandwidth)), (x(ridge), y(peak)), (right, y(peak)), colour="ink", width=1.8)
    figure.line((x(ridge), y(peak)), (x(ridge), bottom), colour="faint", dashed=True)
    for value in (1, 10, 100):
        figure.text(left - 6, y(value) + 4, str(value), "dim small", "end")
    figure.text(left - 6, y(peak) + 4, "312", "dim small", "end")
    figure.text(8, 18, "attainable TFLOP/s", "dim small")
    figure.text(right, 18, "attention of OPT-13B, 2048 tokens each", "small", "end")
    for value in (1, 10, 100, 1000):
        figure.text(x(value), bottom + 15, str(value), "dim small", "middle")
        figure.line((x(value), bottom), (x(value), bottom + 4), colour="faint")
    figure.text(x(ridge) + 5, bottom - 6, f"{ridge:.0f}", "small")
    figure.text((left + right) / 2, bottom + 34, "FLOPs for each byte moved", "dim small", "middle")
    figure.text((left + right) / 2, bottom + 52, "Both axes are logarithmic.", "dim small", "middle")
    figure.text(right, y(peak) - 7, "compute-bound", "small", "end")
    turned = atan2(y(10) - y(100), x(100) - x(10)) * 180 / pi
    figure.parts.append(
        f'<text transform="translate({x(34):.1f} {y(34 * bandwidth) - 8:.1f}) rotate({-turned:.1f})" class="ink small" '
        'text-anchor="middle">memory-bound</text>'
    )

    def dot(flops_per_byte, colour):
        tera = min(peak, flops_per_byte * bandwidth)
        figure.parts.append(f'<circle cx="{x(flops_per_byte):.2f}" cy="{y(tera):.2f}" r="4.5" class="{colour}"/>')
        return x(flops_per_byte), y(tera)

    one, many = dot(intensity(1), "orange"), dot(intensity(32), "orange")
    # With the activations about as many bytes again.
    figure.line((x(S / 2), y(peak)), (x(S), y(peak)), colour="blue", width=8)
    figure.text(one[0] + 10, one[1] + 10, f"1 sequence: {intensity(1) * bandwidth:.1f} TFLOP/s", "orange small")
    figure.text(many[0] + 10, many[1] + 8, "32 sequences:", "orange small")
    figure.text(many[0] + 10, many[1] + 22, f"{intensity(32) * bandwidth:.1f} TFLOP/s", "orange small")
    figure.text(x(S), y(peak) + 20, "prefill: 1000", "blue small", "end")
    figure.text(x(S), y(peak) + 34, "and more", "blue small", "end")
    for line, words in enumerate(("decode:", f"below {limit:.0f},", "any batch")):
        figure.text((left + x(limit)) / 2, top + 18 + 15 * line, words, "orange small", "middle")
    return figure


def figures():
    return {"appending": appending(), "triangle": triangle(), "roofline": roofline()}
