"""Small pictures as SVG, for chapters: text, boxes, arrows, matrices with shaded cells, bars.

A figure is 360 units wide, so that it is readable on a phone, and has a card of its own as background. Its colours follow the
reader's light or dark mode. What is drawn is given in numbers; how it looks is decided here. docs/conventions.md says what
the colours mean; legend.py draws that.
"""

import re
from xml.sax.saxutils import escape

WIDTH = 360
LETTER = 7.2  # as wide as a letter in a wide font

# name: (light, dark)
COLOURS = {
    "card": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "dim": ("#59636e", "#9198a1"),
    "faint": ("#d1d9e0", "#3d444d"),
    "blue": ("#0969da", "#4493f8"),
    "orange": ("#bc4c00", "#f0883e"),
    "green": ("#1a7f37", "#3fb950"),
    "purple": ("#8250df", "#ab7df8"),
}
RED = ("#cf222e", "#ff7b72")  # what is wrong, and nothing else


def style(colours):
    def rules(mode):
        return "".join(
            f".{name}{{fill:{both[mode]}}}.{name}-line{{stroke:{both[mode]}}}" for name, both in colours.items()
        )

    return (
        "<style>text{font:12px system-ui,-apple-system,'Segoe UI',sans-serif}.mono{font-family:ui-monospace,monospace}"
        ".strong{font-weight:600}.small{font-size:11px}path,line{fill:none}"
        f"{rules(0)}@media(prefers-color-scheme:dark){{{rules(1)}}}</style>"
    )


def number(x):
    """At most two digits after the point: enough for a position."""
    return f"{x:.2f}".rstrip("0").rstrip(".")


def text_of(value, digits):
    """A number as a chapter prints it: 0.67, 0.10, but 3 for an integer."""
    return f"{value:.0f}" if value == round(value) else f"{value:.{digits}f}"


class Figure:
    width, colours = WIDTH, COLOURS

    def __init__(self, title, height):
        """title: what the picture shows, in one sentence; a screen reader reads it."""
        self.title, self.height, self.parts = title, height, []

    def text(self, x, y, text, kind="", anchor="start"):
        """kind: a colour, and any of mono, strong, small. anchor: start, middle or end.

        Raises ValueError where it would not fit into the figure, in a wide font.
        """
        width = LETTER * len(text) * (11 / 12 if "small" in kind else 1)
        left = x - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
        if left < 0 or left + width > self.width:
            raise ValueError(
                f"{text!r} reaches from {left:.0f} to {left + width:.0f}, expected within 0 to {self.width}"
            )
        self.parts.append(
            f'<text x="{number(x)}" y="{number(y)}" class="ink {kind}" text-anchor="{anchor}">{escape(text)}</text>'
        )

    def rect(self, x, y, width, height, fill="faint", opacity=1.0, outline=None, radius=3):
        line = f' class="{fill} {outline}-line"' if outline else f' class="{fill}"'
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="{number(radius)}"'
            f'{line} fill-opacity="{number(opacity)}"/>'
        )

    def box(self, x, y, width, height, label, kind="", fill="blue", opacity=0.12):
        """A box with its label in the middle."""
        self.rect(x, y, width, height, fill, opacity, fill)
        self.text(x + width / 2, y + height / 2 + 4, label, kind, "middle")

    def line(self, *points, colour="dim", width=1.2, dashed=False):
        """Through the points (x, y). dashed: True, or a pattern of SVG, such as "8 3"."""
        path = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        dashes = f' stroke-dasharray="{"4 3" if dashed is True else dashed}"' if dashed else ""
        self.parts.append(
            f'<polyline points="{path}" class="{colour}-line" fill="none" stroke-width="{number(width)}"{dashes}/>'
        )

    def arrow(self, *points, colour="dim", dashed=False):
        """A line through the points, with a head at the last one."""
        self.line(*points, colour=colour, dashed=dashed)
        (x0, y0), (x1, y1) = points[-2:]
        length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 1e-9)
        dx, dy = (x1 - x0) / length * 6, (y1 - y0) / length * 6
        head = [(x1, y1), (x1 - dx - dy * 0.6, y1 - dy + dx * 0.6), (x1 - dx + dy * 0.6, y1 - dy - dx * 0.6)]
        path = " ".join(f"{number(x)},{number(y)}" for x, y in head)
        self.parts.append(f'<polygon points="{path}" class="{colour}"/>')

    def matrix(self, x, y, values, digits=2, cell=(40, 24), shade=None, colour="blue", rows=(), columns=()):
        """Numbers in cells. shade: the value whose cell is darkest (None: no shading); digits None: no numbers.

        rows, columns: labels left of the rows and above the columns. Returns the right and the lower edge.
        """
        width, height = cell
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                left, top = x + j * width, y + i * height
                opacity = 0 if shade is None else min(max(value / shade, 0), 1) * 0.75
                self.rect(left, top, width, height, colour, opacity, "faint", 0)
                if digits is not None:
                    self.text(left + width / 2, top + height / 2 + 4, text_of(value, digits), "small mono", "middle")
        for i, label in enumerate(rows):
            self.text(x - 6, y + i * height + height / 2 + 4, label, "dim small", "end")
        for j, label in enumerate(columns):
            self.text(x + j * width + width / 2, y - 6, label, "dim small", "middle")
        return x + width * len(values[0]), y + height * len(values)

    def bars(self, x, y, values, width=24, height=60, gap=6, most=1.0, colour="blue", digits=2, labels=()):
        """Upright bars on the line y, the value above each and its label below."""
        for i, value in enumerate(values):
            left, tall = x + i * (width + gap), height * value / most
            self.rect(left, y - tall, width, tall, colour, 0.75, None, 2)
            self.text(left + width / 2, y - tall - 4, text_of(value, digits), "small mono", "middle")
        for i, label in enumerate(labels):
            self.text(x + i * (width + gap) + width / 2, y + 14, label, "dim small", "middle")
        self.line((x - 4, y), (x + len(values) * (width + gap), y), colour="faint")

    def svg(self):
        colours = dict(self.colours)
        if any(re.search(r"\bred\b", part) for part in self.parts):
            colours.setdefault("red", RED)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(self.width)} {number(self.height)}" width="{self.width * 1.5:g}"'
                f' role="img"><title>{escape(self.title)}</title>{style(colours)}',
                f'<rect width="{number(self.width)}" height="{number(self.height)}" rx="8" class="card"/>',
                *self.parts,
                "</svg>\n",
            ]
        )
