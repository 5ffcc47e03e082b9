"""Lesson 30: what a token leaves in the cache, and the two ways to attend to it."""

from svg import Figure


def cache():
    """Numbers per token and layer, to scale, with DeepSeek-V2's 128 heads of width 128."""
    kept = (
        ("multi-head", "keys and values of 128 heads", 2 * 128 * 128),
        ("grouped", "keys and values of 8 heads", 2 * 8 * 128),
        ("latent", "one latent and one rotated key", 512 + 64),
    )
    figure = Figure(
        "What a token leaves in the cache of one layer: 32768 numbers in multi-head attention, 2048 with 8 key/value heads, 576 "
        "in latent attention: a latent of 512 and a rotated key of 64, enlarged below",
        192,
    )
    figure.text(10, 22, "numbers per token and layer, to scale", "dim small")
    most = kept[0][2]
    for k, (name, what, numbers) in enumerate(kept):
        y = 36 + 46 * k
        figure.text(10, y + 12, name, "strong small")
        figure.text(86, y + 12, what, "small")
        figure.text(350, y + 12, str(numbers), "small mono", "end")
        width = 340 * numbers / most
        if k < 2:
            figure.rect(10, y + 18, width / 2, 16, "orange", 0.75, None, 0)
            figure.rect(10 + width / 2, y + 18, width / 2, 16, "green", 0.75, None, 0)
        else:
            figure.rect(10, y + 18, width, 16, "purple", 0.75, None, 0)
            figure.line((10 + width + 4, y + 26), (48, y + 26), colour="dim", dashed=True)
            figure.rect(54, y + 18, 200, 16, "purple", 0.45, None, 0)
            figure.text(154, y + 30, "latent: 512 (enlarged)", "small", "middle")
            figure.rect(254, y + 18, 25, 16, "orange", 0.75, None, 0)
            figure.text(284, y + 30, "key: 64", "small")
    for x, colour, label in ((10, "orange", "keys"), (62, "green", "values"), (126, "purple", "for keys and values")):
        figure.rect(x, 174, 10, 10, colour, 0.75, None, 2)
        figure.text(x + 14, 183, label, "small")
    return figure


def ways():
    """One head, both ways: where latent_up's two halves are applied."""
    figure = Figure(
        "Two ways to attend to the same rows. Expanded: the rows become keys and values of a head, and the query meets these. "
        "Absorbed: the query becomes as wide as a row, meets the rows themselves, and the mixed latents become the context. The rotated "
        "key goes along unchanged",
        334,
    )
    for x, title in ((90, "expanded"), (270, "absorbed")):
        figure.text(x, 20, title, "strong", "middle")
        figure.rect(x - 80, 268, 160, 40, "purple", 0.15, "purple")
        figure.text(x, 285, "rows in the cache", "small", "middle")
        figure.text(x, 300, "S x (C+R)", "dim small", "middle")

    # expanded: W_K and W_V between the rows and the attention
    figure.arrow((50, 268), (50, 222))
    figure.arrow((130, 268), (130, 222))
    figure.text(54, 242, "latent: W_K", "orange strong small")
    figure.text(54, 256, "key: as is", "orange small")
    figure.text(136, 250, "W_V", "green strong small")
    for x, colour, name, shape in ((50, "orange", "keys", "S x (D+R)"), (130, "green", "values", "S x Dv")):
        figure.rect(x - 38, 184, 76, 38, colour, 0.15, colour)
        figure.text(x, 200, name, "small", "middle")
        figure.text(x, 215, shape, "dim small", "middle")
        figure.arrow((x, 184), (x, 136))
    figure.rect(10, 104, 160, 32, "dim", 0.1, "dim")
    figure.text(90, 124, "scores, softmax, mix", "small", "middle")
    figure.arrow((50, 72), (50, 104))
    figure.rect(12, 34, 76, 38, "blue", 0.15, "blue")
    figure.text(50, 50, "query", "small", "middle")
    figure.text(50, 65, "L x (D+R)", "dim small", "middle")
    figure.arrow((130, 104), (130, 72))
    figure.rect(92, 34, 76, 38, "green", 0.15, "green")
    figure.text(130, 50, "context", "small", "middle")
    figure.text(130, 65, "L x Dv", "dim small", "middle")

    # absorbed: W_K on the query, W_V on the mixture
    figure.arrow((230, 268), (230, 216))
    figure.arrow((310, 268), (310, 216))
    figure.text(236, 246, "as keys:", "dim small")
    figure.text(236, 259, "whole rows", "dim small")
    figure.text(313, 246, "mixed:", "dim small")
    figure.text(313, 259, "latents", "dim small")
    figure.rect(190, 184, 160, 32, "dim", 0.1, "dim")
    figure.text(270, 204, "scores, softmax, mix", "small", "middle")
    figure.arrow((230, 146), (230, 184))
    figure.arrow((310, 184), (310, 146))
    for x, colour, first, shape in ((230, "blue", "query", "L x (C+R)"), (310, "purple", "mixed", "L x C")):
        figure.rect(x - 38, 108, 76, 38, colour, 0.15, colour)
        figure.text(x, 124, first, "small", "middle")
        figure.text(x, 139, shape, "dim small", "middle")
    figure.arrow((230, 72), (230, 108))
    figure.arrow((310, 108), (310, 72))
    figure.text(236, 88, "D: W_Kᵀ", "orange strong small")
    figure.text(236, 101, "R: as is", "orange small")
    figure.text(316, 94, "W_V", "green strong small")
    figure.rect(192, 34, 76, 38, "blue", 0.15, "blue")
    figure.text(230, 50, "query", "small", "middle")
    figure.text(230, 65, "L x (D+R)", "dim small", "middle")
    figure.rect(272, 34, 76, 38, "green", 0.15, "green")
    figure.text(310, 50, "context", "small", "middle")
    figure.text(310, 65, "L x Dv", "dim small", "middle")
    figure.text(180, 326, "All heads share the rows; the rest is per head.", "dim small", "middle")
    return figure


def figures():
    return {"cache": cache(), "ways": ways()}
