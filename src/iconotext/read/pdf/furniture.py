"""Removes parts of PDF pages that are not text: running headers, page numbers, logos, code."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from iconotext.read.pdf.images import PageImage
from iconotext.read.pdf.lines import Line
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
    places: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
    for page in pages:
        for line in _marginal(page):
            for step in (0, 1):  # two grids, so that positions near the edge of a cell are together in one of them
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
        # A line beside a page number or a date belongs to the same running line, though it may vary.
        page.lines[:] = [line for line in page.lines if not any(abs(line.base - height) < 2 for height in heights)]


def _marginal(page: Page) -> Iterator[Line]:
    for line in page.lines:
        if line.box[3] < MARGIN * page.height or line.box[1] > (1 - MARGIN) * page.height:
            yield line


def _running_key(line: Line) -> str:
    # Page numbers vary, so digits are ignored; in large letters "Chapter 1" and "Chapter 2" are different headings.
    return re.sub(r"\d+", "#", line.text) if line.size < 13 else line.text


def _outermost(line: Line, page: Page) -> bool:
    others = [other.base for other in page.lines if other is not line and abs(other.base - line.base) > line.size]
    return not others or line.base > max(others) + 1.5 * line.size or line.base < min(others) - 1.5 * line.size


def remove_code(pages: Sequence[Page]) -> None:
    """Remove lines of code: those in a monospaced font, unless the whole document is."""
    typed = sum(len(line.text) for page in pages for line in page.lines if line.mono)
    if typed < 0.5 * sum(len(line.text) for page in pages for line in page.lines):
        for page in pages:
            page.lines[:] = [line for line in page.lines if not line.mono]


def mark_repeats(pages: Sequence[Page]) -> None:
    """Set the problem of small images that repeat on several pages, and of scans behind text: both are decoration."""
    seen: defaultdict[object, set[int]] = defaultdict(set)
    for page in pages:
        for shown in page.images:
            if shown.key is not None:
                seen[shown.key].add(page.number)
    for page in pages:
        letters = sum(len(line.text) for line in page.lines)
        for shown in page.images:
            share = (shown.box[2] - shown.box[0]) * (shown.box[3] - shown.box[1]) / max(page.width * page.height, 1)
            times = len(seen[shown.key]) if shown.key is not None else 0
            if times >= REPEATED and share < 0.1:
                _set_problem(shown, f"the same small picture on {times} pages: a logo or an ornament")
            elif share > 0.8 and letters > 200:
                _set_problem(shown, "fills the page behind its text: a scan of the page or a background")


def _set_problem(shown: PageImage, problem: str) -> None:
    if shown.image.problem is None:
        shown.image = replace(shown.image, problem=problem)
