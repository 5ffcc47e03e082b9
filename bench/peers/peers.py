"""Compares the course's fast attention layer with PyTorch and ONNX Runtime: the same whole layer, in float32, with the same
number of threads, in turns. First the results must agree to 1e-4. Each peer runs with the settings that are fastest for it
at that size. Prints a table, and writes it into docs/measurements.md, in this system's place.

    bench/run peers [--threads 2] [--rounds 9] [--sizes 1x128 8x128] [--print-only]
"""

import argparse
import pathlib
import statistics
import tempfile

import turns
from tables import spread, table, write_down
from turns import E, H, MIB

SIZES = ["1x128", "8x128", "10x60", "1x1024", "1x4096", "1x16384"]


def flops(batch, length):
    return batch * (8 * length * E * E + 4 * length * length * E)


def start_others(folder, size, arguments, missing):
    """The other peers that are available, after comparing their results with ours."""
    others = []
    for starts in turns.OTHERS.values():
        try:
            peer = turns.fastest(starts, folder, *size, arguments.threads)
            peer.ask("write theirs.out")
        except turns.Missing as reason:
            missing.add(str(reason))
            continue
        difference = turns.largest_difference(folder, "ours.out", "theirs.out")
        if not difference <= 1e-4:
            raise SystemExit(f"{peer.name} and ours differ by {difference:.1e} at {size}: no timing counts")
        others.append(peer)
    return others


def measure(folder, batch, length, arguments, missing, versions):
    us = turns.ours()
    us.ask(f"make {folder} {batch} {length}")
    us.close()
    us = turns.loaded(turns.ours(), folder, batch, length, arguments.threads)
    us.growth = us.first_forward()[1]
    us.ask("write ours.out")
    others = start_others(folder, (batch, length), arguments, missing)
    versions.update((peer.name, peer.version) for peer in (us, *others))

    sgemm = []
    taken = turns.take_turns(
        [us, *others],
        arguments.rounds,
        arguments.seconds,
        lambda: sgemm.append(float(us.ask(f"sgemm {arguments.threads}"))),
    )
    ratios = {peer: [theirs / mine for theirs, mine in zip(taken[peer], taken[us])] for peer in others}
    time = {"B x L": f"{batch} x {length}", "ours, ms": spread([s * 1e3 for s in taken[us]])}
    for peer in others:
        time[f"{peer.name}, ms"] = spread([s * 1e3 for s in taken[peer]]) + (
            f", {peer.setting}" if peer.setting else ""
        )
        time[f"{peer.name} / ours"] = spread(ratios[peer])
    output = batch * length * E * 4
    more = {"B x L": f"{batch} x {length}"}
    more["ours, GFLOP/s"] = f"{statistics.median(flops(batch, length) / s for s in taken[us]) * 1e-9:.0f}"
    more["of sgemm's rate"] = (
        spread([100 * flops(batch, length) / s / rate for s, rate in zip(taken[us], sgemm)], 0) + " %"
    )
    for peer in (us, *others):
        more[f"memory, {peer.name}, MiB"] = f"{max(0, peer.growth - output) / MIB:.0f}"
        peer.close()
    best = {}
    for peer in others:
        library = "PyTorch" if peer.name.startswith("PyTorch") else peer.name
        best[library] = min(statistics.median(ratios[peer]), best.get(library, float("inf")))
    return time, more, best


def summary(ratios):
    """The smallest of the medians of all sizes, against the faster of a library's layers."""
    least = {library: min(best[library] for best in ratios if library in best) for best in ratios for library in best}
    return (
        "At every size at least "
        + " and ".join(f"{ratio:.2f} times as fast as {library}" for library, ratio in least.items())
        + " at its best (medians).\n"
    )


def main():
    parser = argparse.ArgumentParser(prog="bench/run peers", description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9, help="turns of each; the table has medians (default: 9)")
    parser.add_argument("--seconds", type=float, default=0.3, help="about how long a turn lasts (default: 0.3)")
    parser.add_argument("--sizes", nargs="+", default=SIZES, help="B x L, such as 8x128")
    parser.add_argument("--print-only", action="store_true", help="leave docs/measurements.md alone")
    arguments = parser.parse_args()
    if arguments.rounds < 7 and not arguments.print_only:
        parser.error("at least 7 rounds, for a median that is written down")
    rows, missing, versions = [], set(), {}
    with tempfile.TemporaryDirectory() as folder:
        for size in arguments.sizes:
            batch, length = map(int, size.split("x"))
            rows.append(measure(pathlib.Path(folder), batch, length, arguments, missing, versions))
            for part in rows[-1][:2]:
                print(", ".join(f"{name}: {value}" for name, value in part.items()), flush=True)
    times, more, ratios = zip(*rows)
    system, processor = turns.surroundings()
    text = f"{system}, {processor}; {arguments.threads} threads; E = {E}, H = {H}. "
    text += "; ".join(f"{name}: {version}" for name, version in versions.items()) + ". "
    text += f"Medians of {arguments.rounds}, in brackets smallest and largest.\n\n"
    text += table(times) + "\n" + table(more) + "\n" + summary(ratios)
    text += "".join(f"\nMissing: {reason}\n" for reason in sorted(missing))
    print("\n" + text)
    if not arguments.print_only:
        write_down("peers", system, text)


main()
