"""The layout of a PDF: lines and images become blocks, with columns, paragraphs, headings and captions."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from iconotext.read.blocks import Block, FlowImage, drop_repeated_title, join_row
from iconotext.read.captions import CAPTION_LABEL
from iconotext.read.pdf.columns import Column, columns
from iconotext.read.pdf.contents import remove_contents
from iconotext.read.pdf.images import PageImage
from iconotext.read.pdf.lines import Box, Line, Word, bounding_box, distance, overlap
from iconotext.read.pdf.paragraphs import (
    DEFAULT_PITCH,
    SENTENCE_END,
    Limits,
    Text,
    Words,
    begins,
    body_size,
    classify,
    ends_early,
    line_pitch,
    opens,
    text_block,
    words_of,
)

if TYPE_CHECKING:
    from iconotext.read.pdf.page import Page

MARGIN = 0.14  # share of the height at the head and the foot of a page where running lines stand
PAGE_NUMBER = re.compile(
    r"^\W*+(?:page|seite|p\.)?\s*+(?:\d{1,4}|[ivxl]{1,7})(?:\s*(?:/|of|von)\s*\d{1,4})?\W*$", re.IGNORECASE
)

PRINTED = re.compile(
    rf"(?:{PAGE_NUMBER.pattern})|^(?:https?|file)://\S+$"
    r"|^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:,? \d{1,2}[:.]\d\d\b.*)?$",
    re.IGNORECASE,
)
"""Lines that printing programs add to pages: page number, address of a web page, date."""

REPEATED = 3  # a small image on at least this many pages is a logo


def remove_running_lines(pages: Sequence[Page]) -> None:
    """Remove headers, footers and page numbers: lines at the same position on several pages."""
    places: defaultdict[tuple[str, int, int], set[int]] = defaultdict(set)
    for page in pages:
        for line in _marginal(page):
            for key in _running_keys(line):
                places[key].add(page.number)
    enough = 2 if len(pages) < 5 else 3
    for page in pages:
        heights: list[float] = []
        for line in list(_marginal(page)):
            alone = PRINTED.match(line.text) is not None and _outermost(line, page)
            if alone or max(len(places[key]) for key in _running_keys(line)) >= enough:
                page.lines.remove(line)
                heights.append(line.base)
        # A line beside a page number or a date belongs to the same running line, though it may vary.
        page.lines[:] = [line for line in page.lines if not any(abs(line.base - height) < 2 for height in heights)]


def _marginal(page: Page) -> Iterator[Line]:
    for line in page.lines:
        if line.box[3] < MARGIN * page.height or line.box[1] > (1 - MARGIN) * page.height:
            yield line


def _running_keys(line: Line) -> list[tuple[str, int, int]]:
    """Return the text of a line with its cell in each of two grids of 6 points; equal for lines at one position."""
    # Page numbers vary, so digits are ignored; in large letters "Chapter 1" and "Chapter 2" are different headings.
    text = re.sub(r"\d+", "#", line.text) if line.size < 13 else line.text
    # Positions at the edge of a cell, which rounding separates, are together in the other grid.
    return [(text, grid, round((line.base + 3 * grid) / 6)) for grid in (0, 1)]


def _outermost(line: Line, page: Page) -> bool:
    bases = [other.base for other in page.lines if other is not line and abs(other.base - line.base) > line.size]
    return not bases or line.base > max(bases) + 1.5 * line.size or line.base < min(bases) - 1.5 * line.size


def remove_code(pages: Sequence[Page]) -> None:
    """Remove lines of code: those in a monospaced font, unless the whole document is."""
    typed = sum(len(line.text) for page in pages for line in page.lines if line.mono)
    if typed < 0.5 * sum(len(line.text) for page in pages for line in page.lines):
        for page in pages:
            page.lines[:] = [line for line in page.lines if not line.mono]


def mark_repeats(pages: Sequence[Page]) -> None:
    """Set the problem of small images that repeat on several pages, and of scans behind text: both are decoration."""
    pages_of: defaultdict[object, set[int]] = defaultdict(set)
    for page in pages:
        for image in page.images:
            if image.key is not None:
                pages_of[image.key].add(page.number)
    for page in pages:
        letters = sum(len(line.text) for line in page.lines)
        for image in page.images:
            share = (image.box[2] - image.box[0]) * (image.box[3] - image.box[1]) / max(page.width * page.height, 1)
            times = len(pages_of[image.key]) if image.key is not None else 0
            if times >= REPEATED and share < 0.1:
                _set_problem(image, f"the same small picture on {times} pages: a logo or an ornament")
            elif share > 0.8 and letters > 200:
                _set_problem(image, "fills the page behind its text: a scan of the page or a background")


def _set_problem(picture: PageImage, problem: str) -> None:
    if picture.image.problem is None:
        picture.image = replace(picture.image, problem=problem)


CAPTION_GAP = 3.0  # largest distance of a caption from its image, in heights of its lines


@dataclass(slots=True)
class Figure:
    """Pictures that share a caption."""

    images: list[PageImage]
    page: int
    caption: Text | None = None
    row: object = None  # as of ``Text``

    @property
    def box(self) -> Box:
        """The box around its pictures."""
        return bounding_box([picture.box for picture in self.images])


def lay_out(pages: Sequence[Page]) -> list[Block]:
    """Return the blocks of a document, in reading order."""
    remove_running_lines(pages)
    remove_code(pages)
    mark_repeats(pages)
    mark_links(pages)
    remove_contents(pages)
    body = body_size(pages)
    pitches = [line_pitch(page) for page in pages]
    common = statistics.median_low([pitch for pitch in pitches if pitch is not None] or [DEFAULT_PITCH])
    parts: list[Text | Figure] = []
    for page, pitch in zip(pages, pitches, strict=True):
        parts += _page_parts(page, body, pitch or common)
    words = words_of(pages)
    blocks: list[Block] = []
    for row, group in groupby(_joined(parts), key=lambda part: part.row):
        made = [_block(part, words) for part in group]
        blocks += made if row is None else join_row(made)
    return drop_repeated_title(blocks)


def mark_links(pages: Sequence[Page]) -> None:
    """Name the images, and give the words of a link its place and the name of the image there."""
    by_number = {page.number: page for page in pages}
    for page in pages:
        for number, picture in enumerate(page.images, 1):
            picture.image = replace(picture.image, sources=(f"page {page.number}, picture {number}",))
    for page in pages:
        for box, target_page, height in page.links:
            name = None
            # A link to a whole page does not say which picture is meant.
            target = None if height is None else _target_picture(by_number.get(target_page), height)
            if target is not None:
                name = target.image.sources[0].replace(", ", "-").replace(" ", "-")
                target.image = replace(target.image, anchors=(name,))
            for word in _words_in(page, box):
                word.place, word.target = (target_page, height), name or word.target


def _words_in(page: Page, box: Box) -> Iterator[Word]:
    """Yield the words whose middle is in a box, of the lines through the middle of the box."""
    for line in page.lines:
        if line.box[1] < (box[1] + box[3]) / 2 < line.box[3]:
            yield from (word for word in line.words if box[0] - 1 < (word.left + word.right) / 2 < box[2] + 1)


def _target_picture(page: Page | None, height: float) -> PageImage | None:
    """Return the target of a link: the picture whose top, or whose caption, is at a height above the page's foot."""
    if page is None or not page.images:
        return None
    top = page.height - height

    def points_off(picture: PageImage) -> float:
        above, below = picture.box[1] - top, top - picture.box[3]
        if above > -20:  # the link leads to its top, or to a place above it
            return abs(above)
        return max(below, 0.0) + 5 if below > -20 else 1000.0  # to its foot, or below it

    nearest = min(page.images, key=points_off)
    return nearest if points_off(nearest) < 45 else None


def _page_parts(page: Page, body: float, pitch: float) -> list[Text | Figure]:
    parts: list[Text | Figure] = []
    for column in columns([*page.lines, *page.images]):
        parts += _column_parts(column, page, body, pitch)
    _find_captions(parts, body)
    return parts


def _column_parts(column: Column, page: Page, body: float, pitch: float) -> list[Text | Figure]:
    limits = Limits(column)
    parts: list[Text | Figure] = []
    for item in column.items:
        if isinstance(item, PageImage):
            parts.append(Figure([item], page.number))
            continue
        last = parts[-1] if parts else None
        if isinstance(last, Text) and not begins(last, item, limits, pitch, table=column.table):
            last.lines.append(item)
        else:
            parts.append(Text([item], page.number, limits.of(item)))
    for number, part in enumerate(parts):
        if isinstance(part, Text):
            below = parts[number + 1] if number + 1 < len(parts) else None
            classify(part, body, page, table=column.table, followed=isinstance(below, Text | Figure))
    row = object() if column.row else None
    for part in parts:
        part.row = row
    return parts


def _find_captions(parts: list[Text | Figure], body: float) -> None:
    """Move the captions among the parts to their figures, and join figures that share one."""
    figures = [part for part in parts if isinstance(part, Figure)]
    if not figures:
        return
    left = min((line.box[0] for part in parts if isinstance(part, Text) for line in part.lines), default=0.0)
    for number, part in enumerate(parts):
        if not isinstance(part, Text) or part.kind == "heading":
            continue
        if CAPTION_LABEL.match(part.content):
            nearest = min(figures, key=lambda figure: distance(part.box, figure.box))
            near = distance(part.box, nearest.box) < CAPTION_GAP * part.lines[0].size
            if near and nearest.caption is None:
                nearest.caption = part
        elif (
            number
            and isinstance(above := parts[number - 1], Figure)
            and above.caption is None
            and _is_set_as_caption(part, above, body, left)
        ):
            above.caption = part
    captions = {id(figure.caption) for figure in figures if figure.caption is not None}
    parts[:] = _grouped([part for part in parts if id(part) not in captions])


def _is_set_as_caption(text: Text, figure: Figure, body: float, left: float) -> bool:
    """Return whether a text right below an image is set like a caption, not like running text."""
    box, image = text.box, figure.box
    size = text.lines[0].size
    if not -0.5 * size < box[1] - image[3] < 0.8 * size or text.kind != "paragraph":
        return False
    if len(text.content.split()) > 80:
        return False
    within = box[0] > image[0] - 3 * size and overlap(box, image) > 0
    smaller = size < 0.93 * body or all(line.italic for line in text.lines)
    indented = abs(box[0] - image[0]) < 2 and box[0] > left + 1.2 * size
    centred = abs((box[0] + box[2]) - (image[0] + image[2])) < size and box[0] > left + 2 * size
    return within and (smaller or indented or (centred and len(text.lines) < 4))


def _grouped(parts: list[Text | Figure]) -> list[Text | Figure]:
    """Join pictures side by side or above each other, with one caption after the last of them, to one figure."""
    grouped: list[Text | Figure] = []
    for part in parts:
        last = grouped[-1] if grouped else None
        if isinstance(part, Figure) and isinstance(last, Figure) and _share_caption(last, part):
            grouped[-1] = Figure(last.images + part.images, part.page, part.caption)
        else:
            grouped.append(part)
    return grouped


def _share_caption(above: Figure, below: Figure) -> bool:
    if above.caption is not None or below.caption is None or not CAPTION_LABEL.match(below.caption.lines[0].text):
        return False
    return distance(above.box, below.box) < 20


def _joined(parts: list[Text | Figure]) -> list[Text | Figure]:
    """Join the parts of paragraphs and captions that go on in the next column or on the next page."""
    joined: list[Text | Figure] = []
    for part in parts:
        open_text = next((p for p in reversed(joined) if isinstance(p, Text) and not p.note), None)
        caption = joined[-1].caption if joined and isinstance(joined[-1], Figure) else None
        if isinstance(part, Text) and caption is not None and _caption_goes_on(caption, part):
            caption.lines += part.lines
        elif isinstance(part, Text) and open_text is not None and _goes_on(open_text, part, joined):
            open_text.lines += part.lines
        else:
            joined.append(part)
    return joined


def _goes_on(text: Text, part: Text, joined: list[Text | Figure]) -> bool:
    """Return whether a paragraph goes on in ``part``, in another place than right below."""
    last, first = text.lines[-1], part.lines[0]
    if part.note or text.kind not in ("paragraph", "item") or part.kind != "paragraph":
        return False
    if abs(last.size - first.size) > 0.06 * last.size or (last.bold, last.italic) != (first.bold, first.italic):
        return False
    elsewhere = isinstance(joined[-1], Figure) or text.page != part.page or first.box[1] < last.box[1]
    if not elsewhere or SENTENCE_END.search(last.text):
        return False
    if not opens(first.text):
        return True
    indented = len(part.lines) > 1 and first.box[0] > part.lines[1].box[0] + 0.8 * first.size
    return not indented and not ends_early(last, first, text.right) and not CAPTION_LABEL.match(first.text)


def _caption_goes_on(caption: Text, part: Text) -> bool:
    last, first = caption.lines[-1], part.lines[0]
    elsewhere = caption.page != part.page or first.box[1] < last.box[1]
    like = abs(last.size - first.size) < 0.06 * last.size and last.italic == first.italic
    return elsewhere and like and not SENTENCE_END.search(last.text) and first.text[:1].islower()


def _block(part: Text | Figure, words: Words) -> Block:
    if isinstance(part, Text):
        return text_block(part, words)
    images: list[FlowImage] = [picture.image for picture in part.images]
    if part.caption is not None:
        caption = text_block(part.caption, words).text
        images = [replace(image, caption=caption) for image in images]
    return Block(images=[(0, image) for image in images])
