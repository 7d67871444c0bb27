"""Rows of pictures with words beside them: parts lists, tables of buttons, steps with a picture each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from iconotext.read.pdf.images import PageImage
from iconotext.read.pdf.lines import Line

Item = Line | PageImage

ALIGNED = 6.0  # points by which the left edges, or the middles, of pictures in one column of a table differ at most
PADDING = 12.0  # points above and below a picture in which words still belong to its row, at most
MAX_ROWS = 50  # pictures of a page; one with more is no list of parts
GAP = 0.9  # smallest space between the words of two rows, in heights of the letters; running text has less


def picture_rows(items: Sequence[Item]) -> list[list[Item]]:
    """Return the first rows of a table, at least two, of a picture with words beside it; [] without any.

    Nothing else may stand between the first row and the last one, so that text that flows around pictures is none.
    """
    images = sorted((item for item in items if isinstance(item, PageImage)), key=lambda image: image.box[1])
    if len(images) > MAX_ROWS:
        return []
    for start in range(len(images) - 1):
        found: list[list[Item]] = []
        for end in range(start + 1, len(images)):
            if not _is_below(images[end - 1], images[end]) or not (rows := _rows(images[start : end + 1], items)):
                break
            found = rows
        if found:
            return found
    return []


def _is_below(above: PageImage, below: PageImage) -> bool:
    if below.box[1] < above.box[3] - 2:
        return False
    middles = (above.box[0] + above.box[2]) - (below.box[0] + below.box[2])
    return abs(above.box[0] - below.box[0]) < ALIGNED or abs(middles) < 2 * ALIGNED


def _rows(images: Sequence[PageImage], items: Sequence[Item]) -> list[list[Item]]:
    """Return the row of each picture, its cells in reading order; [] if one has no words, or if these are no rows."""
    padding = min(PADDING, *((below.box[1] - above.box[3]) / 2 for above, below in pairwise(images)))
    rows: list[list[Item]] = []
    for image in images:
        top, bottom = image.box[1] - padding, image.box[3] + padding
        lines = [n for n in items if isinstance(n, Line) and top <= (n.box[1] + n.box[3]) / 2 <= bottom]
        beside = all(line.box[0] >= image.box[2] - 2 or line.box[2] <= image.box[0] + 2 for line in lines)
        if not lines or not beside:
            return []
        rows.append([*lines, image])
    for above, below in pairwise(rows):
        foot = max(line.box[3] for line in above if isinstance(line, Line))
        size = min(line.size for line in above if isinstance(line, Line))
        if min(line.box[1] for line in below if isinstance(line, Line)) - foot < GAP * size:
            return []
    inside = {id(item) for row in rows for item in row}
    top, bottom = images[0].box[1] - padding, images[-1].box[3] + padding
    if any(id(item) not in inside and item.box[3] > top and item.box[1] < bottom for item in items):
        return []
    return [_cells(row) for row in rows]


def _cells(row: list[Item]) -> list[Item]:
    """Order the parts of a row: its columns from left to right, the lines of each from top to bottom."""
    columns: list[list[Item]] = []
    right = float("-inf")
    for item in sorted(row, key=lambda item: item.box[0]):
        if not columns or item.box[0] > right:
            columns.append([])
        columns[-1].append(item)
        right = max(right, item.box[2])
    return [item for column in columns for item in sorted(column, key=lambda item: item.box[1])]
