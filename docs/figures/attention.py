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
        "A layer of attention takes PyTorch and ONNX Runtime longer than this course's kernels, and more memory", 322
    )
    figure.text(12, 22, "One layer takes others longer", "strong")
    figure.text(12, 38, "times as long as this course's kernels, for L tokens", "dim small")
    base, height = 168, 36
    for i, length in enumerate(LENGTHS):
        left = 24 + 84 * i
        for j, (peer, (_, colour)) in enumerate(PEERS.items()):
            ratio = cells[f"1 x {length}", f"{peer} / ours"]
            figure.rect(left + 23 * j, base - height * ratio, 20, height * ratio, colour, 0.75, None, 2)
            figure.text(left + 23 * j + 10, base - height * ratio - 4, f"{ratio:.1f}", "small mono", "middle")
        figure.text(left + 33, base + 15, f"L = {length}", "dim small", "middle")
    figure.line((12, base), (352, base), colour="faint")
    figure.line((12, base - height), (352, base - height), colour="blue", dashed=True)
    figure.text(12, base - height - 4, "1", "blue small")

    figure.text(12, 210, "… and needs more memory", "strong")
    figure.text(348, 210, "MiB at L = 16384", "dim small", "end")
    rows = [("ours", "this course", "blue"), *((peer, *kind) for peer, kind in PEERS.items())]
    most = max(cells["1 x 16384", f"memory, {peer}, MiB"] for peer, _, _ in rows)
    for i, (peer, name, colour) in enumerate(rows):
        top, mebibytes = 220 + 17 * i, cells["1 x 16384", f"memory, {peer}, MiB"]
        figure.text(100, top + 11, name, f"{colour} small", "end")
        width = max(190 * mebibytes / most, 1.5)
        figure.rect(106, top + 2, width, 11, colour, 0.75, None, 2)
        figure.text(112 + width, top + 11, f"{mebibytes:.0f}", "small mono")
    versions = re.findall(r"(PyTorch SDPA|ONNX Runtime): (\d+(?:\.\d+)+)", surroundings)
    versions = ", ".join(f"{name.replace(' SDPA', '')} {version}" for name, version in versions)
    figure.text(12, 304, f"{versions}; two cores", "dim small")
    figure.text(12, 317, f"float32, two threads, {SYSTEM}", "dim small")
    return {"attention": figure}
