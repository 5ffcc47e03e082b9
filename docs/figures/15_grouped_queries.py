"""Lesson 15: which query heads share keys and values, and what that does to the cache of Llama 2 70B."""

from svg import Figure


def sharing():
    H, width = 8, 104
    figure = Figure(
        "Eight query heads above 8, 2 or 1 key/value heads, and the bytes per token in the KV cache for each kind", 262
    )
    for panel, (name, G) in enumerate((("MHA", 8), ("GQA", 2), ("MQA", 1))):
        left = 12 + 116 * panel
        middle = left + width / 2
        figure.text(middle, 20, f"{name}: G = {G}", "strong", "middle")
        figure.text(middle, 38, f"{H} query heads", "blue small", "middle")
        figure.text(middle, 134, f"{G} K/V head{'s' if G > 1 else ''}", "orange small", "middle")
        step, span = width / H, width / G
        for h in range(H):
            x, g = left + step * (h + 0.5), h // (H // G)
            figure.line((x, 62), (left + span * (g + 0.5), 100), colour="dim", width=1)
            figure.rect(x - 4.5, 46, 9, 16, "blue", 0.35, "blue", 2)
        for g in range(G):
            figure.rect(left + span * (g + 0.5) - 4.5, 100, 9, 20, "orange", 0.5, "orange", 2)
    figure.line((12, 150), (348, 150), colour="faint")
    figure.text(12, 172, "Llama 2 70B, H = 64: KV cache, bytes per token", "strong")
    kinds = [("MHA", 64), ("GQA", 8), ("MQA", 1)]
    most = bytes_per_token(64)
    for row, (name, G) in enumerate(kinds):
        y, bar = 184 + 24 * row, 160 * bytes_per_token(G) / most
        figure.text(12, y + 13, f"{name}, G = {G}", "dim small")
        figure.rect(108, y, bar, 18, "orange", 0.75, None, 2)
        figure.text(108 + bar + 8, y + 13, f"{bytes_per_token(G):,}".replace(",", " "), "small mono")
    return figure


def bytes_per_token(G, layers=80, D=128, bytes_per_number=2):
    return 2 * layers * G * D * bytes_per_number


def figures():
    return {"sharing": sharing()}
