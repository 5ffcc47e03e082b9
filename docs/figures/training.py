"""A step of training against the length of the sequences, beside PyTorch's, from the table in docs/measurements.md."""

import math
import pathlib
import re

from svg import Figure

PAGE = pathlib.Path(__file__).resolve().parents[1] / "measurements.md"
SYSTEMS = ("Debian GNU/Linux 13", "Debian GNU/Linux 12")  # the first that was measured
LEFT, RIGHT = 50, 264


def measured():
    """System, PyTorch's version, and {column: [median for each length]}; None before the first measurement."""
    for system in SYSTEMS:
        text = PAGE.read_text().split(f"<!-- bench/run train, {system}: begin -->\n")[1].split("<!--")[0]
        rows = [[field.strip() for field in line.strip("|").split("|")] for line in text.split("\n")]
        header = next((row for row in rows if row[0] == "L"), None)
        if header:
            cells = [row for row in rows[rows.index(header) :] if re.match(r"\d+$", row[0])]
            columns = {name: [float(row[i].split()[0]) for row in cells] for i, name in enumerate(header)}
            return system, re.search(r"PyTorch eager: (\d+(?:\.\d+)+)", text).group(1), columns
    return None


def panel(figure, top, height, title, lengths, ours, theirs):
    """Two curves, both axes logarithmic."""
    figure.text(12, top - 10, title, "strong")
    ticks = range(math.floor(math.log10(min(ours + theirs))), math.ceil(math.log10(max(ours + theirs))) + 1)
    x = lambda length: LEFT + (RIGHT - LEFT) * math.log(length / lengths[0]) / math.log(lengths[-1] / lengths[0])
    y = lambda value: top + height - height * (math.log10(value) - ticks[0]) / (ticks[-1] - ticks[0])
    for tick in ticks:
        figure.line((LEFT, y(10**tick)), (RIGHT, y(10**tick)), colour="faint")
        figure.text(LEFT - 6, y(10**tick) + 4, f"{10 ** tick:g}", "dim small", "end")
    for length in lengths:
        figure.text(x(length), top + height + 15, f"{length:.0f}", "dim small", "middle")
    for name, values, colour in (("PyTorch", theirs, "orange"), ("this course", ours, "blue")):
        points = [(x(length), y(value)) for length, value in zip(lengths, values)]
        figure.line(*points, colour=colour, width=2)
        for place in points:
            figure.rect(place[0] - 2.5, place[1] - 2.5, 5, 5, colour)
        shift = -3 if name == "PyTorch" else 9
        figure.text(RIGHT + 8, points[-1][1] + shift, name, f"{colour} small strong")
    figure.text((LEFT + RIGHT) / 2, top + height + 30, "tokens per sequence", "small", "middle")


def figures():
    found = measured()
    if found is None:
        return {}
    system, version, columns = found
    figure = Figure("Time and memory of a step of training against the length, beside PyTorch", 400)
    panel(figure, 36, 110, "A step, ms", columns["L"], columns["ours, ms"], columns["PyTorch, ms"])
    memory = columns["memory, ours, MiB"], columns["memory, PyTorch, MiB"]
    panel(figure, 222, 110, "Memory, MiB", columns["L"], *memory)
    figure.text(12, 380, "B = 2, E = 128, 4 heads, 4 layers; two threads", "dim small")
    figure.text(12, 395, f"PyTorch {version}, fastest BLAS, {system}", "dim small")
    return {"training": figure}
