"""Lesson 15: which query heads share keys and values, what that does to a cache, and how wide heads make a layer."""

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
        figure.text(middle, 134, f"{G} KV head{'s' if G > 1 else ''}", "orange small", "middle")
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


def rules():
    """Six query heads and two key/value heads, as in the example worked by hand, under three rules."""
    H, G, width = 6, 2, 104
    figure = Figure("Which key/value head each of six query heads takes, by h / (H / G), by h % G and by h / G", 168)
    for panel, (name, rule) in enumerate(
        (("h / (H / G)", lambda h: h // (H // G)), ("h % G", lambda h: h % G), ("h / G", lambda h: h // G))
    ):
        left = 12 + 116 * panel
        wrong = [h for h in range(H) if rule(h) != h // (H // G)]
        figure.text(left + width / 2, 20, name, "strong mono small", "middle")
        step, span = width / H, width / G
        for h in range(H):
            x, g = left + step * (h + 0.5), rule(h)
            colour = "red" if h in wrong else "dim"
            figure.text(x, 40, str(h), "blue small", "middle")
            figure.rect(x - 4.5, 46, 9, 16, "blue", 0.35, "blue", 2)
            if g < G:
                figure.line((x, 62), (left + span * (g + 0.5), 104), colour=colour, width=1.8 if h in wrong else 1)
            else:
                figure.line((x, 62), (x, 84), colour=colour, width=1.8, dashed=True)
                figure.text(x, 97, "?", "red strong", "middle")
        for g in range(G):
            figure.rect(left + span * (g + 0.5) - 4.5, 104, 9, 20, "orange", 0.5, "orange", 2)
            figure.text(left + span * (g + 0.5) + 10, 118, str(g), "orange small")
        verdict = "right" if not wrong else "wrong: " + ", ".join(map(str, wrong))
        figure.text(left + width / 2, 146, verdict, "small " + ("green" if not wrong else "red"), "middle")
    return figure


def widths():
    """What one token is in a layer of Qwen3-0.6B, and what it would be with D = E / H."""
    E, H, G = 1024, 16, 8
    figure = Figure(
        "How wide a token is on its way through a layer of Qwen3-0.6B, for D = 128 and for D = E / H = 64", 236
    )
    figure.text(12, 20, "Qwen3-0.6B: E = 1024, H = 16, G = 8", "strong")
    for left, D, label in ((12, 128, "D = 128, as it is"), (212, 64, "if D were E / H = 64")):
        figure.text(left, 42, label, "dim small")
        for row, (name, columns, colour) in enumerate(
            (
                ("X", E, "dim"),
                ("Q", H * D, "blue"),
                ("K", G * D, "orange"),
                ("V", G * D, "green"),
                ("context", H * D, "dim"),
                ("output", E, "dim"),
            )
        ):
            y, bar = 52 + 30 * row, columns * 90 / 2048
            figure.text(left, y + 14, name, "small")
            figure.rect(left + 52, y, bar, 20, colour, 0.5, colour, 2)
            inside = bar > 60
            figure.text(
                left + 52 + (bar / 2 if inside else bar + 4),
                y + 14,
                str(columns),
                "small mono",
                "middle" if inside else "start",
            )
    return figure


def figures():
    return {"sharing": sharing(), "rules": rules(), "widths": widths()}
