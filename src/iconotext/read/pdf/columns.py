"""The columns and tables of a page, and so the reading order of its lines and images."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter

from iconotext.read.pdf.images import PageImage
from iconotext.read.pdf.lines import Line
from iconotext.read.pdf.rows import Item, picture_rows

BULLET = re.compile(r"^[•◦▪▫■□●○‣⁃∙·➢➤✓–—*-](?:\s+|$)")
NUMBER = re.compile(r"^\(?(?:\d{1,2}|[a-zA-Z]|[ivx]{1,4})[.)]\s+(?=\S)")

MAX_ITEMS = 1_000  # a page with more lines and images is a plot or a map, without columns of text


@dataclass(slots=True)
class Column:
    """Lines and images that are read from top to bottom."""

    items: list[Item]  # in reading order
    table: bool = False
    row: bool = False  # whether it is one row of a table, with a picture


def columns(items: list[Item], depth: int = 0) -> list[Column]:
    """Divide the lines and images of a page into columns, in reading order."""
    if len(items) <= MAX_ITEMS and (rows := picture_rows(items)):
        top = min(item.box[1] for item in rows[0])
        inside = {id(item) for row in rows for item in row}
        others = [item for item in items if id(item) not in inside]
        above = [item for item in others if item.box[1] < top]
        below = [item for item in others if item.box[1] >= top]
        return [
            *(columns(above, depth) if above else []),
            *(Column(row, table=True, row=True) for row in rows),
            *(columns(below, depth) if below else []),
        ]
    gutter = _gutter(items) if depth < 3 else None
    if gutter is None:
        return _rows(items)
    left: list[Item] = []
    right: list[Item] = []
    result: list[Column] = []

    def finish() -> None:
        for side in (left, right):
            if side:
                result.extend(columns(list(side), depth + 1))
                side.clear()

    for item in sorted(items, key=lambda item: item.box[1]):
        if (item.box[0] < gutter - 3 and item.box[2] > gutter + 3) or _is_between(item, items, gutter):
            finish()  # an item that spans both columns ends them
            result += _rows([item])
        else:
            (left if item.box[2] <= gutter + 3 else right).append(item)
    finish()
    return _merged(result)


def _is_between(item: Item, items: list[Item], gutter: float) -> bool:
    """Return whether a line on the left is a heading over both columns: then the right column has a gap beside it."""
    sizes = [other.size for other in items if isinstance(other, Line)]
    if not isinstance(item, Line) or item.box[2] > gutter or item.size < 1.3 * statistics.median(sizes):
        return False
    free_from, free_to = item.box[1] - 0.7 * item.size, item.box[3] + 0.7 * item.size
    right = [other.box for other in items if other.box[0] > gutter - 3]
    above, below = any(box[3] <= free_from for box in right), any(box[1] >= free_to for box in right)
    return above and below and not any(box[1] < free_to and box[3] > free_from for box in right)


def _merged(parts: list[Column]) -> list[Column]:
    """Join consecutive lines that span both columns, so that they can form a paragraph."""
    merged: list[Column] = []
    for column in parts:
        if merged and len(column.items) == 1 and not column.table and not merged[-1].table:
            last, item = merged[-1].items[-1], column.items[0]
            flush = abs(last.box[0] - item.box[0]) < 3 and item.box[1] > last.box[1]
            if flush and isinstance(last, Line) and isinstance(item, Line):
                merged[-1].items.append(item)
                continue
        merged.append(column)
    return merged


def _gutter(items: list[Item]) -> float | None:
    """Return the position of the gap between two columns; None for one column, or a table that looks like two."""
    if sum(map(_weight, items)) < 8 or len(items) > MAX_ITEMS:
        return None
    low, high = min(item.box[0] for item in items), max(item.box[2] for item in items)
    inner = [low + 0.2 * (high - low), high - 0.2 * (high - low)]
    edges = sorted({round(item.box[2]) for item in items})
    gaps = [gap for x in edges if inner[0] < x < inner[1] and (gap := _gap(items, x, low, high))]
    return max(gaps, key=itemgetter(0))[1] if gaps else None


def _gap(items: list[Item], x: float, low: float, high: float) -> tuple[float, float] | None:
    """Return the quality and the position of the gap to the right of ``x``; None if it does not divide two columns."""
    left = [item for item in items if item.box[2] <= x + 1]
    right = [item for item in items if item.box[0] > x + 1]
    if min(sum(map(_weight, left)), sum(map(_weight, right))) < 4:
        return None
    edge = min(item.box[0] for item in right)
    if edge - x < 5 or not (_fills(left, low, x) and _fills(right, edge, high)):
        return None
    # The columns are side by side from ``top`` to ``bottom``; few lines may cross the gap there.
    top = max(min(item.box[1] for item in side) for side in (left, right))
    bottom = min(max(item.box[3] for item in side) for side in (left, right))
    crossing = sum(_weight(n) for n in items if n.box[0] < x - 1 and n.box[2] > edge + 1 and top < n.box[3] < bottom)
    beside = min(sum(_weight(item) * _share_within(item, top, bottom) for item in side) for side in (left, right))
    if beside < 3 or crossing > 0.3 * beside:
        return None
    order = [(item.order, True) for item in left if isinstance(item, Line)]
    order += [(item.order, False) for item in right if isinstance(item, Line)]
    changes = sum(one != other for (_, one), (_, other) in pairwise(sorted(order)))
    if changes > 3 + 2 * crossing + 0.25 * beside:  # written row by row: a table
        return None
    return beside - 2 * crossing, (x + edge) / 2


def _weight(item: Item) -> float:
    """Return the number of lines that an item counts as in the search for columns."""
    return 1.0 if isinstance(item, Line) else min(max((item.box[3] - item.box[1]) / 12, 1.0), 15.0)


def _share_within(item: Item, top: float, bottom: float) -> float:
    """Return the share of an item's height that is between two heights."""
    height = max(item.box[3] - item.box[1], 0.1)
    return max(min(item.box[3], bottom) - max(item.box[1], top), 0.0) / height


def _fills(items: list[Item], left: float, right: float) -> bool:
    """Return whether enough items have the width of a column of running text; lists and headings in it are narrower."""
    widths = sorted(item.box[2] - item.box[0] for item in items)
    return widths[-1 - len(widths) // 4] > 0.7 * (right - left)


def _rows(items: list[Item]) -> list[Column]:
    """Order one column from top to bottom; the tables in it are read cell by cell."""
    ordered = sorted(items, key=lambda item: (item.box[1], item.box[0]))
    rows: list[list[Item]] = []
    for item in ordered:
        above = [other for other in rows[-1] if isinstance(other, Line)] if rows else []
        if isinstance(item, Line) and any(abs(other.base - item.base) < 2 for other in above):
            rows[-1].append(item)
        else:
            rows.append([item])
    result: list[Column] = []
    number = 0
    while number < len(rows):
        end = _table_end(rows, number)
        if end > number + 1 or (end == number + 1 and len(rows[number]) > 2):
            cells = [item for row in rows[number:end] for item in row]
            cells.sort(key=lambda item: item.order if isinstance(item, Line) else -1)
            result.append(Column(cells, table=True))
            number = end
            continue
        row = sorted(rows[number], key=lambda item: item.box[0])
        if result and not result[-1].table:
            result[-1].items += _with_bullet(row)
        else:
            result.append(Column(_with_bullet(row)))
        number += 1
    return result


def _table_end(rows: list[list[Item]], start: int) -> int:
    """Return the number of the row after a table that begins at ``start``; ``start`` itself if there is no table."""
    end, single = start, 0
    for number in range(start, len(rows)):
        if any(isinstance(item, PageImage) for item in rows[number]):
            break
        if len(_with_bullet(sorted(rows[number], key=lambda item: item.box[0]))) > 1:
            end, single = number + 1, 0
        elif number == start or single > 2:
            break
        else:
            single += 1
    return end


def _with_bullet(row: list[Item]) -> list[Item]:
    """Join a bullet or number at the beginning of a row to the text after it."""
    first = row[0]
    if len(row) > 1 and isinstance(first, Line) and isinstance(second := row[1], Line):
        alone = BULLET.match(first.text) or NUMBER.match(first.text + " x")
        if alone and len(first.text) < 6 and second.box[0] - first.box[2] < 4 * second.size:
            box = (first.box[0], second.box[1], second.box[2], second.box[3])
            joined = replace(second, words=first.words + second.words, box=box, order=first.order)
            return [joined, *row[2:]]
    return row
