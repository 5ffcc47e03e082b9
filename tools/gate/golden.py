#!/usr/bin/python3
"""Computes every golden value with PyTorch, in float64.

    golden.py              writes golden.json of every lesson
    golden.py --check      computes them again and compares with the files; exit code 1 when they differ

Each lesson has a module tests/NN_name/golden.py with one function, cases(), that returns {name: Case}. A case holds
inputs, weights and outputs in PyTorch's own order. golden_helpers.py holds what several lessons share.

Needs PyTorch (Debian: python3-torch).
"""

import argparse
import difflib
import importlib.util
import json
import pathlib
import sys

import torch

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests"
DIGITS = 13
ROUNDING = 1e-12  # relative; absolute below one


def lesson_modules():
    for path in sorted(TESTS.glob("[0-9][0-9]_*/golden.py")):
        spec = importlib.util.spec_from_file_location("golden_" + path.parent.name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield path.parent.name, module


def compute(name, module):
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


def main():
    parser = argparse.ArgumentParser(description="Golden values from PyTorch")
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    arguments = parser.parse_args()

    found = 0
    for name, module in lesson_modules():
        path = TESTS / name / "golden.json"
        old = path.read_text() if path.exists() else "{}"
        new = to_text(keep_rounded(compute(name, module), json.loads(old)))
        if not arguments.check:
            path.write_text(new)
            print(f"wrote {path}")
            continue
        changed = list(difflib.unified_diff(old.split("\n"), new.split("\n"), str(path), "computed", n=0, lineterm=""))
        print("\n".join([f"{name}: {'other values' if changed else 'ok'}"] + changed))
        found += len(changed)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
