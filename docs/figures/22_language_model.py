"""Lesson 22: the whole model with its shapes, and what temperature, top-k and top-p make of one distribution."""

from course import golden
from svg import Figure


def model():
    figure = Figure(
        "Token ids become rows of the token embedding, and gpt2 adds rows of its position table. N blocks follow, each with "
        "a cache of its own; then the final norm and the head, which may be the embedding transposed. The last row of the "
        "logits becomes probabilities, and one token is drawn, which is the next input",
        430,
    )
    x, left, wide = 176, 76, 200

    def step(y, label, shape, colour, height=40):
        figure.rect(left, y, wide, height, colour, 0.12, colour)
        figure.text(x, y + 17, label, "small", "middle")
        figure.text(x, y + 32, shape, "small dim", "middle")

    def down(y0, y1, shape=""):
        figure.arrow((x, y0), (x, y1))
        if shape:
            figure.text(x + 9, (y0 + y1) / 2 + 4, shape, "small dim")

    figure.text(x, 18, "token ids  L x B", "small strong", "middle")
    down(24, 38)
    step(38, "token_embedding", "V x E", "blue")
    figure.text(left + wide + 6, 54, "gpt2:", "small dim")
    figure.text(left + wide + 6, 69, "+ positions", "small dim")
    down(78, 102, "X  L x E x B")
    for k in (2, 1, 0):  # a pile of blocks
        figure.rect(left + 4 * k, 102 + 4 * k, wide, 74, "card", 1, "dim")
    figure.text(x, 119, "DecoderBlock, N of them", "small strong", "middle")
    figure.text(x, 137, "h = X + attention(norm(X))", "small", "middle")
    figure.text(x, 153, "h + feed_forward(norm(h))", "small", "middle")
    figure.text(x, 169, "each with its cache", "small dim", "middle")
    down(184, 204, "L x E x B")
    step(204, "final_norm", "1 x E", "orange")
    down(244, 264)
    step(264, "head", "E x V", "blue")
    down(304, 328, "logits  L x V x B")
    step(328, "temperature, top-k, top-p", "the last row, 1 x V", "green")
    down(368, 390)
    figure.rect(left, 390, wide, 24, "green", 0.12, "green")
    figure.text(x, 406, "draw a token", "small", "middle")
    # tied: the same numbers at both ends
    figure.arrow((left, 58), (30, 58), (30, 284), (left, 284), colour="blue", dashed=True)
    for i, word in enumerate(("tied:", "trans-", "posed")):
        figure.text(34, 208 + 15 * i, word, "small blue")
    # the new token is the next input
    figure.arrow((left + wide, 402), (354, 402), (354, 14), (232, 14), colour="green")
    figure.text(346, 222, "the new", "small green", "end")
    figure.text(346, 237, "token", "small green", "end")
    return figure


def sampling():
    panels = [
        ("plain", "the softmax"),
        ("cold", "temperature 0.5"),
        ("hot", "temperature 2"),
        ("top_k", "top-k 2"),
        ("top_p", "top-p 0.75"),
        ("both", "top-k 3, then top-p 0.55"),
    ]
    figure = Figure(
        "One distribution over five tokens six times: as it is, sharper at temperature 0.5, flatter at temperature 2, with "
        "only two tokens after top-k 2, with three after top-p 0.75, and with one after top-k 3 and top-p 0.55",
        424,
    )
    for k, (case, title) in enumerate(panels):
        left, top = 16 + 176 * (k % 2), 12 + 132 * (k // 2)
        values = [value for row in golden("22_language_model", "by_hand", case) for value in row]
        figure.text(left, top + 6, title, "small strong")
        for i, value in enumerate(values):
            height, x = 70 * value, left + 32 * i
            colour = "green" if case in ("top_k", "top_p", "both") else "blue"
            figure.rect(
                x, top + 102 - height, 22, max(height, 1), colour if value > 0 else "dim", 0.7 if value > 0 else 0.4
            )
            text = "0" if value == 0 else f"{value:.2f}" if value >= 0.005 else f"{value:.3f}"
            figure.text(x + 11, top + 97 - height, text, "small", "middle")
            figure.text(x + 11, top + 116, str(i), "small dim", "middle")
    figure.text(16, 416, "Below each bar: its id. Logits: 1, 3, 0, 2, 2.", "dim small")
    return figure


def figures():
    return {"model": model(), "sampling": sampling()}
