"""Draws docs/attention.svg: time and memory of a whole layer against L, for lesson 07, the fast kernels and the peers.

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
NAIVE, FAST = "naive (lesson 07, double)", "flash (lesson 19, fast)"
LONGEST = {NAIVE: 4096, "PyTorch nn.MultiheadAttention": 8192}  # beyond: more memory than a laptop has


def measure(starts, folder, length, threads):
    """The peer's version, and what a forward takes: milliseconds, and MiB at most."""
    peer = turns.fastest(starts, folder, 1, length, threads)
    times = max(1, round(0.2 / peer.once))
    seconds = statistics.median([peer.seconds(times) for _ in range(5 if peer.once < 2 else 1)])
    peer.close()
    return peer.version, (seconds * 1e3, peer.growth / turns.MIB)


def main():
    parser = argparse.ArgumentParser(prog="bench/run plot", description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    threads = parser.parse_args().threads
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kinds = {NAIVE: [lambda _: turns.ours("naive")], **turns.OTHERS, FAST: [lambda _: turns.ours()]}
        points, versions = {kind: [] for kind in kinds}, {}
        for length in LENGTHS:
            maker = turns.ours()
            maker.ask(f"make {folder} 1 {length}")
            maker.close()
            for kind, starts in kinds.items():
                if length > LONGEST.get(kind, length):
                    continue
                try:
                    versions[kind], measured = measure(starts, folder, length, threads)
                    points[kind].append((length, *measured))
                    print(kind, *points[kind][-1], flush=True)
                except turns.Missing as reason:
                    print("missing:", reason, flush=True)
    draw(points, versions, threads)


def draw(points, versions, threads):
    pyplot.rcParams.update({"svg.fonttype": "none", "font.size": 10, "svg.hashsalt": "attention"})
    figure, (time, memory) = pyplot.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    for kind, marker in zip(points, "osvd^"):
        if points[kind]:
            lengths, milliseconds, mebibytes = zip(*points[kind])
            label = kind if kind in (NAIVE, FAST) else f"{kind} {versions[kind]}"
            time.plot(lengths, milliseconds, marker=marker, label=label)
            memory.plot(lengths, mebibytes, marker=marker, label=label)
    for axes, title in ((time, "milliseconds a forward"), (memory, "MiB in use at most, besides weights and input")):
        axes.set(xscale="log", yscale="log", xlabel="L", title=title, xticks=LENGTHS, xticklabels=LENGTHS)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    time.legend(loc="lower right", fontsize=8)
    figure.suptitle(
        f"One layer of self-attention: E = {turns.E}, H = {turns.H}, B = 1, {threads} threads\n"
        + ", ".join((*turns.surroundings(), versions[FAST])),
        fontsize=10,
    )
    figure.savefig(turns.ROOT / "docs/attention.svg", metadata={"Date": None})


main()
