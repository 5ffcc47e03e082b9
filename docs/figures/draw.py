#!/usr/bin/python3
"""Draws the pictures of the chapters, from golden numbers or from the formulas that give them, and those of other pages.

    draw.py              writes lessons/NN_name/figures/*.svg and docs/*.svg
    draw.py --check      draws them again and compares with the files; exit code 1 when they differ

Each lesson has a module docs/figures/NN_name.py with one function, figures(), that returns {name: Figure}; those of
PAGES draw for README.md and docs/. svg.py holds what a figure is made of; course.py gives what PyTorch computed.

Needs NumPy (Debian: python3-numpy).
"""

import argparse
import importlib.util
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
LESSONS = FOLDER.parents[1] / "lessons"
PAGES = ("architecture", "attention", "learned", "legend", "terminal", "training")


def drawn():
    """{file: text} of every picture."""
    sys.path.insert(0, str(FOLDER))
    pictures = {}
    for path in [*sorted(FOLDER.glob("[0-9][0-9]_*.py")), *(FOLDER / f"{page}.py" for page in PAGES)]:
        spec = importlib.util.spec_from_file_location("figures_" + path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        folder = LESSONS / path.stem / "figures" if path.stem[0].isdigit() else FOLDER.parent
        for name, figure in module.figures().items():
            pictures[folder / f"{name}.svg"] = figure.svg()
    return pictures


def main():
    parser = argparse.ArgumentParser(description="The pictures of the chapters")
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    arguments = parser.parse_args()

    pictures = drawn()
    stale = [path for path, text in pictures.items() if not path.exists() or path.read_text() != text]
    lost = [path for path in LESSONS.glob("*/figures/*") if path not in pictures]
    if not arguments.check:
        for path in stale:
            path.parent.mkdir(exist_ok=True)
            path.write_text(pictures[path])
            print(f"wrote {path}")
        for path in lost:
            path.unlink()
        return 0
    for path in stale + lost:
        print(f"{path}: {'other than drawn now: docs/figures/draw.py' if path in stale else 'no script draws it'}")
    return 1 if stale or lost else 0


if __name__ == "__main__":
    sys.exit(main())
