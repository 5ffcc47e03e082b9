"""Lesson 17: how far layers of windows reach back, and the cache of a window, with sinks, as a ring."""

from math import cos, pi, sin

from svg import Figure


def cone():
    """The tokens that reach one output: with a window of 3, two more per layer."""
    window, layers, tokens = 3, 3, 8
    figure = Figure(
        "Three layers with a window of 3: the last token's output depends on the 7 newest tokens, not on token 0", 232
    )
    left, top, step, rise, size = 84, 34, 34, 46, 24
    last = tokens - 1
    seen = {last}
    for depth in range(layers + 1):  # from the output down to the input
        y = top + depth * rise
        name = f"layer {layers - depth}" if depth < layers else "input"
        figure.text(74, y + size / 2 + 4, name, "dim small", "end")
        sources = {j for i in seen for j in range(max(0, i - window + 1), i + 1)}
        for i in seen if depth < layers else ():
            for j in range(max(0, i - window + 1), i + 1):
                figure.line(
                    (left + i * step + size / 2, y + size),
                    (left + j * step + size / 2, y + rise),
                    colour="blue",
                    width=1,
                )
        for i in range(tokens):
            inside = i in seen
            x = left + i * step
            figure.rect(x, y, size, size, "blue" if inside else "faint", 0.55 if inside else 0.25, None, 4)
            figure.text(x + size / 2, y + size / 2 + 4, str(i), "small" if inside else "dim small", "middle")
        seen = sources if depth < layers else seen
    figure.text(left + last * step + size / 2, 24, "output", "blue small", "middle")
    reach = layers * (window - 1)
    figure.text(10, 218, f"window = {window}: {window - 1} tokens further back per layer, {reach} in all", "dim small")
    assert min(seen) == last - reach
    return figure


def ring():
    """What the cache holds before token 13 comes, and the slot that it goes to."""
    window, sinks, new = 6, 2, 13
    figure = Figure(
        "A plain window keeps the newest keys only; with sinks the first keys stay in slots of their own, and the others are "
        "in a ring where each new key overwrites the one that leaves the window",
        334,
    )
    cell, left = 17, 108
    for row, (name, first) in enumerate((("plain window", 0), ("with sinks", sinks))):
        y = 34 + 30 * row
        figure.text(100, y + 13, name, "small", "end")
        for j in range(new + 1):
            kept, sink = j > new - window, j < first
            fill, opacity = ("orange", 0.45 if kept else 0.75) if kept or sink else ("faint", 0.2)
            figure.rect(left + j * cell, y, cell - 2, cell, fill, opacity, None, 2)
    for j in (0, new - window + 1, new):
        figure.text(left + (j + 0.5) * cell - 1, 26, str(j), "dim small", "middle")
    figure.text(100, 26, "key", "dim small", "end")

    figure.text(10, 108, f"the cache as token {new} arrives", "strong small")
    for j in range(sinks):
        figure.rect(22 + 44 * j, 186, 28, 28, "orange", 0.75, None, 4)
        figure.text(36 + 44 * j, 204, str(j), "small", "middle")
        figure.text(36 + 44 * j, 229, f"slot {j}", "dim small", "middle")
    figure.text(58, 176, "sinks", "orange strong small", "middle")

    def slot(j):
        return sinks + (j - sinks) % window

    middle, radius = (246, 208), 74
    figure.parts.append(
        f'<circle cx="{middle[0]}" cy="{middle[1]}" r="{radius}" fill="none" class="faint-line" stroke-width="1.5"/>'
    )
    for j in range(new - window, new):
        angle = 2 * pi * (slot(j) - sinks) / window - pi / 2
        x, y = middle[0] + radius * cos(angle), middle[1] + radius * sin(angle)
        goes = slot(j) == slot(new)
        figure.rect(x - 15, y - 15, 30, 30, "card", 1, None, 15)
        figure.rect(x - 15, y - 15, 30, 30, "dim" if goes else "orange", 0.45, None, 15)
        figure.text(x, y + 4, str(j), "small", "middle")
        if goes:
            figure.arrow((x - 34, y - 40), (x - 13, y - 15), colour="ink")
            figure.text(x - 40, y - 46, f"{new} overwrites {j}", "small", "middle")
        figure.text(
            middle[0] + 38 * cos(angle), middle[1] + 38 * sin(angle) + 4, f"slot {slot(j)}", "dim small", "middle"
        )
    figure.text(10, 304, "grey: about to be overwritten", "dim small")
    figure.text(10, 322, f"Token {new}: slot {sinks} + ({new} - {sinks}) mod {window} = {slot(new)}", "dim small")
    return figure


def figures():
    return {"cone": cone(), "ring": ring()}
