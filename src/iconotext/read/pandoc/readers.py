"""Readers of the formats that pandoc converts: their text is adapted, and LaTeX repaired if pandoc refuses it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

from lxml import etree

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.archive import parse_xml
from iconotext.read.blocks import Flow, FlowImage, drop_repeated_title
from iconotext.read.html import html_blocks, parse_html
from iconotext.read.pandoc import convert
from iconotext.read.pandoc.convert import RefusedError, mend, to_html
from iconotext.read.pandoc.latex import (
    Source,
    blamed,
    join_files,
    refused_command,
    refused_section,
    repaired,
    structural_repairs,
)
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import Includes, decode_text

INCLUDES = {
    "org": re.compile(r"^[ \t]*#\+include:[ \t]+\"([^\"\n]{1,400})\"", re.MULTILINE | re.IGNORECASE),
    "typst": re.compile(r"#?\b(?:include|import)[ \t]+\"([^\"\n@]{1,400})\""),
}
"""Syntax by which a format includes files; for LaTeX see ``latex.join_files``."""

MAX_DEPTH = 255
"""Groups, environments, templates and links within each other, as elements of HTML; pandoc takes minutes for more."""

MAX_HEADINGS = 5_000  # maximum number of headings of Org, for which pandoc takes quadratic time

NESTED = {
    "latex": re.compile(r"\\[\\{}]|(\{|\\begin\b)|(\}|\\end\b)"),
    "mediawiki": re.compile(r"(\{\{|\[\[|\{\|)|(\}\}|\]\]|\|\})"),
}
"""Syntax that opens and closes an element, as two groups."""

ORG_HEADING = re.compile(r"^\*+ ", re.MULTILINE)

LATEX_WORDS = (
    r"\newenvironment{wrapfigure}[3][]{\begin{figure}}{\end{figure}}"
    r"\newenvironment{SCfigure}[1][]{\begin{figure}}{\end{figure}}"
    r"\newenvironment{sidewaysfigure}[1][]{\begin{figure}}{\end{figure}}"
    r"\newenvironment{marginfigure}[1][]{\begin{figure}}{\end{figure}}"
    r"\newenvironment{floatingfigure}[2][]{\begin{figure}}{\end{figure}}"
    r"\newcommand{\figref}[1]{\ref{#1}}\newcommand{\Figref}[1]{\ref{#1}}\newcommand{\fref}[1]{\ref{#1}}"
    r"\newcommand{\Fref}[1]{\ref{#1}}\newcommand{\subref}[1]{\ref{#1}}\newcommand{\fullref}[1]{\ref{#1}}"
    r"\newcommand{\nameref}[1]{\autoref{#1}}"
    r"\newcommand{\includesvg}[2][]{\includegraphics{#2}}"
    r"\newcommand{\subfloat}[2][]{\begin{subfigure}{1cm}#2\caption{#1}\end{subfigure}}"
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


def check_bounds(text: str, format_: str) -> None:
    """Refuse a text that takes pandoc minutes."""
    depth = 0
    for match in NESTED[format_].finditer(text) if format_ in NESTED else ():
        depth = depth + 1 if match[1] else max(depth - 1, 0) if match[2] else depth
        if depth > MAX_DEPTH:
            line = text.count("\n", 0, match.start()) + 1
            raise HostileDocumentError(f"line {line}: nested more than {MAX_DEPTH} deep: close what opens before it")
    if format_ == "org" and sum(1 for _ in ORG_HEADING.finditer(text)) > MAX_HEADINGS:
        raise HostileDocumentError(f"it has more than {MAX_HEADINGS:,} headings: split it")


def _org(text: str) -> str:
    """Turn references of LaTeX and of org-ref, which pandoc drops or leaves as text, into links of Org."""
    return ORG_REFERENCE.sub(lambda match: f"[[{match[1] or match[2]}]]", text)


def _mediawiki(text: str) -> str:
    """Replace a gallery, which pandoc takes for a link, by its pictures."""
    lines, gallery = [], False
    for line in text.split("\n"):
        if "gallery" in line and ("<gallery" in line or "</gallery" in line):
            gallery, line = "</gallery" not in line, ""
        elif gallery and (picture := GALLERY_LINE.match(line)) and picture[1].strip():
            line = f"\n[[File:{picture[1].strip()}|thumb|{(picture[2] or '').strip()}]]\n"
        lines.append(line)
    return "\n".join(lines)


def _jats(text: str) -> str:
    """Move labels into their captions and alternative texts to their pictures; of alternative pictures one stays."""
    root = parse_xml(XML_DECLARATION.sub("", text).encode(), "the text")
    for figure in root.iter("{*}fig"):
        picture = next(figure.iter("{*}graphic"), None)
        for alt in figure.findall("{*}alt-text"):
            figure.remove(alt)
            if picture is not None and picture.find("{*}alt-text") is None:
                picture.append(alt)
        label, first = figure.find("{*}label"), next(figure.iter("{*}title", "{*}p"), None)
        if label is not None and first is not None:
            first.text = f"{label.text or ''} {first.text or ''}"
    for choice in root.iter("{*}alternatives"):
        pictures = choice.findall("{*}graphic")
        best = next((p for p in pictures if SHOWN.search(p.get(HREF) or "")), next(iter(pictures), None))
        for picture in pictures:
            if picture is not best:
                choice.remove(picture)
    return etree.tostring(root, encoding="unicode")


CHANGES: dict[str, Callable[[str], str]] = {"jats": _jats, "org": _org, "mediawiki": _mediawiki}
"""Changes of the parts of a text that pandoc does not know in its format; they may change the numbers of lines."""


def graphics_folders(text: str) -> tuple[str, ...]:
    r"""Return the folders in which ``\includegraphics`` looks, each ending in ``/``, but not the document's folder."""
    match = GRAPHICS_PATH.search(text)
    folders = re.findall(r"\{([^{}]*)\}", match[1]) if match else []
    return tuple(folder.strip().rstrip("/") + "/" for folder in folders if folder.strip().strip("./"))


def included_files(text: str, format_: str, document: Path, settings: ReadSettings) -> list[str]:
    """Return the names of all included files, directly or by other files, relative to the document's folder.

    They lie in that folder or below: pandoc's sandbox knows no others.
    """
    names = INCLUDES.get(format_)
    includes = Includes(document, settings.model_copy(update={"root": document.parent, "allow_outside": False}))
    included: list[str] = []
    waiting = [(document, text)]
    while names is not None and waiting:
        including, text = waiting.pop()
        for match in names.finditer(text):
            name = match[1].strip()
            part = includes.text(name, including)
            if part is not None and ".." not in name and not name.startswith("/"):
                included.append(part[0].relative_to(document.parent).as_posix())
                waiting.append(part)
    return included


ENDINGS = (".png", ".jpg", ".jpeg", ".svg", ".webp", ".gif", ".tif", ".tiff", ".pdf", ".eps")
"""Endings that LaTeX, and publishers of JATS, leave out of the names of pictures; the preferred one first."""

# A place in a message of pandoc.
PLACE = re.compile(r" \(?(?:at )?line (?P<line>\d+) column (?P<column>\d+)\)?")
MAX_COMMANDS = 10
"""Maximum number of pandoc's tries with a LaTeX document, without what was refused, before sections are removed."""
MAX_LISTED = 20  # maximum number of repairs that are listed; only the number of the others is given


def read_pandoc(format_: str, path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a document with pandoc, which has the same names for these formats."""
    text = decode_text(path, html=True)
    check_bounds(text, format_)
    # A document from the web includes nothing of this machine.
    includes = included_files(text, format_, path, settings) if path not in settings.origins else []
    changed = CHANGES[format_](text) if format_ in CHANGES else text
    source = changed.encode("utf-8", errors="replace")
    html, left_out = to_html(source, format_, folder=path.parent.absolute(), includes=includes)
    if changed.count("\n") != text.count("\n"):  # its numbers of lines are not those of the file
        left_out = tuple(PLACE.sub("", part) for part in left_out)
    return [_flow(html, format_, left_out)]


read_org = partial(read_pandoc, "org")
read_typst = partial(read_pandoc, "typst")
read_docbook = partial(read_pandoc, "docbook")
read_jats = partial(read_pandoc, "jats")
read_mediawiki = partial(read_pandoc, "mediawiki")


def read_rtf(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read RTF, which is ASCII but for pictures as bytes; pandoc unpacks these into a folder."""
    del settings  # nothing of it concerns RTF
    source = path.read_bytes().decode("latin-1").encode()
    with TemporaryDirectory(prefix="iconotext-") as folder:
        html, left_out = to_html(source, "rtf", folder=path.parent.absolute(), media=Path(folder))
        return [_flow(html, "rtf", left_out, media=Path(folder))]


def read_latex(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read LaTeX with pandoc: repair or remove parts that pandoc refuses."""
    take_in = path not in settings.origins  # a document from the web includes nothing of this machine
    source = join_files(decode_text(path, html=True), path, settings, take_in=take_in)
    check_bounds(source.text, "latex")
    html, unread = _latex_html(source, path.parent.absolute())
    return [_flow(html, "latex", (*source.unread, *unread), folders=graphics_folders(source.text))]


def _latex_html(source: Source, folder: Path) -> tuple[str, list[str]]:
    """Return the HTML of a LaTeX document, and a line for each change or omission."""
    text, changes = source.text, list[str]()
    # All attempts together have the time of one, so that a text that is refused again and again costs no more.
    end = _work_of_pandoc() + convert.MAX_SECONDS

    def converted(text: str) -> tuple[str, tuple[str, ...]]:
        whole = f"{LATEX_WORDS}\n{text}".encode("utf-8", errors="replace")
        return to_html(whole, "latex", folder=folder, seconds=max(int(end - _work_of_pandoc()), 1))

    def is_read(part: str) -> bool:
        try:
            converted(repaired(part, structural_repairs(part)))
        except RefusedError:
            return False
        return True

    for attempt in takewhile(lambda _: _work_of_pandoc() < end, count()):
        try:
            html, left_out = converted(text)
            return html, _first(changes) + [PLACE.sub(partial(_place, source), part) for part in left_out]
        except RefusedError as error:
            refused = error
        # Twice, since a brace that was closed may begin an environment.
        repairs = structural_repairs(text) if attempt < 2 else []
        if not repairs:
            command = refused_command(text, refused.line - 1, refused.column) if attempt < MAX_COMMANDS else None
            part = command or refused_section(text, refused.line - 1, is_read)
            if part is None:
                break
            kind = "left out" if command else "left out up to the next heading"
            repairs = [replace(part, words=f"{kind}, since pandoc cannot read it ({refused.reason})")]
        for repair in repairs:
            line, excerpt = blamed(text, repair.at)
            changes.append(f'{source.place(line)}, "{excerpt}": {repair.words}')
        text = repaired(text, repairs)
    raise DocumentError(f"{source.place(refused.line - 1)}: pandoc cannot read it ({refused.reason}): mend it there")


def _work_of_pandoc() -> float:
    """Return the processor time of the programs that this process has run so far; 0 on Windows."""
    times = os.times()
    return times.children_user + times.children_system


def _place(source: Source, match: re.Match[str]) -> str:
    """Return a message of pandoc with the place in its file instead of the place in the joined text."""
    file, number = source.at(int(match["line"]) - 1)  # the line of ``LATEX_WORDS`` stands before the text
    place = f"{file} line {number}" if file else f"line {number} column {match['column']}"
    return match[0].replace(f"line {match['line']} column {match['column']}", place)


def _first(changes: list[str]) -> list[str]:
    """Return the first ``MAX_LISTED`` changes, and how many more there are."""
    more = [f"{len(changes) - MAX_LISTED} more places were repaired"] if len(changes) > MAX_LISTED else []
    return [*changes[:MAX_LISTED], *more]


def _flow(
    html: str, format_: str, unread: Iterable[str], *, media: Path | None = None, folders: tuple[str, ...] = ()
) -> Flow:
    """Return the document of a page that pandoc made."""
    tree = parse_html(html)
    title = mend(tree, format_)
    language = language_code(tree.get("lang") or "")
    blocks = html_blocks(tree.find("body"))
    for block in blocks:
        block.images = [(offset, _image(image, media, folders)) for offset, image in block.images]
    return Flow(drop_repeated_title(blocks), title, language, unread=tuple(unread))


def _image(image: FlowImage, media: Path | None, folders: tuple[str, ...]) -> FlowImage:
    """Return an image with its bytes if they are inside the document, else with all addresses that it may mean."""
    address = image.sources[0]
    if media is not None and Path(address).is_relative_to(media):
        name = Path(address).relative_to(media)
        return replace(image, sources=(name.as_posix(),), file=Path(address).read_bytes())
    places = [folder + address for folder in ("", *folders)] if ":" not in address else [address]
    if "." not in address.rpartition("/")[2]:
        places += [place + ending for place in places for ending in ENDINGS]
    return replace(image, sources=tuple(places))
