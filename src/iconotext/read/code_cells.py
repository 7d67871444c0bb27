"""Cells of code in Markdown, with the pictures that they show or make: Quarto, R Markdown, bookdown, MyST notebooks.

A cell shows a file (``knitr::include_graphics("a.png")``, ``Image("a.png")``), or makes a picture when the document is
rendered. In the second case the cell has a caption or a label, and the document gets a picture without a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from iconotext.read.cross_references import figure, made_by_code, picture

ENGINES = frozenset(
    "r python julia ojs js bash sh sql stan rcpp dot mermaid octave perl ruby go scala node d3 css sass tikz asis cat "
    "block exec embed haskell fortran c cpp stata sas code-cell ipython ipython3".split()
)
"""Languages that run the code of a cell: the first word between the braces."""

_DOUBLE, _SINGLE = (rf"{mark}(?:[^{mark}\\]|\\.)*+(?:{mark}|\\?\Z)" for mark in "\"'")
OPTION = re.compile(
    r"(?<![\w.-])([\w.-]{1,50}+)\s*+=\s*+"
    rf"(c\((?:[^()\"']|{_DOUBLE}|{_SINGLE})*+(?:\)|\Z)|{_DOUBLE}|{_SINGLE}|[^,\s]++)",
    re.DOTALL,
)
"""An option in the head of a cell: ``fig.cap="A tram"``, ``fig.cap=c("A tram", "A boat")``."""
TEXT = re.compile(r"\"((?:[^\"\\]|\\.)*+)(?:\"|\\?\Z)|'((?:[^'\\]|\\.)*+)(?:'|\\?\Z)", re.DOTALL)
"""A text in quotes; one that is never closed ends with the code."""
SHOWN = re.compile(r"\b(?:include_graphics|Image)\s*+\(")
COMMENT = re.compile(r"^\s*+#(?!\|).*$", re.MULTILINE)
LINE_OPTION = re.compile(r"^[ \t]*+(?:#|//|%%|--)\|[ \t]?(.*)$", re.MULTILINE)
"""A line of options in the code of a cell: ``#| fig-cap: A tram``."""
MADE = ("fig-cap", "fig.cap", "fig-subcap", "fig.subcap")  # options that only a cell with a picture has
MAX_HEAD = 64 * 2**10  # maximum number of characters of the head of a cell, or of options in YAML that are read
MAX_PICTURES = 200  # maximum number of pictures of one cell


@dataclass
class Cell:
    """A cell of code."""

    label: str = ""  # the label of the cell; "" without one
    name: str = ""  # by which the text refers to its picture: the label, with ``fig:`` before it unless it has that
    options: dict[str, Any] = field(default_factory=dict)  # by name, as text or a list of texts
    code: str = ""  # without the lines of options

    def texts(self, *names: str) -> list[str]:
        """Return the texts of the first of the named options that is set."""
        value = next((self.options[name] for name in names if name in self.options), None)
        values = value if isinstance(value, list) else [value]
        return [value.strip() for value in values if isinstance(value, str) and value.strip()]

    @property
    def is_run(self) -> bool:
        """Whether the code runs and the rendered document shows its output."""
        off = {"f", "false", "no", "hide"}
        return not any(str(self.options.get(name)).lower() in off for name in ("eval", "include", "fig.show"))


def parse_cell(head: str, code: str) -> Cell | None:
    """Return a cell of code; None if the head of a fenced block is not that of a cell."""
    engine, _, rest = head.partition(" ")
    if engine.rstrip(",").lower() not in ENGINES or len(head) > MAX_HEAD:
        return None
    cell = Cell(code=code)
    first = rest.strip().partition(",")[0].strip()
    if first and "=" not in first:
        cell.label = first.partition(" ")[0]
    for name, value in OPTION.findall(rest):
        cell.options[name] = _value(value)
    lines = "\n".join(LINE_OPTION.findall(code))
    if lines.strip():
        cell.options |= yaml_options(lines)
        cell.code = LINE_OPTION.sub("", code)
    cell.label = cell.name = str(cell.options.get("label") or cell.label)
    if cell.name and not cell.name.startswith(("fig-", "fig:")):
        cell.name = f"fig:{cell.name}"  # as bookdown refers to it
    return cell


def cell_figure(cell: Cell, stem: str, inline: Callable[[str], str]) -> str:
    """Return the HTML of the pictures of a cell; "" without any."""
    if not cell.is_run:
        return ""
    captions, alts = cell.texts("fig-cap", "fig.cap"), cell.texts("fig-alt", "fig.alt")
    parts = cell.texts("fig-subcap", "fig.subcap")
    files, label = shown_files(cell.code), cell.label
    alt_of = dict(enumerate(alts if len(alts) > 1 else alts * (len(files) or 1)))  # a single one counts for all
    if not files:
        if not (label.startswith("fig-") or any(name in cell.options for name in MADE)):
            return ""
        images = [made_by_code(label or "cell", alt_of.get(0), files=_rendered(stem, label))]
    else:
        images = [picture(address, alt_of.get(n) or None) for n, address in enumerate(files)]
    if len(parts) != len(images) and len(captions) == len(images) > 1:  # captions of the pictures, none of the whole
        parts, captions = captions, []
    if len(parts) == len(images):
        images = [figure([image], inline(caption)) for image, caption in zip(images, parts, strict=True)]
    return figure(images, inline(" ".join(captions)), names=[cell.name])


def shown_files(code: str) -> list[str]:
    """Return the files that code shows as pictures, in order."""
    code = COMMENT.sub("", code)
    files: list[str] = []
    for call in SHOWN.finditer(code):
        # Up to the parenthesis that closes the call, which may be missing.
        at, depth, end = call.end(), 1, min(len(code), call.end() + 4_000)
        while at < end and depth:
            depth += {"(": 1, ")": -1}.get(code[at], 0)
            at += 1
        texts = [a or b for a, b in TEXT.findall(code[call.end() : at])]
        # Only a text with a dot is the name of a file.
        files += [text for text in texts if "." in text and len(files) < MAX_PICTURES]
    return files


def _rendered(stem: str, label: str) -> list[str]:
    """Return the files in which R Markdown and Quarto keep the first picture of a cell, once rendered."""
    folders = [f"{stem}_files/figure-{kind}" for kind in ("html", "gfm", "markdown_github", "commonmark")]
    return [f"{folder}/{label}{end}" for folder in folders for end in ("-1.png", "-output-1.png")] if label else []


def _value(text: str) -> str | list[str]:
    """Return a value of R: a text, several texts, or anything else as it is written."""
    texts = [(a or b).replace("\\\\", "\\").replace('\\"', '"') for a, b in TEXT.findall(text)]
    if text.startswith("c("):
        return texts
    return texts[0] if texts else text


def yaml_options(lines: str) -> dict[str, Any]:
    """Return options written as YAML; only texts and lists of texts are constructed."""
    import yaml

    try:
        root = yaml.compose(lines[:MAX_HEAD], Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    if not isinstance(root, yaml.MappingNode):
        return {}
    options: dict[str, Any] = {}
    for key, value in root.value:
        if isinstance(value, yaml.ScalarNode):
            options[str(key.value)] = value.value
        elif isinstance(value, yaml.SequenceNode):
            options[str(key.value)] = [item.value for item in value.value if isinstance(item, yaml.ScalarNode)]
        elif isinstance(value, yaml.MappingNode):
            # MyST nests them: of ``mystnb: {figure: {caption: A tram}}`` the innermost name counts.
            for _, node in value.value:
                for name, scalar in node.value if isinstance(node, yaml.MappingNode) else ():
                    if isinstance(scalar, yaml.ScalarNode):
                        options.setdefault(str(name.value), scalar.value)
    return options
