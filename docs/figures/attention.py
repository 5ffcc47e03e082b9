"""The README's picture: one layer of attention beside PyTorch's and ONNX Runtime's, from the table in docs/measurements.md."""

import pathlib
import re

from svg import Figure

PAGE = pathlib.Path(__file__).resolve().parents[1] / "measurements.md"
SYSTEM = "Debian GNU/Linux 13"
PEERS = {  # name in the table: name here, colour
    "ONNX Runtime": ("ONNX Runtime", "green"),
    "PyTorch SDPA": ("PyTorch SDPA", "orange"),
    "PyTorch nn.MultiheadAttention": ("PyTorch MHA", "purple"),
}
LENGTHS = (128, 1024, 4096, 16384)


def tables():
    """The first line of what `bench/run peers` wrote, and {(row, column): number}, the median of each cell."""
    text = PAGE.read_text().split(f"<!-- bench/run peers, {SYSTEM}: begin -->\n")[1].split("<!--")[0]
    cells, header = {}, []
    for line in text.split("\n"):
        fields = [field.strip() for field in line.strip("|").split("|")]
        if fields[0] == "B x L":
            header = fields
        elif header and re.match(r"\d+ x \d+$", fields[0]):
            cells.update({(fields[0], name): float(field.split()[0]) for name, field in zip(header[1:], fields[1:])})
    return text.split("\n")[0], cells


def figures():
    surroundings, cells = tables()
    figure = Figure(
        "A layer of attention takes PyTorch and ONNX Runtime longer than this course's kernels, and more memory", 478
    )
    figure.text(12, 22, "Time for one layer of attention", "strong")
    figure.text(12, 38, "as a multiple of this course's kernels", "dim small")
    rows = [("ours", "this course", "blue"), *((peer, *kind) for peer, kind in PEERS.items())]
    left, unit = 106, 190 / max(cells[f"1 x {n}", f"{peer} / ours"] for n in LENGTHS for peer in PEERS)
    for i, length in enumerate(LENGTHS):
        top = 46 + 74 * i
        figure.text(12, top + 10, f"{length} tokens", "small strong")
        for j, (peer, name, colour) in enumerate(rows):
            y, ratio = top + 14 + 14 * j, 1 if peer == "ours" else cells[f"1 x {length}", f"{peer} / ours"]
            figure.text(left - 6, y + 10, name, f"{colour} small", "end")
            figure.rect(left, y + 1, unit * ratio, 11, colour, 0.75, None, 2)
            figure.text(left + unit * ratio + 6, y + 10, f"{ratio:.1f}", "small mono")

    figure.text(12, 366, "Memory for 16384 tokens, MiB", "strong")
    most = max(cells["1 x 16384", f"memory, {peer}, MiB"] for peer, _, _ in rows)
    for i, (peer, name, colour) in enumerate(rows):
        top, mebibytes = 370 + 14 * i, cells["1 x 16384", f"memory, {peer}, MiB"]
        figure.text(100, top + 11, name, f"{colour} small", "end")
        width = max(180 * mebibytes / most, 1.5)
        figure.rect(106, top + 2, width, 11, colour, 0.75, None, 2)
        figure.text(112 + width, top + 11, f"{mebibytes:.0f}", "small mono")
    processor = surroundings.split(", ", 1)[1].split(";")[0].replace("(R)", "").replace(" Processor", "")
    versions = re.findall(r"(PyTorch SDPA|ONNX Runtime): (\d+(?:\.\d+)+)", surroundings)
    versions = ", ".join(f"{name.replace(' SDPA', '')} {version}" for name, version in versions)
    figure.text(12, 442, f"{versions}; float32;", "dim small")
    figure.text(12, 455, f"two threads on two cores; {SYSTEM}", "dim small")
    figure.text(12, 468, processor, "dim small")
    return {"attention": figure}
