"""Lesson 22: the whole model with its shapes, what temperature, top-k and top-p make of one distribution, and a generation."""

from course import golden
from svg import Figure, number


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
    figure.text(x, 153, "X' = h + feed_forward(norm(h))", "small", "middle")
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
    """Temperature above; below it, which tokens top-k and top-p keep of the sorted ones."""
    logits = "Logits: 1, 3, 0, 2, 2. Below each bar: its id."
    figure = Figure(
        "One distribution over five tokens: as it is, sharper at temperature 0.5, flatter at temperature 2. Sorted by probability, its "
        "running sum is 0.52, 0.71, 0.90, 0.97 and 1: token 4 crosses 0.75, and belongs to the nucleus",
        394,
    )
    for k, (case, title) in enumerate((("plain", "T = 1"), ("cold", "T = 0.5"), ("hot", "T = 2"))):
        left = 12 + 116 * k
        figure.text(left, 18, title, "small strong")
        for i, value in enumerate(golden("22_language_model", "by_hand", case)[0]):
            x, height = left + 21 * i, 74 * value
            figure.rect(x, 106 - height, 17, max(height, 1), "blue", 0.7, None, 2)
            text = f"{value:.2f}".lstrip("0") if value >= 0.005 else "≈0"  # none is 0
            figure.text(x + 8.5, 102 - height, text, "small", "middle")
            figure.text(x + 8.5, 120, str(i), "small dim", "middle")
    figure.text(12, 138, logits, "small dim")

    probabilities = golden("22_language_model", "by_hand", "plain")[0]
    order = sorted(range(5), key=lambda i: -probabilities[i])  # stable: of equals the smaller id first
    left, bottom, tall, step, wide = 40, 346, 170, 56, 40
    figure.text(12, 162, "sorted, with the running sum", "small strong")

    def level(y):
        return bottom - tall * y

    for y in (0, 0.5, 1):
        figure.text(left - 8, level(y) + 4, f"{y:g}", "small dim", "end")
        figure.line((left - 4, level(y)), (left + 5 * step, level(y)), colour="faint")
    figure.line((left - 4, level(0.75)), (left + 5 * step, level(0.75)), colour="orange", width=1.5, dashed=True)
    figure.text(left + 5 * step, level(0.75) + 14, "top_p = 0.75", "small orange", "end")
    total, points = 0.0, []
    for k, token in enumerate(order):
        kept, x = total < 0.75, left + step * k
        height = tall * probabilities[token]
        figure.rect(x, bottom - height, wide, height, "green" if kept else "dim", 0.7 if kept else 0.35, None, 2)
        total += probabilities[token]
        points.append((x + wide / 2, level(total)))
        figure.text(x + wide / 2, bottom + 15, f"id {token}", "small strong green" if kept else "small dim", "middle")
    figure.line(*points, colour="ink", width=1.5)
    sums = [sum(probabilities[token] for token in order[: k + 1]) for k in range(5)]
    for k, ((x, y), value) in enumerate(zip(points, sums)):
        figure.parts.append(
            f'<circle cx="{number(x)}" cy="{number(y)}" r="3" class="{"orange" if k == 2 else "ink"}"/>'
        )
        where = (x + 7, y + 13, "start") if k == 1 else (x - 5, y - 6, "end") if k == 0 else (x, y - 7, "middle")
        figure.text(*where[:2], f"{value:.2f}" if value < 0.999 else "1", "small mono", where[2])
    figure.line((left + 2 * step - 8, level(0.62)), (left + 2 * step - 8, bottom + 20), colour="purple", dashed=True)
    figure.text(left + 2 * step - 4, level(0.55), "top-k 2 ends here", "small purple")
    figure.text(12, 384, "Token 4 crosses the line at 0.75: the last one kept.", "small")
    return figure


def shift():
    """The generation of the chapter: which row of logits is about which token."""
    figure = Figure(
        "Tokens 1, 1, 0, 2, 0 at the positions 0 to 4. Each row of logits is about the token one position later. The prompt goes through "
        "the model in call 1, token 2 in call 2; the last token goes through no call",
        236,
    )
    left, step, wide = 66, 58, 46
    known, drawn = "dim", "green"
    tokens = [1, 1, 0, *(int(token) for token in golden("22_language_model", "by_hand", "tokens"))]
    for first, last, label in ((0, 2, "call 1: the prompt"), (3, 3, "call 2")):
        x0, x1 = left + step * first, left + step * last + wide
        figure.line((x0, 34), (x0, 28), (x1, 28), (x1, 34), colour="blue")
        figure.text((x0 + x1) / 2, 20, label, "small blue", "middle")
    for y, label in ((54, "input"), (98, "logits"), (160, "next")):
        figure.text(8, y + 4, label, "small dim")
    for position, token in enumerate(tokens):
        x = left + step * position
        last = position == len(tokens) - 1
        if not last:
            figure.box(x, 42, wide, 24, str(token), "mono", "blue")
            figure.arrow((x + wide / 2, 66), (x + wide / 2, 86))
            colour = drawn if position >= 2 else known
            figure.box(x, 86, wide, 24, f"row {position if position < 3 else 0}", "small", colour)
            figure.arrow((x + wide / 2, 110), (x + step + wide / 2, 148), colour=colour)
            figure.box(x + step, 148, wide, 24, str(tokens[position + 1]), "mono", colour)
        figure.text(x + wide / 2, 190, str(position), "small dim", "middle")
    figure.text(8, 190, "position", "small dim")
    figure.text(8, 210, "Grey: known, so perplexity compares the row with it.", "small")
    figure.text(8, 227, "Green: drawn from the last row of a call.", "small green")
    return figure


def figures():
    return {"model": model(), "sampling": sampling(), "shift": shift()}
