"""Places in documents: a line and a column, a page, the part of a book, and how they are found for a passage."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from iconotext.plain_text import shortened

_LINE_END = re.compile(r"\r\n?|\n")
_WORD = re.compile(r"\w+")
_BETWEEN = r"(?:<[^<>]{0,300}>|[^\w<]){1,30}"  # what may stand between two words of a passage in its file

FIRST_WORDS = 5
"""Words by which the beginning of a passage is found in the file."""

PASSES = 100
"""Maximum number of passes over a file, in which its passages and references are looked for; one that is not found by
then has no line."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a picture or a passage.

    Attributes:
        path: The document, as the user named it.
        line: Line in a file of text, from 1; None if unknown.
        column: Character in that line, from 1; None if unknown.
        at: Position in characters from the beginning of the file, or of the EPUB's part; None if unknown.
        part: The chapter of an EPUB that contains it.
        page: Page of a PDF, from 1.
        heading: The heading above it, in a format without lines.
        box: Place on that page: left, top, right, bottom, as shares of width and height, from the top left.
    """

    path: str
    line: int | None = None
    column: int | None = None
    at: int | None = None
    part: str | None = None
    page: int | None = None
    heading: str | None = None
    box: tuple[float, float, float, float] | None = None

    @property
    def spot(self) -> str:
        """The place on the page in words, such as ``, top left``."""
        if self.box is None:
            return ""
        left, top, right, bottom = self.box
        across = "" if right - left > 0.5 else (" left", "", " right")[min(int(1.5 * (left + right)), 2)]
        return f", {('top', 'middle', 'bottom')[min(int(1.5 * (top + bottom)), 2)]}{across}"

    @property
    def inside(self) -> str | None:
        """The place in a file without lines: its page, slide or cell."""
        page = f"page {self.page}{self.spot}" if self.page is not None else None
        return self.part or page or (f'under "{shortened(self.heading, 40)}"' if self.heading else None)

    def __str__(self) -> str:
        """Return the place as compilers print it: ``docs/a.md:12:3``."""
        behind = [str(number) for number in (self.line, self.column) if number is not None]
        return ":".join([self.path, *([self.inside] if self.inside and not behind else []), *behind])


def place_at(path: str, text: str, at: int, part: str | None = None) -> Place:
    """Return the place of a position in the text of a file."""
    starts = _line_starts(text)
    line = bisect_right(starts, at)
    return Place(path, line, at - starts[line - 1] + 1, at, part)


@lru_cache(2)
def _line_starts(text: str) -> list[int]:
    # Lines as in editors: ended by CR LF, LF or CR.
    return [0, *(end.end() for end in _LINE_END.finditer(text))]


def names_at(text: str, starts: Iterable[int], names: Collection[str]) -> list[tuple[str, int]]:
    """Return the ``names`` that begin at some places of a text, each with the place of its end."""
    lengths = sorted(set(map(len, names)))
    return [
        (name, start + length)
        for start in starts
        for length in lengths
        if (name := text[start : start + length]) in names
    ]


class Finder:
    """Finds passages, and words in them, in the text of a file; each only once, and all within ``PASSES``.

    Args:
        marks: Block and position of what is known to be in the text, such as pictures.
    """

    def __init__(self, text: str, marks: Sequence[tuple[int, int]]) -> None:
        self._text, self._marks = text, marks
        self._left = PASSES * len(text)
        self._starts: dict[int, int | None] = {}
        self._last = (0, 0)  # block and position of the passage that was found last

    def passage(self, block: int, words: str) -> int | None:
        """Return where a block with a text begins; None if it is not found."""
        if block not in self._starts:
            self._starts[block] = self._find(block, _WORD.findall(words[:200])[:FIRST_WORDS])
        return self._starts[block]

    def word(self, word: str, start: int, length: int) -> int | None:
        """Return where a word, or the number of a label, stands within a passage that begins at ``start``."""
        return self._search(rf"(?<![\w.]){re.escape(word)}(?!\w|\.\d)", start, start + length, re.IGNORECASE)

    def _find(self, block: int, first: Sequence[str]) -> int | None:
        before = bisect_left(self._marks, (block, 0))
        behind = bisect_left(self._marks, (block + 1, 0))
        start = self._marks[before - 1][1] if before else 0
        end = self._marks[behind][1] if behind < len(self._marks) else len(self._text)
        end = end if end > start else len(self._text)  # positions need not rise with the blocks
        last_block, last = self._last
        # First behind the passage that was found before: of equal passages, each has a place of its own.
        starts = (last + 1, start) if last_block < block and start < last < end else (start,)
        # Markup that the pattern does not know may stand between two words: then fewer of them are looked for.
        for count in range(len(first), 0, -1):
            for begin in starts:
                at = self._search(r"\b" + _BETWEEN.join(map(re.escape, first[:count])), begin, end)
                if at is not None:
                    self._last = (block, at)
                    return at
        return None

    def _search(self, pattern: str, start: int, end: int, flags: re.RegexFlag = re.NOFLAG) -> int | None:
        if self._left <= 0:
            return None
        match = re.compile(pattern, flags).search(self._text, start, min(end, start + self._left))
        self._left -= (match.end() if match else end) - start
        return match.start() if match else None
