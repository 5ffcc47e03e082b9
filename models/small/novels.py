#!/usr/bin/env python3
"""Prints the text that models/small has learned: Jane Austen's six novels, in the public domain.

    apt-get install --no-install-recommends r-cran-janeaustenr
    models/small/novels.py >novels.txt

They come from the R package janeaustenr (MIT licence), whose texts are those of Project Gutenberg. ./learn train --text learns
nothing from the last tenth of a text; so the last tenth of each novel comes last here.
"""

import re
import subprocess

SCRIPT = "library(janeaustenr); b <- austen_books(); writeLines(paste0(as.integer(b$book), '\\t', b$text))"


def lines_of_novels():
    """The lines of each novel."""
    text = subprocess.run(["Rscript", "-e", SCRIPT], capture_output=True, check=True, encoding="utf-8").stdout
    novels = {}
    for line in filter(None, text.split("\n")):
        number, rest = line.split("\t", 1)
        novels.setdefault(number, []).append(rest.strip())
    return [novels[number] for number in sorted(novels)]


def paragraphs_of(lines):
    """Each on one line, without headings and the title page; an empty one before each chapter."""
    found, paragraph = [], []
    for line in lines + [""]:
        heading = re.match(r"(chapter|volume|the end|finis)\b", line, re.IGNORECASE) and not paragraph
        if heading and line.lower().startswith("chapter"):
            found.append("")
        if line and not heading:
            paragraph.append(line)
        elif paragraph:
            if found:
                found.append(re.sub(r"\s+", " ", " ".join(paragraph)))
            paragraph = []
    return found


def cut(paragraphs):
    """The first nine tenths, by characters, and the rest."""
    room = 0.9 * sum(len(paragraph) for paragraph in paragraphs)
    for i, paragraph in enumerate(paragraphs):
        room -= len(paragraph)
        if room < 0:
            return paragraphs[:i], paragraphs[i:]


def main():
    parts = [cut(paragraphs_of(lines)) for lines in lines_of_novels()]
    for begin, _ in parts:
        print("\n".join(begin))
    for _, end in parts:
        print("\n".join(end))


if __name__ == "__main__":
    main()
