"""Lesson 08: how real models order the columns of Q, K and V, and how the heads are spread over two GPUs."""

import numpy as np
from course import golden
from svg import Figure

LESSON = "08_fused_multi_head_attention"
COLOURS = {"q": "blue", "k": "orange", "v": "green"}


def strip(figure, left, top, blocks, width=54, slices=True):
    """Blocks of columns side by side, such as q0; head 0 in a strong colour. Their numbers as slices below."""
    for i, block in enumerate(blocks):
        kind, head = block
        figure.rect(left + i * width, top, width, 28, COLOURS[kind], 0.6 if head == "0" else 0.14, COLOURS[kind], 0)
        figure.text(left + (i + 0.5) * width, top + 18, f"{kind}_{head}", "strong", "middle")
        if slices:
            figure.text(left + (i + 0.5) * width, top + 42, str(i), "dim small mono", "middle")


def layouts():
    title = "The order of the columns for two heads in GPT-2, GPT-NeoX and Llama; head 0 is in strong colours"
    figure = Figure(title, 282)
    figure.text(18, 20, "GPT-2, and here: one weight, Q then K then V", "strong")
    strip(figure, 18, 28, ["q0", "q1", "k0", "k1", "v0", "v1"])
    figure.text(18, 98, "GPT-NeoX: one weight, head after head", "strong")
    strip(figure, 18, 106, ["q0", "k0", "v0", "q1", "k1", "v1"])
    figure.text(18, 176, "Llama 2 7B: three weights", "strong")
    for i, kind in enumerate("qkv"):
        strip(figure, 18 + 111 * i, 184, [f"{kind}0", f"{kind}1"], width=51, slices=False)
    figure.text(18, 238, "Block: D outputs (columns here, rows of nn.Linear).", "dim small")
    figure.text(18, 254, "Number: the slice that split_heads makes of it.", "dim small")
    figure.text(18, 270, "Strong colour: head 0.", "dim small")
    return figure


def gpus():
    output_weight = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1]])
    bias = np.array([0, 0, 1, 0])
    qkv_weight = np.array(
        [
            [1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 2],
            [0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0],
            [1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0],
            [0, 0, 1, 1, 1, 0, 0, 0, 2, 0, 0, 1],
        ]
    )
    values = np.array([[1, 0, 1, 0], [0, 2, 0, 1]]) @ qkv_weight[:, 8:] + np.array([0, 1, 0, -1])
    weights, output = golden(LESSON, "by_hand", "weights")[0], golden(LESSON, "by_hand", "output")[0]
    terms = [weights[h] @ values[:, 2 * h : 2 * h + 2] @ output_weight[2 * h : 2 * h + 2] for h in range(2)]
    assert np.allclose(sum(terms) + bias, output)

    title = "Two GPUs, a head each: each makes one summand of the output, and one all-reduce adds them"
    figure = Figure(title, 372)
    figure.box(112, 12, 136, 26, "X, on both GPUs", "", "dim")
    for h, left in enumerate((12, 192)):
        middle = left + 78
        figure.arrow((180, 38), (180, 50), (middle, 50), (middle, 72))
        figure.text(left, 66, f"GPU {h}", "strong")
        figure.box(left, 74, 156, 26, f"columns q_{h} k_{h} v_{h}", "", "blue")
        figure.arrow((middle, 100), (middle, 114))
        figure.box(left, 116, 156, 26, f"attention of head {h}", "", "purple")
        figure.arrow((middle, 142), (middle, 156))
        figure.box(left, 158, 156, 26, f"rows {2 * h}, {2 * h + 1} of W_o", "", "green")
        figure.arrow((middle, 184), (middle, 198))
        figure.matrix(left, 200, terms[h], 2, (39, 22), shade=6, colour=("blue", "orange")[h])
        figure.arrow((middle, 244), (middle, 262))
    figure.box(12, 264, 336, 26, "all-reduce: add, then + b_o once", "strong", "dim", 0.12)
    figure.arrow((180, 290), (180, 304))
    figure.matrix(102, 306, output, 2, (39, 22), shade=6, colour="dim")
    figure.text(94, 332, "output", "strong", "end")
    figure.text(266, 332, "on both", "dim small")
    return figure


def figures():
    return {"layouts": layouts(), "gpus": gpus()}
