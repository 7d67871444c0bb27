"""A document of one of pandoc's formats, as one flow."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from iconotext.read.blocks import Flow, FlowImage, drop_repeated_title
from iconotext.read.html import html_blocks, parse_html
from iconotext.read.pandoc.convert import to_html
from iconotext.read.pandoc.source import graphics_folders, included_files, prepared
from iconotext.read.pandoc.tree import mend
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_text

ENDINGS = (".png", ".jpg", ".jpeg", ".svg", ".webp", ".gif", ".tif", ".tiff", ".pdf", ".eps")
"""What LaTeX, and publishers of JATS, leave out of the names of pictures; the best for us first."""

PLACE = re.compile(r" \(?(?:at )?line \d+ column \d+\)?")


def read_pandoc(format_: str, path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a document with pandoc.

    Args:
        format_: One of ``convert.NAMES``.
    """
    with ExitStack() as stack:
        media = Path(stack.enter_context(TemporaryDirectory(prefix="iconotext-"))) if format_ == "rtf" else None
        moved = False
        includes: list[str] = []
        folders: tuple[str, ...] = ()
        if format_ == "rtf":  # ASCII by its definition, but for pictures as bytes
            source = path.read_bytes().decode("latin-1").encode()
        else:
            text = decode_text(path, html=True)
            if path not in settings.origins:  # what comes from the web takes in nothing of this machine
                includes = included_files(text, format_, path, settings)
            folders = graphics_folders(text) if format_ == "latex" else ()
            changed = prepared(text, format_)
            moved = changed.count("\n") != text.count("\n")
            source = changed.encode("utf-8", errors="replace")
        html, left_out = to_html(source, format_, folder=path.parent.absolute(), includes=includes, media=media)
        if moved:
            left_out = tuple(PLACE.sub("", part) for part in left_out)
        tree = parse_html(html)
        title = mend(tree, format_)
        language = language_code(tree.get("lang") or "")
        blocks = html_blocks(tree.find("body"))
        for block in blocks:
            block.images = [(offset, _image(image, media, folders)) for offset, image in block.images]
    return [Flow(drop_repeated_title(blocks), title, language, unread=left_out)]


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
