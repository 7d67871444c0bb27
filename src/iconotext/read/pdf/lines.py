"""The lines of text on a page of a PDF, with their places and fonts."""

from __future__ import annotations

import ctypes
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as raw

Handle = Any  # documents, pages and objects of pdfium have no types that mypy could check

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points, from the top left of the page as it is shown."""

Transform = tuple[float, float, float, float, float, float]
"""(a, b, c, d, e, f): a point (x, y) of the page's own space is shown at (ax + cy + e, bx + dy + f)."""


def page_transform(page: Handle) -> Transform:
    """Return the transform from the page's space (any origin, y upwards, unrotated) to points as shown.

    The points count from the top left of the page.
    """
    width, height = page.get_size()
    scale = 1000  # pdfium answers in whole pixels
    x, y = ctypes.c_int(), ctypes.c_int()
    points = []
    for at in ((0, 0), (100, 0), (0, 100)):
        raw.FPDF_PageToDevice(page, 0, 0, int(width * scale), int(height * scale), 0, *at, x, y)
        points.append((x.value / scale, y.value / scale))
    (e, f), (x1, y1), (x2, y2) = points
    return (x1 - e) / 100, (y1 - f) / 100, (x2 - e) / 100, (y2 - f) / 100, e, f


def transformed_point(transform: Transform, x: float, y: float) -> tuple[float, float]:
    """Convert a point of the page's own space to its place as shown."""
    a, b, c, d, e, f = transform
    return a * x + c * y + e, b * x + d * y + f


def transformed_box(transform: Transform, left: float, bottom: float, right: float, top: float) -> Box:
    """Convert a box of the page's own space to its place as shown."""
    corners = [transformed_point(transform, x, y) for x in (left, right) for y in (bottom, top)]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def composed(first: Transform, then: Transform) -> Transform:
    """Return the transform that applies ``first`` and after it ``then``."""
    a, b, c, d, e, f = first
    return (
        then[0] * a + then[2] * b,
        then[1] * a + then[3] * b,
        then[0] * c + then[2] * d,
        then[1] * c + then[3] * d,
        *transformed_point(then, e, f),
    )


def bounding_box(boxes: Sequence[Box]) -> Box:
    """Return the smallest box around boxes."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def distance(one: Box, other: Box) -> float:
    """Return the distance of two boxes, across and down together; 0 if they touch."""
    across = max(one[0] - other[2], other[0] - one[2], 0.0)
    down = max(one[1] - other[3], other[1] - one[3], 0.0)
    return across + down


def overlap(one: Box, other: Box) -> float:
    """Return the overlap of two boxes from left to right; negative if there is a gap."""
    return min(one[2], other[2]) - max(one[0], other[0])


MAX_CHARACTERS = 200_000
SAME_LINE = 1.6  # largest gap, in ems, within a line, if the characters follow each other in the file
TEX_LIGATURES = ("ff", "fi", "fl", "ffi", "ffl")
LIGATURES = {chr(0xFB00 + place): letters for place, letters in enumerate((*TEX_LIGATURES, "st", "st"))}
CHARACTERS = {**LIGATURES, "\x02": "-", "\uf0b7": "•", "\uf0a7": "•", "\uf076": "•", "\uf0d8": "•", "\u00a0": " "}
IN_WORDS = {0xF001: "fi", 0xF002: "fl"}
"""Private codes of ligatures in older fonts; on their own they are symbols of other fonts."""
TEX_CODES = (0x0B, 0x1B)
"""First codes of the ligatures in the two encodings of TeX's fonts, whose PDFs may lack their text."""
UNKNOWN = 0x10_FF00  # added to the code of a character without text, until a page has been read
SIGNS = re.compile(f"[{chr(UNKNOWN)}-{chr(UNKNOWN + 0xFF)}]")
LOST = "\ufffd"
ITALIC_FLAG = 0x40  # of a font descriptor
BOLD_NAME = re.compile(r"bold|black|heavy|cmbx|[-,]bd\b|medi\b", re.IGNORECASE)
MONO_NAME = re.compile(r"courier|mono|consol|menlo|cmtt|typewriter|source ?code|inconsolata|terminal", re.IGNORECASE)
ITALIC_NAME = re.compile(r"italic|oblique|cmti|[-,]it\b|slanted", re.IGNORECASE)


@dataclass(slots=True)
class Word:
    """A word, with its begin and end."""

    text: str
    left: float
    right: float
    place: tuple[int, float | None] | None = None  # page and height, from its foot, to which a link on it leads
    target: str | None = None  # the picture there


@dataclass(slots=True)
class Line:
    """A line of text, or the part of one that stands in one column or table cell."""

    words: list[Word]
    box: Box
    base: float  # height of its baseline, in points from the top
    size: float
    order: int  # number of its first character in the file
    bold: bool = False
    italic: bool = False
    mono: bool = False  # whether all of it is in letters of one width, as code is

    @property
    def text(self) -> str:
        """The words, with a space between each two."""
        return " ".join(word.text for word in self.words)


class _OpenLine:
    def __init__(self, order: int) -> None:
        self.order = order
        self.characters: list[int] = []
        self.words: list[Word] = []
        self.gap = True  # the next character begins a word
        self.left = self.top = math.inf
        self.right = self.bottom = -math.inf
        self.last: tuple[float, float] = (0.0, 0.0)
        self.base = 0.0
        self.size = 0.0

    def takes(self, box: Box, base: float) -> bool:
        """Return whether a character is part of the line: at its height, and right after the last one."""
        left, top, right, bottom = box
        common_height = min(self.bottom, bottom) - max(self.top, top)
        lower_height = min(self.bottom - self.top, bottom - top)
        if common_height < 0.5 * lower_height or abs(base - self.base) > 0.6 * self.size:
            return False
        gap = max(left - self.last[1], self.last[0] - right)  # in either direction: Arabic runs to the left
        return gap < SAME_LINE * self.size

    def add(self, index: int, text: str, box: Box, base: float) -> None:
        left, top, right, bottom = box
        if not self.characters:
            self.base = base
        self.characters.append(index)
        if self.gap or not self.words:
            self.words.append(Word(text, left, right))
        else:
            word = self.words[-1]
            word.text += text
            word.left, word.right = min(word.left, left), max(word.right, right)
        self.gap = False
        if bottom - top > self.bottom - self.top or len(self.characters) == 1:
            self.top, self.bottom = top, bottom  # of the largest letter: marks in the line do not stretch it
            self.size, self.base = max(bottom - top, 0.1), base
        self.left, self.right = min(self.left, left), max(self.right, right)
        self.last = (left, right)


def read_lines(text: Handle, transform: Transform, width: float, height: float) -> tuple[list[Line], int]:
    """Read the lines of a page, in the order of the file; return also the number of characters without text in them."""
    finished: list[_OpenLine] = []
    line: _OpenLine | None = None
    for index, character in _characters(text):
        if character.isspace():
            if line is not None:
                line.gap = True
            continue
        place = _place(text, index, transform)
        if place is None:
            continue
        box, base = place
        if not (0 < box[0] + box[2] < 2 * width and 0 < box[1] + box[3] < 2 * height):
            continue  # beside the page
        if line is None or not line.takes(box, base):
            line = _OpenLine(index)
            finished.append(line)
        line.add(index, character, box, base)
    lost = _spell_out([word for line in finished for word in line.words])
    for line in finished:
        line.words = [word for word in line.words if word.text]
    return _joined([_finished(text, line) for line in finished if line.words]), lost


def _characters(text: Handle) -> Iterator[tuple[int, str]]:
    """Yield the characters of a page with their numbers in the file; a space for each that is none."""
    high = 0
    for index in range(min(raw.FPDFText_CountChars(text), MAX_CHARACTERS)):
        code = raw.FPDFText_GetUnicode(text, index)
        # A character beyond 16 bits comes as two halves.
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if 0xDC00 <= code < 0xE000 and high:
            code, high = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00), 0
        if (code < 0x20 or 0x7F <= code < 0xC0) and _is_unknown(text, index):
            code += UNKNOWN
        if (code < 0x20 and code != 2) or 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF) or code > 0x10FFFF:
            yield index, " "  # such as line breaks that pdfium puts in
        else:
            yield index, CHARACTERS.get(chr(code), chr(code))


def _place(text: Handle, index: int, transform: Transform) -> tuple[Box, float] | None:
    """Return the box and the baseline of a character as shown; None without a place, or if it is not upright."""
    rectangle, matrix = raw.FS_RECTF(), raw.FS_MATRIX()
    x, y = ctypes.c_double(), ctypes.c_double()
    has_box = raw.FPDFText_GetLooseCharBox(text, index, rectangle)
    if not has_box or not raw.FPDFText_GetCharOrigin(text, index, x, y):
        return None
    if raw.FPDFText_GetMatrix(text, index, matrix) and not _upright(matrix.a, matrix.b, transform):
        return None  # text along the edge of a page, water marks
    box = transformed_box(transform, rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
    return box, transformed_point(transform, x.value, y.value)[1]


def _is_unknown(text: Handle, index: int) -> bool:
    """Return whether a PDF draws a character but does not say which one it is."""
    unmapped: int = raw.FPDFText_HasUnicodeMapError(text, index)
    return unmapped == 1 and bool(raw.FPDFText_IsGenerated(text, index) != 1)


def _spell_out(words: list[Word]) -> int:
    """Spell out the ligatures in the words of a page; return the number of characters that stay without text.

    Such a character becomes ``LOST`` in a word; on its own (a bullet, a sign of a formula) it is left out.
    """
    unknown = Counter(ord(sign) - UNKNOWN for word in words for sign in SIGNS.findall(word.text))
    ligatures: dict[int, str] = {}
    for first in TEX_CODES:
        codes = range(first, first + len(TEX_LIGATURES))
        if sum(unknown[code] for code in codes) > 0.5 * sum(count for code, count in unknown.items() if code < 0x20):
            ligatures = {UNKNOWN + code: letters for code, letters in zip(codes, TEX_LIGATURES, strict=True)}
    lost = 0
    for word in words:
        letters = sum(sign.isalpha() for sign in word.text)
        if letters > 1:
            word.text = word.text.translate(IN_WORDS).translate(ligatures)
        lost += len(SIGNS.findall(word.text)) if len(word.text) > 1 else 0
        word.text = SIGNS.sub(LOST if letters else _by_code, word.text)
    return lost


def _by_code(sign: re.Match[str]) -> str:
    """Return the sign with the code of a character that has no text; "" below A0 (hex). Bullets often have no text."""
    code = ord(sign[0]) - UNKNOWN
    return chr(code) if code >= 0xA0 else ""


def _upright(x: float, y: float, transform: Transform) -> bool:
    """Return whether text that runs along (x, y) in the page's own space is shown running to the right."""
    right, down = transform[0] * x + transform[2] * y, transform[1] * x + transform[3] * y
    return right > 0 and abs(down) < 0.1 * right


def _finished(text: Handle, line: _OpenLine) -> Line:
    samples = {line.characters[0], line.characters[len(line.characters) // 2], line.characters[-1]}
    sizes, bold, italic, mono = zip(*(_font(text, index) for index in samples), strict=True)
    box = (line.left, line.top, line.right, line.bottom)
    size = statistics.median_high(sizes) or line.size
    return Line(line.words, box, line.base, size, line.order, bold=all(bold), italic=all(italic), mono=all(mono))


def _font(text: Handle, index: int) -> tuple[float, bool, bool, bool]:
    """Return the size of a letter, in points as shown, and whether its font is bold, italic, and monospaced."""
    matrix = raw.FS_MATRIX()
    size: float = raw.FPDFText_GetFontSize(text, index)
    if raw.FPDFText_GetMatrix(text, index, matrix):
        size *= math.hypot(matrix.c, matrix.d)
    flags = ctypes.c_int()
    buffer = ctypes.create_string_buffer(128)
    raw.FPDFText_GetFontInfo(text, index, buffer, len(buffer), flags)
    name = buffer.value.decode("latin-1")
    bold = raw.FPDFText_GetFontWeight(text, index) >= 600 or bool(BOLD_NAME.search(name))
    italic = bool(flags.value & ITALIC_FLAG) or bool(ITALIC_NAME.search(name))
    return size, bold, italic, bool(MONO_NAME.search(name))


def _joined(lines: list[Line]) -> list[Line]:
    """Join lines that were drawn in parts (links, formulas): the same baseline, a space between."""
    waiting = sorted(lines, key=lambda line: (round(line.base), line.box[0]))
    whole: list[Line] = []
    for line in waiting:
        before = whole[-1] if whole else None
        if before is not None and abs(before.base - line.base) < 0.3 * before.size:
            gap = line.box[0] - before.box[2]
            if -0.3 * line.size < gap < 0.45 * line.size and abs(before.size - line.size) < 0.5 * before.size:
                before.words += line.words
                before.box = bounding_box((before.box, line.box))
                before.order = min(before.order, line.order)
                before.bold, before.italic = before.bold and line.bold, before.italic and line.italic
                before.mono = before.mono and line.mono
                continue
        whole.append(line)
    return sorted(whole, key=lambda line: line.order)
