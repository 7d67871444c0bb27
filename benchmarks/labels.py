"""References by label in original documents: how many become evidence for the right picture, how many for a wrong one.

    python benchmarks/labels.py FOLDER

FOLDER has documents in AsciiDoc, reStructuredText, MyST notebooks, Quarto and R Markdown. What is true is read off the
source by expressions that have nothing in common with the readers: which labels are put on which picture's address, and
how often each is referred to. One document of each kind was looked at while the readers were written.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

from iconotext.evidence.reference import EXPLICIT, reference_evidence
from iconotext.read import read

FIGURES: dict[str, str] = {
    ".asciidoc": r"^\[\[(?P<label>[^\]]+)\]\]\n(?:\.[^\n]*\n)?image::(?P<file>[^\[]+)\[",
    ".rst": r"^\.\. figure:: (?P<file>\S+)\n(?:[ \t]+:(?!name)[^\n]*\n)*[ \t]+:name: (?P<label>[^\n]+)\n",
    ".qmd": r"\]\((?P<file>[^)\s]+)\)\{#(?P<label>fig-[\w-]+)",
    ".ipynb": r"^```\{figure-md\} (?P<label>[\w-]+) *\n<img src=\"(?P<file>[^\"]+)\""
    r"|^```\{glue:figure\} (?P<made>\S+)\n(?::[^\n]*\n)*?:name: \"(?P<name>[^\"]+)\""
    r"|^<img src='(?P<plain>[^']+)'[^\n]*>\n\n\*\*Figure[^\n]*?<a id='(?P<anchor>[^']+)'",
}
CELL = re.compile(r"^```\{r (?P<label>[\w-]+),(?P<options>[^\n]*)\}\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^[^#\n]*include_graphics\(\"([^\"]+)", re.MULTILINE)
REFERENCES = {
    ".asciidoc": r"<<([^>,]+)",
    ".rst": r":(?:num)?ref:`(?:[^`<]*<)?([^`>]+)>?`",
    ".qmd": r"@(fig-[\w-]+)",
    ".ipynb": r"(?<=\{numref\}`)(?:[^`<]*<)?([^`>]+)>?`|\]\(#(cal:fig:[\w:]+)\)",
    ".rmd": r"@ref\(fig:([\w-]+)\)",
}


def main() -> None:
    """Print a line for each document and one for all."""
    total: Counter[str] = Counter()
    for path in sorted(Path(sys.argv[1]).rglob("*")):
        if path.suffix.lower() in REFERENCES:
            counts = measure(path)
            total.update(counts)
            if counts["true"]:
                print(said(path.name, counts))
    print(said("all", total))


def labelled(kind: str, source: str) -> dict[str, list[str]]:
    """The addresses of the pictures that each label is put on."""
    if kind == ".rmd":
        cells = [m for m in CELL.finditer(source) if "fig.cap" in m["options"] and "eval=F" not in m["options"]]
        return {m["label"]: SHOWN.findall(m["body"]) or [f"code:{m['label']}"] for m in cells}
    found: dict[str, list[str]] = {}
    for match in re.finditer(FIGURES[kind], source, re.MULTILINE):
        parts = {name: value for name, value in match.groupdict().items() if value}
        label = parts.get("label") or parts.get("name") or parts["anchor"]
        found[label.strip().lower()] = [parts.get("file") or parts.get("plain") or f"code:{parts['made']}"]
    return found


def measure(path: Path) -> Counter[str]:
    """Counts of one document: sentences and pictures that references join, those found, those that evidence joins."""
    kind, source = path.suffix.lower(), path.read_text(encoding="utf-8")
    if kind == ".ipynb":
        cells = json.loads(source)["cells"]
        source = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    figures = labelled(kind, source)
    wanted: Counter[str] = Counter()
    for match in re.finditer(REFERENCES[kind], source):
        wanted.update(figures.get((match[match.lastindex or 1]).strip().lower(), ()))
    document = read(path)
    found: Counter[str] = Counter()
    for row in reference_evidence(document) == EXPLICIT:
        found.update({document.images[j].source for j in row.nonzero()[0]})
    right = sum((wanted & found).values())
    return Counter(true=wanted.total(), found=right, named=found.total())


def said(name: str, counts: Counter[str]) -> str:
    """One line of the table."""
    return (
        f"{name}: {counts['found']} of {counts['true']} references found (recall"
        f" {counts['found'] / max(counts['true'], 1):.1%}), {counts['found']} of {counts['named']} right (precision"
        f" {counts['found'] / max(counts['named'], 1):.1%})"
    )


if __name__ == "__main__":
    main()
