"""Lesson 26: a block in both directions, what LayerNorm removes from a gradient, activations and their derivatives."""

from math import erf, exp, pi, sqrt

import numpy as np
from course import golden
from svg import Figure, number

LESSON = "26_block_backward"


def plus(figure, x, y, colour):
    """Where two terms are added."""
    figure.parts.append(
        f'<circle cx="{number(x)}" cy="{number(y)}" r="8" class="card {colour}-line" stroke-width="1.5"/>'
    )
    figure.text(x, y + 4, "+", f"{colour} strong", "middle")


WIDTH, TALL = 112, 26
FORWARD, BACKWARD = 26, 212  # x of the two streams


def forward_branch(figure, top, boxes):
    """Leaves the stream at `top`, goes down through two boxes, and is added where this returns."""
    middle = FORWARD + 24 + WIDTH / 2
    figure.line((FORWARD, top), (middle, top), colour="blue")
    for i, label in enumerate(boxes):
        y = top + 12 + 40 * i
        figure.arrow((middle, y - (12 if i == 0 else 14)), (middle, y), colour="blue")
        figure.box(FORWARD + 24, y, WIDTH, TALL, label, "small", "blue")
    end = top + 92
    figure.arrow((middle, end - 14), (middle, end), (FORWARD + 9, end), colour="blue")
    plus(figure, FORWARD, end, "blue")
    return end


def backward_branch(figure, top, boxes):
    """The same upwards: the gradient is copied at the bottom, and added at `top`."""
    middle, end = BACKWARD + 24 + WIDTH / 2, top + 92
    figure.line((BACKWARD, end), (middle, end), colour="orange")
    figure.arrow((middle, end), (middle, end - 14), colour="orange")
    for i, label in enumerate(boxes):
        y = top + 12 + 40 * i
        figure.box(BACKWARD + 24, y, WIDTH, TALL, label, "small", "orange")
    figure.arrow((middle, top + 52), (middle, top + 38), colour="orange")
    figure.arrow((middle, top + 12), (middle, top), (BACKWARD + 9, top), colour="orange")
    plus(figure, BACKWARD, top, "orange")


def graph():
    figure = Figure(
        "A block downwards, and its gradients upwards: each sum copies its gradient, and where a branch began two are added. One "
        "copy goes past the branch, the other through it",
        416,
    )
    figure.text(FORWARD - 14, 20, "forward", "blue strong")
    figure.text(BACKWARD - 14, 20, "backward", "orange strong")
    first, second = 66, 206
    middle, bottom = first + 92, second + 92
    forward_branch(figure, first, ("norm", "attention"))
    forward_branch(figure, second, ("norm", "feed-forward"))
    backward_branch(figure, first, ("norm", "attention"))
    backward_branch(figure, second, ("norm", "feed-forward"))
    for x, colour, names in (
        (FORWARD, "blue", ("X", "h", "output")),
        (BACKWARD, "orange", ("d_X", "d_h", "d_output")),
    ):
        for name, y in zip(names, (46, 184, 334)):
            figure.text(x + 8, y, name, "small strong mono")
        down = x == FORWARD
        ends = ((48, middle - 8), (middle + 8, bottom - 8), (bottom + 8, 330))
        if not down:
            ends = ((38, first - 8), (first + 8, second - 8), (second + 8, 340))
        for upper, lower in ends:
            points = ((x, upper), (x, lower))
            figure.line(*points, colour=colour, width=2.2)
        tip = ((x, 322), (x, 340)) if down else ((x, 44), (x, 30))
        figure.arrow(*tip, colour=colour)
    # what is saved goes across
    left, right = FORWARD + 24 + WIDTH, BACKWARD + 24
    for top, stream, inside in ((first, "X", ("Q, K, V,", "weights")), (second, "h", ("gate,", "up"))):
        fork, bend = FORWARD + 24 + WIDTH / 2, BACKWARD - 22
        figure.line((fork, top), (bend, top), (bend, top + 25), colour="purple", dashed=True)
        figure.arrow((bend, top + 25), (right, top + 25), colour="purple", dashed=True)
        figure.text(left - 4, top - 5, stream, "purple small mono", "middle")
        figure.arrow((left, top + 65), (right, top + 65), colour="purple", dashed=True)
        for label, y in zip(inside, (60, 79)):
            figure.text((left + BACKWARD) / 2 + 1, top + y, label, "purple small", "middle")
        figure.text(BACKWARD + 12, top - 5, "added", "orange small")
        figure.text(BACKWARD + 6, top + 88, "copied", "orange small")
    figure.line((12, 366), (36, 366), colour="purple", dashed=True)
    figure.text(42, 370, "saved: what each backward step reads;", "dim small")
    figure.text(42, 385, "and the inputs of attention, of its output", "dim small")
    figure.text(42, 400, "projection, and of feed-forward", "dim small")
    return figure


def right_triangle(figure, x, y, whole, removed, rest, scale, colours, names):
    """The part that is removed goes to the right of (x, y), the rest up from its end; the whole is their sum."""
    corner, tip = (x + scale * removed, y), (x + scale * removed, y - scale * rest)
    figure.line((corner[0] - 8, y), (corner[0] - 8, y - 8), (corner[0], y - 8), colour="faint")
    for points, colour in (((x, y), corner), colours[1]), ((corner, tip), colours[2]), (((x, y), tip), colours[0]):
        figure.line(*points, colour=colour, width=2)
        figure.arrow(*points, colour=colour)
    assert abs(whole**2 - removed**2 - rest**2) < 1e-4
    middle = (x + scale * removed / 2, y - scale * rest / 2)
    figure.text(middle[0] - 6, middle[1] - 6, names[0], f"{colours[0]} small strong", "end")
    figure.text(middle[0], y + 16, names[1], f"{colours[1]} small strong", "middle")
    figure.text(corner[0] + 6, middle[1] + 4, names[2], f"{colours[2]} small strong")


def projection():
    figure = Figure(
        "What LayerNorm's backward pass takes out of a gradient, as vectors: its mean, then its part along the normalized row. "
        "Each time what is left is at a right angle to what was removed",
        282,
    )
    X = golden(LESSON, "layer_norm_by_hand", "X")[0, 0]
    g = (golden(LESSON, "layer_norm_by_hand", "d_output")[0, 0] * golden(LESSON, "layer_norm_by_hand", "weight")).round(
        9
    )
    x_hat = (X - X.mean()) / X.std()
    mean, along = np.full(4, g.mean()), ((g * x_hat).mean() * x_hat).round(9)
    centred, rest = g - mean, (g - mean - along).round(9)

    def row(values):
        return "(" + ", ".join(f"{v:g}" for v in values).replace("-", "−") + ")"

    lengths = {
        name: float(np.linalg.norm(v)) for name, v in (("g", g), ("m", mean), ("c", centred), ("a", along), ("r", rest))
    }
    figure.text(12, 20, "1. Remove the mean", "small strong")
    names = ("g", "mean", "g − mean")
    right_triangle(figure, 24, 118, lengths["g"], lengths["m"], lengths["c"], 18, ("purple", "dim", "blue"), names)
    figure.text(206, 20, "2. Remove along x̂", "small strong")
    names = ("g − mean", "along x̂", "rest")
    right_triangle(figure, 258, 118, lengths["c"], lengths["a"], lengths["r"], 18, ("blue", "green", "orange"), names)
    rows = (
        ("g", g, "purple"),
        ("− mean", mean, "dim"),
        ("= g − mean", centred, "blue"),
        ("− along x̂", along, "green"),
        ("= rest", rest, "orange"),
    )
    for k, (name, values, colour) in enumerate(rows):
        y = 164 + 18 * k
        figure.text(24, y, name, f"{colour} small strong")
        figure.text(112, y, row(values), "small mono")
        figure.text(348, y, f"length {np.linalg.norm(values):.3g}", "dim small", "end")
    figure.text(24, 264, "Divided by the root, 3, the rest is d_x.", "dim small")
    return figure


def cdf(x):
    return (1 + erf(x / sqrt(2))) / 2


def sigmoid(x):
    return 1 / (1 + exp(-x))


CURVES = (
    (lambda x: max(0.0, x), lambda x: 1.0 if x > 0 else 0.0, "dim", "relu"),
    (lambda x: x * cdf(x), lambda x: cdf(x) + x * exp(-x * x / 2) / sqrt(2 * pi), "blue", "gelu"),
    (lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * (1 - sigmoid(x))), "orange", "silu"),
)


DASHES = {"dim": True, "blue": False, "orange": "9 3"}  # so that nobody needs the colours


def plot(figure, left, which, low, high, marks):
    """Functions or derivatives from -4 to 4."""
    width, top, bottom = 152, 40, 176

    def at(x, y):
        return left + width * (x + 4) / 8, bottom - (bottom - top) * (y - low) / (high - low)

    figure.line(at(-4, 0), at(4, 0), colour="faint")
    figure.line(at(0, low), at(0, high), colour="faint")
    for x in (-4, -2, 2, 4):
        figure.text(at(x, 0)[0], bottom + 14, str(x), "dim small", "middle")
    for y in marks:
        figure.line(at(-0.1, y), at(0.1, y), colour="faint")
        figure.text(at(-0.3, y)[0], at(0, y)[1] + 4, f"{y:g}", "dim small", "end")
    for functions in CURVES:
        function, colour = functions[which], functions[2]
        for first, last in ((-80, 0), (1, 80)):  # relu's derivative jumps after 0
            steps = [k / 20 for k in range(first, last + 1) if function(k / 20) <= high]
            if first == 1 and abs(function(0.05) - function(0.0)) < 0.5:
                steps.insert(0, 0.0)
            figure.line(*(at(x, function(x)) for x in steps), colour=colour, width=1.8, dashed=DASHES[colour])


def curves():
    figure = Figure(
        "relu, gelu and silu, and their derivatives: those of gelu and silu go below 0, through 1/2 at 0, and above 1",
        206,
    )
    figure.text(12, 20, "function", "small strong")
    figure.text(188, 20, "derivative", "small strong")
    plot(figure, 14, 0, -0.4, 2.2, (1, 2))
    plot(figure, 190, 1, -0.2, 1.2, (0.5, 1))
    for k, (_, _, colour, name) in enumerate(CURVES):
        figure.line((18, 50 + 16 * k), (44, 50 + 16 * k), colour=colour, width=1.8, dashed=DASHES[colour])
        figure.text(50, 54 + 16 * k, name, f"{colour} small strong")
    return figure


def figures():
    return {"graph": graph(), "projection": projection(), "curves": curves()}
