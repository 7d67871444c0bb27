"""The reading of a PDF file with pdfium: its pages one after the other, its title and language."""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Iterator
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.plain_text import counted
from iconotext.read.blocks import Flow
from iconotext.read.pdf.images import ImageDecoder
from iconotext.read.pdf.layout import lay_out
from iconotext.read.pdf.lines import LOST, Handle
from iconotext.read.pdf.page import Page, read_page
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings

MAX_PAGES = 5_000
MAX_IMAGE_BYTES = 512 * 2**20
"""Maximum size of a document's images in memory: as PNG they can be many times as large as the file."""
FILE_NAME = re.compile(
    r"\.(?:docx?|odt|pdf|tex|dvi|indd|rtf|html?|pptx?|qxp|md|txt)$|^(?:untitled|microsoft word - )", re.IGNORECASE
)


def read_document(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a PDF, as one flow, without running headers and footers, page numbers and text along the edges."""
    with _open_pdf(path) as document:
        pages = list(_pages(document, path, settings))
        title, language = _title(document), language_code(_language(document))
    return [Flow(lay_out(pages), title, language, unread=_without_text(pages))]


def _without_text(pages: list[Page]) -> tuple[str, ...]:
    """Return the message about characters that are drawn but have no text in the file; () without any."""
    lost = sum(page.lost for page in pages)
    if not lost:
        return ()
    first = next(page.number for page in pages if page.lost)
    words = f"{counted(lost, 'character')} of its words {'has' if lost == 1 else 'have'} no text in the PDF"
    return (f"{words}, such as ligatures, first on page {first}: {LOST} stands for them; export it anew, or use OCR",)


@contextlib.contextmanager
def _open_pdf(path: Path) -> Iterator[Handle]:
    # A file without pages fails without an error code, and pdfium would report that of the previous file.
    raw.FPDF_LoadMemDocument64(b"-", 1, None)
    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
            raise DocumentError(f"{path}: protected by a password: save it without one") from error
        reason = "not a PDF, or cut off, damaged or without pages; download or save it again"
        raise DocumentError(f"{path}: {reason}") from error
    with contextlib.closing(document):
        yield document


def _pages(document: Handle, path: Path, settings: ReadSettings) -> Iterator[Page]:
    count = len(document)
    if count < 1:
        raise DocumentError(f"{path}: it has no pages")
    if count > MAX_PAGES:
        raise HostileDocumentError(f"{path}: {count} pages are more than the limit of {MAX_PAGES}: split it")
    decoder, files, size, unreadable = ImageDecoder(settings.max_pixels), set[int](), 0, 0
    for index in range(count):
        try:
            page = read_page(document, index, decoder)
        except pdfium.PdfiumError as error:
            unreadable += 1
            if unreadable == count:
                raise DocumentError(f"{path}: none of its pages can be read; download or save it again") from error
            continue
        for picture in page.images:
            file = picture.image.file
            if isinstance(file, bytes) and id(file) not in files:  # one that is drawn many times is in memory once
                files.add(id(file))
                size += len(file)
        if size > MAX_IMAGE_BYTES:
            limit = MAX_IMAGE_BYTES / 2**20
            raise HostileDocumentError(f"{path}: its pictures unpack to more than {limit:.0f} MiB: split it")
        yield page


def _title(document: Handle) -> str | None:
    """Return the declared title, unless it is a file name, as many programs write it."""
    title = " ".join(str(document.get_metadata_dict(skip_empty=True).get("Title", "")).split())
    return None if not title or FILE_NAME.search(title) else title


def _language(document: Handle) -> str:
    """Return the declared language; "" for none."""
    needed = raw.FPDFCatalog_GetLanguage(document, None, 0)
    if needed < 4 or needed > 200:
        return ""
    buffer = ctypes.create_string_buffer(needed)
    raw.FPDFCatalog_GetLanguage(document, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), needed)
    return buffer.raw[:needed].decode("utf-16-le", errors="replace").rstrip("\x00")
