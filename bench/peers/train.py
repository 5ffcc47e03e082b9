"""Measures a step of training: the fast trainer beside PyTorch eager, the same model in float32, with as many threads, in turns.
The losses of 20 steps are compared first. Then step time and memory against the length of the sequences. Prints tables, and
writes them into docs/measurements.md, in this system's place; docs/figures/draw.py draws the last one.

    bench/run train [--threads 2] [--rounds 9] [--sizes 32x64,64,4,2] [--lengths 64 512] [--print-only]
"""

import argparse
import pathlib
import statistics
import tempfile

import turns
from tables import spread, table, write_down
from turns import MIB, Missing, Peer

SIZES = ["32x64,64,4,2", "16x128,128,4,4", "4x512,384,6,6"]  # B x L, E, H, N
LENGTHS = [64, 128, 256, 512, 1024, 2048]
OF_LENGTHS = (2, 128, 4, 4)  # B, E, H, N
STEPS = 20


def ours():
    return Peer("ours", [turns.BUILD / "bench/bench_train"])


def pytorch(setting, environment):
    return Peer("PyTorch eager", ["/usr/bin/python3", turns.HERE / "pytorch_trainer.py"], environment, setting)


def model(size):
    """What the commands make and load need, between the file and the threads: B L E H N."""
    return " ".join(map(str, size))


def load(peer, folder, size, threads, optimizer=None):
    peer.ask(f"load {folder}/parameters {model(size)} {threads}")
    if optimizer:
        peer.ask(f"use {optimizer}")
    return peer


def pytorch_peers(folder, size, threads):
    """One for each setting of its threads, the first as it is installed, with the quickest AdamW."""
    peers = []
    for setting, environment in turns.blas_settings().items():
        peer = load(pytorch(setting, environment), folder, size, threads)
        peer.environment, peer.optimizer = environment, peer.ask("choose")
        peers.append(peer)
    return peers


def growth(peer, folder, size, threads, optimizer=None):
    """Bytes by which the resident memory of a process grew at most, for the model and three steps."""
    before = peer.memory("VmRSS")
    load(peer, folder, size, threads, optimizer)
    pathlib.Path(f"/proc/{peer.process.pid}/clear_refs").write_text("5")
    peer.ask("losses 3")
    grown = peer.memory("VmHWM") - before
    peer.close()
    return grown


def compare(us, them):
    """The losses of 20 steps, to 1e-4 of each."""
    a, b = ([float(loss) for loss in peer.ask(f"losses {STEPS}").split()] for peer in (us, them))
    largest = max(abs(x - y) / abs(y) for x, y in zip(a, b, strict=True))
    if not largest <= 1e-4:
        raise SystemExit(f"the losses of {us.name} and {them.name} differ by {largest:.1e}: no timing counts")
    return largest


def measure(folder, size, arguments, versions):
    """A row with times, and one with the rest."""
    us = ours()
    us.ask(f"make {folder}/parameters {model(size)}")
    installed, *others = pytorch_peers(folder, size, arguments.threads)
    difference = max(compare(load(us, folder, size, arguments.threads), peer) for peer in [installed, *others])
    versions.update({"ours": f"{us.version}, kernels {us.ask('kernels')}", installed.name: installed.version})

    sgemm = []
    taken = turns.take_turns(
        [us, installed, *others],
        arguments.rounds,
        arguments.seconds,
        lambda: sgemm.append(float(us.ask(f"sgemm {arguments.threads}"))),
    )
    fastest = min([installed, *others], key=lambda peer: statistics.median(taken[peer]))
    flops = 6 * float(us.ask("macs"))  # two for each, forward, and twice as many backward
    B, L, E, H, N = size
    name = {"B x L": f"{B} x {L}", "E, H, layers": f"{E}, {H}, {N}"}
    milliseconds = lambda peer: spread([s * 1e3 for s in taken[peer]])
    ratios = lambda peer: spread([theirs / mine for theirs, mine in zip(taken[peer], taken[us])])
    rate = lambda peer: f"{statistics.median(flops / s for s in taken[peer]) * 1e-9:.0f}"
    settings = [fastest.setting or "as installed", f"AdamW: {fastest.optimizer}"]
    time = {
        **name,
        "ours, ms": milliseconds(us),
        "PyTorch as installed, ms": milliseconds(installed),
        "as installed / ours": ratios(installed),
        "PyTorch, ms": ", ".join([milliseconds(fastest), *settings]),
        "PyTorch / ours": ratios(fastest),
    }
    rest = {
        **name,
        "ours, GFLOP/s": rate(us),
        "PyTorch, GFLOP/s": rate(fastest),
        "of sgemm's rate": spread([100 * flops / s / rate for s, rate in zip(taken[us], sgemm)], 0) + " %",
    }
    for peer in taken:
        peer.close()
    rest |= {
        "memory, ours, MiB": f"{growth(ours(), folder, size, arguments.threads) / MIB:.0f}",
        "memory, PyTorch, MiB": "%.0f"
        % (
            growth(pytorch(fastest.setting, fastest.environment), folder, size, arguments.threads, fastest.optimizer)
            / MIB
        ),
        "losses differ by": f"{difference:.0e}",
    }
    for row in (time, rest):
        print(", ".join(f"{column}: {value}" for column, value in row.items()), flush=True)
    return time, rest


def length_row(folder, length, arguments, versions):
    B, E, H, N = OF_LENGTHS
    time, rest = measure(folder, (B, length, E, H, N), arguments, versions)
    return {
        "L": str(length),
        **{column: time[column] for column in list(time)[2:]},
        **{column: rest[column] for column in ("memory, ours, MiB", "memory, PyTorch, MiB")},
    }


def size_of(text):
    shape, E, H, N = text.split(",")
    return tuple(map(int, (*shape.split("x"), E, H, N)))


def main():
    parser = argparse.ArgumentParser(prog="bench/run train", description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9, help="turns of each; the table has medians (default: 9)")
    parser.add_argument("--seconds", type=float, default=0.5, help="about how long a turn lasts (default: 0.5)")
    parser.add_argument("--sizes", nargs="*", default=SIZES, help="B x L, E, H, layers, such as 32x64,64,4,2")
    parser.add_argument("--lengths", nargs="*", type=int, default=LENGTHS, help="of the second table")
    parser.add_argument("--print-only", action="store_true", help="leave docs/measurements.md alone")
    arguments = parser.parse_args()
    if arguments.rounds < 7 and not arguments.print_only:
        parser.error("at least 7 rounds, for a median that is written down")
    rows, lengths, versions = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows = [measure(folder, size_of(size), arguments, versions) for size in arguments.sizes]
            lengths = [length_row(folder, length, arguments, versions) for length in arguments.lengths]
        except Missing as reason:
            raise SystemExit(str(reason))
    system, processor = turns.surroundings()
    B, E, H, N = OF_LENGTHS
    text = f"{system}, {processor}; {arguments.threads} threads; V = 256, F = 4 E, tied head. "
    text += "; ".join(f"{name}: {version}" for name, version in versions.items()) + ". "
    text += f"Medians of {arguments.rounds}, in brackets smallest and largest.\n"
    for part in ([row[0] for row in rows], [row[1] for row in rows]):
        text += "\n" + table(part) if part else ""
    if lengths:
        text += f"\nAgainst the length: B = {B}, E = {E}, H = {H}, {N} layers.\n\n" + table(lengths)
    print("\n" + text)
    if not arguments.print_only:
        write_down("train", system, text)


main()
