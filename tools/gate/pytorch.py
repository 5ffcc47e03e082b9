#!/usr/bin/python3
"""Runs the PyTorch that the chapters print, and compares what it gives with the golden values.

    pytorch.py [NN ...]      all chapters, or those of these lessons; exit code 1 when one gives other values

A chapter has one block of Python under "## The same in PyTorch", and above it a comment that says what is compared, and what
the block takes from the golden values, if anything:

    <!-- given: X = batch.X; gives: weights = batch.weights; context = batch.output -->

Names on the left are the block's; on the right are a case and an array of tests/NN_name/golden.json. The block runs in
float64. Axes of size one do not count.

Needs PyTorch (Debian: python3-torch).
"""

import json
import pathlib
import re
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDING = 1e-10
BLOCK = re.compile(
    r"<!-- (?:given: (?P<given>[^>]*?); )?gives: (?P<gives>[^>]*?) -->\n+```python\n(?P<code>.*?)```", re.S
)


def pairs(text):
    """[(name, case, array)] of "name = case.array; ..." """
    return [
        re.fullmatch(r"\s*(\w+) = (\w+)\.([\w.]+)\s*", pair).groups()
        for pair in (text or "").split(";")
        if pair.strip()
    ]


def golden(lesson, case, array):
    cases = json.loads((ROOT / "tests" / lesson / "golden.json").read_text())["cases"]
    found = cases[case]["arrays"][array]
    return torch.tensor([float(x) for x in found["data"]]).reshape(found["shape"])


def differences(lesson, block):
    """What the block gives wrong, in words."""
    names = {name: golden(lesson, case, array) for name, case, array in pairs(block["given"])}
    exec(compile(block["code"], f"{lesson}/README.md", "exec"), names)
    for name, case, array in pairs(block["gives"]):
        got, want = torch.as_tensor(names[name]).detach().double().squeeze(), golden(lesson, case, array).squeeze()
        if got.shape != want.shape:
            yield f"{name} is {tuple(got.shape)}, expected {tuple(want.shape)}, as {case}.{array}"
        elif not torch.allclose(got, want, rtol=ROUNDING, atol=ROUNDING, equal_nan=True):
            yield f"{name} is not {case}.{array}: off by {(got - want).abs().max().item():.3g}"


def main():
    torch.set_default_dtype(torch.float64)
    problems = 0
    for chapter in sorted((ROOT / "lessons").glob("[0-9][0-9]_*/README.md")):
        lesson = chapter.parent.name
        if sys.argv[1:] and lesson[:2] not in sys.argv[1:]:
            continue
        blocks = [match.groupdict() for match in BLOCK.finditer(chapter.read_text())]
        found = [text for block in blocks for text in differences(lesson, block)]
        if not blocks:
            found = ["no block of Python with a comment that says what it gives"]
        print("\n".join(f"{lesson}: {text}" for text in found or ["ok"]))
        problems += len(found)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
