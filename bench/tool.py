#!/usr/bin/python3
"""Measures how much time the tool itself takes, and prints a table for docs/measurements.md.

    bench/tool.py [--runs 7] [--idle 20] [--course FOLDER]

Works on a copy of the committed course in a temporary folder, with the right answer to lesson 01 in place; or, with
--course, in a copy that is there already, where that answer is overwritten.

    ./learn list           when all is there, launcher included
    first screen           from starting ./learn to the lesson's heading on the terminal
    save -> verdict        in watch mode: from a save to the verdict on the terminal
    ninja and compiler     from ninja's start until the program is linked, by its own log
    checks                 build/dev/lesson_01 alone, right after the verdict
    the tool's own share   what is left of save -> verdict
    idle                   the tool's processor time while nothing happens, in percent of one processor
"""

import argparse
import contextlib
import os
import pathlib
import pty
import select
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ANSWER = "01_self_attention_v1/self_attention_v1.cpp"


class Watch:
    """./learn in a pseudo-terminal."""

    def __init__(self, course):
        self.start = time.monotonic()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(course)
            os.environ.update(TERM="xterm", LANG="C.UTF-8", COLUMNS="100", LINES="40")
            os.execv("./learn", ["./learn"])

    def wait_for(self, text, most=300):
        """The time at which the text has been written, looking only at what is written from now on."""
        written, end = b"", time.monotonic() + most
        while text.encode() not in written:
            if not select.select([self.terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise SystemExit(f"the tool did not show {text!r} but:\n{written.decode(errors='replace')}")
            written += os.read(self.terminal, 65536)
        return time.monotonic()

    def settle(self, seconds):
        """Reads on until nothing is written for so long."""
        while select.select([self.terminal], [], [], seconds)[0]:
            os.read(self.terminal, 65536)

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


def seconds(command, folder, expect=0):
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    taken = time.monotonic() - start
    if done.returncode != expect:
        raise SystemExit(f"{command} ended with {done.returncode}, expected {expect}:\n{done.stdout.decode()}")
    return taken


def linked_after(course):
    """How long ninja took from its start until it had linked the program, the last time it did."""
    steps = [line.split("\t") for line in (course / "build/dev/.ninja_log").read_text().splitlines()[1:]]
    return [int(end) / 1000 for _, end, _, output, _ in steps if output == "lesson_01"][-1]


@contextlib.contextmanager
def course_to_use(folder):
    if folder:
        if pathlib.Path(folder).resolve() == ROOT:
            raise SystemExit("--course is this course: expected a copy, as its answer and .learn are replaced")
        yield pathlib.Path(folder).resolve()
        return
    with tempfile.TemporaryDirectory() as temporary:
        course = pathlib.Path(temporary) / "course"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(course)], check=True)
        yield course


def measure(course, runs, idle_seconds):
    shutil.rmtree(course / ".learn", ignore_errors=True)
    right = (course / "solutions" / ANSWER).read_text()
    answer = course / "lessons" / ANSWER
    answer.write_text(right)
    seconds(["./learn", "check", "01"], course)  # builds what the first check builds once

    lists, screens, verdicts, builds, checks, own = [], [], [], [], [], []
    for _ in range(runs):
        lists.append(seconds(["./learn", "list"], course))
        watch = Watch(course)
        screens.append(watch.wait_for("01 · Self-attention: ") - watch.start)
        watch.close()

    watch = Watch(course)
    watch.wait_for("the reference")  # on the speed line: then nothing runs any more
    for run in range(runs):
        watch.settle(0.5)
        saved = time.monotonic()
        answer.write_text(f"{right}// saved {run}\n")
        verdicts.append(watch.wait_for("Well done.") - saved)
        builds.append(linked_after(course))
        watch.wait_for("the reference")
        checks.append(seconds(["build/dev/lesson_01"], course))
        own.append(verdicts[-1] - builds[-1] - checks[-1])
    watch.settle(1)
    before, begin = watch.processor_seconds(), time.monotonic()
    time.sleep(idle_seconds)
    idle = (watch.processor_seconds() - before) / (time.monotonic() - begin)
    watch.close()

    return [
        ("./learn list, ms", spread(lists)),
        ("./learn -> first screen, ms", spread(screens)),
        ("save -> verdict in watch mode, ms", spread(verdicts)),
        ("of which ninja and compiler, ms", spread(builds)),
        ("of which checks, ms", spread(checks)),
        ("the tool's own share, ms", spread(own)),
        (f"idle over {idle_seconds} s, % of one processor", f"{idle * 100:.2f}"),
    ]


def spread(values):
    values = [value * 1000 for value in values]
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def main():
    parser = argparse.ArgumentParser(description="How much time the tool itself takes")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--idle", type=int, default=20, help="seconds to watch it do nothing")
    parser.add_argument("--course", help="a copy of the course to measure in; its answer to lesson 01 is overwritten")
    arguments = parser.parse_args()
    load = os.getloadavg()[0]
    with course_to_use(arguments.course) as course:
        rows = measure(course, arguments.runs, arguments.idle)
    print("| what | median (least to most) |\n|---|---|")
    for what, value in rows:
        print(f"| {what} | {value} |")
    print(
        f"\nload of the machine: {load:.1f} at the beginning, {os.getloadavg()[0]:.1f} in the end, {os.cpu_count()} processors"
    )


if __name__ == "__main__":
    main()
