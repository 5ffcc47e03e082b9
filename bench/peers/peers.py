"""Compares the course's quick attention layer with PyTorch and ONNX Runtime: the same whole layer, in float32, with the same
number of threads, in turns. First the results must agree to 1e-4. Prints a table, and writes it into docs/measurements.md.

    bench/run peers [--threads 2] [--rounds 9] [--sizes 1x128 8x128] [--print-only]
"""

import argparse
import pathlib
import statistics
import tempfile

import turns
from turns import E, H, MIB

SIZES = ["1x128", "8x128", "10x60", "1x1024", "1x4096", "1x16384"]
BEGIN, END = "<!-- bench/run peers: begin -->\n", "<!-- bench/run peers: end -->\n"


def flops(batch, length):
    return batch * (8 * length * E * E + 4 * length * length * E)


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def start_others(folder, size, arguments, missing):
    """The other peers that are there, after their results were compared with ours."""
    others = []
    for start in (turns.pytorch, turns.onnx_runtime):
        try:
            peer = start(folder)
            turns.loaded(peer, folder, *size, arguments.threads)
            peer.growth = peer.first_forward()[1]
            peer.ask("write theirs.out")
        except turns.Missing as reason:
            missing.add(str(reason))
            continue
        difference = turns.largest_difference(folder, "ours.out", "theirs.out")
        if not difference <= 1e-4:
            raise SystemExit(f"{peer.name} and ours differ by {difference:.1e} at {size}: no timing counts")
        others.append(peer)
    return others


def measure(folder, batch, length, arguments, missing):
    us = turns.ours()
    us.ask(f"make {folder} {batch} {length}")
    us.close()
    us = turns.loaded(turns.ours(), folder, batch, length, arguments.threads)
    us.growth = us.first_forward()[1]
    us.ask("write ours.out")
    others = start_others(folder, (batch, length), arguments, missing)

    sgemm = []
    taken = turns.take_turns([us, *others], arguments.rounds, arguments.seconds,
                             lambda: sgemm.append(float(us.ask(f"sgemm {arguments.threads}"))))
    row = {"B x L": f"{batch} x {length}", "ours, ms": spread([s * 1e3 for s in taken[us]])}
    for peer in others:
        row[f"{peer.name}, ms"] = spread([s * 1e3 for s in taken[peer]])
        row[f"{peer.name} / ours"] = spread([theirs / mine for theirs, mine in zip(taken[peer], taken[us])])
    row["GFLOP/s"] = f"{statistics.median(flops(batch, length) / s for s in taken[us]) * 1e-9:.0f}"
    row["of sgemm's rate"] = spread([100 * flops(batch, length) / s / rate for s, rate in zip(taken[us], sgemm)], 0) + " %"
    output = batch * length * E * 4
    for peer in (us, *others):
        row[f"memory, {peer.name}, MiB"] = f"{max(0, peer.growth - output) / MIB:.0f}"
        peer.close()
    return row


def table(rows):
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(row.get(column, "-") for column in columns) + " |" for row in rows]) + "\n"


def write_down(text):
    path = turns.ROOT / "docs/measurements.md"
    page = path.read_text()
    if BEGIN not in page or END not in page:
        raise SystemExit(f"{path} has no lines\n{BEGIN}{END}to write the table between")
    path.write_text(page[: page.index(BEGIN) + len(BEGIN)] + text + page[page.index(END):])


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
    rows, missing = [], set()
    with tempfile.TemporaryDirectory() as folder:
        for size in arguments.sizes:
            batch, length = map(int, size.split("x"))
            rows.append(measure(pathlib.Path(folder), batch, length, arguments, missing))
            print(", ".join(f"{name}: {value}" for name, value in rows[-1].items()), flush=True)
    text = f"E = {E}, H = {H}, {arguments.threads} threads; medians of {arguments.rounds}, in brackets smallest and largest.\n\n"
    text += table(rows) + "".join(f"\nMissing: {reason}\n" for reason in sorted(missing))
    print("\n" + text)
    if not arguments.print_only:
        write_down(text)


main()
