"""What is known of a picture whose alternative text is checked: the text, what stands around it, and where it is."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from iconotext.read.blocks import Block, Flow, FlowImage, attach_captions

_LINE_END = re.compile(r"\r\n?|\n")

MAX_BESIDE = 5_000
"""Characters of a block beside a picture that are kept: no alternative text repeats more."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a picture is.

    Attributes:
        path: The document, as it was given.
        line: Line of its markup in a Markdown or HTML file, from 1; None where nobody knows.
        column: Character in that line, from 1; None likewise.
        at: The same in characters from the beginning of the file, or of the part of an EPUB; None likewise.
        part: The chapter of an EPUB that names it.
    """

    path: str
    line: int | None = None
    column: int | None = None
    at: int | None = None
    part: str | None = None
    page: int | None = None

    def __str__(self) -> str:
        """As compilers write it: ``docs/a.md:12:3``."""
        behind = [str(each) for each in (self.line, self.column) if each is not None]
        inside = self.part or (f"page {self.page}" if self.page is not None else None)
        return ":".join([self.path, *([inside] if inside else []), *behind])


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a document, and what its alternative text is judged by.

    Attributes:
        index: Its number among the pictures of the document, from 0.
        sources: Its addresses, the preferred one first.
        alt: Its alternative text; "" where it is empty, None where the source says nothing.
        beside: The texts of its own block and of the blocks before and after it, captions left out.
        language: ISO 639-1 code that the document declares, or None.
        cited: Whether a link in the document leads to it.
        decorative: Whether the source says that it is for the eye alone.
        linked: Whether it is all that a link holds.
        sides: Width and height that the source gives it, in pixels; None where it gives none.
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
        """Its address, as messages name it."""
        return self.sources[0]


def pictures_of(flow: Flow, path: str, text: str | None = None, *, first: int = 0) -> list[Picture]:
    """The pictures of a document as its reader found them, in reading order.

    Args:
        text: The decoded file, where lines and columns are wanted.
        first: The number of the first picture.
    """
    # Captions are told without the alternative texts: what repeats one is then no caption for that alone.
    alts = iter([image.alt for block in flow.blocks for _, image in block.images])
    for block in flow.blocks:
        block.images = [(offset, replace(image, alt=None)) for offset, image in block.images]
    blocks = attach_captions(flow.blocks)
    starts = None if text is None else line_starts(text)
    cited = {name for block in blocks for *_, name in block.targets}
    found: list[Picture] = []
    for number, block in enumerate(blocks):
        beside = tuple(_beside(blocks, number)) if block.images else ()
        for _, image in block.images:
            alt = next(alts)
            found.append(
                Picture(
                    place=_place(image, path, starts),
                    index=first + len(found),
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
    return found


def line_starts(text: str) -> list[int]:
    """Where each line begins, in characters, as editors count lines: by CR LF, LF or CR."""
    return [0, *(end.end() for end in _LINE_END.finditer(text))]


def _place(image: FlowImage, path: str, starts: Sequence[int] | None) -> Place:
    if image.at is None or starts is None:
        return Place(path, at=image.at, part=image.part, page=image.page)
    line = bisect_right(starts, image.at)
    return Place(path, line, image.at - starts[line - 1] + 1, image.at, image.part, image.page)


def _beside(blocks: Sequence[Block], number: int) -> Iterator[str]:
    """Its own text, and the nearest above and below."""
    ways: tuple[Iterable[Block], ...] = (
        (blocks[number],),
        (blocks[i] for i in range(number - 1, -1, -1)),
        (blocks[i] for i in range(number + 1, len(blocks))),
    )
    for way in ways:
        text = next((block.text for block in islice(way, 10) if block.text), None)
        if text is not None:
            yield text[:MAX_BESIDE]
