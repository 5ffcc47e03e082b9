"""Measures the fast decoder: tokens after a context, a prompt, and memory; beside a plain read of the same bytes, PyTorch eager
and sgemm, and single layers beside ONNX Runtime. Results are compared first. Prints tables, and writes them into
docs/measurements.md, in this system's place.

    bench/run decode [--threads 2] [--rounds 9] [--shapes gpt2 llama] [--contexts 16 512 2048] [--print-only]
"""

import argparse
import pathlib
import shutil
import statistics
import tempfile

import turns
from tables import spread, table, write_down
from turns import MIB, Missing, Peer

PROMPT = 512
NAMES = {"gpt2": "GPT-2 small, 124 M", "llama": "Llama 3.2 1B"}
LAYERS = [(1, 1), (1, 16), (10, 60)]


class Timed:
    """Something that a peer answers with seconds, as one that takes turns."""

    def __init__(self, peer, command):
        self.peer, self.command = peer, command

    def seconds(self, times):
        return statistics.mean(float(self.peer.ask(self.command)) for _ in range(times))


def decoder(number):
    return Peer(f"ours {number}", [turns.BUILD / "bench/bench_decode"])


def fastest_pytorch(path, shape, capacity, threads):
    """With the setting of its threads that is fastest for one token after a prompt."""
    best = None
    for setting, environment in turns.blas_settings().items():
        command = ["/usr/bin/python3", turns.HERE / "pytorch_decoder.py"]
        peer = Peer("PyTorch eager", command, environment, setting)
        peer.ask(f"load {path} {shape} F32 {capacity} {threads}")
        peer.ask(f"fill {PROMPT}")
        peer.seconds(1)
        peer.once = peer.seconds(3)
        best, slower = (peer, best) if best is None or peer.once < best.once else (best, peer)
        if slower:
            slower.close()
    return best


def compare(folder, ours, others, context):
    """Logits, relative to the largest one: the same weights to 1e-4; weights in bfloat16 to 0.1."""
    for peer in (ours, *others):
        peer.ask(f"fill {context}")
        peer.ask(f"write {folder}/{peer.name.split()[0]}{peer.name.split()[-1]}.out")
    name = lambda peer: f"{peer.name.split()[0]}{peer.name.split()[-1]}.out"
    largest = max(map(abs, turns.floats(folder / name(ours))))
    found = []
    for peer in others:
        difference = turns.largest_difference(folder, name(ours), name(peer)) / largest
        limit = 0.1 if peer.name.endswith("BF16") else 1e-4
        if not difference <= limit:
            raise SystemExit(
                f"{peer.name} and ours differ by {difference:.1e} after {context} tokens: no timing counts"
            )
        found.append(f"{difference:.0e} ({peer.name})")
    return found


def decode_row(folder, shape, context, arguments, ours, brain, pytorch):
    """One token after so many others."""
    compared = compare(folder, ours, [brain] + [pytorch] * (pytorch is not None), context)
    reads = {peer: Timed(peer, f"read {context}") for peer in (ours, brain)}
    runners = [ours, reads[ours], brain, reads[brain]] + [pytorch] * (pytorch is not None)
    taken = turns.take_turns(runners, arguments.rounds, arguments.seconds)
    ratio = lambda a, b: [x / y for x, y in zip(taken[a], taken[b])]
    milliseconds = lambda runner: spread([s * 1e3 for s in taken[runner]])
    row = {"model": NAMES[shape], "context": str(context)}
    for peer, number in ((ours, "float32"), (brain, "bfloat16")):
        row[f"ours {number}, ms"] = milliseconds(peer)
        row[f"plain read {number}, ms"] = milliseconds(reads[peer])
        row[f"of its rate, {number}, %"] = spread([100 * x for x in ratio(reads[peer], peer)], 0)
    row["float32 / bfloat16"] = spread(ratio(ours, brain))
    if pytorch:
        row["PyTorch eager, ms"] = milliseconds(pytorch) + (f", {pytorch.setting}" if pytorch.setting else "")
        row["PyTorch / ours"] = spread(ratio(pytorch, ours))
    return row, compared


def prompt_row(shape, arguments, ours, brain, pytorch):
    """A prompt from the start: the products of the blocks' matrices count, attention and the head do not. sgemm has a
    process of its own: its memory is not the decoder's."""
    blas = Peer("sgemm", [turns.BUILD / "bench/bench_decode"])
    flops = 2 * float(ours.ask("macs")) * PROMPT
    row = {"model": NAMES[shape]}
    prompts = {peer: Timed(peer, f"fill {PROMPT}") for peer in (ours, brain, *[pytorch] * (pytorch is not None))}
    rates = []
    taken = turns.take_turns(
        list(prompts.values()),
        arguments.rounds,
        arguments.seconds,
        lambda: rates.append(float(blas.ask(f"sgemm {arguments.threads}"))),
    )
    for peer, number in ((ours, "float32"), (brain, "bfloat16")):
        row[f"prompt of {PROMPT}, {number}, ms"] = spread([s * 1e3 for s in taken[prompts[peer]]], 0)
        of_rate = [100 * flops / s / rate for s, rate in zip(taken[prompts[peer]], rates)]
        row[f"of sgemm's rate, {number}, %"] = spread(of_rate, 0)
    row["sgemm, GFLOP/s"] = spread([rate * 1e-9 for rate in rates], 0)
    if pytorch:
        mine = taken[prompts[ours]]
        row["PyTorch / ours"] = spread([s / m for s, m in zip(taken[prompts[pytorch]], mine)])
    for peer, number in ((ours, "float32"), (brain, "bfloat16")):
        besides = peer.memory("RssAnon") - float(peer.ask("cache"))
        row[f"memory besides weights and cache, {number}, MiB"] = f"{besides / MIB:.0f}"
    blas.close()
    return row


def measure_model(folder, shape, arguments, versions, missing):
    capacity = max(arguments.contexts + [PROMPT]) + 1
    files = {number: folder / f"{shape}.{number}" for number in ("F32", "BF16")}
    ours, brain = decoder("F32"), decoder("BF16")
    for peer, (number, path) in zip((ours, brain), files.items()):
        peer.ask(f"make {path} {shape} {number}")
        peer.ask(f"load {path} {shape} {number} {capacity} {arguments.threads}")
    versions["ours"] = f"{ours.version}, kernels {ours.ask('kernels')}"
    try:
        pytorch = fastest_pytorch(files["F32"], shape, capacity, arguments.threads)
        versions["PyTorch eager"] = pytorch.version
    except Missing as reason:
        pytorch = None
        missing.add(str(reason))
    rows = []
    for context in arguments.contexts:
        row, compared = decode_row(folder, shape, context, arguments, ours, brain, pytorch)
        rows.append(row)
        print(", ".join(f"{name}: {value}" for name, value in row.items()))
        print("  largest differences of logits:", ", ".join(compared), flush=True)
    prompt = prompt_row(shape, arguments, ours, brain, pytorch)
    print(", ".join(f"{name}: {value}" for name, value in prompt.items()), flush=True)
    for peer in (ours, brain, pytorch):
        if peer:
            peer.close()
    for path in files.values():
        path.unlink()
    return rows, prompt


def layer_row(folder, batch, length, arguments, versions):
    """A whole layer, as bench/run peers measures it."""
    us = turns.ours()
    us.ask(f"make {folder} {batch} {length}")
    turns.loaded(us, folder, batch, length, arguments.threads)
    us.ask("write ours.out")
    onnx = turns.fastest(turns.OTHERS["ONNX Runtime"], folder, batch, length, arguments.threads)
    onnx.ask("write theirs.out")
    versions["ONNX Runtime"] = onnx.version
    difference = turns.largest_difference(folder, "ours.out", "theirs.out")
    if not difference <= 1e-4:
        raise SystemExit(f"ONNX Runtime and ours differ by {difference:.1e} at {batch} x {length}: no timing counts")
    taken = turns.take_turns([us, onnx], arguments.rounds, arguments.seconds)
    row = {"layer, B x L": f"{batch} x {length}"}
    for peer, name in ((us, "ours"), (onnx, "ONNX Runtime")):
        row[f"{name}, ms"] = spread([s * 1e3 for s in taken[peer]], 3)
    row["ONNX Runtime / ours"] = spread([theirs / mine for theirs, mine in zip(taken[onnx], taken[us])])
    us.close()
    onnx.close()
    print(", ".join(f"{name}: {value}" for name, value in row.items()), flush=True)
    return row


def roomy_folder(shapes):
    """In memory, where there is room for the weights: what is measured is not a disk."""
    needed = (9 if "llama" in shapes else 1) << 30
    memory = pathlib.Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > needed else None


def main():
    parser = argparse.ArgumentParser(prog="bench/run decode", description=__doc__.split("\n\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9, help="turns of each; the tables have medians (default: 9)")
    parser.add_argument("--seconds", type=float, default=0.3, help="about how long a turn lasts (default: 0.3)")
    parser.add_argument("--shapes", nargs="*", default=list(NAMES), choices=list(NAMES))
    parser.add_argument("--contexts", nargs="+", type=int, default=[16, 512, 2048])
    parser.add_argument("--print-only", action="store_true", help="leave docs/measurements.md alone")
    arguments = parser.parse_args()
    if arguments.rounds < 7 and not arguments.print_only:
        parser.error("at least 7 rounds, for a median that is written down")
    missing, versions, tables = set(), {}, [[], [], []]
    with tempfile.TemporaryDirectory(dir=roomy_folder(arguments.shapes)) as name:
        folder = pathlib.Path(name)
        for shape in arguments.shapes:
            rows, prompt = measure_model(folder, shape, arguments, versions, missing)
            tables[0] += rows
            tables[1].append(prompt)
        for batch, length in LAYERS:
            try:
                tables[2].append(layer_row(folder, batch, length, arguments, versions))
            except Missing as reason:
                missing.add(str(reason))
    system, processor = turns.surroundings()
    text = f"{system}, {processor}; {arguments.threads} threads; one sequence; random weights. "
    text += "; ".join(f"{name}: {version}" for name, version in versions.items()) + ". "
    text += f"Medians of {arguments.rounds}, in brackets smallest and largest.\n\n"
    text += "\n".join(table(rows) for rows in tables if rows)
    text += "".join(f"\nMissing: {reason}\n" for reason in sorted(missing))
    print("\n" + text)
    if not arguments.print_only:
        write_down("decode", system, text)


main()
