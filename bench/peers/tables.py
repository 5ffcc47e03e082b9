"""Results as tables of Markdown."""

import statistics

import turns


def spread(values, digits=2):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


def table(rows):
    columns = list(dict.fromkeys(column for row in rows for column in row))
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return (
        "\n".join(lines + ["| " + " | ".join(row.get(column, "-") for column in columns) + " |" for row in rows]) + "\n"
    )


def write_down(command, system, text):
    """Between the lines in docs/measurements.md that bench/run's command has for this system."""
    path = turns.ROOT / "docs/measurements.md"
    page = path.read_text()
    begin, end = (f"<!-- bench/run {command}, {system}: {part} -->\n" for part in ("begin", "end"))
    if begin not in page or end not in page:
        raise SystemExit(f"{path} has no lines\n{begin}{end}to write the table between")
    path.write_text(page[: page.index(begin) + len(begin)] + text + page[page.index(end) :])
