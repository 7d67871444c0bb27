"""The common output of all readers: blocks of text in reading order, with the images in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from iconotext.types import Function, Kind

SPACE = re.compile(r"\s+")
LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class FlowImage:
    """An image as a document refers to it.

    Attributes:
        sources: Its addresses, the preferred one first (``srcset`` has several).
        alt: Alternative text; "" if it is empty, None if there is none.
        alt_unknown: Whether code or another element (``aria-labelledby``) gives it an alternative text that is unread.
        title: Title, used as caption if there is no other (Markdown has no captions).
        anchors: Identifiers to which the document may link.
        file: The image file, or its bytes, if the reader has found it.
        page: Page of a PDF, from 1.
        box: Position on that page: left, top, right, bottom, 0 to 1 from the top left.
        problem: Why it cannot be used, if the reader finds that out.
        at: Beginning of its markup, in characters of the decoded file, or of ``part``; None if unknown.
        part: The chapter of an EPUB that contains it.
        decorative: Whether the source marks it as decoration.
        function: Its function if it is the only content of a link or a button.
        sides: Width and height in pixels at which the source shows it; None for a side, or for both, if not given.
    """

    sources: tuple[str, ...]
    alt: str | None = None
    caption: str | None = None
    title: str | None = None
    anchors: tuple[str, ...] = ()
    file: Path | bytes | None = None
    page: int | None = None
    box: tuple[float, float, float, float] | None = None
    problem: str | None = None
    at: int | None = None
    part: str | None = None
    decorative: bool = False
    alt_unknown: bool = False
    function: Function | None = None
    sides: tuple[int | None, int | None] | None = None


@dataclass(slots=True)
class Block:
    """A paragraph, heading, list item, quotation, table cell or caption, or an image on its own.

    Attributes:
        text: With white space collapsed; "" for an image on its own.
        kind: Its kind. ``captions.attach_captions`` moves captions to their images.
        images: (offset in the text, image), in reading order.
        targets: (start, end, identifier): ranges of the text that link to a place in the document.
        emphasised: Whether all of the text is in italics, as captions below images often are.
        anchors: Identifiers of a caption (bookmarks in it), which become identifiers of its image.
        level: Of a heading, 1 to 6; None if unknown.
        breaks: Places in the text where a sentence begins whatever stands before it: the cells of a row of a table.
    """

    text: str = ""
    kind: Kind = "paragraph"
    images: list[tuple[int, FlowImage]] = field(default_factory=list)
    targets: list[tuple[int, int, str]] = field(default_factory=list)
    emphasised: bool = False
    anchors: tuple[str, ...] = ()
    level: int | None = None
    breaks: tuple[int, ...] = ()

    def replace(self, start: int, end: int, text: str) -> None:
        """Replace a range of the text, which no image divides; images and targets keep their places."""
        longer = len(text) - (end - start)
        self.text = self.text[:start] + text + self.text[end:]
        self.images = [(at + longer if at >= end else at, image) for at, image in self.images]
        self.targets = [(a + longer if a >= end else a, b + longer if b >= end else b, n) for a, b, n in self.targets]
        self.breaks = tuple(at + longer if at >= end else at for at in self.breaks)


@dataclass(frozen=True, slots=True)
class Flow:
    """A document as a reader returns it: one flow of blocks, not yet divided into sentences."""

    blocks: list[Block]  # in reading order
    title: str | None = None
    language: str | None = None  # the declared language, a lower-case ISO 639 code, or None
    name: str = ""  # suffix of the document's id if one file has several (chapters); else ""
    unread: tuple[str, ...] = ()  # messages about parts in other files that could not be read


class BlockWriter:
    """Collects the blocks of a document while a reader goes through it."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._parts: list[str] = []
        self._length = 0
        self._plain = False  # whether any text of the open block is not in italics
        self._block = Block()

    @property
    def offset(self) -> int:
        """Number of characters in the open block so far."""
        return self._length

    def text(self, text: str, *, emphasised: bool = False) -> None:
        """Add text to the open block, collapsing white space across calls; white space alone counts neither way."""
        collapsed = SPACE.sub(" ", text)
        if collapsed.startswith(" ") and (not self._parts or self._parts[-1].endswith(" ")):
            collapsed = collapsed[1:]
        if not collapsed:
            return
        self._parts.append(collapsed)
        self._length += len(collapsed)
        if not emphasised and collapsed != " ":
            self._plain = True

    def image(self, image: FlowImage) -> None:
        """Add an image at the present position of the open block."""
        self._block.images.append((self._length, image))

    def target(self, start: int, identifier: str) -> None:
        """Mark the text from ``start`` to here as a link to ``identifier``."""
        if self._length > start:
            self._block.targets.append((start, self._length, identifier))

    def close(self, kind: Kind = "paragraph", level: int | None = None) -> Block | None:
        """End the open block and return it; None if it was empty."""
        block, self._block = self._block, Block()
        block.text = "".join(self._parts).rstrip()
        block.kind = kind
        block.level = level if kind == "heading" else None
        block.emphasised = bool(block.text) and not self._plain
        self._parts, self._length, self._plain = [], 0, False
        if not block.text and not block.images:
            return None
        self.blocks.append(block)
        return block


MAX_ROW_WORDS = 60  # a row of a table with more words than this is a page that is laid out as a table


def join_row(blocks: list[Block]) -> list[Block]:
    """Join the cells of a row of a table to one block if one of them is a picture: it shows what the others name.

    A picture between cells without letters, such as numbers, stands right before the first cell with letters.
    """
    texts = [block for block in blocks if block.text]
    pictures = [block for block in blocks if block.images]
    if len(pictures) != 1 or pictures[0].text or not texts or any(block.kind != "cell" for block in texts):
        return blocks
    if sum(len(block.text.split()) for block in texts) > MAX_ROW_WORDS:
        return blocks
    at = blocks.index(pictures[0])
    if not any(LETTER.search(block.text) for block in (*blocks[max(at - 1, 0) : at], *blocks[at + 1 : at + 2])):
        at = next((n for n, block in enumerate(blocks) if LETTER.search(block.text)), at)
    row = Block(kind="cell")
    for block in texts:
        start = len(row.text) + 1 if row.text else 0
        row.text = f"{row.text} {block.text}".lstrip()
        row.breaks += (start,)
        row.targets += [(start + a, start + b, name) for a, b, name in block.targets]
    before = sum(1 for block in blocks[:at] if block.text)
    row.images = [((*row.breaks, len(row.text))[before], image) for _, image in pictures[0].images]
    return [row]


def drop_repeated_title(blocks: list[Block]) -> list[Block]:
    """Remove the first heading if one of the next three blocks repeats it: some converters write the title twice."""
    for block in blocks[1:4]:
        if blocks[0].kind == block.kind == "heading" and blocks[0].text.casefold() == block.text.casefold():
            return blocks if blocks[0].images else blocks[1:]
    return blocks
