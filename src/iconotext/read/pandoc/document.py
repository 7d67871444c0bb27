"""A document of one of pandoc's formats, as one flow."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from iconotext.errors import HostileDocumentError
from iconotext.read.blocks import Flow, FlowImage, drop_repeated_title
from iconotext.read.html import html_blocks, parse_html
from iconotext.read.pandoc import convert
from iconotext.read.pandoc.convert import RefusedError, to_html
from iconotext.read.pandoc.latex import blamed, refused_command, repaired, structural_repairs
from iconotext.read.pandoc.latex_source import Source, join_files
from iconotext.read.pandoc.plain_latex import plain_html
from iconotext.read.pandoc.source import LATEX_WORDS, check_bounds, graphics_folders, included_files, prepared
from iconotext.read.pandoc.tree import mend
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_text

ENDINGS = (".png", ".jpg", ".jpeg", ".svg", ".webp", ".gif", ".tif", ".tiff", ".pdf", ".eps")
"""What LaTeX, and publishers of JATS, leave out of the names of pictures; the best for us first."""

PLACE = re.compile(r" \(?(?:at )?line (?P<line>\d+) column (?P<column>\d+)\)?")
MAX_ATTEMPTS = 10
"""How often pandoc tries a LaTeX document, each time with less of what it refuses."""
MAX_TOLD = 20
"""Repairs that are told; of the others, their number."""


def read_pandoc(format_: str, path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a document with pandoc.

    Args:
        format_: One of ``convert.NAMES``.
    """
    if format_ == "latex":
        return _read_latex(path, settings)
    with ExitStack() as stack:
        media = Path(stack.enter_context(TemporaryDirectory(prefix="iconotext-"))) if format_ == "rtf" else None
        moved = False
        includes: list[str] = []
        if format_ == "rtf":  # ASCII by its definition, but for pictures as bytes
            source = path.read_bytes().decode("latin-1").encode()
        else:
            text = decode_text(path, html=True)
            check_bounds(text, format_)
            if path not in settings.origins:  # what comes from the web takes in nothing of this machine
                includes = included_files(text, format_, path, settings)
            changed = prepared(text, format_)
            moved = changed.count("\n") != text.count("\n")
            source = changed.encode("utf-8", errors="replace")
        html, left_out = to_html(source, format_, folder=path.parent.absolute(), includes=includes, media=media)
        if moved:
            left_out = tuple(PLACE.sub("", part) for part in left_out)
        return [_flow(html, format_, left_out, media=media)]


def _read_latex(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read LaTeX with pandoc; what pandoc refuses is repaired or taken out, or the document is read without pandoc."""
    taken_in = path not in settings.origins  # what comes from the web takes in nothing of this machine
    source = join_files(decode_text(path, html=True), path, settings, take_in=taken_in)
    check_bounds(source.text, "latex")
    html, unread = _latex_html(source, path.parent.absolute())
    return [_flow(html, "latex", (*source.unread, *unread), folders=graphics_folders(source.text))]


def _latex_html(source: Source, folder: Path) -> tuple[str, list[str]]:
    """HTML of a LaTeX document, and what was changed or left out, a line each."""
    text, told = source.text, list[str]()
    end = time.monotonic() + convert.MAX_SECONDS
    for attempt in range(MAX_ATTEMPTS):
        whole = f"{LATEX_WORDS}\n{text}".encode("utf-8", errors="replace")
        try:
            html, left_out = to_html(whole, "latex", folder=folder, seconds=max(end - time.monotonic(), 0.1))
            return html, _first(told) + [PLACE.sub(partial(_place, source), part) for part in left_out]
        except RefusedError as error:
            refused = error
        except HostileDocumentError:
            if attempt == 0:
                raise
            break
        repairs = structural_repairs(text) if attempt == 0 else []
        if not repairs and (command := refused_command(text, refused.line - 1, refused.column)):
            repairs = [replace(command, words=f"left out, since pandoc cannot read it ({refused.reason})")]
        if not repairs:
            break
        for repair in repairs:
            line, shown = blamed(text, repair.at)
            told.append(f'{source.place(line)}, "{shown}": {repair.words}')
        text = repaired(text, repairs)
    where = f"{source.place(refused.line - 1)}: {refused.reason}"
    simply = f"pandoc cannot read it ({where}): read in simple form, without the author's commands and tables"
    return plain_html(text), [*_first(told), simply]


def _place(source: Source, found: re.Match[str]) -> str:
    """A place as pandoc names it, as the place in its file."""
    file, number = source.places[min(max(int(found["line"]) - 1, 1), len(source.places)) - 1]
    there = f"{file} line {number}" if file else f"line {number} column {found['column']}"
    return found[0].replace(f"line {found['line']} column {found['column']}", there)


def _first(told: list[str]) -> list[str]:
    """The first of many lines, and the number of the others."""
    return told if len(told) <= MAX_TOLD else [*told[:MAX_TOLD], f"{len(told) - MAX_TOLD} more places were repaired"]


def _flow(
    html: str, format_: str, unread: Iterable[str], *, media: Path | None = None, folders: tuple[str, ...] = ()
) -> Flow:
    """The document of a page that pandoc made.

    Args:
        media: Where the pictures lie that were inside the document.
        folders: Where else its pictures may be.
    """
    tree = parse_html(html)
    title = mend(tree, format_)
    language = language_code(tree.get("lang") or "")
    blocks = html_blocks(tree.find("body"))
    for block in blocks:
        block.images = [(offset, _image(image, media, folders)) for offset, image in block.images]
    return Flow(drop_repeated_title(blocks), title, language, unread=tuple(unread))


def _image(image: FlowImage, media: Path | None, folders: tuple[str, ...]) -> FlowImage:
    """An image with its bytes where it lies in the document, else with all addresses that it may mean."""
    address = image.sources[0]
    if media is not None and Path(address).is_relative_to(media):
        name = Path(address).relative_to(media)
        return replace(image, sources=(name.as_posix(),), file=Path(address).read_bytes())
    places = [folder + address for folder in ("", *folders)] if ":" not in address else [address]
    if "." not in address.rpartition("/")[2]:
        places += [place + ending for place in places for ending in ENDINGS]
    return replace(image, sources=(address, *places[1:]))
