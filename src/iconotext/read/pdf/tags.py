"""The tags of a page of a PDF: which objects are parts of a figure, its alternative text, and which are decoration."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pypdfium2.raw as raw

from iconotext.read.pdf.lines import Box, Handle

MAX_TAGS = 50_000
"""Maximum number of tags of a page that are looked at."""

MAX_MARKS = 20
"""Maximum number of marks around an object that are looked at."""

MAX_TEXT = 200_000
"""Maximum length of an alternative text in bytes of UTF-16; a longer one is left out."""


@dataclass(frozen=True, slots=True)
class Tag:
    """What the tags around an object say about it.

    Attributes:
        alt: The alternative text, or the text for which it stands; None without one.
        figure: Number, on its page, of the figure that it is a part of; None for no figure.
        box: The figure's place in the page's own space (left, bottom, right, top) if the file states it.
        decorative: Whether it is an artifact, which reading programs pass over.
        unknown: Whether its tags cannot be read: those of a page without tags, and of a form with tags of its own.
    """

    alt: str | None = None
    figure: int | None = None
    box: Box | None = None
    decorative: bool = False
    unknown: bool = False


class Tags:
    """The tags of a page."""

    def __init__(self, page: Handle) -> None:
        self._of_content: dict[int, Tag] = {}
        self.figures: dict[int, Tag] = {}
        tree = raw.FPDF_StructTree_GetForPage(page)
        self.unknown = not tree
        if tree:
            try:
                self._read(tree)
            finally:
                raw.FPDF_StructTree_Close(tree)

    def of(self, item: Handle, around: Tag | None = None) -> Tag:
        """Return the tag of an object; ``around`` is that of its form, which numbers its contents for itself."""
        if self.unknown:
            return Tag(unknown=True)
        content = raw.FPDFPageObj_GetMarkedContentID(item)
        if around is not None:
            return replace(around, unknown=True) if around == Tag() and content >= 0 else around
        if "Artifact" in _marks(item):
            return Tag(decorative=True)
        return self._of_content.get(content, Tag())

    def _read(self, tree: Handle) -> None:
        """Give every numbered content of the page the tag that it stands in."""
        # Files of strangers may name a tag as often as they like among those in another one.
        left = MAX_TAGS
        open_: list[tuple[Handle, Tag]] = []
        for number in reversed(range(min(raw.FPDF_StructTree_CountChildren(tree), left))):
            open_.append((raw.FPDF_StructTree_GetChildAtIndex(tree, number), Tag()))
        while open_ and left > 0:
            element, tag = open_.pop()
            left -= 1
            if not element:
                continue
            tag = _within(element, tag, left)
            if tag.figure == left:
                self.figures[left] = tag
            for number in reversed(range(min(raw.FPDF_StructElement_CountChildren(element), left))):
                left -= 1
                content = raw.FPDF_StructElement_GetChildMarkedContentID(element, number)
                if content >= 0:
                    self._of_content.setdefault(content, tag)
                else:
                    open_.append((raw.FPDF_StructElement_GetChildAtIndex(element, number), tag))


def _within(element: Handle, tag: Tag, number: int) -> Tag:
    """Return the tag of what stands in an element; ``tag`` is that of what is around it."""
    if tag.figure is not None and tag.alt:
        return tag  # the text of a figure stands for all figures in it
    kind = _text(raw.FPDF_StructElement_GetType, element)
    if kind == "Artifact":
        return Tag(decorative=True)
    alt = _text(raw.FPDF_StructElement_GetAltText, element) or _text(raw.FPDF_StructElement_GetActualText, element)
    if kind == "Figure":
        return Tag(alt or tag.alt, number, _box(element))
    return replace(tag, alt=alt or tag.alt)


def _box(element: Handle) -> Box | None:
    for number in range(min(raw.FPDF_StructElement_GetAttributeCount(element), MAX_MARKS)):
        attribute = raw.FPDF_StructElement_GetAttributeAtIndex(element, number)
        value = raw.FPDF_StructElement_Attr_GetValue(attribute, b"BBox")
        sides = [ctypes.c_float() for _ in range(4)]
        parts = (raw.FPDF_StructElement_Attr_GetChildAtIndex(value, side) for side in range(4)) if value else ()
        if value and all(map(raw.FPDF_StructElement_Attr_GetNumberValue, parts, sides)):
            left, bottom, right, top = (side.value for side in sides)
            return left, bottom, right, top
    return None


def _text(function: Callable[[Handle, Handle, int], int], element: Handle) -> str | None:
    size = function(element, None, 0)
    if not 2 < size <= MAX_TEXT:
        return None
    buffer = ctypes.create_string_buffer(size)
    function(element, buffer, size)
    return " ".join(buffer.raw[:size].decode("utf-16-le", errors="replace").replace("\x00", "").split()) or None


def _marks(item: Handle) -> Iterator[str]:
    """Yield the names of the marks around an object."""
    for number in range(min(raw.FPDFPageObj_CountMarks(item), MAX_MARKS)):
        size, name = ctypes.c_ulong(), (ctypes.c_ushort * 20)()
        if raw.FPDFPageObjMark_GetName(raw.FPDFPageObj_GetMark(item, number), name, ctypes.sizeof(name), size):
            yield bytes(name)[: size.value].decode("utf-16-le", errors="replace").rstrip("\x00")
