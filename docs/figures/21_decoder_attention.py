"""Lesson 21: the way of a token through the layer, and the masks of two sequences that come in three calls."""

from svg import Figure


def flow():
    figure = Figure(
        "X is projected to queries, keys and values; queries and keys are normalized and turned; keys and values go into "
        "the cache; the queries attend to all of it",
        408,
    )
    columns = {"Q": (62, "blue"), "K": (172, "orange"), "V": (282, "green")}
    wide, tall = 100, 26

    def box(x, y, label, colour):
        figure.box(x - wide / 2, y, wide, tall, label, "small", colour)

    figure.box(114, 10, 116, tall, "X   L x E x B", "small", "dim")
    for name, (x, colour) in columns.items():
        figure.line((172, 36), (172, 46), (x, 46))
        figure.arrow((x, 46), (x, 58))
        box(x, 58, {"Q": "query_proj", "K": "key_proj", "V": "value_proj"}[name], colour)
        label = {"Q": "L x D x H·B", "K": "L x D x G·B", "V": "L x D x G·B"}[name]
        figure.text(x + 4 if name != "V" else 252, 97, label, "dim small")
    for name in "QK":
        x, colour = columns[name]
        figure.arrow((x, 84), (x, 104))
        box(x, 104, "QK-norm", colour)
        figure.arrow((x, 130), (x, 148))
        box(x, 148, "RoPE", colour)
    figure.arrow((240, 161), (224, 161), colour="purple")
    figure.text(244, 158, "positions", "purple small")
    figure.text(244, 172, "L x B", "purple small")
    figure.arrow((172, 174), (172, 204))
    figure.arrow((322, 84), (322, 204))
    figure.rect(124, 204, 222, 44, "orange", 0.12, "orange")
    figure.text(235, 222, "KV cache: append, then read all", "small strong", "middle")
    figure.text(235, 239, "S x D x G·B, turned keys", "dim small", "middle")
    figure.line((62, 174), (62, 268))
    figure.arrow((62, 268), (62, 276))
    figure.arrow((172, 248), (172, 276))
    figure.arrow((282, 248), (282, 276))
    figure.rect(12, 276, 334, 62, "blue", 0.1, "blue")
    figure.text(179, 294, "Q Kᵀ / √D,  soft cap,  mask L x S x B,", "small", "middle")
    figure.text(179, 310, "softmax,  times V", "small", "middle")
    figure.text(179, 328, "H / G query heads share a slice of K and V", "dim small", "middle")
    figure.arrow((179, 338), (179, 356))
    figure.box(104, 356, 150, tall, "merge, output_proj", "small", "dim")
    figure.text(179, 400, "output   L x E x B", "small", "middle")
    figure.arrow((179, 382), (179, 390))
    return figure


def calls():
    """Two sequences under a window of 3, each in three calls of another size."""
    figure = Figure(
        "Two sequences of 6 and 5 tokens, in calls of 3, 2, 1 and of 1, 1, 3 tokens. Under a window of 3 both fill the same "
        "band along the diagonal, whatever the calls are",
        222,
    )
    cell, window, colours = 20, 3, ("blue", "orange", "green")
    for left, title, sizes in ((46, "sequence 0: 3, 2, 1", (3, 2, 1)), (222, "sequence 1: 1, 1, 3", (1, 1, 3))):
        total = sum(sizes)
        figure.text(left + 3 * cell, 20, title, "small strong", "middle")
        call_of = [call for call, size in enumerate(sizes) for _ in range(size)]
        for i in range(total):
            for j in range(6):
                visible = i - window < j <= i
                figure.rect(
                    left + j * cell,
                    46 + i * cell,
                    cell,
                    cell,
                    colours[call_of[i]] if visible else "faint",
                    0.6 if visible else (0.35 if j < i else 0),
                    "faint",
                    0,
                )
            figure.text(left - 6, 46 + (i + 0.5) * cell + 4, str(i), "dim small", "end")
        for j in range(6):
            figure.text(left + (j + 0.5) * cell, 40, str(j), "dim small", "middle")
    for k, colour in enumerate(colours):
        figure.rect(20 + 84 * k, 182, 10, 10, colour, 0.6, None, 2)
        figure.text(36 + 84 * k, 191, f"call {k + 1}", "small")
    figure.rect(272, 182, 10, 10, "faint", 0.35, None, 2)
    figure.text(288, 191, "too old", "small")
    figure.text(20, 212, "Rows and columns are positions in the text.", "dim small")
    return figure


def figures():
    return {"flow": flow(), "calls": calls()}
