"""Draws docs/attention.svg: time and memory of a whole layer against L, for lesson 07, the quick kernels and the peers.

    bench/run plot [--threads 2]
"""

import argparse
import pathlib
import statistics
import tempfile

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as pyplot  # noqa: E402 (after the choice)
import turns  # noqa: E402

LENGTHS = [128, 256, 512, 1024, 2048, 4096, 8192, 16384]
LONGEST = {"naive (lesson 07, double)": 4096, "PyTorch": 8192}  # beyond: more memory than a laptop has


def measure(start, folder, length, threads):
    peer = turns.loaded(start(), folder, 1, length, threads)
    first, growth = peer.first_forward()
    times = max(1, round(0.2 / first))
    seconds = statistics.median([peer.seconds(times) for _ in range(5 if first < 2 else 1)])
    peer.close()
    return seconds * 1e3, growth / turns.MIB


def main():
    parser = argparse.ArgumentParser(prog="bench/run plot", description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    threads = parser.parse_args().threads
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kinds = {"naive (lesson 07, double)": lambda: turns.ours("naive"), "PyTorch": lambda: turns.pytorch(folder),
                 "ONNX Runtime": lambda: turns.onnx_runtime(folder), "flash (lesson 19, fast)": turns.ours}
        points = {kind: [] for kind in kinds}
        for length in LENGTHS:
            maker = turns.ours()
            maker.ask(f"make {folder} 1 {length}")
            maker.close()
            for kind, start in kinds.items():
                if length > LONGEST.get(kind, length):
                    continue
                try:
                    points[kind].append((length, *measure(start, folder, length, threads)))
                    print(kind, *points[kind][-1], flush=True)
                except turns.Missing as reason:
                    print("missing:", reason, flush=True)
    draw(points, threads)


def draw(points, threads):
    pyplot.rcParams.update({"svg.fonttype": "none", "font.size": 10, "svg.hashsalt": "attention"})
    figure, (time, memory) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for kind, marker in zip(points, "osv^"):
        if points[kind]:
            lengths, milliseconds, mebibytes = zip(*points[kind])
            time.plot(lengths, milliseconds, marker=marker, label=kind)
            memory.plot(lengths, mebibytes, marker=marker, label=kind)
    for axes, title in ((time, "milliseconds a forward"), (memory, "MiB in use at most, besides weights and input")):
        axes.set(xscale="log", yscale="log", xlabel="L", title=title, xticks=LENGTHS, xticklabels=LENGTHS)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    time.legend()
    figure.suptitle(f"One layer of self-attention: E = {turns.E}, H = {turns.H}, B = 1, {threads} threads")
    figure.savefig(turns.ROOT / "docs/attention.svg", metadata={"Date": None})


main()
