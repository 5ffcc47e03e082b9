"""Lesson 25: the layer forward and backward, what is used several times, and a rotation with its way back."""

from math import cos, pi, sin

from course import golden
from svg import Figure

LESSON = "25_multi_head_backward"


def graph():
    figure = Figure(
        "The layer forward, on the left and downwards, and backward, on the right and upwards: the same steps in reverse",
        506,
    )
    left, right, width, tall, step = 10, 186, 164, 26, 68
    figure.text(left + width / 2, 20, "forward", "blue strong", "middle")
    figure.text(right + width / 2, 20, "backward", "orange strong", "middle")
    rows = [
        ("X (L x E)", "d_X (L x E)"),
        ("Q, K, V: H, G, G heads", "d_Q, d_K, d_V: H, G, G"),
        ("Q, K, V: H heads each", "d_Q, d_K, d_V: H each"),
        ("context: H heads", "d_context: H heads"),
        ("merged (L x H·D)", "d_merged (L x H·D)"),
        ("output (L x E)", "d_output (L x E)"),
    ]
    steps = [
        (("X W + b, three times,", "split_heads"), ("merge_heads, times Wᵀ:", "three shares, added up")),
        (("turn Q and K,", "repeat K and V"), ("add up over groups,", "turn back d_Q and d_K")),
        (("attention", "(lesson 24)"), ("attention_backward", "(lesson 24)")),
        (("merge_heads",), ("split_heads",)),
        (("merged W_o + b",), ("times W_oᵀ",)),
    ]
    tops = [32 + step * i for i in range(len(rows))]
    for top, (forward, backward) in zip(tops, rows):
        figure.box(left, top, width, tall, forward, "small", "blue")
        figure.box(right, top, width, tall, backward, "small", "orange")
    for i, (forward, backward) in enumerate(steps):
        upper, lower = tops[i] + tall, tops[i + 1]
        figure.arrow((left + 10, upper), (left + 10, lower), colour="blue")
        figure.arrow((right + 10, lower), (right + 10, upper), colour="orange")
        for x, lines in ((left, forward), (right, backward)):
            for k, line in enumerate(lines):
                figure.text(x + 18, (upper + lower) / 2 + 4 + 14 * (k - (len(lines) - 1) / 2), line, "dim small")
    for i in (0, 2, 4):  # what is kept goes to the step back that uses it
        figure.arrow(
            (left + width, tops[i] + 13), (right + 6, (tops[i] + tall + tops[i + 1]) / 2), colour="purple", dashed=True
        )
    figure.arrow((left + width, tops[5] + 13), (right, tops[5] + 13), colour="green")
    figure.text(180, tops[5] + 46, "green: to the loss, whose gradient comes back", "green small", "middle")
    figure.line((12, 444), (36, 444), colour="purple", dashed=True)
    figure.text(42, 448, "kept: X and merged, for d_W; Q, K, V, weights", "dim small")
    figure.text(12, 472, "Gradients of the weights:", "orange small")
    figure.text(12, 490, "d_W_q = Xᵀ d_Q, ..., d_W_o = mergedᵀ d_output", "dim small")
    return figure


def pair(values):
    return "(" + ", ".join(f"{x:.2f}".replace("-", "−") for x in values) + ")"


def turned_keys_gradients():
    """d_K of token 1 for each query head, before it is turned back: of the example worked by hand."""
    X, W_k = golden(LESSON, "by_hand", "X")[0], golden(LESSON, "by_hand", "key_proj.weight").T
    d_W = golden(LESSON, "by_hand", "d_key_proj.weight")
    a, b = d_W[1]  # X is the identity: rows of d_W are those of the gradient of X W_k
    assert (X == W_k).all()
    return (-b, 0.0), (0.0, a), (-b, a), (a, b)


def shared():
    figure = Figure(
        "One key is read by two query heads, so its gradient is the sum of two; X is read by three projections, so its gradient "
        "is the sum of three",
        318,
    )
    head_0, head_1, total, _ = turned_keys_gradients()
    figure.text(12, 20, "Used several times: gradients add up", "small strong")
    figure.box(12, 78, 106, 34, "key 1, shared", "small", "purple")
    for y, name, share in ((44, "query head 0", head_0), (118, "query head 1", head_1)):
        figure.box(252, y, 96, 30, name, "small", "blue")
        figure.arrow((118, 92), (252, y + 10), colour="blue")
        figure.arrow((252, y + 22), (118, 104 + (y - 81) / 8), colour="orange")
    figure.text(248, 38, pair(head_0), "orange small mono", "end")
    figure.text(248, 160, pair(head_1), "orange small mono", "end")
    figure.text(65, 132, "d_key 1 =", "orange small", "middle")
    figure.text(65, 148, pair(total), "orange small mono", "middle")
    figure.line((12, 174), (348, 174), colour="faint")
    figure.box(12, 226, 106, 34, "X", "small", "purple")
    for y, name in ((186, "query_proj"), (228, "key_proj"), (270, "value_proj")):
        figure.box(252, y, 96, 30, name, "small", "blue")
        figure.arrow((118, 239), (252, y + 10), colour="blue")
        figure.arrow((252, y + 22), (118, 249), colour="orange")
    figure.text(65, 282, "d_X = sum of three", "orange small", "middle")
    figure.text(12, 300, "d_W: the sum over all tokens", "dim small")
    return figure


def axes(figure, x, y, radius):
    figure.line((x - radius, y), (x + radius, y), colour="faint")
    figure.line((x, y - radius), (x, y + radius), colour="faint")


def arc(figure, x, y, radius, begin, end, colour):
    """From the angle begin to end, counted against the clock."""
    steps = [begin + (end - begin) * k / 16 for k in range(17)]
    figure.arrow(*((x + radius * cos(t), y - radius * sin(t)) for t in steps), colour=colour)


def rotation():
    figure = Figure("Forward, a key is turned by 90 degrees. Backward, its gradient is turned by minus 90 degrees", 206)
    *_, before, after = turned_keys_gradients()
    radius = 66
    for x, heading, colour in ((92, "forward: by +t", "blue"), (268, "backward: by −t", "orange")):
        figure.text(x, 20, heading, f"{colour} small strong", "middle")
        axes(figure, x, 104, radius + 6)
    figure.arrow((92, 104), (92, 104 - radius), colour="dim", dashed=True)
    figure.arrow((92, 104), (92 - radius, 104), colour="blue")
    arc(figure, 92, 104, 30, pi / 2, pi, "blue")
    figure.text(98, 44, "key (0, 1)", "dim small")
    figure.text(12, 122, "turned (−1, 0)", "blue small")
    scale = 100
    figure.arrow((268, 104), (268 + scale * before[0], 104 - scale * before[1]), colour="dim", dashed=True)
    figure.arrow((268, 104), (268 + scale * after[0], 104 - scale * after[1]), colour="orange")
    arc(figure, 268, 104, 34, 1.0, -0.56, "orange")
    figure.text(354, 44, pair(before), "dim small", "end")
    figure.text(354, 158, pair(after), "orange small", "end")
    figure.text(180, 196, "token 1, t = 90 degrees", "dim small", "middle")
    return figure


def figures():
    return {"graph": graph(), "shared": shared(), "rotation": rotation()}
