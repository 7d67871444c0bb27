"""Pictures whose alternative texts are checked, with the texts around them and their places (``pictures_of``)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from iconotext.plain_text import listed
from iconotext.read import format as document_formats
from iconotext.read.blocks import Block, Flow, FlowImage, attach_captions

FORMATS = {row.name: row for row in document_formats.FORMATS if row.name in ("markdown", "html", "docx", "epub")}
"""Formats whose alternative texts are checked and written, by name; the readers of other formats do not distinguish
empty and missing ones."""

FORMATS_AND, FORMATS_OR = (listed((row.title for row in FORMATS.values()), word) for word in ("and", "or"))
"""Their titles, for messages and help texts."""

_LINE_END = re.compile(r"\r\n?|\n")

MAX_BESIDE = 5_000
"""Maximum length of the text beside a picture that is kept; no alternative text repeats more."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a picture.

    Attributes:
        path: The document, as the user named it.
        line: Line of its markup in a Markdown or HTML file, from 1; None if unknown.
        column: Character in that line, from 1; None if unknown.
        at: Position in characters from the beginning of the file, or of the EPUB's part; None if unknown.
        part: The chapter of an EPUB that contains it.
    """

    path: str
    line: int | None = None
    column: int | None = None
    at: int | None = None
    part: str | None = None
    page: int | None = None

    def __str__(self) -> str:
        """As in compiler messages: ``docs/a.md:12:3``."""
        behind = [str(each) for each in (self.line, self.column) if each is not None]
        inside = self.part or (f"page {self.page}" if self.page is not None else None)
        return ":".join([self.path, *([inside] if inside else []), *behind])


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a document, with all facts for judging its alternative text.

    Attributes:
        index: Its number among the pictures of the document, from 0.
        sources: Its addresses, the preferred one first.
        alt: Its alternative text; "" if it is empty, None if there is none.
        beside: The texts of its own block and of the blocks before and after it, without captions.
        language: ISO 639-1 code declared by the document, or None.
        cited: Whether a link in the document leads to it.
        decorative: Whether the source marks it as decoration.
        linked: Whether it is the only content of a link.
        sides: Width and height given in the source, in pixels; None if not given.
    """

    place: Place
    index: int
    sources: tuple[str, ...]
    alt: str | None = None
    caption: str | None = None
    beside: tuple[str, ...] = ()
    language: str | None = None
    cited: bool = False
    decorative: bool = False
    linked: bool = False
    sides: tuple[int, int] | None = None

    @property
    def source(self) -> str:
        """Its address, for messages."""
        return self.sources[0]


def pictures_of(flow: Flow, path: str, text: str | None = None, *, first: int = 0) -> list[Picture]:
    """Return the pictures in a reader's result, in reading order."""
    # Captions are found without the alternative texts: repeating one does not make a text a caption.
    alts = iter([image.alt for block in flow.blocks for _, image in block.images])
    for block in flow.blocks:
        block.images = [(offset, replace(image, alt=None)) for offset, image in block.images]
    blocks = attach_captions(flow.blocks)
    # Lines as in editors: ended by CR LF, LF or CR.
    starts = None if text is None else [0, *(end.end() for end in _LINE_END.finditer(text))]
    cited = {name for block in blocks for *_, name in block.targets}
    pictures: list[Picture] = []
    for number, block in enumerate(blocks):
        beside = tuple(_beside(blocks, number)) if block.images else ()
        for _, image in block.images:
            alt = next(alts)
            pictures.append(
                Picture(
                    place=_place(image, path, starts),
                    index=first + len(pictures),
                    sources=image.sources,
                    alt=alt,
                    caption=image.caption or (image.title if image.title != alt else None),
                    beside=beside,
                    language=flow.language,
                    cited=bool(cited.intersection(image.anchors)),
                    decorative=image.decorative,
                    linked=image.linked,
                    sides=image.sides,
                )
            )
    return pictures


def _place(image: FlowImage, path: str, starts: Sequence[int] | None) -> Place:
    if image.at is None or starts is None:
        return Place(path, at=image.at, part=image.part, page=image.page)
    line = bisect_right(starts, image.at)
    return Place(path, line, image.at - starts[line - 1] + 1, image.at, image.part, image.page)


def _beside(blocks: Sequence[Block], number: int) -> Iterator[str]:
    ways: tuple[Iterable[Block], ...] = (
        (blocks[number],),
        (blocks[i] for i in range(number - 1, -1, -1)),
        (blocks[i] for i in range(number + 1, len(blocks))),
    )
    for way in ways:
        text = next((block.text for block in islice(way, 10) if block.text), None)
        if text is not None:
            yield text[:MAX_BESIDE]
