"""Lesson 20: the two orders of a block, the numbers that a norm runs over, three activations, and the gate of SwiGLU."""

from math import erf, exp, sqrt

from svg import Figure, number


def plus(figure, x, y):
    """Where a branch is added to the stream."""
    figure.parts.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="8" class="card green-line" stroke-width="1.5"/>')
    figure.text(x, y + 4, "+", "green strong", "middle")


def stream(figure, x, *ends):
    """The residual stream, from each y to the next one."""
    for top, bottom in zip(ends, ends[1:]):
        figure.line((x, top), (x, bottom), colour="green", width=2.5)


def branch(figure, x, top, boxes):
    """Boxes (label, colour) beside the stream at x, read at `top`; returns where they are added."""
    left, width = x + 32, 104
    middle = left + width / 2
    y = top + 12
    figure.line((x, top), (middle, top))
    figure.arrow((middle, top), (middle, y))
    for i, (label, colour) in enumerate(boxes):
        if i > 0:
            figure.arrow((middle, y), (middle, y + 10))
            y += 10
        figure.box(left, y, width, 24, label, "small", colour)
        y += 24
    figure.line((middle, y), (middle, y + 14))
    figure.arrow((middle, y + 14), (x + 9, y + 14))
    return y + 14


def blocks():
    figure = Figure("Pre-norm: the norms are in the branches. Post-norm: they are in the stream", 348)
    for left, title in ((14, "pre-norm"), (196, "post-norm")):
        figure.text(left, 22, title, "strong")
        figure.text(left + 16, 44, "X", "mono strong", "middle")

    x = 30
    first = branch(figure, x, 62, [("norm", "orange"), ("attention", "blue")])
    second = branch(figure, x, 184, [("norm", "orange"), ("feed-forward", "purple")])
    stream(figure, x, 50, first - 8)
    stream(figure, x, first + 8, second - 8)
    stream(figure, x, second + 8, 306)
    plus(figure, x, first)
    plus(figure, x, second)
    figure.text(x + 8, 174, "h", "mono strong")

    x = 212
    first = branch(figure, x, 62, [("attention", "blue")])
    second = branch(figure, x, 196, [("feed-forward", "purple")])
    stream(figure, x, 50, first - 8)
    plus(figure, x, first)
    stream(figure, x, first + 8, 138)
    figure.box(x - 26, 138, 52, 24, "norm", "small", "orange")
    stream(figure, x, 162, second - 8)
    figure.text(x + 8, 184, "h", "mono strong")
    plus(figure, x, second)
    stream(figure, x, second + 8, 272)
    figure.box(x - 26, 272, 52, 24, "norm", "small", "orange")
    stream(figure, x, 296, 306)

    for x in (30, 212):
        figure.arrow((x, 300), (x, 312), colour="green")
        figure.text(x + 12, 312, "output", "small")
    figure.text(14, 338, "Green: the residual stream, L x E.", "dim small")
    return figure


def curves():
    figure = Figure("relu, gelu and silu from -4 to 4: gelu and silu go below 0 and come back", 230)
    left, right, top, bottom = 24, 336, 20, 190
    low, high = -0.9, 3.0

    def at(x, y):
        return left + (right - left) * (x + 4) / 8, bottom - (bottom - top) * (y - low) / (high - low)

    def draw(function, colour, dashed=False):
        points = [at(k / 20, function(k / 20)) for k in range(-80, 81) if function(k / 20) <= high]
        figure.line(*points, colour=colour, width=1.8, dashed=dashed)

    figure.line(at(-4, 0), at(4, 0), colour="faint")
    figure.line(at(0, low), at(0, high), colour="faint")
    for x in (-4, -2, 2, 4):
        figure.text(at(x, 0)[0], at(0, low)[1] + 4, str(x), "dim small", "middle")
        figure.line(at(x, -0.04), at(x, 0.04), colour="faint")
    for y in (1, 2, 3):
        figure.text(at(0, 0)[0] - 6, at(0, y)[1] + 4, str(y), "dim small", "end")
    draw(lambda x: max(0.0, x), "dim", dashed=True)
    draw(lambda x: x / (1 + exp(-x)), "orange")
    draw(lambda x: x * (1 + erf(x / sqrt(2))) / 2, "blue")
    for x, y, label, colour, above in (
        (-1.28, -0.278, "-0.28 at -1.28", "orange", False),
        (-0.75, -0.17, "-0.17 at -0.75", "blue", True),
    ):
        px, py = at(x, y)
        figure.parts.append(f'<circle cx="{number(px)}" cy="{number(py)}" r="3" class="{colour}"/>')
        figure.text(px - 8, py - 16 if above else py + 16, label, f"{colour} small", "end")
    figure.text(40, 48, "relu", "dim small strong")
    figure.text(40, 64, "gelu", "blue small strong")
    figure.text(40, 80, "silu", "orange small strong")
    figure.text(12, 218, "Far to the right all three are x, far to the left 0.", "dim small")
    return figure


def axis():
    """Which numbers share a mean: two sequences of two tokens, the first of them the chapter's."""
    sequences = [[[8.0, 2.0, 2.0, 0.0], [1.0, 5.0, 1.0, 5.0]], [[4.0, 0.0, 2.0, 2.0], [6.0, 3.0, 3.0, 0.0]]]
    figure = Figure(
        "A layer norm runs along a row, the features of one token; batch norm runs down a column, through all tokens",
        268,
    )
    cell, width, lefts = (34, 24), 136, (62, 212)
    for top, title, words in (
        (44, "LayerNorm, RMSNorm: one token", "One of the L·B tokens: mean {0:g}, variance {1:g}"),
        (174, "batch norm: one feature of all tokens", "One of the E features: mean {0:g}, variance {1:g}"),
    ):
        rows = top == 44
        figure.text(12, top - 26, title, f"small strong {'orange' if rows else 'purple'}")
        for b, (left, tokens) in enumerate(zip(lefts, sequences)):
            if rows and b == 0:
                figure.rect(left, top, width, cell[1], "orange", 0.25, "orange", 0)
            if not rows:
                figure.rect(left, top, cell[0], 2 * cell[1], "purple", 0.25, "purple", 0)
            figure.matrix(left, top, tokens, 0, cell, rows=("token 0", "token 1") if b == 0 else ())
            figure.text(left + width / 2, top - 6, f"sequence {b}", "small dim", "middle")
        numbers = sequences[0][0] if rows else [token[0] for tokens in sequences for token in tokens]
        mean = sum(numbers) / len(numbers)
        variance = sum((x - mean) ** 2 for x in numbers) / len(numbers)
        figure.text(12, top + 70, words.format(mean, round(variance, 2)), "small")
    figure.text(12, 260, "Columns: features 0 to 3.", "small dim")
    return figure


def gate():
    """SwiGLU for the first token of the worked example."""
    x, W_gate, W_up = (1, 2), ((1, -1, 0), (0, 0, 2)), ((2, 2, 1), (0, 1, 1))
    W_down = ((1, 0), (0, 1), (1, 1))

    def times(row, weight):
        return [sum(a * line[j] for a, line in zip(row, weight)) for j in range(len(weight[0]))]

    before, passing = times(x, W_gate), times(x, W_up)
    share = [a / (1 + exp(-a)) for a in before]
    product = [a * b for a, b in zip(share, passing)]
    figure = Figure("The gate of SwiGLU: silu of one projection multiplies the other, feature by feature", 286)
    cell, middle = (46, 24), 180

    def row(center, top, values, colour, label, side):
        left = center - cell[0] * len(values) / 2
        figure.rect(left, top, cell[0] * len(values), cell[1], colour, 0.15, None, 0)
        figure.matrix(left, top, [values], 2, cell)
        figure.text(center, top - 6 if side == "above" else top + 38, label, f"small {colour}", "middle")

    gate_at, up_at = 92, 268
    row(middle, 24, list(x), "dim", "x", "above")
    figure.arrow((150, 48), (gate_at, 72))
    figure.arrow((210, 48), (up_at, 72))
    row(gate_at, 92, before, "orange", "x W_gate", "above")
    row(up_at, 92, passing, "blue", "x W_up", "above")
    figure.arrow((gate_at, 116), (gate_at, 134))
    figure.text(gate_at + 8, 129, "silu", "small orange")
    row(gate_at, 136, share, "orange", "the gate", "below")
    figure.line((up_at, 116), (up_at, 200))
    figure.line((gate_at, 180), (gate_at, 200))
    figure.arrow((gate_at, 200), (middle - 10, 200))
    figure.arrow((up_at, 200), (middle + 10, 200))
    figure.text(middle, 204, "∘", "strong", "middle")
    figure.arrow((middle, 208), (middle, 216))
    row(middle, 216, product, "green", "", "below")
    figure.arrow((middle, 240), (middle, 256))
    figure.text(middle + 8, 252, "W_down", "small dim")
    row(middle, 258, times(product, W_down), "dim", "", "below")
    return figure


def figures():
    return {"blocks": blocks(), "axis": axis(), "curves": curves(), "gate": gate()}
