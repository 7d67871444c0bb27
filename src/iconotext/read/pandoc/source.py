"""The text of a document as pandoc is given it: what pandoc does not know of a format is put in words that it knows."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from lxml import etree

from iconotext.errors import HostileDocumentError
from iconotext.read.archive import parse_xml
from iconotext.read.include import Includes
from iconotext.read.settings import ReadSettings

INCLUDES = {
    "org": re.compile(r"^[ \t]*#\+include:[ \t]+\"([^\"\n]{1,400})\"", re.MULTILINE | re.IGNORECASE),
    "typst": re.compile(r"#?\b(?:include|import)[ \t]+\"([^\"\n@]{1,400})\""),
}
"""How a format names the files that it takes in; of LaTeX, ``latex.join_files`` knows it."""

MAX_DEPTH = 255
"""Groups, environments, templates and links within each other, as elements of HTML; pandoc takes minutes for more."""

MAX_HEADINGS = 5_000
"""Headings of Org, for which pandoc takes quadratic time."""

NESTED = {
    "latex": re.compile(r"\\[\\{}]|(\{|\\begin\b)|(\}|\\end\b)"),
    "mediawiki": re.compile(r"(\{\{|\[\[|\{\|)|(\}\}|\]\]|\|\})"),
}
"""What opens and closes, as two groups."""

ORG_HEADING = re.compile(r"^\*+ ", re.MULTILINE)

LATEX_WORDS = "".join(
    rf"\newenvironment{{{name}}}{arguments}{{\begin{{figure}}}}{{\end{{figure}}}}"
    for name, arguments in {
        "wrapfigure": "[3][]",
        "SCfigure": "[1][]",
        "sidewaysfigure": "[1][]",
        "marginfigure": "[1][]",
        "floatingfigure": "[2][]",
    }.items()
) + "".join(
    rf"\newcommand{{\{name}}}[{count}]{rest}"
    for name, count, rest in (
        *((name, 1, r"{\ref{#1}}") for name in ("figref", "Figref", "fref", "Fref", "subref", "fullref")),
        ("includesvg", 2, r"[]{\includegraphics{#2}}"),
        ("subfloat", 2, r"[]{\begin{subfigure}{1cm}#2\caption{#1}\end{subfigure}}"),
    )
)
"""Environments and commands of common packages that pandoc would leave out, made of those that it knows."""

ORG_REFERENCE = re.compile(
    r"\\(?:auto|name|page|c|C|v)?ref\{([^{}\n]{1,200})\}|(?<![\w\[])(?:auto|c|C)?ref:([\w:.-]{1,200}\w)"
)
GALLERY_LINE = re.compile(r"[ \t]*(?:(?:file|image):)?([^|\[\]<>]{1,300})(?:\|(.*))?$", re.IGNORECASE)
XML_DECLARATION = re.compile(r"\A\s*<\?xml[^<>]{0,200}\?>")
HREF = "{http://www.w3.org/1999/xlink}href"
SHOWN = re.compile(r"\.(?:png|jpe?g|svg|gif|webp)$", re.IGNORECASE)
GRAPHICS_PATH = re.compile(r"\\graphicspath\s{0,9}\{((?:\s{0,9}\{[^{}]{0,400}\}){1,20})")


def prepared(text: str, format_: str) -> str:
    """A text in the words of its format that pandoc knows. Lines may get other numbers."""
    change = CHANGES.get(format_)
    return text if change is None else change(text)


def check_bounds(text: str, format_: str) -> None:
    """Refuse a text that pandoc would take minutes for.

    Raises:
        HostileDocumentError: It is nested too deeply, or has too many headings.
    """
    depth = 0
    for found in NESTED[format_].finditer(text) if format_ in NESTED else ():
        depth = depth + 1 if found[1] else max(depth - 1, 0) if found[2] else depth
        if depth > MAX_DEPTH:
            line = text.count("\n", 0, found.start()) + 1
            raise HostileDocumentError(f"line {line}: nested more than {MAX_DEPTH} deep: close what opens before it")
    if format_ == "org" and sum(1 for _ in ORG_HEADING.finditer(text)) > MAX_HEADINGS:
        raise HostileDocumentError(f"it has more than {MAX_HEADINGS:,} headings: split it")


def _org(text: str) -> str:
    """References of LaTeX and of org-ref, which pandoc drops or leaves as text, become links of Org."""
    return ORG_REFERENCE.sub(lambda found: f"[[{found[1] or found[2]}]]", text)


def _mediawiki(text: str) -> str:
    """A gallery, which pandoc takes for a link, becomes its pictures."""
    lines, gallery = [], False
    for line in text.split("\n"):
        if "gallery" in line and ("<gallery" in line or "</gallery" in line):
            gallery, line = "</gallery" not in line, ""
        elif gallery and (picture := GALLERY_LINE.match(line)) and picture[1].strip():
            line = f"\n[[File:{picture[1].strip()}|thumb|{(picture[2] or '').strip()}]]\n"
        lines.append(line)
    return "\n".join(lines)


def _jats(text: str) -> str:
    """Labels go into their captions, alternative texts to their pictures; of alternative pictures one stays."""
    root = parse_xml(XML_DECLARATION.sub("", text).encode(), "the text")
    for figure in root.iter("{*}fig"):
        pictures = list(figure.iter("{*}graphic"))
        for alt in figure.findall("{*}alt-text"):
            figure.remove(alt)
            if pictures and pictures[0].find("{*}alt-text") is None:
                pictures[0].append(alt)
        label, first = figure.find("{*}label"), next(figure.iter("{*}title", "{*}p"), None)
        if label is not None and first is not None:
            first.text = f"{label.text or ''} {first.text or ''}"
    for choice in root.iter("{*}alternatives"):
        pictures = choice.findall("{*}graphic")
        best = next((p for p in pictures if SHOWN.search(p.get(HREF) or "")), pictures[0] if pictures else None)
        for picture in pictures:
            if picture is not best:
                choice.remove(picture)
    return etree.tostring(root, encoding="unicode")


CHANGES: dict[str, Callable[[str], str]] = {
    "jats": _jats,
    "org": _org,
    "mediawiki": _mediawiki,
}


def graphics_folders(text: str) -> tuple[str, ...]:
    r"""The folders in which ``\includegraphics`` looks, each ending in ``/``; the document's own is not among them."""
    found = GRAPHICS_PATH.search(text)
    folders = re.findall(r"\{([^{}]*)\}", found[1]) if found else []
    return tuple(folder.strip().rstrip("/") + "/" for folder in folders if folder.strip().strip("./"))


def included_files(text: str, format_: str, document: Path, settings: ReadSettings) -> list[str]:
    """Names of the files that a document takes in and those that they take in, relative to its folder.

    They lie in that folder or below: pandoc's sandbox knows no others.
    """
    names = INCLUDES.get(format_)
    includes = Includes(document, settings.model_copy(update={"root": document.parent, "allow_outside": False}))
    found: list[str] = []
    waiting = [(document, text)]
    while names is not None and waiting:
        including, text = waiting.pop()
        for match in names.finditer(text):
            name = match[1].strip()
            taken = includes.text(name, including)
            if taken is not None and ".." not in name and not name.startswith("/"):
                found.append(taken[0].relative_to(document.parent).as_posix())
                waiting.append(taken)
    return found
