"""A page of a PDF as pdfium gives it: lines, images and links, with their places.

Drawings of lines and curves (plots, diagrams) are no embedded images: only those that a tag calls figures are found.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2.raw as raw

from iconotext.read.pdf.images import MAX_OBJECTS, ImageDecoder, PageImage, PageImages
from iconotext.read.pdf.lines import Box, Handle, Line, Transform, page_transform, read_lines, transformed_box


@dataclass(slots=True)
class Page:
    """A page of a document."""

    number: int  # from 1
    width: float  # as shown, in points
    height: float  # as shown, in points
    lines: list[Line]
    lost: int  # number of characters in its words that have no text
    images: list[PageImage]
    links: list[tuple[Box, int, float | None]]  # (place on this page, page of the target, height there from its foot)


def read_page(document: Handle, index: int, decoder: ImageDecoder) -> Page:
    """Read one page; it raises ``pdfium.PdfiumError`` if the page cannot be loaded."""
    with contextlib.closing(document[index]) as page:
        transform = page_transform(page)
        width, height = page.get_size()
        with contextlib.closing(page.get_textpage()) as text:
            lines, lost = read_lines(text, transform, width, height)
        images = PageImages(page, index + 1, transform, decoder).read()
        return Page(index + 1, width, height, lines, lost, images, list(_links(document, page, transform)))


def _links(document: Handle, page: Handle, transform: Transform) -> Iterator[tuple[Box, int, float | None]]:
    """Yield the links within the document; one to a whole page has no height."""
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(MAX_OBJECTS):
        if not raw.FPDFLink_Enumerate(page, position, link):
            return
        destination = raw.FPDFLink_GetDest(document, link)
        if not destination:
            action = raw.FPDFLink_GetAction(link)
            destination = raw.FPDFAction_GetDest(document, action) if action else None
        rectangle = raw.FS_RECTF()
        if not destination or not raw.FPDFLink_GetAnnotRect(link, rectangle):
            continue
        index = raw.FPDFDest_GetDestPageIndex(document, destination)
        has = [ctypes.c_int() for _ in range(3)]  # x, y, and zoom
        values = [ctypes.c_float() for _ in range(3)]
        located = raw.FPDFDest_GetLocationInPage(destination, *has, *values)
        if index >= 0:
            box = transformed_box(transform, rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
            yield box, index + 1, values[1].value if located and has[1].value else None
