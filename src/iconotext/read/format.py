"""The formats of documents: one table, and the format of a file by its suffix or its first bytes.

Other packages add formats through the entry-point group ``iconotext.readers``, each an object ``DocumentFormat``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Literal

from iconotext.errors import DocumentError, EmptyDocumentError, HostileDocumentError, IconotextError, UnknownFormatError
from iconotext.extras import EXTRAS, has
from iconotext.plain_text import data_size
from iconotext.system.files import open_plain
from iconotext.system.plugins import plugins

if TYPE_CHECKING:
    from iconotext.read.blocks import Flow
    from iconotext.read.settings import ReadSettings

    Reader = Callable[[Path, ReadSettings], Iterable[Flow]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFormat:
    """A format of documents: a row of the table.

    Attributes:
        name: In settings and results, such as ``markdown``.
        title: In texts for users, such as ``Markdown``.
        suffixes: Suffixes of its files, in lower case, with the dot.
        reader: ``module:function`` of its reader, imported with the first file. The function takes the path and the
            ``ReadSettings`` and returns the ``Flow`` of each document in the file. It raises ``HostileDocumentError``
            if a limit is exceeded, ``DocumentError`` if the file is of another format, damaged, or encrypted, and
            ``MissingPackageError`` if a package is not installed.
        summary: One sentence on what is read.
        extra: The extra of iconotext that installs what the reader needs; "" for none.
        lines: Whether its files are text, in which a picture has a line.
        alt_missing: For ``iconotext check``, what readers get of a picture without an alternative text: nothing, which
            its reader distinguishes from an empty text; the name of the picture's file; or not known.
        head: Matches the first 4,096 bytes of a file of this format whose suffix is unknown; None if they show nothing.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: str
    summary: str
    extra: str = ""
    lines: bool = True
    alt_missing: Literal["nothing", "name of the file"] | None = None
    head: re.Pattern[bytes] | None = None

    def __post_init__(self) -> None:
        wrong = [suffix for suffix in self.suffixes if suffix != suffix.lower() or not suffix.startswith(".")]
        if wrong or ":" not in self.reader or (self.extra and self.extra not in EXTRAS):
            raise ValueError(f"format {self.name}: give suffixes such as '.md', and a reader as 'module:function'")


ZIP_OF = rb"(?s)PK.{0,%d}application/%s"
"""The beginning of a zip file whose first member is its media type, at most so many bytes after ``PK``."""


def _pandoc_row(
    name: str, title: str, suffixes: tuple[str, ...], summary: str, head: bytes | None = None, *, lines: bool = True
) -> DocumentFormat:
    """Return the row of a format that pandoc reads; ``head`` is the pattern of its first bytes."""
    return DocumentFormat(
        name=name,
        title=title,
        suffixes=suffixes,
        reader=f"iconotext.read.pandoc.readers:read_{name}",
        summary=summary,
        extra="formats",
        lines=lines,
        head=re.compile(head) if head is not None else None,
    )


FORMATS = (
    DocumentFormat(
        name="markdown",
        title="Markdown",
        suffixes=(".md", ".markdown", ".mdown", ".mkd", ".qmd", ".rmd", ".mdx"),
        reader="iconotext.read.markdown:read_markdown",
        summary="Text, pictures, tables and HTML inside; also MDX, MyST, Quarto, R Markdown, bookdown and d2lbook.",
        alt_missing="nothing",
    ),
    DocumentFormat(
        name="html",
        title="HTML",
        suffixes=(".html", ".htm", ".xhtml"),
        reader="iconotext.read.html:read_html",
        summary="The main text of a page with its pictures, without menus and footers.",
        alt_missing="nothing",
        head=re.compile(rb"(?is)[\xef\xbb\xbf \t\r\n]*+(?:<!doctype html|.{0,195}<html)"),
    ),
    DocumentFormat(
        name="docx",
        title="DOCX",
        suffixes=(".docx",),
        reader="iconotext.read.docx:read_docx",
        summary="The body of a Word file, with text boxes, captions and cross-references.",
        lines=False,
        alt_missing="nothing",
        head=re.compile(rb"(?s)PK(?!.{0,106}application/(?:epub|vnd\.oasis)).*word/"),
    ),
    DocumentFormat(
        name="epub",
        title="EPUB",
        suffixes=(".epub",),
        reader="iconotext.read.epub:read_epub",
        summary="The chapters of a book in their order, as one document or as one each.",
        lines=False,
        alt_missing="nothing",
        head=re.compile(ZIP_OF % (106, rb"epub\+zip")),
    ),
    DocumentFormat(
        name="pdf",
        title="PDF",
        suffixes=(".pdf",),
        reader="iconotext.read.pdf.document:read_document",
        summary="Text in reading order with columns, captions, embedded pictures and tagged figures.",
        lines=False,
        alt_missing="nothing",
        head=re.compile(rb"%PDF-"),
    ),
    DocumentFormat(
        name="odt",
        title="ODT",
        suffixes=(".odt",),
        reader="iconotext.read.odt:read_odt",
        summary="The text of a LibreOffice file, with captions and cross-references.",
        lines=False,
        head=re.compile(ZIP_OF % (87, rb"vnd\.oasis\.opendocument\.text")),
    ),
    DocumentFormat(
        name="pptx",
        title="PPTX",
        suffixes=(".pptx",),
        reader="iconotext.read.pptx:read_pptx",
        summary="Slides, each a section under its heading, and the notes to them.",
        lines=False,
        head=re.compile(rb"(?s)PK(?!.{0,106}application/(?:epub|vnd\.oasis)).*ppt/"),
    ),
    DocumentFormat(
        name="notebook",
        title="Jupyter",
        suffixes=(".ipynb",),
        reader="iconotext.read.notebook:read_notebook",
        summary="The text cells of a notebook and the pictures among its outputs; nothing is run.",
    ),
    DocumentFormat(
        name="rst",
        title="reStructuredText",
        suffixes=(".rst",),
        reader="iconotext.read.rst:read_rst",
        summary="Text, figures and included files, with the roles and directives of Sphinx.",
        alt_missing="name of the file",
    ),
    DocumentFormat(
        name="asciidoc",
        title="AsciiDoc",
        suffixes=(".adoc", ".asciidoc"),
        reader="iconotext.read.asciidoc:read_asciidoc",
        summary="Text, pictures and included files, with conditions and attributes.",
        alt_missing="name of the file",
    ),
    _pandoc_row(
        "latex",
        "LaTeX",
        (".tex", ".ltx"),
        "A document with the files that it includes; what pandoc refuses is repaired.",
    ),
    _pandoc_row("org", "Org", (".org",), "Text, captions, names and included files."),
    _pandoc_row("typst", "Typst", (".typ",), "Text and figures, functions and included files, without packages."),
    _pandoc_row(
        "docbook",
        "DocBook",
        (".dbk", ".docbook"),
        "Text, figures and cross-references.",
        rb"(?s)[\xef\xbb\xbf]*<\?xml.*?(?:http://docbook\.org/ns/docbook|-//OASIS//DTD DocBook)",
    ),
    _pandoc_row(
        "jats",
        "JATS",
        (".jats", ".nxml"),
        "Abstract and text of a paper with its figures, without the list of references.",
        rb"(?s)[\xef\xbb\xbf]*<\?xml.*?(?:-//NLM//DTD|<article[^>]{0,400} dtd-version=)",
    ),
    _pandoc_row("mediawiki", "MediaWiki", (".wiki", ".mediawiki"), "Text, pictures and galleries, without templates."),
    _pandoc_row("rtf", "RTF", (".rtf",), "Text, and the pictures inside the file.", rb"\{\\rtf", lines=False),
)
"""The formats that iconotext reads itself; of those whose first bytes match, the first one counts."""

TEMPLATES = frozenset(
    ".astro .ejs .erb .haml .handlebars .hbs .j2 .jinja .jinja2 .liquid .mustache .njk .pug .svelte .twig .vue "
    ".webc".split()
)
"""Suffixes of templates, from which programs make pages; they are named where they hold pictures."""

EXAMPLES = "Markdown, HTML, DOCX, EPUB, PDF"
"""The most common formats, for help texts."""

_BY_SUFFIX = {suffix: row for row in FORMATS for suffix in row.suffixes}


@cache
def all_formats() -> dict[str, DocumentFormat]:
    """Return all formats by name, with those of other packages; to search for these takes some 30 ms."""
    others = plugins("iconotext.readers", DocumentFormat, tuple(row.name for row in FORMATS))
    return {row.name: row for row in (*FORMATS, *others)}


@cache
def formats_by_suffix() -> dict[str, DocumentFormat]:
    """Return all formats by suffix, with those of other packages; ours have precedence."""
    every = {suffix: row for row in all_formats().values() for suffix in row.suffixes}
    return every | _BY_SUFFIX


def suffix_format(path: PurePath) -> DocumentFormat | None:
    """Return the format that a file has by its suffix; None if the suffix is unknown."""
    suffix = path.suffix.lower()
    return _BY_SUFFIX.get(suffix) or formats_by_suffix().get(suffix)


def formats_in_words() -> str:
    """Return the titles of all formats, for messages."""
    rows = all_formats().values()
    plain, more = ([row.title for row in rows if bool(row.extra) is needed] for needed in (False, True))
    return f"{', '.join(plain)}, or with iconotext[formats] {', '.join(more)}"


def lacks_extra(suffix: str) -> bool:
    """Return whether files with this suffix could be read if an extra were installed that is not."""
    row = formats_by_suffix().get(suffix)
    return row is not None and bool(row.extra) and not has(row.extra)


def file_format(path: Path, settings: ReadSettings) -> tuple[str, int]:
    """Return the name of a document's format, by its suffix or its first bytes, and its size in bytes."""
    try:
        with open_plain(path) as file:
            head, size = file.read(4096), os.fstat(file.fileno()).st_size
    except FileNotFoundError as error:
        hint = "; an address on the web begins with https://" if str(path).startswith("www.") else ""
        raise DocumentError(f"{path}: no such file{hint}") from error
    except (OSError, ValueError) as error:
        raise DocumentError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not head.strip():
        raise EmptyDocumentError(f"{path}: the file is empty")
    if size > settings.max_bytes:
        raise HostileDocumentError(
            f"{path}: {data_size(size)} is more than the limit of {data_size(settings.max_bytes)}:"
            " the option max-bytes raises it"
        )
    row = suffix_format(path) or next(
        (row for row in all_formats().values() if row.head and row.head.match(head)), None
    )
    if row is None:
        if path.suffix.lower() in TEMPLATES:
            raise UnknownFormatError(f"{path}: a template; give the pages that are made of it")
        suffixes = " ".join(formats_by_suffix())
        raise UnknownFormatError(f"{path}: not a format iconotext reads; give {formats_in_words()} ({suffixes})")
    return row.name, size


def reader_of(name: str) -> Reader:
    """Return the reader of a format, imported only now, since a process mostly reads one or two formats."""
    built_in = next((row for row in FORMATS if row.name == name), None)
    if built_in is not None:
        reader: Reader = resolve_name(built_in.reader)
        return reader
    row = all_formats()[name]

    def read(path: Path, settings: ReadSettings) -> list[Flow]:
        from iconotext.read.blocks import Flow

        try:
            flows = list(resolve_name(row.reader)(path, settings))
        except (IconotextError, MemoryError, RecursionError, OSError):
            raise
        except Exception as error:  # code of others, whose exceptions may not even be picklable
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise DocumentError(f"{path}: the reader {row.reader} of another package failed ({reason})") from None
        if not all(isinstance(flow, Flow) for flow in flows):
            raise DocumentError(f"{path}: the reader {row.reader} of another package returns something else than Flow")
        return flows

    return read
