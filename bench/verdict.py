#!/usr/bin/python3
"""Measures how long a learner waits, and prints a table for docs/measurements.md.

    bench/verdict.py [--runs 7] [--compiler g++ --compiler clang++]     one lesson, from all sides
    bench/verdict.py --lessons [--runs 5] [--compiler g++]              a verdict in every lesson
    bench/verdict.py --verify [--compiler g++]                          ./learn verify on a clean clone

Works on a copy of the committed course in a temporary folder, with right answers in place: nothing in this folder is
touched. Each save changes the file, so that it really is compiled again.

    save -> verdict        ./learn check 01 after a save
    test program           build/dev/lesson_01 alone
    clone -> verdict       ./learn and the first ./learn check 00 on a clean clone, packages present
    start                  ./learn list when all is there
    without the header     the same file compiled without the precompiled header: how fast this machine is at the moment
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ANSWER = "01_self_attention_v1/self_attention_v1.cpp"


def seconds(command, folder, environment, expect):
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    taken = time.monotonic() - start
    if done.returncode != expect:
        raise SystemExit(f"{command} ended with {done.returncode}, expected {expect}:\n{done.stdout.decode()}")
    return taken


def clone(folder):
    course = pathlib.Path(folder) / "course"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(course)], check=True)
    return course


def compile_plainly(compiler, file):
    flags = "-std=c++17 -O0 -DARMA_DONT_USE_WRAPPER -Iinclude -c"
    return [compiler, *flags.split(), str(file), "-o", "/dev/null"]


def measure(compiler, runs):
    environment = {**os.environ, "CXX": compiler}
    with tempfile.TemporaryDirectory() as temporary:
        course = clone(temporary)
        first = seconds(["./learn"], course, environment, 0) + seconds(
            ["./learn", "check", "00"], course, environment, 1
        )

        right = (course / "solutions" / ANSWER).read_text()
        stub = course / "lessons" / ANSWER
        verdicts, programs, starts, plain = [], [], [], []
        stub.write_text(right)
        seconds(["./learn", "check", "01"], course, environment, 0)  # builds what the first check builds once
        for run in range(runs):
            stub.write_text(f"{right}// saved {run}\n")
            verdicts.append(seconds(["./learn", "check", "01"], course, environment, 0))
            programs.append(seconds([str(course / "build/dev/lesson_01")], course, environment, 0))
            starts.append(seconds(["./learn", "list"], course, environment, 0))
            plain.append(seconds(compile_plainly(compiler, stub), course, environment, 0))
    return first, verdicts, programs, starts, plain


def measure_lessons(compiler, runs):
    """A verdict after saving the longest of the lesson's files, in every lesson, with the right answers in place."""
    environment = {**os.environ, "CXX": compiler}
    print(
        "| lesson | compiler | save -> verdict, s | test program, ms | without the header, s |\n|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as temporary:
        course = clone(temporary)
        seconds(["./learn", "list"], course, environment, 0)
        for folder in sorted((course / "solutions").iterdir()):
            number = folder.name[:2]
            files = sorted(list(folder.glob("*.cpp")) + list(folder.glob("*.hpp")))
            for file in files:
                (course / "lessons" / folder.name / file.name).write_text(file.read_text())
            longest = max(files, key=lambda file: len(file.read_text()))
            saved = course / "lessons" / folder.name / longest.name
            seconds(["./learn", "check", number], course, environment, 0)
            verdicts, programs, plain = [], [], []
            for run in range(runs):
                saved.write_text(f"{longest.read_text()}// saved {run}\n")
                verdicts.append(seconds(["./learn", "check", number], course, environment, 0))
                programs.append(seconds([str(course / f"build/dev/lesson_{number}")], course, environment, 0))
                if saved.suffix == ".cpp":
                    plain.append(seconds(compile_plainly(compiler, saved), course, environment, 0))
            print(
                f"| {folder.name} | {compiler} | {spread(verdicts)} | {spread(programs, 1000, 0)} | "
                f"{spread(plain) if plain else 'a header'} |",
                flush=True,
            )


def measure_verify(compiler):
    environment = {**os.environ, "CXX": compiler}
    with tempfile.TemporaryDirectory() as temporary:
        course = clone(temporary)
        print(
            f"./learn verify on a clean clone, {compiler}: {seconds(['./learn', 'verify'], course, environment, 0):.0f} s"
        )


def spread(values, unit=1, digits=2):
    values = [value * unit for value in values]
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def main():
    parser = argparse.ArgumentParser(description="How long a learner waits")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--compiler", action="append")
    parser.add_argument("--lessons", action="store_true", help="a verdict in every lesson")
    parser.add_argument("--verify", action="store_true", help="./learn verify on a clean clone")
    arguments = parser.parse_args()
    if arguments.lessons or arguments.verify:
        for compiler in arguments.compiler or ["g++"]:
            if arguments.lessons:
                measure_lessons(compiler, arguments.runs)
            if arguments.verify:
                measure_verify(compiler)
        return
    print(
        "| compiler | save -> verdict, s | test program, ms | clean clone -> first verdict, s | ./learn list, ms | without the header, s |"
    )
    print("|---|---|---|---|---|---|")
    for compiler in arguments.compiler or ["g++", "clang++"]:
        first, verdicts, programs, starts, plain = measure(compiler, arguments.runs)
        print(
            f"| {compiler} | {spread(verdicts)} | {spread(programs, 1000, 0)} | {first:.0f} | {spread(starts, 1000, 0)} | {spread(plain)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
