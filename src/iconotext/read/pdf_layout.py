"""From lines and pictures on pages to blocks: columns, paragraphs, headings, captions, without running headers."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from iconotext.read.blocks import LABEL, Block, Picture, drop_repeated_title
from iconotext.read.pdf_page import Box, Line, Page, Place, Shown
from iconotext.types import Kind

MARGIN = 0.14  # share of the height at the head and the foot of a page where running lines stand
PAGE_NUMBER = re.compile(r"^\W*(?:page|seite|p\.)?\s*(?:\d{1,4}|[ivxl]{1,7})(?:\s*(?:/|of|von)\s*\d{1,4})?\W*$", re.IGNORECASE)
PRINTED = re.compile(
    rf"(?:{PAGE_NUMBER.pattern})|^(?:https?|file)://\S+$|^\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}}(?:,? \d{{1,2}}[:.]\d\d\b.*)?$", re.I
)
"""What a printing program puts on a page of its own: its number, the address of a web page, the date."""
BULLET = re.compile(r"^[•◦▪▫■□●○‣⁃∙·➢➤✓–—*-](?:\s+|$)")
NUMBER = re.compile(r"^\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)]\s+(?=\S)")
SENTENCE_END = re.compile(r"[.!?:;…。！？؟۔।][\"'”’»)\]」』）]*$")
CJK = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
WORD = re.compile(r"[^\W\d_]+")
HEADING_SIZE = 1.12  # letters so much larger than those of the text make a heading
HEADING_WORDS = 25
CAPTION_GAP = 3.0  # a caption stands at most so many of its lines away from its picture
REPEATED = 3  # a small picture on so many pages is a logo


@dataclass(slots=True)
class Column:
    """Lines and pictures that are read from top to bottom.

    Attributes:
        items: In reading order.
        table: Whether they are cells.
    """

    items: list[Line | Shown]
    table: bool = False


@dataclass(slots=True)
class Text:
    """A paragraph in the making.

    Attributes:
        lines: Its lines.
        kind: What it is.
        page: The page it begins on.
        right: The right edge of its column.
        note: Whether it is a footnote.
    """

    lines: list[Line]
    page: int
    right: float
    kind: Kind = "paragraph"
    note: bool = False


@dataclass(slots=True)
class Figure:
    """Pictures that share a caption."""

    pictures: list[Shown]
    page: int
    caption: Text | None = None


@dataclass(frozen=True, slots=True)
class Words:
    """What tells a hyphen that breaks a word from one that belongs to it.

    Attributes:
        whole: Words that stand in the document unbroken, in lower case.
        broken: Whether the document breaks words at all.
    """

    whole: frozenset[str]
    broken: bool


def lay_out(pages: Sequence[Page]) -> list[Block]:
    """The blocks of a document, in reading order."""
    remove_running_lines(pages)
    remove_code(pages)
    mark_repeats(pages)
    mark_links(pages)
    body = body_size(pages)
    pitch = line_pitch(pages)
    parts: list[Text | Figure] = []
    for page in pages:
        parts += _page_parts(page, body, pitch)
    words = Words(_vocabulary(pages), _hyphenates(pages))
    return drop_repeated_title([_block(part, words) for part in _joined(parts)])


def body_size(pages: Iterable[Page]) -> float:
    """Size of the letters in which most of the text is set; 0 without text."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def line_pitch(pages: Iterable[Page]) -> float:
    """Usual distance of two baselines, in units of the letters' size."""
    steps: Counter[float] = Counter()
    for page in pages:
        for above, below in zip(page.lines, page.lines[1:], strict=False):
            step = (below.base - above.base) / max(above.size, 0.1)
            if 0.9 < step < 2.2 and abs(above.size - below.size) < 0.1 and _overlap(above.box, below.box) > 0:
                steps[round(step, 2)] += 1
    return steps.most_common(1)[0][0] if steps else 1.2


def remove_running_lines(pages: Sequence[Page]) -> None:
    """Take headers, footers and page numbers off the pages: lines that stand at the same place on several of them."""
    places: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for page in pages:
        for line in _marginal(page):
            for step in (0, 1):  # two grids, so that a place near the edge of a cell is found in the other
                places[_running_key(line), round((line.base + 3 * step) / 6) * 2 + step].add(page.number)
    enough = 2 if len(pages) < 5 else 3
    for page in pages:
        heights: list[float] = []
        for line in list(_marginal(page)):
            keys = [(_running_key(line), round((line.base + 3 * step) / 6) * 2 + step) for step in (0, 1)]
            alone = PRINTED.match(line.text) is not None and _outermost(line, page)
            if alone or max(len(places[key]) for key in keys) >= enough:
                page.lines.remove(line)
                heights.append(line.base)
        # What stands beside a page number or a date is part of the same running line, though it may change.
        page.lines[:] = [line for line in page.lines if not any(abs(line.base - height) < 2 for height in heights)]


def _marginal(page: Page) -> Iterator[Line]:
    for line in page.lines:
        if line.box[3] < MARGIN * page.height or line.box[1] > (1 - MARGIN) * page.height:
            yield line


def _running_key(line: Line) -> str:
    # Page numbers differ; in large letters "Chapter 1" and "Chapter 2" are headings, so there digits count.
    return re.sub(r"\d+", "#", line.text) if line.size < 13 else line.text


def _outermost(line: Line, page: Page) -> bool:
    others = [other.base for other in page.lines if other is not line and abs(other.base - line.base) > line.size]
    return not others or line.base > max(others) + 1.5 * line.size or line.base < min(others) - 1.5 * line.size


def remove_code(pages: Sequence[Page]) -> None:
    """Take out lines of code: those in letters of one width, unless all of the document is typed so."""
    typed = sum(len(line.text) for page in pages for line in page.lines if line.mono)
    if typed < 0.5 * sum(len(line.text) for page in pages for line in page.lines):
        for page in pages:
            page.lines[:] = [line for line in page.lines if not line.mono]


def mark_repeats(pages: Sequence[Page]) -> None:
    """Say of a small picture that comes again on several pages that it is decoration; of a scan behind text, too."""
    seen: defaultdict[object, set[int]] = defaultdict(set)
    for page in pages:
        for shown in page.pictures:
            if shown.key is not None:
                seen[shown.key].add(page.number)
    for page in pages:
        letters = sum(len(line.text) for line in page.lines)
        for shown in page.pictures:
            share = (shown.box[2] - shown.box[0]) * (shown.box[3] - shown.box[1]) / max(page.width * page.height, 1)
            times = len(seen[shown.key]) if shown.key is not None else 0
            if times >= REPEATED and share < 0.1:
                _say(shown, f"the same small picture on {times} pages: a logo or an ornament")
            elif share > 0.8 and letters > 200:
                _say(shown, "fills the page behind its text: a scan of the page or a background")


def _say(shown: Shown, problem: str) -> None:
    if shown.picture.problem is None:
        shown.picture = replace(shown.picture, problem=problem)


def mark_links(pages: Sequence[Page]) -> None:
    """Name the pictures, and give the words of a link the name of the picture it leads to."""
    by_number = {page.number: page for page in pages}
    for page in pages:
        for number, shown in enumerate(page.pictures, 1):
            shown.picture = replace(shown.picture, sources=(f"page {page.number}, picture {number}",))
    for page in pages:
        for box, place in page.links:
            shown_there = _led_to(place, by_number)
            if shown_there is None:
                continue
            name = shown_there.picture.sources[0].replace(", ", "-").replace(" ", "-")
            if name not in shown_there.picture.anchors:
                shown_there.picture = replace(shown_there.picture, anchors=(*shown_there.picture.anchors, name))
            for line in page.lines:
                if line.box[1] < (box[1] + box[3]) / 2 < line.box[3]:
                    for word in line.words:
                        if box[0] - 1 < (word.left + word.right) / 2 < box[2] + 1:
                            word.target = name


def _led_to(place: Place, pages: dict[int, Page]) -> Shown | None:
    """The picture that a link leads to: the one whose top, or whose caption, is at the place."""
    page = pages.get(place.page)
    if page is None or place.height is None or not page.pictures:
        return None
    top = page.height - place.height

    def distance(shown: Shown) -> float:
        above, below = shown.box[1] - top, top - shown.box[3]
        return abs(above) if above > -20 else max(below, 0.0) + 5 if below > -20 else 1000.0

    nearest = min(page.pictures, key=distance)
    return nearest if distance(nearest) < 45 else None


# Columns


def columns(items: list[Line | Shown], depth: int = 0) -> list[Column]:
    """Lines and pictures of a page, parted into columns in reading order."""
    gutter = _gutter(items) if depth < 3 else None
    if gutter is None:
        return _rows(items)
    left: list[Line | Shown] = []
    right: list[Line | Shown] = []
    found: list[Column] = []

    def finish() -> None:
        for side in (left, right):
            if side:
                found.extend(columns(list(side), depth + 1))
                side.clear()

    for item in sorted(items, key=lambda item: item.box[1]):
        if item.box[2] <= gutter + 3:
            left.append(item)
        elif item.box[0] >= gutter - 3:
            right.append(item)
        else:
            finish()  # what spans both columns ends them
            found += _rows([item])
    finish()
    return _merged(found)


def _merged(found: list[Column]) -> list[Column]:
    """Put spanning lines that follow each other into one column, so that they can be one paragraph."""
    merged: list[Column] = []
    for column in found:
        if merged and len(column.items) == 1 and not column.table and not merged[-1].table:
            last, item = merged[-1].items[-1], column.items[0]
            if all(isinstance(x, Line) for x in (last, item)) and abs(last.box[0] - item.box[0]) < 3 and item.box[1] > last.box[1]:
                merged[-1].items.append(item)
                continue
        merged.append(column)
    return merged


def _gutter(items: list[Line | Shown]) -> float | None:
    """Where the space between two columns is; None for one column, also where a table only looks like two."""
    if sum(map(_weight, items)) < 8:
        return None
    low, high = min(item.box[0] for item in items), max(item.box[2] for item in items)
    best: tuple[float, float] | None = None
    for x in sorted({round(item.box[2]) for item in items}):
        if not low + 0.2 * (high - low) < x < high - 0.2 * (high - low):
            continue
        left = [item for item in items if item.box[2] <= x + 1]
        right = [item for item in items if item.box[0] > x + 1]
        if min(sum(map(_weight, left)), sum(map(_weight, right))) < 4:
            continue
        edge = min(item.box[0] for item in right)
        if edge - x < 5 or not (_fills(left, low, x) and _fills(right, edge, high)):
            continue
        top = max(min(item.box[1] for item in side) for side in (left, right))
        bottom = min(max(item.box[3] for item in side) for side in (left, right))
        crossing = sum(_weight(n) for n in items if n.box[0] < x - 1 and n.box[2] > edge + 1 and top < n.box[3] < bottom)
        beside = min(sum(_weight(item) * _share_within(item, top, bottom) for item in side) for side in (left, right))
        if beside < 3 or crossing > 0.3 * beside:
            continue
        in_left = {id(item) for item in left}
        order = [id(item) in in_left for item in sorted((n for n in (*left, *right) if isinstance(n, Line)), key=_order)]
        changes = sum(a != b for a, b in zip(order, order[1:], strict=False))
        if changes > 3 + 2 * crossing + 0.25 * beside:
            continue  # written row by row: a table
        if best is None or beside - 2 * crossing > best[0]:
            best = (beside - 2 * crossing, (x + edge) / 2)
    return best[1] if best else None


def _weight(item: Line | Shown) -> float:
    """How many lines an item counts for where columns are looked for."""
    return 1.0 if isinstance(item, Line) else min(max((item.box[3] - item.box[1]) / 12, 1.0), 15.0)


def _order(line: Line) -> int:
    return line.order


def _share_within(item: Line | Shown, top: float, bottom: float) -> float:
    height = max(item.box[3] - item.box[1], 0.1)
    return max(min(item.box[3], bottom) - max(item.box[1], top), 0.0) / height


def _fills(items: list[Line | Shown], left: float, right: float) -> bool:
    """Whether enough items are as wide as a column of running text has them; lists and headings in it are shorter."""
    widths = sorted(item.box[2] - item.box[0] for item in items)
    return widths[-1 - len(widths) // 4] > 0.7 * (right - left)


def _rows(items: list[Line | Shown]) -> list[Column]:
    """One column from top to bottom, with the tables in it kept cell by cell."""
    ordered = sorted(items, key=lambda item: (item.box[1], item.box[0]))
    rows: list[list[Line | Shown]] = []
    for item in ordered:
        if rows and isinstance(item, Line) and any(isinstance(n, Line) and abs(n.base - item.base) < 2 for n in rows[-1]):
            rows[-1].append(item)
        else:
            rows.append([item])
    found: list[Column] = []
    number = 0
    while number < len(rows):
        end = _table_end(rows, number)
        if end > number + 1 or (end == number + 1 and len(rows[number]) > 2):
            cells = [item for row in rows[number:end] for item in row]
            cells.sort(key=lambda item: item.order if isinstance(item, Line) else -1)
            found.append(Column(cells, table=True))
            number = end
            continue
        row = sorted(rows[number], key=lambda item: item.box[0])
        if found and not found[-1].table:
            found[-1].items += _with_bullet(row)
        else:
            found.append(Column(_with_bullet(row)))
        number += 1
    return found


def _table_end(rows: list[list[Line | Shown]], start: int) -> int:
    """Number of the row after a table that begins at ``start``; ``start`` itself where none does."""
    end, single = start, 0
    for number in range(start, len(rows)):
        if any(isinstance(item, Shown) for item in rows[number]):
            break
        if len(_with_bullet(sorted(rows[number], key=lambda item: item.box[0]))) > 1:
            end, single = number + 1, 0
        elif number == start or single > 2:
            break
        else:
            single += 1
    return end


def _with_bullet(row: list[Line | Shown]) -> list[Line | Shown]:
    """A bullet or number that stands apart from the text of its item joins it."""
    first = row[0]
    if len(row) > 1 and isinstance(first, Line) and isinstance(second := row[1], Line):
        alone = BULLET.match(first.text) or NUMBER.match(first.text + " x")
        if alone and len(first.text) < 6 and second.box[0] - first.box[2] < 4 * second.size:
            box = (first.box[0], second.box[1], second.box[2], second.box[3])
            joined = replace(second, words=first.words + second.words, box=box, order=first.order)
            return [joined, *row[2:]]
    return row


# Paragraphs


def _page_parts(page: Page, body: float, pitch: float) -> list[Text | Figure]:
    parts: list[Text | Figure] = []
    for column in columns([*page.lines, *page.pictures]):
        parts += _column_parts(column, page, body, pitch)
    _find_captions(parts, body)
    return parts


def _column_parts(column: Column, page: Page, body: float, pitch: float) -> list[Text | Figure]:
    limits = _Limits(column)
    parts: list[Text | Figure] = []
    for item in column.items:
        if isinstance(item, Shown):
            parts.append(Figure([item], page.number))
            continue
        last = parts[-1] if parts else None
        if isinstance(last, Text) and not _begins(last, item, limits, pitch, table=column.table):
            last.lines.append(item)
        else:
            parts.append(Text([item], page.number, limits.of(item)))
    for number, part in enumerate(parts):
        if isinstance(part, Text):
            below = parts[number + 1] if number + 1 < len(parts) else None
            _classify(part, body, page, table=column.table, followed=isinstance(below, Text | Figure))
    return parts


class _Limits:
    """How far to the right the lines of a column may go."""

    def __init__(self, column: Column) -> None:
        self.lines = [item for item in column.items if isinstance(item, Line)]
        self.pictures = [item.box for item in column.items if isinstance(item, Shown)]
        self.left = min((line.box[0] for line in self.lines), default=0.0)
        self.right = max((line.box[2] for line in self.lines), default=0.0)

    def of(self, line: Line) -> float:
        """The right edge of what is set like this line: captions and quotations have a margin of their own."""
        alike = [n.box[2] for n in self.lines if abs(n.box[0] - line.box[0]) < 3 and abs(n.size - line.size) < 0.5]
        return min(max(alike) if len(alike) > 1 else self.right, self.beside(line))

    def beside(self, line: Line) -> float:
        """Where a picture begins around which the line runs; infinity for none."""
        boxes = (box for box in self.pictures if box[1] < line.base < box[3] and box[0] > line.box[0] + line.size)
        return min((box[0] for box in boxes), default=float("inf"))

    def is_broken_off(self, line: Line) -> bool:
        """Whether a line ends so early that it is the author who ended it."""
        return line.box[2] < self.left + 0.6 * (min(self.right, self.beside(line)) - self.left)


def _begins(text: Text, line: Line, limits: _Limits, pitch: float, *, table: bool) -> bool:
    """Whether a line begins a new paragraph after those of ``text``."""
    last, first = text.lines[-1], text.lines[0]
    em = max(line.size, 1.0)
    step = line.base - last.base
    if abs(line.size - last.size) > 0.12 * max(line.size, last.size) or line.bold != last.bold:
        return True
    own = text.lines[1].base - first.base if len(text.lines) > 1 else pitch * em
    if step < 0.5 * em or step > 1.3 * max(own, 0.9 * em):
        return True
    if BULLET.match(line.text):
        return True
    item = BULLET.match(first.text) or NUMBER.match(first.text)
    shift = line.box[0] - last.box[0]
    if table:
        return abs(shift) > em and not _centred(last, line)
    if NUMBER.match(line.text) and (abs(shift) > 0.5 * em or item) and abs(line.box[0] - first.box[0]) < em:
        return True
    if LABEL.match(line.text) and step > 1.1 * own:
        return True
    if _centred(last, line) and abs(shift) > 0.5 * em:
        return False
    if shift > 0.8 * em and not (item and len(text.lines) == 1) and not _from_right(last, line):
        return True
    if shift < -0.8 * em and (item or len(text.lines) > 1) and not _from_right(last, line):
        return True
    if not _ends_early(last, line, limits.right):
        return False
    if _ends_early(last, line, limits.of(last)) and (SENTENCE_END.search(last.text) or _opens(line.text)):
        return True
    return limits.is_broken_off(last)


def _opens(text: str) -> bool:
    """Whether a text begins like a sentence, not like the middle of one."""
    return text[:1].isupper() or text[:1] in tuple("\"“‘«„¿¡")


def _centred(above: Line, below: Line) -> bool:
    return abs((above.box[0] + above.box[2]) - (below.box[0] + below.box[2])) < 0.6 * below.size


def _from_right(above: Line, below: Line) -> bool:
    """Whether two lines are flush at the right only, as right-to-left text is set."""
    return abs(above.box[2] - below.box[2]) < 2 and bool(re.search("[\u0590-\u08ff]", below.text))


def _ends_early(line: Line, following: Line, right: float) -> bool:
    """Whether the next line's first word would have found room in this one: then the break is the author's."""
    if not following.words:
        return False
    first = following.words[0]
    return line.box[2] + 0.35 * line.size + (first.right - first.left) < right - 0.5 * line.size


def _classify(text: Text, body: float, page: Page, *, table: bool, followed: bool) -> None:
    size = statistics.median(line.size for line in text.lines)
    content = " ".join(line.text for line in text.lines)
    words = len(content.split())
    bold = all(line.bold for line in text.lines)
    larger = size > HEADING_SIZE * body
    if words <= HEADING_WORDS and WORD.search(content) and not LABEL.match(content):
        alone = bold and size > 0.95 * body and words <= 15 and not SENTENCE_END.search(content) and followed and not table
        if larger or alone:
            text.kind = "heading"
            return
    if BULLET.match(content):
        text.kind = "item"
    elif table:
        text.kind = "cell"
    elif NUMBER.match(content):
        text.kind = "item"
    small = size < 0.93 * body and text.lines[0].box[1] > 0.65 * page.height
    text.note = small and bool(re.match(r"^(?:\d{1,3}|[*†‡§¶])", content))


def _find_captions(parts: list[Text | Figure], body: float) -> None:
    """Give pictures the texts beside them that are their captions, and take those out of the text."""
    figures = [part for part in parts if isinstance(part, Figure)]
    left = min((line.box[0] for part in parts if isinstance(part, Text) for line in part.lines), default=0.0)
    for number, part in enumerate(parts):
        if not isinstance(part, Text) or part.kind == "heading" or not figures:
            continue
        content = " ".join(line.text for line in part.lines)
        if LABEL.match(content):
            nearest = min(figures, key=lambda figure: _distance(_around_text(part), _around_figure(figure)))
            near = _distance(_around_text(part), _around_figure(nearest)) < CAPTION_GAP * part.lines[0].size
            if near and nearest.caption is None:
                nearest.caption = part
        elif number and isinstance(above := parts[number - 1], Figure) and above.caption is None:
            if _is_set_as_caption(part, above, body, left):
                above.caption = part
    taken = {id(figure.caption) for figure in figures if figure.caption is not None}
    parts[:] = _grouped([part for part in parts if id(part) not in taken])


def _is_set_as_caption(text: Text, figure: Figure, body: float, left: float) -> bool:
    """Whether a text right below a picture is set apart from the running text as captions are."""
    box, picture = _around_text(text), _around_figure(figure)
    size = text.lines[0].size
    if not -0.5 * size < box[1] - picture[3] < 0.8 * size or text.kind != "paragraph":
        return False
    if len(" ".join(line.text for line in text.lines).split()) > 80:
        return False
    within = box[0] > picture[0] - 3 * size and _overlap(box, picture) > 0
    smaller = size < 0.93 * body or all(line.italic for line in text.lines)
    indented = abs(box[0] - picture[0]) < 2 and box[0] > left + 1.2 * size
    centred = abs((box[0] + box[2]) - (picture[0] + picture[2])) < size and box[0] > left + 2 * size
    return within and (smaller or indented or (centred and len(text.lines) < 4))


def _grouped(parts: list[Text | Figure]) -> list[Text | Figure]:
    """Pictures side by side or on top of each other, with one caption after the last of them, are one figure."""
    grouped: list[Text | Figure] = []
    for part in parts:
        last = grouped[-1] if grouped else None
        if isinstance(part, Figure) and isinstance(last, Figure) and last.caption is None and part.caption is not None:
            if LABEL.match(part.caption.lines[0].text) and _distance(_around_figure(last), _around_figure(part)) < 20:
                grouped[-1] = Figure(last.pictures + part.pictures, part.page, part.caption)
                continue
        grouped.append(part)
    return grouped


def _around_text(text: Text) -> Box:
    return _hull([line.box for line in text.lines])


def _around_figure(figure: Figure) -> Box:
    return _hull([shown.box for shown in figure.pictures])


def _hull(boxes: list[Box]) -> Box:
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )


def _distance(one: Box, other: Box) -> float:
    across = max(one[0] - other[2], other[0] - one[2], 0.0)
    down = max(one[1] - other[3], other[1] - one[3], 0.0)
    return across + down


def _overlap(one: Box, other: Box) -> float:
    return min(one[2], other[2]) - max(one[0], other[0])


# Over columns and pages


def _joined(parts: list[Text | Figure]) -> list[Text | Figure]:
    """Put together paragraphs that a picture, a column or a page parts."""
    joined: list[Text | Figure] = []
    for part in parts:
        open_text = next((p for p in reversed(joined) if isinstance(p, Text) and not p.note), None)
        if isinstance(part, Text) and open_text is not None and _goes_on(open_text, part, joined):
            open_text.lines += part.lines
        else:
            joined.append(part)
    return joined


def _goes_on(text: Text, part: Text, joined: list[Text | Figure]) -> bool:
    last, first = text.lines[-1], part.lines[0]
    if part.note or text.kind not in ("paragraph", "item") or part.kind != "paragraph":
        return False
    if abs(last.size - first.size) > 0.06 * last.size or (last.bold, last.italic) != (first.bold, first.italic):
        return False
    beside = isinstance(joined[-1], Figure) or text.page != part.page or first.box[1] < last.box[1]
    if not beside or SENTENCE_END.search(last.text):
        return False
    if not _opens(first.text):
        return True
    indented = len(part.lines) > 1 and first.box[0] > part.lines[1].box[0] + 0.8 * first.size
    return not indented and not _ends_early(last, first, text.right) and not LABEL.match(first.text)


def _vocabulary(pages: Iterable[Page]) -> frozenset[str]:
    """Words that stand in the document unbroken."""
    found: set[str] = set()
    for page in pages:
        for line in page.lines:
            found.update(word.text.strip(".,;:!?()[]\"'“”‘’").casefold() for word in line.words[:-1])
    return frozenset(found)


def _hyphenates(pages: Iterable[Page]) -> bool:
    """Whether lines end with a hyphen more often than compounds alone would make them."""
    endings = [line.words[-1].text for page in pages for line in page.lines]
    return sum(len(word) > 2 and word[-1] in "-‐" for word in endings) > 0.02 * len(endings)


def _block(part: Text | Figure, words: Words) -> Block:
    if isinstance(part, Text):
        return _text_block(part, words)
    pictures: list[Picture] = [shown.picture for shown in part.pictures]
    if part.caption is not None:
        caption = _text_block(part.caption, words).text
        pictures = [replace(picture, caption=caption) for picture in pictures]
    return Block(pictures=[(0, picture) for picture in pictures])


def _text_block(text: Text, words: Words) -> Block:
    """Text of a paragraph, words that end a line with a hyphen put together."""
    parts: list[str] = []
    targets: list[tuple[int, int, str]] = []
    length = 0
    glue = True  # whether the next word goes on with the one before
    for number, line in enumerate(text.lines, 1):
        for word in line.words:
            if not glue:
                parts.append(" ")
                length += 1
            start = length
            parts.append(word.text)
            length += len(word.text)
            if word.target is not None:
                targets.append((start, length, word.target))
            glue = False
        if number < len(text.lines):
            ending = _ending(parts[-1], text.lines[number].words[0].text, words)
            if ending is not None:
                length += len(ending) - len(parts[-1])
                parts[-1] = ending
                glue = True
    content = "".join(parts)
    mark = BULLET.match(content) or (NUMBER.match(content) if text.kind == "item" else None)
    cut = mark.end() if mark and text.kind == "item" else 0
    kept = [(max(a - cut, 0), b - cut, name) for a, b, name in targets if b > cut]
    italic = all(line.italic for line in text.lines)
    return Block(content[cut:], text.kind, targets=kept, emphasised=italic)


def _ending(word: str, following: str, words: Words) -> str | None:
    """How a word at the end of a line goes on in the next: as it is, without its hyphen, or (None) not at all."""
    if word.endswith("\u00ad"):
        return word.rstrip("\u00ad")
    if CJK.match(word[-1]) and CJK.match(following[0]):
        return word  # scripts without spaces between words
    if len(word) > 1 and word[-1] in "–—/" or len(following) > 1 and following[0] in "–—":
        return word  # a dash without spaces, an address
    if not word.endswith(("-", "‐")) or len(word) < 2 or not following[:1].isalpha():
        return None
    stem = word[:-1]
    rest = WORD.match(following)
    tail = rest[0] if rest else following
    whole = (stem + tail).casefold()
    if not following[:1].islower() or "-" in stem or not stem[-1:].isalpha():
        return word  # "Anglo-" "Saxon", "state-of-" "the-art", "1990-" "style"
    if whole in words.whole:
        return stem
    if not words.broken or f"{stem}-{tail}".casefold() in words.whole:
        return word
    both = stem.casefold() in words.whole and tail.casefold() in words.whole and len(stem) > 2 and len(tail) > 2
    return word if both else stem
