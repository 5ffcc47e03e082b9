"""Lesson 12: multi-head attention as one draws it on a whiteboard."""

from svg import Figure


def whiteboard():
    figure = Figure("Five boxes: project, split, weights, mix, merge and project; with the shape on every arrow", 430)
    left, width, middle = 22, 212, 128

    figure.rect(left - 10, 184, width + 20, 128, "faint", 0.25, "faint", 6)  # first, so that it covers no arrow
    figure.text(middle, 20, "X", "strong", "middle")
    figure.arrow((middle, 26), (middle, 50))
    figure.text(middle + 8, 42, "L x E x B", "small")
    figure.box(left, 54, width, 32, "1  project: W_q, W_k, W_v", "strong", "blue")
    for name, x in (("Q", 60), ("K", middle), ("V", 196)):
        figure.arrow((x, 86), (x, 114))
        figure.text(x + 6, 104, name, "strong small")
    figure.text(248, 104, "each L x E x B", "small")
    figure.box(left, 118, width, 32, "2  split into heads", "strong", "orange")
    for name, x in (("Q", 60), ("K", middle)):
        figure.arrow((x, 150), (x, 193))
        figure.text(x + 6, 173, name, "strong small")
    figure.arrow((196, 150), (196, 166), (262, 166), (262, 288), (235, 288))
    figure.text(202, 161, "V", "strong small")
    figure.text(31, 166, "mask", "strong small", "middle")
    figure.arrow((31, 171), (31, 193))
    figure.text(268, 173, "each", "small")
    figure.text(268, 187, "L x D x H·B", "small")
    figure.rect(left, 194, width, 42, "purple", 0.12, "purple")
    figure.text(middle, 212, "3  scores Q Kᵀ / √D,", "strong", "middle")
    figure.text(middle, 228, "mask, softmax, dropout", "strong", "middle")
    figure.arrow((middle, 236), (middle, 268))
    figure.text(middle + 8, 256, "L x L x H·B", "small")
    figure.text(middle - 8, 256, "weights", "small", "end")
    figure.box(left, 272, width, 32, "4  weights times V", "strong", "green")
    figure.text(270, 236, "H·B slices,", "dim small")
    figure.text(270, 250, "each alone", "dim small")
    figure.arrow((middle, 304), (middle, 338))
    figure.text(middle + 8, 328, "L x D x H·B", "small")
    figure.text(middle - 8, 328, "context", "small", "end")
    figure.box(left, 342, width, 32, "5  merge heads, then W_o", "strong", "orange")
    figure.arrow((middle, 374), (middle, 400))
    figure.text(middle + 8, 391, "L x E x B", "small")
    figure.text(middle, 418, "output", "strong", "middle")
    return figure


def figures():
    return {"whiteboard": whiteboard()}
