"""The README's picture of a terminal, from what docs/figures/record_terminal recorded.

It moves: below the wrong answer's verdict, the repair and what comes of it appear in turn. Where motion is reduced, all of it is
there from the beginning.
"""

import pathlib
import re

from svg import COLOURS, LETTER, Figure, escape, number

RECORDING = pathlib.Path(__file__).with_name("terminal.ansi")
KINDS = {"0": "", "1": "strong", "2": "dim", "31": "red", "32": "green"}  # of ECMA-48's sequences, those that it has
COLUMNS, LEFT, TOP, LINE = 70, 16, 26, 16


class Terminal(Figure):
    width = 2 * LEFT + COLUMNS * LETTER
    colours = {**COLOURS, "red": ("#cf222e", "#f85149")}

    def words(self, column, y, text, kind):
        """Monospaced: a viewer's font may be wider or narrower, so each run of words has its place and its length."""
        for run in re.finditer(r"\S+( \S+)*", text):
            x, length = LEFT + LETTER * (column + run.start()), LETTER * len(run.group())
            self.parts.append(
                f'<text x="{number(x)}" y="{number(y)}" textLength="{number(length)}" class="ink mono {kind}">'
                f"{escape(run.group())}</text>"
            )


def schedule(lines):
    """{second: lines that appear then}, and the length of a round in seconds."""
    second, shown = 0.0, {}
    for line in lines:
        plain = re.sub(r"\x1b\[\d+m", "", line)
        if plain.startswith("# "):  # after what is to be read first
            second += 4
        elif plain.startswith("$ ") and shown:
            second += 1.2
        elif plain.startswith(("✓ ", "- ", "+ ")):
            second += 0.8
        shown.setdefault(second, []).append(line)
    return shown, second + 4


def figures():
    lines = RECORDING.read_text().rstrip("\n").split("\n")
    figure = Terminal(
        "A wrong answer is named, with its place and a hint; the right one passes",
        2 * TOP + LINE * (len(lines) - 1) - 6,
    )
    figure.rect(0.5, 0.5, figure.width - 1, figure.height - 1, "card", 1, "faint", 8)
    shown, length = schedule(lines)
    rules = "".join(
        f"@keyframes at{i}{{0%,{number(100 * second / length)}%{{opacity:0}}{number(100 * second / length + 0.5)}%,97%{{opacity:1}}100%{{opacity:0}}}}"
        f".at{i}{{animation:at{i} {number(length)}s infinite}}"
        for i, second in enumerate(shown)
        if second > 0
    )
    figure.parts.append(f"<style>@media(prefers-reduced-motion:no-preference){{{rules}}}</style>")
    row = 0
    for i, together in enumerate(shown.values()):
        figure.parts.append(f'<g class="at{i}">')
        for line in together:
            column, kind = 0, ""
            for sequence, text in re.findall(r"(?:\x1b\[(\d+)m)?([^\x1b]*)", line):
                kind = KINDS[sequence] if sequence else kind
                figure.words(column, TOP + LINE * row, text, kind)
                column += len(text)
            if column > COLUMNS:
                raise ValueError(f"{RECORDING} has {column} columns in line {row + 1}, expected at most {COLUMNS}")
            row += 1
        figure.parts.append("</g>")
    return {"terminal": figure}
