#!/usr/bin/python3
"""Computes every golden value with PyTorch, in float64.

    golden.py              writes golden.json of every lesson
    golden.py --check      computes them again and compares with the files; exit code 1 when they differ

Each lesson has a module tests/NN_name/golden.py with one function, cases(), that returns {name: Case}. A case holds inputs,
weights and outputs in PyTorch's own order, and for each catalogued mistake what PyTorch gives when it is made. The ids
are those of tests/NN_name/mistakes.json.

Needs PyTorch (Debian: python3-torch).
"""

import argparse
import importlib.util
import json
import math
import pathlib
import sys

import torch

TESTS = pathlib.Path(__file__).resolve().parents[2] / "tests"
ROUNDING = 1e-12  # relative; absolute below one


def numbers(tensor):
    """Row-major numbers, JSON having no NaN and no infinity."""
    special = {math.inf: "inf", -math.inf: "-inf"}
    return ["nan" if math.isnan(x) else special.get(x, x) for x in tensor.reshape(-1).tolist()]


def array(tensor, axes):
    if tensor.dtype != torch.float64:
        raise TypeError(f"golden values are float64, not {tensor.dtype}")
    if len(axes) != tensor.dim():
        raise ValueError(f"{tensor.dim()} axes, but letters for {len(axes)}: {axes}")
    return {"axes": axes, "shape": list(tensor.shape), "data": numbers(tensor.detach())}


class Case:
    """One golden case. add() takes axes as text: case.add("X", X, "B L E")."""

    def __init__(self, seed=None):
        self.seed = seed
        self.arrays = {}
        self.mistakes = {}

    def add(self, name, tensor, axes):
        self.arrays[name] = array(tensor, axes.split())
        return self

    def add_linear(self, name, layer):
        self.add(name + ".weight", layer.weight, "out in")
        if layer.bias is not None:
            self.add(name + ".bias", layer.bias, "out")
        return self

    def add_mistake(self, mistake_id, **tensors):
        """What the arrays of these names become with that mistake. Where that is the right answer it names nothing,
        and is left out."""
        for name, tensor in tensors.items():
            wrong = array(tensor, self.arrays[name]["axes"])
            if not same_data(wrong["data"], self.arrays[name]["data"], tolerance=1e-6):
                self.mistakes.setdefault(mistake_id, {})[name] = wrong
        return self

    def to_json(self):
        return {"seed": self.seed, "arrays": self.arrays, "mistakes": self.mistakes}


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


def to_text(value, depth=0):
    """Readable JSON: one array a block, its numbers in rows as long as its last axis."""
    pad = "  " * (depth + 1)
    if isinstance(value, dict) and set(value) == {"axes", "shape", "data"}:
        width = value["shape"][-1]
        texts = [json.dumps(x) for x in value["data"]]
        rows = [", ".join(texts[i : i + width]) for i in range(0, len(texts), width)]
        body = (",\n" + pad + "  ").join(rows)
        return (
            f'{{"axes": {json.dumps(value["axes"])}, "shape": {json.dumps(value["shape"])}, "data": [\n'
            f"{pad}  {body}]}}"
        )
    if isinstance(value, dict):
        if not value:
            return "{}"
        items = [f"{pad}{json.dumps(key)}: {to_text(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + "\n" + "  " * depth + "}"
    return json.dumps(value)


def same_number(a, b, tolerance=ROUNDING):
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return abs(a - b) <= tolerance * max(1.0, abs(b))


def same_data(a, b, tolerance=ROUNDING):
    return len(a) == len(b) and all(same_number(x, y, tolerance) for x, y in zip(a, b))


def differences(new, old, where):
    """Every place where two golden files differ by more than rounding."""
    if isinstance(new, dict) and isinstance(old, dict):
        for key in sorted(set(new) | set(old)):
            if key not in new or key not in old:
                yield f"{where}/{key}: only in the {'file' if key in old else 'computation'}"
            elif key != "pytorch":
                yield from differences(new[key], old[key], f"{where}/{key}")
    elif where.endswith("/data"):
        if len(new) != len(old):
            yield f"{where}: {len(new)} numbers computed, {len(old)} in the file"
        for index, (a, b) in enumerate(zip(new, old)):
            if not same_number(a, b):
                yield f"{where}[{index}]: computed {a}, in the file {b}"
    elif new != old:
        yield f"{where}: computed {new}, in the file {old}"


def main():
    parser = argparse.ArgumentParser(description="Golden values from PyTorch")
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    arguments = parser.parse_args()

    found = 0
    for name, module in lesson_modules():
        path = TESTS / name / "golden.json"
        new = compute(name, module)
        if not arguments.check:
            path.write_text(to_text(new) + "\n")
            print(f"wrote {path}: {len(new['cases'])} cases")
            continue
        old = json.loads(path.read_text()) if path.exists() else {}
        count = 0
        for count, difference in enumerate(differences(new, old, name), start=1):
            print(difference)
        found += count
        print(f"{name}: {len(new['cases'])} cases, {count} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.modules["golden"] = sys.modules["__main__"]
    sys.exit(main())
