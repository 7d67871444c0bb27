"""A page of a PDF as pdfium shows it: lines of text and images with their places, and links within the file."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field

import pypdfium2.raw as raw

from iconotext.read.pdf.images import MAX_OBJECTS, ImageDecoder, PageImage, read_images
from iconotext.read.pdf.lines import Box, Handle, Line, Transform, page_transform, read_lines, transformed_box


@dataclass(slots=True)
class Place:
    """The target of a link: a page, from 1, and the height on it in points from its foot; None for the whole page."""

    page: int
    height: float | None


@dataclass(slots=True)
class Page:
    """One page.

    Attributes:
        width: As shown, in points.
        height: As shown, in points.
        links: (place on this page, target).
        lost: Number of characters in its words that have no text.
    """

    number: int
    width: float
    height: float
    lines: list[Line] = field(default_factory=list)
    images: list[PageImage] = field(default_factory=list)
    links: list[tuple[Box, Place]] = field(default_factory=list)
    lost: int = 0


def read_page(document: Handle, index: int, decoder: ImageDecoder) -> Page:
    """Read one page; it raises ``pdfium.PdfiumError`` if the page cannot be loaded."""
    page = document[index]
    try:
        transform = page_transform(page)
        width, height = page.get_size()
        found = Page(index + 1, width, height)
        text = page.get_textpage()
        try:
            found.lines, found.lost = read_lines(text, transform, width, height)
        finally:
            text.close()
        found.images = read_images(page, found.number, transform, decoder)
        found.links = list(_links(document, page, transform))
        return found
    finally:
        page.close()


def _links(document: Handle, page: Handle, transform: Transform) -> Iterator[tuple[Box, Place]]:
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
        if index >= 0:
            box = transformed_box(transform, rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
            yield box, Place(index + 1, _destination_height(destination))


def _destination_height(destination: Handle) -> float | None:
    """Return the height of the place in the space of its page, from below; None for a whole page."""
    has = [ctypes.c_int() for _ in range(3)]
    values = [ctypes.c_float() for _ in range(3)]
    found = raw.FPDFDest_GetLocationInPage(destination, *has, *values)
    return values[1].value if found and has[1].value else None
