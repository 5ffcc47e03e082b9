"""Lesson 20: the two orders of a block, the numbers that a norm runs over, and three activations."""

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
    figure = Figure("Pre-norm: the norms stand beside the stream. Post-norm: they stand in it", 348)
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
    """LayerNorm of the chapter's two tokens."""
    tokens = [[8.0, 2.0, 2.0, 0.0], [1.0, 5.0, 1.0, 5.0]]
    figure = Figure("LayerNorm runs along each row: the four features of one token, and no other token", 178)
    features, left, width = [f"feature {j}" for j in range(4)], 64, 56
    figure.matrix(left, 26, tokens, 0, (width, 26), rows=("token 0", "token 1"), columns=features)
    normalized = []
    for i, row in enumerate(tokens):
        mean = sum(row) / len(row)
        variance = sum((x - mean) ** 2 for x in row) / len(row)
        normalized.append([(x - mean) / sqrt(variance + 1e-5) for x in row])
        colour = ("orange", "blue")[i]
        figure.rect(left + 2, 28 + i * 26, 4 * width - 4, 22, colour, 0.18, colour)
        words = f"token {i}: mean {mean:.0f}, variance {variance:.0f}"
        figure.text(left - 50 + 166 * i, 100, words, f"{colour} small")
    figure.arrow((left + 2 * width, 82), (left + 2 * width, 90))
    bottom = figure.matrix(left, 112, normalized, 2, (width, 22), rows=("token 0", "token 1"))[1]
    figure.text(14, bottom + 16, "Down a column, over tokens: never.", "dim small")
    return figure


def figures():
    return {"blocks": blocks(), "axis": axis(), "curves": curves()}
