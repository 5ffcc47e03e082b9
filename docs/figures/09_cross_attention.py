"""Lesson 09: where cross-attention is in an encoder and decoder, its mask, and a memory that is projected once."""

import numpy as np
from course import golden
from svg import Figure

LESSON = "09_cross_attention"


def encoder_decoder():
    title = "The encoder makes the memory once; each decoder layer makes keys and values of it, and queries of the text so far"
    figure = Figure(title, 344)
    figure.text(66, 24, "source", "strong", "middle")
    figure.text(66, 39, "S tokens", "dim small", "middle")
    figure.arrow((66, 46), (66, 88))
    figure.box(14, 90, 104, 36, "encoder", "", "dim")
    figure.arrow((66, 126), (66, 192))
    figure.text(74, 156, "once per", "dim small")
    figure.text(74, 169, "source", "dim small")
    figure.box(14, 194, 104, 44, "memory, S x E", "strong", "dim")

    middle = 284
    figure.text(middle, 24, "text so far", "strong", "middle")
    figure.text(middle, 39, "L tokens", "dim small", "middle")
    figure.line((146, 62), (352, 62), (352, 296), (146, 296), (146, 62), colour="faint", dashed=True)
    for line, words in enumerate(("decoder", "layer, one", "of N")):
        figure.text(152, 80 + 14 * line, words, "dim small")
    figure.arrow((middle, 46), (middle, 80))
    figure.rect(220, 82, 126, 40, "purple", 0.12, "purple")
    figure.text(middle, 99, "self-attention", "strong", "middle")
    figure.text(middle, 114, "L x L, causal", "dim small", "middle")
    figure.arrow((middle, 122), (middle, 134), colour="blue")
    figure.box(middle - 20, 134, 40, 20, "W_q", "small", "blue")
    figure.arrow((middle, 154), (middle, 188), colour="blue")
    figure.text(middle + 8, 175, "Q", "blue strong")
    figure.rect(220, 190, 126, 52, "purple", 0.12, "purple")
    figure.text(middle, 207, "cross-attention", "strong", "middle")
    figure.text(middle, 222, "L x S, not causal,", "dim small", "middle")
    figure.text(middle, 235, "padding blocked", "dim small", "middle")
    for y, weight, made, colour in ((203, "W_k", "K", "orange"), (229, "W_v", "V", "green")):
        figure.arrow((118, 216), (132, 216), (132, y), (152, y))
        figure.box(152, y - 10, 36, 20, weight, "small", colour)
        figure.arrow((188, y), (218, y), colour=colour)
        figure.text(196, y - 4, made, f"{colour} strong")
    figure.arrow((132, 229), (132, 314), (160, 314), dashed=True)
    figure.text(165, 318, "to the other", "dim small")
    figure.text(165, 331, "layers, too", "dim small")
    figure.arrow((middle, 242), (middle, 258))
    figure.box(220, 260, 126, 26, "MLP", "", "dim")
    figure.arrow((middle, 286), (middle, 318))
    figure.text(middle, 334, "L x E", "strong", "middle")
    return figure


def upright(figure, x, y, text):
    """A small text that is read from below."""
    figure.parts.append(
        f'<text x="{x}" y="{y}" class="ink dim small" text-anchor="middle" transform="rotate(-90 {x} {y})">{text}</text>'
    )


def masks():
    allowed = golden(LESSON, "cross", "mask_batch")[0]  # 5 queries, 7 keys, of which 4 are real
    length, cell, top = len(allowed), 18, 84
    title = "Self-attention has a triangle of 5 x 5; cross-attention a rectangle of 5 x 7 with whole columns blocked"
    figure = Figure(title, 224)
    for left, head, detail, mask, colour, asked in (
        (42, "self-attention", "its own past only", np.tri(length), "blue", "the text itself"),
        (206, "cross-attention", "all of the source", allowed, "blue", "the source"),
    ):
        figure.text(left - 26, 22, head, "strong")
        figure.text(left - 26, 37, detail, "dim small")
        figure.text(left, 62, f"keys: {asked}", "dim small")
        upright(figure, left - 22, top + cell * length / 2, "queries")
        rows = [str(i) for i in range(length)]
        figure.matrix(left, top, mask, None, (cell, cell), 1, colour, rows, [str(j) for j in range(mask.shape[1])])
    under = top + cell * length
    figure.line((278, under + 4), (332, under + 4), width=2)
    figure.text(305, under + 18, "padding", "dim small", "middle")
    for x, opacity, words in ((42, 0.75, "may attend"), (152, 0, "blocked")):
        figure.rect(x, under + 30, 12, 12, "blue", opacity, "faint", 0)
        figure.text(x + 18, under + 40, words, "dim small")
    return figure


def once():
    figure = Figure(
        "Projected in every step, W_k and W_v come before each query; projected once, they come before the first", 150
    )
    for top, head, repeated in ((20, "projected in every step", True), (92, "projected once", False)):
        figure.text(12, top, head, "strong")
        x, y = 12, top + 24
        for step in range(3):
            if repeated or step == 0:
                figure.box(x, y, 66, 22, "W_k, W_v", "small", "orange", 0.22)
                x += 68
            figure.box(x, y, 32, 22, "W_q", "small", "blue")
            figure.text(x + 16, y - 5, f"step {step}", "dim small", "middle")
            x += 44
    figure.text(354, 130, "W_k, W_v: 1500 tokens", "dim small", "end")
    figure.text(354, 144, "W_q: one token", "dim small", "end")
    return figure


def selection():
    figure = Figure(
        "Slices 0 to 5 belong to three sources with two heads each; the selection 2, 0, 0 takes 4 5, 0 1, 0 1", 186
    )
    heads, chosen, cell, left, top, under = 2, (2, 0, 0), 30, 24, 46, 122
    block = heads * cell + 22

    def sources(y, numbers):
        for i, b in enumerate(numbers):
            for h in range(heads):
                x = left + i * block + h * cell
                colour = ("blue", "orange")[h]
                figure.rect(x, y, cell, 24, colour, 0.22, colour, 0)
                figure.text(x + cell / 2, y + 16, str(b * heads + h), "small mono", "middle")

    middle = [left + i * block + cell for i in range(3)]
    sources(top, range(3))
    for i, b in enumerate(chosen):
        figure.text(middle[i], top - 8, f"source {i}", "dim small", "middle")
        figure.arrow((middle[b] + 6 * (i - 1), top + 26), (middle[i], under - 2))
        figure.text(middle[i], under + 38, f"{i}: source {b}", "dim small", "middle")
    sources(under, chosen)
    figure.text(left, 20, "memory: slice b·H + h", "strong")
    figure.text(284, top + 16, "head 0", "blue small")
    figure.text(284, top + 30, "head 1", "orange small")
    figure.text(284, under + 16, "selected", "strong")
    figure.text(left, 178, "Keys and values alike, and the slices of the mask.", "dim small")
    return figure


def figures():
    return {"encoder_decoder": encoder_decoder(), "masks": masks(), "once": once(), "selection": selection()}
