"""The picture of a terminal in the README and on the site's home page, from what docs/figures/record_terminal recorded.

It moves once: the repair and what comes of it are faint at first, and appear in turn. Where motion is reduced, all of it is there
from the beginning. A narrow one for phones has the lines that matter most, broken at words.
"""

import itertools
import pathlib
import re

from svg import COLOURS, LETTER, Figure, escape, number

RECORDING = pathlib.Path(__file__).with_name("terminal.ansi")
KINDS = {"0": "", "1": "strong", "2": "dim", "31": "red", "32": "green"}  # of ECMA-48's sequences, those that it has
TOP, LINE = 26, 16
ON_A_PHONE = ("$ ", "✗ ", "  likely ", "  where ", "  hint ", "# ", "- ", "+ ", "✓ ")  # how its lines begin


class Terminal(Figure):
    colours = {**COLOURS, "red": ("#cf222e", "#f85149")}

    def __init__(self, lines, columns, left):
        """lines: each a list of (letter, kind)."""
        super().__init__(
            "A wrong answer is named, with its place and a hint; the right one passes",
            2 * TOP + LINE * (len(lines) - 1) - 6,
        )
        self.left, self.width = left, 2 * left + columns * LETTER
        self.rect(0.5, 0.5, self.width - 1, self.height - 1, "card", 1, "faint", 8)
        self.parts.append(
            "<style>@media(prefers-reduced-motion:no-preference){@keyframes appear{from{opacity:.25}}"
            "g{animation:appear .4s backwards}}</style>"
        )
        for row, (second, line) in enumerate(zip(schedule(lines), lines)):
            late = second > 0 and line
            self.parts += [f'<g style="animation-delay:{number(second)}s">'] if late else []
            self.line_of(TOP + LINE * row, line, columns)
            self.parts += ["</g>"] if late else []

    def line_of(self, y, line, columns):
        if len(line) > columns:
            raise ValueError(f"{text_of(line)!r} has {len(line)} columns, expected at most {columns}")
        column = 0
        for kind, letters in itertools.groupby(line, key=lambda letter: letter[1]):
            text = text_of(letters)
            self.words(column, y, text, kind)
            column += len(text)

    def words(self, column, y, text, kind):
        """Monospaced: a viewer's font may be wider or narrower, so each run of words has its place and its length."""
        for run in re.finditer(r"\S+( \S+)*", text):
            x, length = self.left + LETTER * (column + run.start()), LETTER * len(run.group())
            self.parts.append(
                f'<text x="{number(x)}" y="{number(y)}" textLength="{number(length)}" class="ink mono {kind}">'
                f"{escape(run.group())}</text>"
            )


def text_of(line):
    return "".join(letter for letter, _ in line)


def recorded():
    """The lines, each a list of (letter, kind)."""
    for line in RECORDING.read_text().rstrip("\n").split("\n"):
        kind, letters = "", []
        for sequence, text in re.findall(r"(?:\x1b\[(\d+)m)?([^\x1b]*)", line):
            kind = KINDS[sequence] if sequence else kind
            letters += [(letter, kind) for letter in text]
        yield letters


def schedule(lines):
    """The second in which each line appears. What an answer gets is there at once."""
    second, seconds = 0.0, []
    for line in lines:
        text = text_of(line)
        if text.startswith("# "):  # after what is to be read first
            second += 1.5
        elif seconds and text.startswith(("$ ", "✓ ", "- ", "+ ")):
            second += 0.8
        seconds.append(second)
    return seconds


def narrow(lines, columns):
    """The lines that matter most, broken between words or within a path or a name; what continues a line is indented."""
    last = []
    for line in lines:
        text = text_of(line)
        if text.startswith(ON_A_PHONE) or (not text and last):
            last = line
            indent = len(re.match(r"(  \w+ +|\S )?", text).group())
            while len(line) > columns:
                ends = [match.end() for match in re.finditer(r"\S(?= )|[/.](?=\w)", text_of(line))]
                end = max(end for end in ends if indent < end <= columns)
                yield line[:end]
                line = [(" ", "")] * indent + line[end + (line[end][0] == " ") :]
            yield line


def figures():
    lines = list(recorded())
    return {"terminal": Terminal(lines, 70, 16), "terminal_phone": Terminal(list(narrow(lines, 41)), 41, 12)}
