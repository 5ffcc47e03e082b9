"""Lesson 09: where cross-attention is in an encoder and decoder, and its mask beside that of self-attention."""

import numpy as np
from course import golden
from svg import Figure

LESSON = "09_cross_attention"


def encoder_decoder():
    title = "The encoder turns S tokens into the memory; a decoder layer takes queries from L tokens, keys and values from the memory"
    figure = Figure(title, 330)
    figure.text(82, 24, "source", "strong", "middle")
    figure.text(82, 39, "S tokens", "dim small", "middle")
    figure.arrow((82, 46), (82, 74))
    figure.box(22, 76, 120, 40, "encoder", "", "orange")
    figure.arrow((82, 116), (82, 166))
    figure.text(90, 136, "once per", "dim small")
    figure.text(90, 149, "source", "dim small")
    figure.box(22, 168, 120, 44, "memory, S x E", "strong", "orange", 0.3)
    figure.arrow((142, 190), (198, 190), colour="orange")
    figure.text(165, 182, "K, V", "orange strong", "middle")

    figure.text(270, 24, "text so far", "strong", "middle")
    figure.text(270, 39, "L tokens", "dim small", "middle")
    figure.arrow((270, 46), (270, 80))
    figure.line((188, 62), (352, 62), (352, 272), (188, 272), (188, 62), colour="faint", dashed=True)
    figure.text(190, 56, "decoder", "dim small")
    for top, name, detail, colour in (
        (82, "self-attention", "L x L, causal mask", "blue"),
        (162, "cross-attention", "L x S, no causal mask", "purple"),
    ):
        figure.rect(200, top, 140, 44, colour, 0.12, colour)
        figure.text(270, top + 18, name, "strong", "middle")
        figure.text(270, top + 34, detail, "dim small", "middle")
    figure.arrow((270, 126), (270, 160), colour="blue")
    figure.text(278, 148, "Q", "blue strong")
    figure.arrow((270, 206), (270, 230))
    figure.box(200, 232, 140, 28, "MLP", "", "green")
    figure.arrow((270, 260), (270, 300))
    figure.text(270, 316, "L x E", "strong", "middle")
    return figure


def masks():
    allowed = golden(LESSON, "cross", "mask_batch")[0]  # 5 queries, 7 keys, of which 4 are real
    length = len(allowed)
    title = "Self-attention has a triangle of 5 x 5; cross-attention a rectangle of 5 x 7 with whole columns blocked"
    figure = Figure(title, 180)
    figure.text(14, 22, "self-attention", "strong")
    figure.text(14, 37, "L x L: own past only", "dim small")
    figure.text(176, 22, "cross-attention", "strong")
    figure.text(176, 37, "L x S: only padding blocked", "dim small")
    for left, mask, colour in ((34, np.tri(length), "blue"), (196, allowed, "purple")):
        labels = [str(i) for i in range(length)]
        figure.matrix(left, 62, mask, None, (18, 18), 1, colour, labels, [str(j) for j in range(mask.shape[1])])
    figure.text(268, 170, "padding", "dim small")
    figure.line((268, 155), (322, 155), colour="orange", width=2)
    return figure


def figures():
    return {"encoder_decoder": encoder_decoder(), "masks": masks()}
