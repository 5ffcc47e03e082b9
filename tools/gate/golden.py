#!/usr/bin/python3
"""Computes every golden value with PyTorch, in float64.

    golden.py                     writes golden.json of every lesson
    golden.py --check [NN ...]    of all lessons, or of these, computes them again, runs the PyTorch that the chapters print,
                                  and compares both with the files; exit code 1 when they differ

Each lesson has a module tests/NN_name/golden.py with one function, cases(), that returns {name: Case}. A case holds
inputs, weights and outputs in PyTorch's own order. golden_helpers.py holds what several lessons share.

A chapter has one block of Python under "## The same in PyTorch", and above it a comment that says what is compared, and what
the block takes from the golden values, if anything:

    <!-- given: X = batch.X; gives: weights = batch.weights; context = batch.output -->

Names on the left are the block's; on the right are a case and an array of golden.json. The block runs in float64. Axes of
size one do not count.

Needs PyTorch (Debian: python3-torch).
"""

import argparse
import difflib
import importlib.util
import json
import os
import pathlib
import re
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
DIGITS = 13
ROUNDING = 1e-12  # relative; absolute below one
CHAPTERS_ROUNDING = 1e-10
BLOCK = re.compile(
    r"<!-- (?:given: (?P<given>[^>]*?); )?gives: (?P<gives>[^>]*?) -->\n+```python\n(?P<code>.*?)```", re.S
)
SAYS = re.compile(
    r"<!-- says: ([^>]*?) -->\n(.*?)\n\n", re.S
)  # numbers of golden.json, and the paragraph that has them


def compute(name):
    spec = importlib.util.spec_from_file_location("golden_" + name, TESTS / name / "golden.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {
        "lesson": name,
        "pytorch": torch.__version__.split("+")[0],
        "cases": {case_name: case.to_json() for case_name, case in module.cases().items()},
    }


def number_text(number):
    """13 significant digits, a thousand times finer than the checks compare; integers in full."""
    if isinstance(number, str):
        return json.dumps(number)
    return str(int(number)) if float(number).is_integer() else f"{number:.{DIGITS}g}"


def array_text(array):
    """The numbers in rows as long as the last axis."""
    texts, width = [number_text(x) for x in array["data"]], array["shape"][-1]
    rows = [",".join(texts[i : i + width]) for i in range(0, len(texts), width)]
    head = json.dumps({"axes": array["axes"], "shape": array["shape"]}, ensure_ascii=False)
    return head[:-1] + ', "data": [\n' + ",\n".join(rows) + "]}"


def to_text(golden):
    """JSON without indentation: one line per row of numbers, so that a diff shows which."""
    cases = []
    for name, case in golden["cases"].items():
        arrays = [f"{json.dumps(array)}: {array_text(value)}" for array, value in case["arrays"].items()]
        head = f'{json.dumps(name)}: {{"seed": {json.dumps(case["seed"])}, "arrays": {{\n'
        cases.append(head + ",\n".join(arrays) + "}}")
    head = json.dumps({key: value for key, value in golden.items() if key != "cases"})
    return head[:-1] + ', "cases": {\n' + ",\n".join(cases) + "}}\n"


def same_number(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return abs(a - b) <= ROUNDING * max(1.0, abs(b))


def keep_rounded(new, old):
    """Where the two differ by rounding alone the file's number stays, so that another machine changes no line."""
    for case_name, case in new["cases"].items():
        arrays = old.get("cases", {}).get(case_name, {}).get("arrays", {})
        for name, array in case["arrays"].items():
            before = arrays.get(name, {}).get("data", [])
            if len(before) == len(array["data"]):
                array["data"] = [b if same_number(a, b) else a for a, b in zip(array["data"], before)]
    if new["cases"] == old.get("cases"):
        new["pytorch"] = old["pytorch"]
    return new


def written(name):
    path = TESTS / name / "golden.json"
    return path.read_text() if path.exists() else "{}"


def to_write(name):
    return to_text(keep_rounded(compute(name), json.loads(written(name))))


def other_values(name):
    """The lines of golden.json that are computed otherwise."""
    lines = (written(name).split("\n"), to_write(name).split("\n"))
    return list(difflib.unified_diff(*lines, f"tests/{name}/golden.json", "computed", n=0, lineterm=""))


def pairs(text):
    """[(name, case, array)] of "name = case.array; ..." """
    form = re.compile(r"\s*(\w+) = (\w+)\.([\w.]+)\s*")
    return [form.fullmatch(pair).groups() for pair in (text or "").split(";") if pair.strip()]


def other_values_in_chapter(name):
    """What the chapter's PyTorch gives wrong, and what the chapter says wrong, in words."""
    cases = json.loads(written(name))["cases"]

    def golden(case, array):
        found = cases[case]["arrays"][array]
        return torch.tensor([float(x) for x in found["data"]]).reshape(found["shape"])

    chapter = (ROOT / "lessons" / name / "README.md").read_text()
    blocks = list(BLOCK.finditer(chapter))
    if not blocks:
        yield "the chapter has no block of Python with a comment that says what it gives"
    for numbers, paragraph in SAYS.findall(chapter):
        for case, array in (number.strip().split(".") for number in numbers.split(";")):
            if f"{golden(case, array).item():.4f}" not in paragraph:
                yield f"a paragraph does not say {case}.{array}, {golden(case, array).item():.4f}"
    for block in blocks:
        names = {own: golden(case, array) for own, case, array in pairs(block["given"])}
        exec(compile(block["code"], f"{name}/README.md", "exec"), names)
        for own, case, array in pairs(block["gives"]):
            got, want = torch.as_tensor(names[own]).detach().double().squeeze(), golden(case, array).squeeze()
            if got.shape != want.shape:
                yield f"{own} is {tuple(got.shape)}, expected {tuple(want.shape)}, as {case}.{array}"
            elif not torch.allclose(got, want, rtol=CHAPTERS_ROUNDING, atol=CHAPTERS_ROUNDING, equal_nan=True):
                yield f"{own} is not {case}.{array}: off by {(got - want).abs().max().item():.3g}"


def main():
    parser = argparse.ArgumentParser(description="Golden values from PyTorch")
    parser.add_argument("--check", nargs="*", metavar="NN", help="compare with files and chapters instead of writing")
    lessons_to_check = parser.parse_args().check
    torch.set_default_dtype(torch.float64)
    os.chdir(ROOT)  # a block may read the course's files, as it would for a reader in the course's folder
    problems = 0
    for path in sorted(TESTS.glob("[0-9][0-9]_*/golden.py")):
        name = path.parent.name
        if lessons_to_check is None:
            path.with_suffix(".json").write_text(to_write(name))
            print(f"wrote {path.with_suffix('.json')}")
        elif not lessons_to_check or name[:2] in lessons_to_check:
            found = other_values(name) + list(other_values_in_chapter(name))
            print("\n".join([f"{name}: {'other values' if found else 'ok'}"] + found))
            problems += len(found)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
