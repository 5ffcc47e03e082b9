"""Lesson 07: the way of one token through two heads, with the numbers worked by hand."""

from course import golden
from svg import Figure

LESSON = "07_multi_head_attention"
COLOURS = ("blue", "orange")  # of head 0 and of head 1


def row(figure, x, y, values, colours, width, digits=4):
    """Numbers side by side, each in the colour of the head that it comes from."""
    for j, (value, colour) in enumerate(zip(values, colours)):
        figure.rect(x + j * width, y, width, 24, colour, 0.22 if colour != "dim" else 0, colour, 0)
        text = f"{value:.0f}" if digits == 0 else f"{value:.{digits}f}"
        figure.text(x + (j + 0.5) * width, y + 16, text, "small mono", "middle")


def token():
    X, W_v = golden(LESSON, "by_hand", "X")[0], golden(LESSON, "by_hand", "value_proj.weight").T
    weights, output = golden(LESSON, "by_hand", "weights")[0], golden(LESSON, "by_hand", "output")[0]
    V = X @ W_v
    contexts = [weights[h][0] @ V[:, 2 * h : 2 * h + 2] for h in range(2)]
    both = [COLOURS[0]] * 2 + [COLOURS[1]] * 2

    figure = Figure("The query of token 0 is cut in two; each head has its own map and context; W_o mixes them", 382)
    figure.text(180, 20, "query of token 0 (W_q leaves X as it is)", "strong", "middle")
    row(figure, 120, 28, X[0], both, 30, digits=0)
    for h, (colour, middle) in enumerate(zip(COLOURS, (92, 268))):
        figure.arrow((150 + 60 * h, 54), (150 + 60 * h, 64), (middle, 64), (middle, 82), colour=colour)
        figure.text(middle, 98, f"head {h}: weights", f"{colour} strong", "middle")
        figure.matrix(
            middle - 50, 122, weights[h], 4, (50, 24), shade=1, colour=colour, columns=[f"key {j}" for j in range(2)]
        )
        figure.rect(middle - 51, 121, 102, 26, colour, 0, "ink", 2)
        figure.arrow((middle, 174), (middle, 206), colour=colour)
        figure.text(middle + 8, 194, f"times V_{h}", "dim small")
        row(figure, middle - 52, 210, contexts[h], [colour] * 2, 52)
        figure.arrow((middle, 236), (middle, 252), (128 + 104 * h, 252), (128 + 104 * h, 272), colour=colour)
    figure.text(180, 139, "token 0", "dim small", "middle")
    figure.text(180, 163, "token 1", "dim small", "middle")
    figure.text(180, 226, "context", "dim small", "middle")
    row(figure, 76, 276, [*contexts[0], *contexts[1]], both, 52)
    figure.text(70, 292, "merged", "dim small", "end")
    figure.arrow((180, 302), (180, 334))
    figure.text(188, 322, "times W_o", "dim small")
    row(figure, 76, 338, output[0], ["dim"] * 4, 52)
    figure.text(70, 354, "output", "strong small", "end")
    return figure


def figures():
    return {"token": token()}
