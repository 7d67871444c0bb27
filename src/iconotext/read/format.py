"""The format of a document, found by its suffix or its first bytes, and the reader of each format."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import DocumentError, HostileDocumentError, UnknownFormatError
from iconotext.extras import has
from iconotext.plain_text import data_size

if TYPE_CHECKING:
    from iconotext.read.blocks import Flow
    from iconotext.read.settings import ReadSettings

    Reader = Callable[[Path, ReadSettings], Iterable[Flow]]

SUFFIXES = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".mkd": "markdown",
    ".qmd": "markdown",
    ".rmd": "markdown",
    ".rst": "rst",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".docx": "docx",
    ".epub": "epub",
    ".pdf": "pdf",
    ".pptx": "pptx",
    ".ipynb": "notebook",
    ".tex": "latex",
    ".ltx": "latex",
    ".org": "org",
    ".odt": "odt",
    ".rtf": "rtf",
    ".dbk": "docbook",
    ".docbook": "docbook",
    ".jats": "jats",
    ".nxml": "jats",
    ".wiki": "mediawiki",
    ".mediawiki": "mediawiki",
    ".typ": "typst",
}
"""Suffix to format."""

XML_KIND = re.compile(
    rb"(http://docbook\.org/ns/docbook|-//OASIS//DTD DocBook)|-//NLM//DTD|<article[^>]{0,400} dtd-version="
)

FORMATS = (
    "Markdown, reStructuredText, AsciiDoc, HTML, DOCX, EPUB, PDF, ODT, PPTX, ipynb, "
    "or with iconotext[formats] LaTeX, Org, ..."
)
"""The formats in words."""


def lacks_extra(suffix: str) -> bool:
    """Return whether files with this suffix could be read if the extra ``formats`` were installed."""
    from iconotext.read.pandoc.convert import NAMES

    return SUFFIXES.get(suffix) in NAMES and not has("formats")


def file_format(path: Path, settings: ReadSettings) -> tuple[str, int]:
    """Return the format of a document, by its suffix or its first bytes, and its size in bytes.

    Raises:
        DocumentError: The file is missing, empty, not a regular file, too large, or of an unknown format.
    """
    try:
        found = path.stat()
        size = found.st_size
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise DocumentError(f"{path}: a pipe or a device, not a file; save what comes from it as a file")
        with path.open("rb") as file:
            head = file.read(4096)
    except FileNotFoundError as error:
        hint = "; an address on the web begins with https://" if str(path).startswith("www.") else ""
        raise DocumentError(f"{path}: no such file{hint}") from error
    except (OSError, ValueError) as error:
        raise DocumentError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not head.strip():
        raise DocumentError(f"{path}: the file is empty")
    if size > settings.max_bytes:
        raise HostileDocumentError(
            f"{path}: {data_size(size)} is more than the limit of {data_size(settings.max_bytes)}:"
            " raise it with max_bytes=..."
        )
    format_ = SUFFIXES.get(path.suffix.lower()) or _format_of_bytes(head)
    if format_ is None:
        raise UnknownFormatError(f"{path}: not a format iconotext reads; give {FORMATS} ({' '.join(SUFFIXES)})")
    return format_, size


def _format_of_bytes(head: bytes) -> str | None:
    if head.startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"PK"):
        zipped = {b"application/epub+zip": "epub", b"application/vnd.oasis.opendocument.text": "odt"}
        kind = next((format_ for name, format_ in zipped.items() if name in head[:128]), None)
        return kind or ("docx" if b"word/" in head else "pptx" if b"ppt/" in head else None)
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.lstrip(b"\xef\xbb\xbf").startswith(b"<?xml") and (found := XML_KIND.search(head)):
        return "docbook" if found[1] else "jats"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:200].lower()
    return "html" if start.startswith((b"<!doctype html", b"<html")) or b"<html" in start else None


def reader_of(format_: str) -> Reader:
    """Return the reader of a format; imported only when a document needs it.

    A reader raises ``HostileDocumentError`` if a limit is exceeded, ``DocumentError`` if the file is of another format,
    damaged, or encrypted, and ``MissingPackageError`` if a package is not installed.
    """
    match format_:
        case "markdown":
            from iconotext.read.markdown import read_markdown as reader
        case "html":
            from iconotext.read.html import read_html as reader
        case "asciidoc":
            from iconotext.read.asciidoc import read_asciidoc as reader
        case "rst":
            from iconotext.read.rst import read_rst as reader
        case "docx":
            from iconotext.read.docx import read_docx as reader
        case "pptx":
            from iconotext.read.pptx import read_pptx as reader
        case "odt":
            from iconotext.read.odt import read_odt as reader
        case "notebook":
            from iconotext.read.notebook import read_notebook as reader
        case "epub":
            from iconotext.read.epub import read_epub as reader
        case "pdf":
            from iconotext.read.pdf.document import read_document as reader
        case _:
            from iconotext.read.pandoc.document import read_pandoc

            reader = partial(read_pandoc, format_)
    return reader
