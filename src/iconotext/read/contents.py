"""Tables of contents, lists of figures, indexes and menus within a document: lists of links, which are no running text.

A list of contents says what the document says elsewhere, so it is left out. Another list of links, most of which lead
to no picture, stays as text without its links: a menu does not refer to the pictures to which it leads.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal, NamedTuple

from iconotext.read.blocks import Block
from iconotext.read.captions import CAPTION_LABEL
from iconotext.read.sentences import is_label

FEWEST = 3
"""Fewest links of a list."""
FEWEST_PAGES = 5
"""Fewest lines of an index, which is known by its linked page numbers alone."""
MAX_WORDS = 60
TITLE_WORDS = 4
"""Maximum number of words of a title of contents that ends with a colon: ``On this page:``."""
MAX_GAP_WORDS = 12
"""Maximum number of words of a text between two lines of a list, such as the name of a part."""
KEY_WORDS = 8
"""Number of words by which a title is found again."""

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d{1,4}|[ivxlcdm]{1,8}|[^\W\d_]", re.IGNORECASE)
_PAGE = re.compile(r"(?<!\w)(?:\d{1,4}|[ivxlcdm]{1,8})$", re.IGNORECASE)
_LEADERS = " .·…⋅․‥_"
_PART_END = re.compile(r"[.:;(–—]")

Key = tuple[str, ...]


class Entry(NamedTuple):
    """A line of a list of links.

    Attributes:
        titles: The texts of its links, or the text before a page number.
        targets: The places to which it leads.
        paged: Whether it is linked, and the number of a page is set apart at its end.
    """

    titles: tuple[str, ...]
    targets: tuple[str, ...] = ()
    paged: bool = False


class Row(NamedTuple):
    """A line of a document, of contents or not.

    Attributes:
        entry: The line as a part of contents; None if it cannot be one.
        numbers: The numbers of its blocks, or of its lines in a PDF.
        between: Whether it may stand between two lines of contents.
        introduces: Whether it is a sentence that a list after it goes on with.
    """

    entry: Entry | None
    numbers: list[int]
    between: bool = False
    introduces: bool = False


@dataclass(slots=True)
class Listing:
    """Consecutive lines that may be contents, with the numbers of their blocks, or of their lines in a PDF."""

    introduced: bool = False  # whether a sentence before it goes on with it
    entries: list[Entry] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    between: list[int] = field(default_factory=list)  # numbers of short texts without links, between two of its lines

    def kind(self, titles: Titles, pictures: Collection[str]) -> Literal["contents", "links", "text"]:
        """Tell what the lines are.

        Args:
            titles: The other texts of the document.
            pictures: The identifiers of its pictures.

        Returns:
            ``contents`` if two thirds of the lines name what follows, or what came before, in the same order, and go on
            with no sentence, or if half of them lead to pages by their numbers; ``links`` if such lines go on with a
            sentence, or half of the links lead to no picture; else ``text``, such as steps linked to their pictures.
        """
        names = [name for entry in self.entries for name in entry.titles]
        if len(names) < FEWEST:
            return "text"
        paged = sum(entry.paged for entry in self.entries)
        in_order = max(titles.in_order(names, after=self.numbers[-1]), titles.in_order(names, before=self.numbers[0]))
        recurring = in_order >= FEWEST and 3 * in_order >= 2 * len(names)
        if paged >= max(FEWEST_PAGES, len(self.entries) / 2) or (recurring and not self.introduced):
            return "contents"
        targets = [target for entry in self.entries for target in entry.targets]
        elsewhere = sum(target not in pictures for target in targets)
        return "links" if recurring or 2 * elsewhere >= max(len(targets), 1) else "text"


def listings(rows: Iterable[Row], gap: int) -> Iterator[Listing]:
    """Group the lines of a document to lists; up to ``gap`` other lines may stand between two of their lines."""
    listing = Listing()
    waiting: list[Row] = []
    for row in rows:
        if row.entry is not None:
            listing.between += chain.from_iterable(other.numbers for other in waiting)
            waiting = []
            listing.entries.append(row.entry)
            listing.numbers += row.numbers
            continue
        waiting.append(row)
        if not listing.entries or not row.between or len(waiting) > gap:
            if listing.entries:
                yield listing
            listing, waiting = Listing(introduced=row.introduces), []
    if listing.entries:
        yield listing


def introduces(text: str) -> bool:
    """Return whether a text is a sentence that a list goes on with, and not a title such as ``Contents:``."""
    return text.endswith((":", "：")) and len(text.split(maxsplit=TITLE_WORDS)) > TITLE_WORDS


class Titles:
    """Texts by their first words, with the places where they stand."""

    def __init__(self) -> None:
        self._places: defaultdict[Key, list[int]] = defaultdict(list)

    def add(self, text: str, place: int) -> None:
        """Add a text, and its first part: ``The wiring`` of ``Fig. 2: The wiring (seen from above)``."""
        for key in keys(text) | keys(_PART_END.split(CAPTION_LABEL.sub("", text[:1000]), maxsplit=1)[0]):
            self._places[key].append(place)

    def in_order(self, names: Iterable[str], *, after: int = -1, before: int | None = None) -> int:
        """Return the largest number of names that stand in their order between two places."""
        ends: list[int] = []  # the lowest last place of each number of names in order
        for name in names:
            found = [place for key in keys(name) for place in self._within(key, after, before)]
            if found:
                place = min(found)
                at = bisect_right(ends, place)
                ends[at : at + 1] = [place]
        return len(ends)

    def _within(self, key: Key, after: int, before: int | None) -> Iterator[int]:
        """Yield the first place of a text behind one place, and before the other."""
        places = self._places.get(key, [])
        at = bisect_right(places, after)
        if at < len(places) and (before is None or places[at] < before):
            yield places[at]


def keys(text: str) -> set[Key]:
    """Return the words by which a title is found again: without its number, and without a page number behind it."""
    words = _WORD.findall(CAPTION_LABEL.sub("", text).casefold()[:1000])
    first = next((n for n, word in enumerate(words) if not _NUMBER.fullmatch(word)), len(words))
    words = words[first:]
    return {tuple(some[:KEY_WORDS]) for some in (words, words[:-1] if _PAGE.search(text) else words) if some}


def before_page(text: str) -> tuple[str, bool] | None:
    """Divide a line that ends with a page number: its title, and whether dots lead to the number; None if none does."""
    page = _PAGE.search(text, max(len(text) - 10, 0))
    if page is None:
        return None
    title = text[: page.start()].rstrip(_LEADERS)
    between = text[len(title) : page.start()]
    return title, "…" in between or sum(mark != " " for mark in between) >= 3


def without_contents(blocks: list[Block]) -> list[Block]:
    """Return the blocks of a document without its contents, and other lists of links without their links."""
    if sum(len(block.targets) for block in blocks) < FEWEST:
        return blocks
    found = list(listings(_rows(blocks), gap=1))
    listed = {number for listing in found for number in listing.numbers}
    titles, pictures = Titles(), set[str]()
    for number, block in enumerate(blocks):
        texts = [text for _, image in block.images for text in (image.caption, image.title, image.alt) if text]
        for text in texts if number in listed else [block.text, *texts]:
            titles.add(text, number)
        pictures.update(block.anchors, *(image.anchors for _, image in block.images))
    kinds: dict[int, str] = {}
    for listing in found:
        kinds |= dict.fromkeys(listing.numbers, listing.kind(titles, pictures))
    return [
        replace(block, targets=[]) if kinds.get(number) == "links" else block
        for number, block in enumerate(blocks)
        if kinds.get(number) != "contents"
    ]


def _rows(blocks: Sequence[Block]) -> Iterator[Row]:
    """Yield the lines of a document: blocks, or the cells of a title and its page number together."""
    number = 0
    while number < len(blocks):
        first = number
        if number + 1 < len(blocks) and _is_number(blocks[number]):
            number += 1
        block = blocks[number]
        entry = _entry(block)
        after = blocks[number + 1] if number + 1 < len(blocks) else None
        if entry is None and after is not None and after.targets and _is_number(after) and _is_short(block, MAX_WORDS):
            entry = Entry((block.text,), tuple(name for *_, name in after.targets))
        if entry is None:
            block = blocks[first]
            between = block.kind != "heading" and _is_short(block, MAX_GAP_WORDS)
            yield Row(None, [first], between, introduces(block.text))
            number = first + 1
            continue
        number += 1
        while number < len(blocks) and _is_number(blocks[number]):
            number += 1
        yield Row(entry, list(range(first, number)))


def _is_number(block: Block) -> bool:
    """Tell whether a block is a cell with a number alone, of a chapter or of a page."""
    words = _WORD.findall(block.text[:100])
    return block.kind == "cell" and not block.images and bool(words) and all(map(_NUMBER.fullmatch, words))


def _is_short(block: Block, words: int) -> bool:
    return not block.images and len(block.text.split(maxsplit=words + 1)) <= words


def _entry(block: Block) -> Entry | None:
    """Return a block as a line of contents: all of its words are links, or linked page numbers are at its end."""
    if block.kind == "heading" or not block.targets or is_label(block.text) or not _is_short(block, MAX_WORDS):
        return None
    targets = tuple(name for *_, name in block.targets)
    apart = list(block.text)
    for start, end, _ in block.targets:
        apart[start:end] = " " * (end - start)
    words = [word for word in _WORD.findall("".join(apart)) if not _NUMBER.fullmatch(word)]
    titles = tuple(block.text[start:end] for start, end in _joined(block))
    titles = tuple(title for title in titles if any(not _NUMBER.fullmatch(word) for word in _WORD.findall(title)))
    if not words:
        page = before_page(block.text)
        return Entry(titles, targets, paged=page is not None and page[1]) if titles else None
    start = block.targets[0][0]
    title = block.text[:start].rstrip()
    is_index = not titles and len(title) < start and not title.endswith((".", "!", "?", "”", '"', ")"))
    behind = _WORD.findall("".join(apart[start:]))
    return Entry((title,), targets) if is_index and all(map(_NUMBER.fullmatch, behind)) else None


def _joined(block: Block) -> Iterator[tuple[int, int]]:
    """Yield the begin and end of the links of a block; one that is marked word by word is joined."""
    open_: tuple[int, int, str] | None = None
    for start, end, name in sorted(block.targets):
        if open_ is not None and open_[2] == name and not block.text[open_[1] : start].strip():
            open_ = (open_[0], end, name)
            continue
        if open_ is not None:
            yield open_[:2]
        open_ = (start, end, name)
    if open_ is not None:
        yield open_[:2]
