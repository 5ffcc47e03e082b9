#!/usr/bin/python3
"""The attention that a small transformer learns while it is trained to write ten digits backwards.

    docs/figures/learned.py      trains it with ./learn train, for few steps and for more, and writes learned.json
"""

import json
import pathlib
import re
import subprocess
import tempfile

from svg import Figure, number

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDING = pathlib.Path(__file__).with_suffix(".json")
STEPS = (1, 30, 120)
HEAD = 1  # of layer 0: after 120 steps it looks most at the digit to write next
CELL, GAP, LEFT, TOP = 10, 12, 20, 46


def record():
    panels = []
    with tempfile.TemporaryDirectory() as folder:
        for steps in STEPS:
            svg = pathlib.Path(folder, f"{steps}.svg")
            command = ["./learn", "train", "--reference", "--steps", str(steps), "--svg", str(svg)]
            said = subprocess.run(
                [*command, "--save", f"{folder}/{steps}"],
                cwd=ROOT,
                check=True,
                stdin=subprocess.DEVNULL,
                capture_output=True,
            ).stdout.decode()
            right = re.search(r"held-out sequences: +([\d.]+) % of the tokens are right", said).group(1)
            picture = svg.read_text()
            tokens = re.search(r"<title[^>]*>Attention: (.*)</title>", picture).group(1).split()
            head = picture.split(f">head {HEAD}<")[1]
            percents = [int(value) for value in re.findall(r'class="value t\d"[^>]*>(?:&lt;)?(\d+)<', head)]
            n = len(tokens)
            if len(percents) != n * n:
                raise ValueError(f"{len(percents)} numbers for {n} tokens in {svg}")
            rows = [percents[i * n : (i + 1) * n] for i in range(n)]
            panels.append({"steps": steps, "right": float(right), "tokens": tokens, "percents": rows})
    rows = ",\n".join(json.dumps(panel) for panel in panels)
    RECORDING.write_text(f"[\n{rows}\n]\n")


class Wide(Figure):
    width = LEFT + 3 * (20 * CELL + GAP) + 2 * LEFT


def figures():
    panels = json.loads(RECORDING.read_text())
    figure = Wide(
        "The attention of one head: each token of a row of digits, a bar and the same digits backwards looks at the tokens "
        "before it. After 1 step it is spread evenly; after 120 there is a line from right to left, as nearly every answer "
        "looks at the digit that it has to write next",
        TOP + 20 * CELL + 34,
    )
    for p, panel in enumerate(panels):
        x = LEFT + p * (20 * CELL + GAP + LEFT)
        steps = f"after {panel['steps']} step{'s' if panel['steps'] > 1 else ''}"
        figure.text(x, 18, f"{steps}: {panel['right']:.0f} % right", "strong")
        for i, token in enumerate(panel["tokens"]):
            figure.text(x + CELL * (i + 0.5), TOP - 5, token, "dim small", "middle")
            figure.text(x - 5, TOP + CELL * (i + 0.5) + 3, token, "dim small", "end")
            for j, percent in enumerate(panel["percents"][i][: i + 1]):
                figure.rect(x + CELL * j, TOP + CELL * i, CELL, CELL, "purple", 0.06 + 0.94 * percent / 100, None, 1)
    words = "One of four heads. Row: a token; column: a token that it looks at. The darker, the more."
    figure.text(LEFT, TOP + 20 * CELL + 20, words, "dim small")
    return {"learned": figure}


if __name__ == "__main__":
    record()
