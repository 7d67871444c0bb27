"""The common output of all readers: blocks of text in reading order, with the images in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from iconotext.types import Kind

SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class FlowImage:
    """An image as a document refers to it.

    Attributes:
        sources: Its addresses, the preferred one first (``srcset`` has several).
        alt: Alternative text; "" if it is empty, None if there is none.
        title: Title, used as caption if there is no other (Markdown has no captions).
        anchors: Identifiers to which the document may link.
        page: Page of a PDF, from 1.
        box: Position on that page: left, top, right, bottom, 0 to 1 from the top left.
        problem: Why it cannot be used, if the reader knows already.
        at: Beginning of its markup, in characters of the decoded file or part; None if unknown.
        part: The chapter of an EPUB that contains it.
        decorative: Whether the source marks it as decoration.
        linked: Whether it is the only content of a link.
        sides: Width and height at which the source shows it, in pixels, each None if not given; None without both.
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
    linked: bool = False
    sides: tuple[int | None, int | None] | None = None


@dataclass(slots=True)
class Block:
    """A paragraph, heading, list item, quotation, table cell or caption, or an image on its own.

    Attributes:
        text: With white space collapsed; "" for an image on its own.
        kind: Its kind. ``attach_captions`` moves captions to their images.
        images: (offset in the text, image), in reading order.
        targets: (start, end, identifier): ranges of the text that link to a place in the document.
        emphasised: Whether all of the text is in italics, as captions below images often are.
        anchors: Identifiers of a caption (bookmarks in it), which become identifiers of its image.
        level: Of a heading, 1 to 6; None if unknown.
    """

    text: str = ""
    kind: Kind = "paragraph"
    images: list[tuple[int, FlowImage]] = field(default_factory=list)
    targets: list[tuple[int, int, str]] = field(default_factory=list)
    emphasised: bool = False
    anchors: tuple[str, ...] = ()
    level: int | None = None


@dataclass(frozen=True, slots=True)
class Flow:
    """A document, as returned by a reader."""

    blocks: list[Block]  # in reading order
    title: str | None = None
    language: str | None = None  # the declared language, a lower-case ISO 639 code, or None
    name: str = ""  # suffix of the document's id if one file has several (chapters); else ""
    unread: tuple[str, ...] = ()  # parts of the text in other files that could not be read, with reasons, a line each


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
        """Add text to the open block, collapsing white space across calls."""
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


LABEL = re.compile(
    r"^(?:fig(?:ure|\.)?|abb(?:ildung|\.)|image|photo(?:graph)?|picture|plate|illustration|ill\.|bild|foto|figura|afbeelding"
    r"|рис(?:унок|\.)|図|图|圖|그림)\s*\d+(?:[.\-–]\d+)*[a-z]?\s*(?:[.:|–—-]|$)",
    re.IGNORECASE,
)
"""The beginning of a paragraph that is a caption: ``Figure 3: ...``, ``Abb. 2 – ...``."""

MAX_CAPTION_WORDS = 60


def attach_captions(blocks: Iterable[Block]) -> list[Block]:
    """Move every caption from the text to its image.

    A block is a caption if the format says so, if it begins like "Figure 3:" beside an image, or if directly below an
    image it is one short line in italics or repeats the image's alternative text. A caption belongs to the image
    directly above it that has none yet, else to the one directly below. A caption without an image (of a table or a
    listing) becomes a paragraph. The title of a figure whose images have captions of their own is added to each.
    """
    attached: list[Block] = []
    waiting: Block | None = None  # a caption above its image
    for block in _with_titles(list(blocks)):
        above = _uncaptioned(attached[-1]) if attached and waiting is None else None
        if block.images:
            _own_line(block)
        if waiting is not None:
            if _is_bare(block):
                _add_caption(block, waiting)
            else:
                attached.append(replace(waiting, kind="paragraph"))
            waiting = None
        if above is not None and not block.images and _is_caption(block, above):
            _add_caption(attached[-1], block)
        elif not block.images and _may_stand_above(block):
            waiting = block
        else:
            attached.append(block)
    if waiting is not None:
        attached.append(replace(waiting, kind="paragraph"))
    return attached


def _with_titles(blocks: list[Block]) -> list[Block]:
    """Put the title above a figure, if each image of the figure has a caption below, into these captions.

    Title, image, caption, image, caption is such a figure. Caption, image, caption, image is not: each caption stands
    above its image there.
    """
    result: list[Block] = []
    start = 0
    while start < len(blocks):
        title = blocks[start]
        end = start + 1
        if not title.images and _may_stand_above(title):
            while end + 1 < len(blocks) and _is_bare(blocks[end]) and _is_below(blocks[end + 1]):
                end += 2
        # One image between two captions says nothing: the second may be that of a table.
        if end < start + 5 or any(map(_is_bare, blocks[end : end + 1])):
            result += blocks[start:end]  # a shorter run inside would end at the same place
        else:
            for image, caption in zip(blocks[start + 1 : end : 2], blocks[start + 2 : end : 2], strict=True):
                text = f"{title.text} {caption.text}" if title.text[-1:] in ".:!?" else f"{title.text}. {caption.text}"
                result += [image, Block(text, "caption", anchors=title.anchors + caption.anchors)]
        start = end
    return result


def _is_bare(block: Block) -> bool:
    """Tell whether a block is images alone, the last one without a caption."""
    return not block.text and _uncaptioned(block) is not None


def _is_below(block: Block) -> bool:
    """Tell whether a block can be the caption of an image in a figure with a title: it has no label of its own."""
    return not block.images and not _has_label(block) and (block.kind == "caption" or block.emphasised)


def _may_stand_above(block: Block) -> bool:
    """Tell whether a block can be the caption of what comes after it."""
    return block.kind == "caption" or (block.kind == "paragraph" and _has_label(block))


def _has_label(block: Block) -> bool:
    return bool(LABEL.match(block.text)) and len(block.text.split()) <= MAX_CAPTION_WORDS


def _uncaptioned(block: Block) -> FlowImage | None:
    """Return the last image of a block, if the block ends with it and it has no caption yet."""
    if not block.images:
        return None
    offset, image = block.images[-1]
    at_end = offset >= len(block.text)
    return image if at_end and image.caption is None else None


def _is_caption(block: Block, above: FlowImage) -> bool:
    if block.kind == "caption":
        return True
    if block.kind != "paragraph" or len(block.text.split()) > MAX_CAPTION_WORDS:
        return False
    repeats = bool(above.alt) and block.text.strip(" .:").casefold() == (above.alt or "").strip(" .:").casefold()
    return block.emphasised or repeats or _has_label(block)


def _own_line(block: Block) -> None:
    """``![](a.jpg)`` with a line in italics below, in one paragraph: that line is the caption."""
    if block.emphasised and block.images[-1][0] == 0 and block.images[-1][1].caption is None:
        _add_caption(block, block)
        block.text, block.targets, block.emphasised = "", [], False


def _add_caption(block: Block, caption: Block) -> None:
    """Set the caption of a block's last images: two side by side share the line below them."""
    last = block.images[-1][0]
    block.images = [
        (
            offset,
            replace(image, caption=caption.text, anchors=tuple(dict.fromkeys(image.anchors + caption.anchors))),
        )
        if offset == last and image.caption is None
        else (offset, image)
        for offset, image in block.images
    ]


def drop_repeated_title(blocks: list[Block]) -> list[Block]:
    """Remove a title that the next heading repeats: some converters write both."""
    for block in blocks[1:4]:
        if blocks[0].kind == block.kind == "heading" and blocks[0].text.casefold() == block.text.casefold():
            return blocks if blocks[0].images else blocks[1:]
    return blocks
