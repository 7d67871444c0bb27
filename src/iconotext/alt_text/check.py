"""The check of the alternative texts of documents.

``check`` checks files and folders, ``broken_by_picture`` the pictures of one file.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from iconotext.alt_text.picture import Picture, pictures_of
from iconotext.alt_text.rules import RULES, Finding, Gallery, broken_rules, fingerprinted, repository_root
from iconotext.alt_text.settings import AltTextSettings
from iconotext.errors import DocumentError, IconotextError, ImageError
from iconotext.read import Failure, ReadSettings, find_documents, read_flows, read_isolated
from iconotext.read.address import Addresses
from iconotext.read.find import no_documents
from iconotext.read.format import FORMATS as READ
from iconotext.read.format import suffix_format
from iconotext.read.html import read_whole_page
from iconotext.read.text_file import decode_text
from iconotext.system.worker import start_worker

FORMATS = ("markdown", "html", "docx", "epub")
"""Formats that are checked; readers of other formats do not distinguish empty and missing alternative texts."""

_SUFFIXES = frozenset(suffix for row in READ if row.name in FORMATS for suffix in row.suffixes)

_MAY_HOLD_PICTURES = re.compile(rb"!\[|<(?:img|svg)\b|\{[{%]|\x00|\[\[", re.IGNORECASE)
"""Bytes of every Markdown or HTML file with a picture; a zero byte if characters take two bytes."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check."""

    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]
    documents: int
    pictures: int


def check(
    paths: Iterable[Path | str],
    settings: AltTextSettings | None = None,
    reading: ReadSettings | None = None,
    *,
    root: Path | None = None,
) -> Checked:
    """Check the alternative texts of documents, also those in folders.

    Only documents in ``FORMATS`` are checked; web pages completely, with menus.

    Args:
        root: The folder to which paths in fingerprints are relative (default: ``repository_root()``).

    Raises:
        DocumentError: There are no documents.
    """
    settings, reading = settings or AltTextSettings(), reading or ReadSettings()
    paths, skipped = list(paths), Counter[str]()
    found = list(find_documents(paths, reading, suffixes=_SUFFIXES, skipped=skipped))
    if not found:
        raise no_documents(paths, reading, skipped, formats="Markdown, HTML, DOCX and EPUB")
    findings: list[Finding] = []
    failures: list[Failure] = []
    pictures = 0
    start_worker()
    for path, folder in found:
        try:
            own, broken = broken_by_picture(path, settings, reading, within=folder)
        except IconotextError as error:
            failures.append(Failure(path, error))
            continue
        pictures += len(own)
        findings += [finding for _, finding in broken]
    numbered = tuple(fingerprinted(findings, root or repository_root()))
    return Checked(numbered, tuple(failures), documents=len(found) - len(failures), pictures=pictures)


def broken_by_picture(
    path: Path, settings: AltTextSettings, reading: ReadSettings, *, within: Path | None = None
) -> tuple[list[Picture], list[tuple[Picture, Finding]]]:
    """The pictures of a document, and the findings about their alternative texts, each with its picture.

    Args:
        within: Folder in which images may be, if ``reading.root`` is not set; None for the file's own folder.

    Raises:
        DocumentError: The file cannot be read.
    """
    if not _may_hold_pictures(path, reading):
        return [], []
    within = reading.root or within or path.parent
    found = read_isolated(read_pictures, path, reading, within)
    gallery = Gallery(found, _Sizes(path, within, reading, settings.large).is_large)
    return found, [
        (picture, Finding(name, RULES[name].severity, said, picture.place, picture.source, picture.alt))
        for picture, name, said in broken_rules(gallery, settings)
    ]


def read_pictures(format_: str, path: Path, reading: ReadSettings) -> list[Picture]:
    """The pictures of a document, for a web page including menus; without limits on memory and time."""
    if format_ not in FORMATS:
        raise DocumentError("no format whose alternative texts are checked: give Markdown, HTML, DOCX or EPUB")
    flows = [read_whole_page(path)] if format_ == "html" else read_flows(format_, path, reading)
    text = decode_text(path, html=format_ == "html") if format_ in ("markdown", "html") else None
    found: list[Picture] = []
    for flow in flows:
        found += pictures_of(flow, path.as_posix(), text, first=len(found))
    return found


def _may_hold_pictures(path: Path, reading: ReadSettings) -> bool:
    """Whether a file may have pictures; True if it cannot be read or is too large, so that the reader reports that."""
    row = suffix_format(path)
    if row is None or row.name not in ("markdown", "html"):
        return True
    try:
        return path.stat().st_size > reading.max_bytes or bool(_MAY_HOLD_PICTURES.search(path.read_bytes()))
    except OSError:
        return True


class _Sizes:
    def __init__(self, path: Path, within: Path, reading: ReadSettings, least: int) -> None:
        self._addresses = Addresses(path, within, reading)
        self._least = least

    def is_large(self, picture: Picture) -> bool:
        """Whether a picture is large; False if it cannot be loaded, or is a drawing without pixels."""
        import imagesize

        for source in picture.sources:
            if source.lower().endswith((".svg", ".svgz")):
                continue
            try:
                file = self._addresses.open(source)
                sides: tuple[float, float] = imagesize.get(BytesIO(file) if isinstance(file, bytes) else file)
            except (ImageError, OSError, ValueError, struct.error):
                continue
            return min(sides) >= self._least
        return False
