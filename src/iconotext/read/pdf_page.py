"""A page of a PDF as pdfium shows it: lines of text with their places, pictures with theirs, links within the file.

pdfium is not thread-safe: one process reads one PDF at a time. ``LOCK`` keeps threads apart; every function here that
takes a page or a document must be called with it held.
"""

from __future__ import annotations

import ctypes
import io
import math
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from iconotext.read.blocks import Picture

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points, from the top left of the page as it is shown."""

LOCK = threading.RLock()
MAX_CHARACTERS = 200_000
MAX_OBJECTS = 50_000
MAX_DEPTH = 8
SMALLEST = 8.0  # points: a picture that is shown smaller is a rule, a bullet or a spacer
SAME_LINE = 1.6  # a gap of so many ems still belongs to a line where the characters follow each other in the file
LIGATURES = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st"}
CHARACTERS = {**LIGATURES, "\x02": "-", "\uf0b7": "•", "\uf0a7": "•", "\uf076": "•", "\uf0d8": "•", "\u00a0": " "}
ITALIC_FLAG = 0x40  # of a font descriptor
BOLD_NAME = re.compile(r"bold|black|heavy|cmbx|[-,]bd\b|medi\b", re.IGNORECASE)
MONO_NAME = re.compile(r"courier|mono|consol|menlo|cmtt|typewriter|source ?code|inconsolata|terminal", re.IGNORECASE)
ITALIC_NAME = re.compile(r"italic|oblique|cmti|[-,]it\b|slanted", re.IGNORECASE)


@dataclass(slots=True)
class Word:
    """A word and where it begins and ends.

    Attributes:
        text: Its characters.
        left: In points.
        right: In points.
        target: Where a link on it leads within the document.
    """

    text: str
    left: float
    right: float
    target: str | None = None


@dataclass(slots=True)
class Line:
    """A line of text, or the part of one that stands in one column or table cell.

    Attributes:
        words: In reading order.
        box: Its place.
        base: Height of its baseline, in points from the top.
        size: Size of its letters, in points.
        order: Number of its first character in the file.
        bold: Whether all of it is.
        italic: Whether all of it is.
        mono: Whether all of it is in letters of one width, as code is.
    """

    words: list[Word]
    box: Box
    base: float
    size: float
    order: int
    bold: bool = False
    italic: bool = False
    mono: bool = False

    @property
    def text(self) -> str:
        """Its words, with a space between each two."""
        return " ".join(word.text for word in self.words)


@dataclass(slots=True)
class Shown:
    """A picture on a page.

    Attributes:
        picture: With its bytes, page and box.
        box: Its place in points.
        key: Equal for pictures that are the same.
    """

    picture: Picture
    box: Box
    key: Any = None


@dataclass(slots=True)
class Place:
    """Where a link leads: a page, from 1, and the height on it in points from its foot, None for all of the page."""

    page: int
    height: float | None


@dataclass(slots=True)
class Page:
    """One page.

    Attributes:
        number: From 1.
        width: As shown, in points.
        height: As shown, in points.
        lines: In the order of the file.
        pictures: In the order of the file.
        links: (place on this page, where it leads).
    """

    number: int
    width: float
    height: float
    lines: list[Line] = field(default_factory=list)
    pictures: list[Shown] = field(default_factory=list)
    links: list[tuple[Box, Place]] = field(default_factory=list)


def read_page(document: Any, index: int, *, max_pixels: int) -> Page:
    """Read one page; ``LOCK`` must be held.

    Raises:
        pdfium.PdfiumError: It cannot be loaded.
    """
    page = document[index]
    try:
        turn = _shown_space(page)
        width, height = page.get_size()
        found = Page(index + 1, width, height)
        text = page.get_textpage()
        try:
            found.lines = _lines(text, turn, width, height)
        finally:
            text.close()
        found.pictures = _Pictures(document, page, found, turn, max_pixels).read()
        found.links = list(_links(document, page, turn))
        return found
    finally:
        page.close()


Turn = tuple[float, float, float, float, float, float]
"""(a, b, c, d, e, f): a point (x, y) of the page's own space is shown at (ax + cy + e, bx + dy + f)."""


def _shown_space(page: Any) -> Turn:
    """From the page's own space (any origin, y upwards, before its rotation) to points from the top left as shown."""
    width, height = page.get_size()
    scale = 1000  # pdfium answers in whole pixels
    x, y = ctypes.c_int(), ctypes.c_int()
    points = []
    for at in ((0, 0), (100, 0), (0, 100)):
        raw.FPDF_PageToDevice(page, 0, 0, int(width * scale), int(height * scale), 0, *at, x, y)
        points.append((x.value / scale, y.value / scale))
    (e, f), (x1, y1), (x2, y2) = points
    return (x1 - e) / 100, (y1 - f) / 100, (x2 - e) / 100, (y2 - f) / 100, e, f


def _point(turn: Turn, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = turn
    return a * x + c * y + e, b * x + d * y + f


def _box(turn: Turn, left: float, bottom: float, right: float, top: float) -> Box:
    corners = [_point(turn, x, y) for x in (left, right) for y in (bottom, top)]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    return min(xs), min(ys), max(xs), max(ys)


def _times(first: Turn, then: Turn) -> Turn:
    """The map that does ``first`` and ``then`` one after the other."""
    a, b, c, d, e, f = first
    return (
        then[0] * a + then[2] * b,
        then[1] * a + then[3] * b,
        then[0] * c + then[2] * d,
        then[1] * c + then[3] * d,
        *_point(then, e, f),
    )


class _OpenLine:
    """A line to which characters are being added."""

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
        """Whether a character at this place goes on with the line."""
        left, top, right, bottom = box
        overlap = min(self.bottom, bottom) - max(self.top, top)
        low = min(self.bottom - self.top, bottom - top)
        if overlap < 0.5 * low or abs(base - self.base) > 0.6 * self.size:
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


def _lines(text: Any, turn: Turn, width: float, height: float) -> list[Line]:
    """Lines of a page, in the order of the file."""
    count = min(raw.FPDFText_CountChars(text), MAX_CHARACTERS)
    rectangle = raw.FS_RECTF()
    x, y = ctypes.c_double(), ctypes.c_double()
    done: list[_OpenLine] = []
    line: _OpenLine | None = None
    high = 0
    for index in range(count):
        code = raw.FPDFText_GetUnicode(text, index)
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if 0xDC00 <= code < 0xE000 and high:
            code, high = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00), 0
        if code < 0x20 and code != 2 or 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF) or code > 0x10FFFF:
            if line is not None:
                line.gap = True  # line breaks that pdfium puts in
            continue
        character = chr(code)
        character = CHARACTERS.get(character, character)
        if character.isspace():
            if line is not None:
                line.gap = True
            continue
        if not raw.FPDFText_GetLooseCharBox(text, index, rectangle) or not raw.FPDFText_GetCharOrigin(text, index, x, y):
            continue
        if not _upright(raw.FPDFText_GetCharAngle(text, index), turn):
            continue  # text along the edge of a page, water marks
        box = _box(turn, rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
        if not (-1 < box[0] and box[2] < width + 1 and -1 < box[1] and box[3] < height + 1):
            if not (0 < (box[0] + box[2]) / 2 < width and 0 < (box[1] + box[3]) / 2 < height):
                continue
        base = _point(turn, x.value, y.value)[1]
        if line is None or not line.takes(box, base):
            line = _OpenLine(index)
            done.append(line)
        line.add(index, character, box, base)
    return _whole([_finished(text, line) for line in done if line.words])


def _upright(angle: float, turn: Turn) -> bool:
    if angle < 0:
        return True  # not known
    x, y = math.cos(angle), math.sin(angle)
    right, down = turn[0] * x + turn[2] * y, turn[1] * x + turn[3] * y
    return right > 0 and abs(down) < 0.1 * right


def _finished(text: Any, line: _OpenLine) -> Line:
    samples = {line.characters[0], line.characters[len(line.characters) // 2], line.characters[-1]}
    fonts = [_font(text, index) for index in samples]
    sizes = sorted(font.size for font in fonts)
    box = (line.left, line.top, line.right, line.bottom)
    return Line(
        line.words,
        box,
        line.base,
        sizes[len(sizes) // 2] or line.size,
        line.order,
        bold=all(font.bold for font in fonts),
        italic=all(font.italic for font in fonts),
        mono=all(font.mono for font in fonts),
    )


@dataclass(frozen=True, slots=True)
class Font:
    """What a letter is set in; the size in points as shown."""

    size: float
    bold: bool
    italic: bool
    mono: bool


def _font(text: Any, index: int) -> Font:
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
    return Font(size, bold, italic, bool(MONO_NAME.search(name)))


def _whole(lines: list[Line]) -> list[Line]:
    """Put together what is one line and was drawn in parts (links, formulas): same baseline, a space between."""
    waiting = sorted(lines, key=lambda line: (round(line.base), line.box[0]))
    whole: list[Line] = []
    for line in waiting:
        before = whole[-1] if whole else None
        if before is not None and abs(before.base - line.base) < 0.3 * before.size:
            gap = line.box[0] - before.box[2]
            if -0.3 * line.size < gap < 0.45 * line.size and abs(before.size - line.size) < 0.5 * before.size:
                before.words += line.words
                (a, b, c, d), (e, f, g, h) = before.box, line.box
                before.box = (min(a, e), min(b, f), max(c, g), max(d, h))
                before.order = min(before.order, line.order)
                before.bold, before.italic = before.bold and line.bold, before.italic and line.italic
                before.mono = before.mono and line.mono
                continue
        whole.append(line)
    return sorted(whole, key=lambda line: line.order)


class _Pictures:
    """The pictures of one page."""

    def __init__(self, document: Any, page: Any, found: Page, turn: Turn, max_pixels: int) -> None:
        self.document = document
        self.page = page
        self.found = found
        self.turn = turn
        self.max_pixels = max_pixels
        self.visited = 0

    def read(self) -> list[Shown]:
        objects = [(image, box, turn) for image, turn in self.images(self.page, self.turn, 0) if (box := self.place(image, turn))]
        slices = _slices(objects)
        sliced = {number for group in slices for number in group}
        shown: list[Shown] = []
        for number, (image, box, turn) in enumerate(objects):
            group = next((g for g in slices if g[0] == number), None)
            if group is not None:
                joined = _around([objects[n][1] for n in group])
                pixels = max(image.get_px_size()[0] / max(box[2] - box[0], 1), 1.0)
                shown.append(self.shown(joined, *self.region(joined, pixels)))
            elif number not in sliced:
                shown.append(self.shown(box, *self.contents(image, turn)))
        return shown

    def images(self, parent: Any, turn: Turn, depth: int) -> Iterator[tuple[Any, Turn]]:
        """Image objects with the map from their space to the shown page; forms may hold forms, also themselves."""
        count, get = (
            (raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject)
            if depth
            else (raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject)
        )
        for number in range(count(parent)):
            self.visited += 1
            if self.visited > MAX_OBJECTS:
                return
            handle = get(parent, number)
            kind = raw.FPDFPageObj_GetType(handle) if handle else raw.FPDF_PAGEOBJ_UNKNOWN
            if kind == raw.FPDF_PAGEOBJ_IMAGE:
                yield pdfium.PdfObject(handle, page=self.page), turn
            elif kind == raw.FPDF_PAGEOBJ_FORM and depth < MAX_DEPTH:
                matrix = raw.FS_MATRIX()
                if raw.FPDFPageObj_GetMatrix(handle, matrix):
                    own = (matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)
                    yield from self.images(handle, _times(own, turn), depth + 1)

    def place(self, image: Any, turn: Turn) -> Box | None:
        """Where a picture is shown; None where it is not to be seen."""
        try:
            left, top, right, bottom = _box(turn, *image.get_bounds())
        except pdfium.PdfiumError:
            return None
        left, right = max(left, 0.0), min(right, self.found.width)
        top, bottom = max(top, 0.0), min(bottom, self.found.height)
        return (left, top, right, bottom) if right - left >= SMALLEST and bottom - top >= SMALLEST else None

    def shown(self, box: Box, file: bytes | None, problem: str | None) -> Shown:
        width, height = max(self.found.width, 1.0), max(self.found.height, 1.0)
        share = (box[0] / width, box[1] / height, box[2] / width, box[3] / height)
        picture = Picture(("",), file=file, page=self.found.number, box=share, problem=problem)
        return Shown(picture, box, hash(file) if file is not None else None)

    def contents(self, image: Any, turn: Turn) -> tuple[bytes | None, str | None]:
        """A picture's bytes, or why there are none: the JPEG in the file where it is shown as it is, else as drawn."""
        try:
            width, height = image.get_px_size()
            if width * height > self.max_pixels:
                return None, f"{width} × {height} are more than {self.max_pixels:,} pixels: scale it down"
            if min(width, height) < 2:
                return None, "a single line of pixels"
            if self.is_plain_jpeg(image, turn):
                return _without_exif(bytes(image.get_data(decode_simple=True))), None
            return _png(image.get_bitmap(render=True).to_pil()), None
        except (pdfium.PdfiumError, ValueError, OSError, MemoryError, ZeroDivisionError) as error:
            return None, f"cannot be decoded: {' '.join(str(error).split()) or type(error).__name__}"

    def is_plain_jpeg(self, image: Any, turn: Turn) -> bool:
        """Whether the file holds a JPEG that is shown upright, in grey or RGB, without a mask."""
        if image.get_filters(skip_simple=True) != ["DCTDecode"]:
            return False
        a, b, c, d, _, _ = _times(image.get_matrix().get(), turn)
        if not (a > 0 > d and abs(b) < 0.01 * a and abs(c) < 0.01 * -d):
            return False
        colours = image.get_metadata()
        if colours.bits_per_pixel not in (8, 24) or colours.colorspace == raw.FPDF_COLORSPACE_DEVICECMYK:
            return False
        return max(a, -d) > 3000 or not _has_mask(image)

    def region(self, box: Box, scale: float) -> tuple[bytes | None, str | None]:
        """A part of the page as it is shown."""
        left, top, right, bottom = box
        scale = min(scale, math.sqrt(self.max_pixels / max((right - left) * (bottom - top), 1.0)), 8.0)
        try:
            crop = (left, self.found.height - bottom, self.found.width - right, top)
            return _png(self.page.render(scale=scale, crop=crop).to_pil()), None
        except (pdfium.PdfiumError, ValueError, MemoryError) as error:
            return None, f"cannot be decoded: {' '.join(str(error).split())}"


def _without_exif(jpeg: bytes) -> bytes:
    """A JPEG without what its camera noted: PDF turns pictures by itself, and a note would turn them again."""
    at, kept = 2, [jpeg[:2]]
    while at + 4 <= len(jpeg) and jpeg[at] == 0xFF and jpeg[at + 1] not in (0xDA, 0xD9):
        end = at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
        if not (jpeg[at + 1] == 0xE1 and jpeg[at + 4 : at + 8] == b"Exif"):
            kept.append(jpeg[at:end])
        at = end
    return b"".join([*kept, jpeg[at:]])


def _has_mask(image: Any) -> bool:
    """Whether parts of a picture are transparent, seen at the few pixels it has at 72 dpi."""
    import numpy as np

    bitmap = image.get_bitmap(render=True, scale_to_original=False)
    if bitmap.n_channels < 4:
        return False
    alpha = bitmap.to_numpy()[..., 3]
    # The outermost pixels are only partly covered, whatever the picture.
    inner = alpha[2:-2, 2:-2]
    return bool(inner.size and np.mean(inner < 250) > 0.01)


def _png(picture: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _slices(objects: list[tuple[Any, Box, Turn]]) -> list[list[int]]:
    """Groups of pictures that are the strips of one: flush with each other, and as wide and as fine."""
    groups: list[list[int]] = []
    for number, (image, box, _) in enumerate(objects):
        for group in groups:
            before, above, _ = objects[group[-1]]
            if _flush(above, box) and image.get_px_size()[0] == before.get_px_size()[0]:
                group.append(number)
                break
        else:
            groups.append([number])
    return [g for g in groups if len(g) > 1 and (len(g) > 3 or any(_is_strip(objects[n][1]) for n in g))]


def _flush(above: Box, below: Box) -> bool:
    sides = abs(above[0] - below[0]) < 1 and abs(above[2] - below[2]) < 1
    return sides and (abs(above[3] - below[1]) < 1 or abs(below[3] - above[1]) < 1)


def _is_strip(box: Box) -> bool:
    return box[2] - box[0] > 5 * (box[3] - box[1])


def _around(boxes: list[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _links(document: Any, page: Any, turn: Turn) -> Iterator[tuple[Box, Place]]:
    """Links from this page to places in the document."""
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(MAX_OBJECTS):
        if not raw.FPDFLink_Enumerate(page, position, link):
            return
        destination = raw.FPDFLink_GetDest(document, link)
        if not destination:
            action = raw.FPDFLink_GetAction(link)
            destination = raw.FPDFAction_GetDest(document, action) if action else None
        rectangle = raw.FS_RECTF()
        if not destination or not raw.FPDFLink_GetAnnotRect(link, rectangle):
            continue
        index = raw.FPDFDest_GetDestPageIndex(document, destination)
        if index >= 0:
            box = _box(turn, rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
            yield box, Place(index + 1, _destination_height(destination))


def _destination_height(destination: Any) -> float | None:
    """How high the place is in the space of its page, from below; None for a whole page."""
    has = [ctypes.c_int() for _ in range(3)]
    values = [ctypes.c_float() for _ in range(3)]
    found = raw.FPDFDest_GetLocationInPage(destination, *has, *values)
    return values[1].value if found and has[1].value else None
