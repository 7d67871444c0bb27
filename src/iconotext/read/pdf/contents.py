"""Contents of a PDF: tables of contents, lists of figures, indexes, with page numbers or links on their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from iconotext.read.contents import MAX_GAP_WORDS, Entry, Listing, Row, Titles, before_page, introduces, listings
from iconotext.read.pdf.lines import Line, Word

if TYPE_CHECKING:
    from iconotext.read.pdf.page import Page

GAP = 2
"""Maximum number of lines between two lines of contents: the beginning of a long title, the name of a part."""
HEADING_SIZE = 1.4  # letters so much larger than those of contents are the heading of other contents
SAME_PLACE = 40  # points between a heading and the place to which a link on the heading itself leads
MAX_TITLE = 500  # characters of a title that goes on for many lines
NUMBER = re.compile(r"[\s.·…⋅․‥_]*(?:\d{1,4}|[ivxlcdm]{1,8}|\d{1,2}(?:\.\d{1,2}){1,4}\.?)?", re.IGNORECASE)
LETTERS = re.compile(r"[^\W\d_]{2,}")


def remove_contents(pages: Sequence[Page]) -> None:
    """Remove contents and indexes, and the links of other lists of links; see ``read.contents``."""
    lines = [line for page in pages for line in page.lines]
    number_of = {id(line): number for number, line in enumerate(lines)}
    found = list(listings(_rows(pages, number_of), GAP))
    listed = {number for listing in found for number in listing.numbers}
    others = [(number, line) for number, line in enumerate(lines) if number not in listed]
    titles = Titles()
    for number, line in others:
        titles.add(line.text, number)
    for (number, line), (_, below) in pairwise(others):  # a title in two lines is found by both
        titles.add(f"{line.text} {below.text}", number)
    pictures = {name for page in pages for picture in page.images for name in picture.image.anchors}
    left_out: set[int] = set()
    for listing in found:
        kind = listing.kind(titles, pictures)
        if kind == "contents":
            numbers = [*_beginning(listing, lines, titles), *listing.between, *listing.numbers]
            left_out.update(id(lines[number]) for number in numbers)
        elif kind == "links":
            for word in (word for number in listing.numbers for word in lines[number].words):
                word.target = None
    for page in pages:
        page.lines[:] = [line for line in page.lines if id(line) not in left_out]


def _beginning(listing: Listing, lines: Sequence[Line], titles: Titles) -> range:
    """Return the lines before contents that belong to them: the beginning of a long title, whose end has the number."""
    first, last = listing.numbers[0], listing.numbers[-1]
    for start in range(max(first - 2 - GAP, 0), first):
        texts = [line.text for line in lines[start : first + 1]]
        size = max(line.size for line in lines[start:first])
        if size < 1.1 * lines[first].size and any(
            titles.in_order([" ".join(part)], after=last) for part in (texts, texts[:-1])
        ):
            return range(start, first)
    return range(0)


def _rows(pages: Sequence[Page], number_of: Mapping[int, int]) -> Iterator[Row]:
    """Yield the lines of a document in the order of the file, each with the numbers beside it."""
    last: tuple[Entry, list[Line]] | None = None  # a line of contents whose link may go on in the next line
    size = 0.0  # of the letters of contents

    def row(entry: Entry, lines: list[Line]) -> Row:
        return Row(entry, [number_of[id(line)] for line in lines])

    for page in pages:
        for lines in _with_numbers(page.lines):
            entry = _entry(lines, page)
            if last is not None and entry is not None and _goes_on(*last, lines):
                titles = (*last[0].titles[:-1], f"{last[0].titles[-1][:MAX_TITLE]} {entry.titles[0]}")
                targets = tuple(dict.fromkeys(last[0].targets + entry.targets))
                last = (Entry(titles + entry.titles[1:], targets, entry.paged), last[1])
                last[1].extend(lines)
                continue
            if last is not None:
                yield row(*last)
                size = last[1][0].size
            last = None if entry is None else (entry, lines)
            if entry is None:
                text = lines[0].text
                is_title = lines[0].size > HEADING_SIZE * size and len(text) > 1  # not a letter of an index
                between = len(lines[0].words) <= MAX_GAP_WORDS and not is_title
                yield Row(None, [number_of[id(line)] for line in lines], between, introduces(text))
    if last is not None:
        yield row(*last)


def _goes_on(entry: Entry, lines: list[Line], following: list[Line]) -> bool:
    """Tell whether the link of a line of contents goes on in the next line."""
    return not entry.paged and lines[-1].words[-1].place == following[0].words[0].place is not None


def _with_numbers(lines: Sequence[Line]) -> list[list[Line]]:
    """Group the lines of a page: each text with the number of its chapter to its left and of its page to its right."""
    grouped: list[list[Line]] = []
    base, numbers, text = float("-inf"), list[Line](), False
    for line in sorted(lines, key=lambda line: (round(line.base), line.box[0])):
        is_number = NUMBER.fullmatch(line.text) is not None
        if line.base - base > 0.3 * line.size:
            base, text = line.base, False
            numbers = []
            grouped.append(numbers)
        elif text and not is_number:
            numbers = []
            grouped.append(numbers)
            text = False
        numbers.append(line)
        text = text or not is_number
    return sorted(grouped, key=lambda group: min(line.order for line in group))


def _entry(lines: list[Line], page: Page) -> Entry | None:
    """Return lines at one height as a line of contents; None if they are none."""
    words = [word for line in lines for word in line.words]
    linked = [word for word in words if word.place is not None and not _leads_to_itself(word, lines[0], page)]
    text = " ".join(word.text for word in words)
    named = [word for word in words if LETTERS.search(word.text)]
    if not named:
        return None
    whole = all(word.place is not None for word in named) and bool(linked)
    ending = before_page(text)
    title, leaders = ending or (text, False)
    apart = ending is not None and (leaders or (len(lines) > 1 and NUMBER.fullmatch(lines[-1].text) is not None))
    is_index = not whole and bool(linked) and linked[-1] is words[-1] and title.endswith(",") and not _has_names(linked)
    if not (whole or leaders or (apart and linked) or is_index):
        return None
    titles = tuple(_links(words)) if whole else (title,)
    targets = tuple(dict.fromkeys(word.target or "" for word in linked))
    return Entry(titles, targets, paged=bool(linked) and (apart or is_index))


def _links(words: Sequence[Word]) -> Iterator[str]:
    """Yield the text of each link."""
    for place, linked in groupby(words, key=lambda word: word.place):
        title = " ".join(word.text for word in linked)
        if place is not None and LETTERS.search(title):
            yield title


def _has_names(words: Sequence[Word]) -> bool:
    return any(LETTERS.search(word.text) for word in words)


def _leads_to_itself(word: Word, line: Line, page: Page) -> bool:
    """Tell whether the link on a word leads to its own line, as in headings of web pages."""
    number, height = word.place or (0, None)
    return number == page.number and height is not None and abs(page.height - height - line.box[1]) < SAME_PLACE
