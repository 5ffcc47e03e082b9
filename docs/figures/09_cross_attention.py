"""Lesson 09: where cross-attention is in an encoder and decoder, and its mask beside that of self-attention."""

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
    figure.line((middle, 122), (middle, 134), colour="blue")
    figure.box(middle - 20, 134, 40, 20, "W_q", "small", "blue")
    figure.arrow((middle, 154), (middle, 188), colour="blue")
    figure.text(middle + 8, 175, "Q", "blue strong")
    figure.rect(220, 190, 126, 52, "purple", 0.12, "purple")
    figure.text(middle, 207, "cross-attention", "strong", "middle")
    figure.text(middle, 222, "L x S, not causal,", "dim small", "middle")
    figure.text(middle, 235, "padding blocked", "dim small", "middle")
    for y, weight, made, colour in ((203, "W_k", "K", "orange"), (229, "W_v", "V", "green")):
        figure.line((118, 216), (132, 216), (132, y), (152, y))
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


def figures():
    return {"encoder_decoder": encoder_decoder(), "masks": masks()}
