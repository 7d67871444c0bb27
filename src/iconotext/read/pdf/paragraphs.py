"""Lines of a column → paragraphs: their beginnings, their kinds, and the joining of their lines."""

from __future__ import annotations

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from iconotext.read.blocks import Block
from iconotext.read.captions import CAPTION_LABEL
from iconotext.read.pdf.columns import BULLET, NUMBER, Column
from iconotext.read.pdf.images import PageImage
from iconotext.read.pdf.lines import Box, Line, bounding_box, overlap
from iconotext.types import Kind

if TYPE_CHECKING:
    from iconotext.read.pdf.page import Page

SENTENCE_END = re.compile(r"[.!?:;…。！？؟۔।][\"'”’»)\]」』）]*$")
CJK = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
WORD = re.compile(r"[^\W\d_]+")
MAX_PITCH = 4.0  # largest distance of baselines within a paragraph, in sizes of the letters
DEFAULT_PITCH = 1.2
FULL_LINE = 15  # characters, at least
ENOUGH_LINES = 3  # fewest lines, continued in the next one, from which the distance of lines on a page is computed
HEADING_SIZE = 1.12  # letters so much larger than those of the text make a heading
HEADING_WORDS = 25


@dataclass(slots=True)
class Text:
    """A paragraph in the making."""

    lines: list[Line]
    page: int
    right: float  # the right edge of its column
    kind: Kind = "paragraph"
    note: bool = False
    row: object = None  # the row of a table that it is in, another object for each; None outside

    @property
    def box(self) -> Box:
        """The box around its lines."""
        return bounding_box([line.box for line in self.lines])

    @property
    def content(self) -> str:
        """Its lines, with a space between each two."""
        return " ".join(line.text for line in self.lines)


@dataclass(frozen=True, slots=True)
class Words:
    """The hyphenation of a document: whether a hyphen breaks a word or belongs to it."""

    whole: frozenset[str]  # words that the document also has unbroken, in lower case
    broken: bool  # whether the document breaks words at all


def body_size(pages: Iterable[Page]) -> float:
    """Return the size of the letters of most of the text; 0 without text."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def line_pitch(page: Page) -> float | None:
    """Return the usual distance of two baselines of running text on a page, in units of the letters' size.

    It counts where a line is full and goes on in the next one, since the distance of whole paragraphs may be anything.
    None if there are too few such lines.
    """
    edges: defaultdict[int, float] = defaultdict(float)
    for line in page.lines:
        edges[round(line.box[0] / 6)] = max(edges[round(line.box[0] / 6)], line.box[2])
    steps: Counter[float] = Counter()
    for above, below in pairwise(page.lines):
        step = (below.base - above.base) / max(above.size, 0.1)
        if not 0.9 < step < MAX_PITCH or abs(above.size - below.size) > 0.1 or overlap(above.box, below.box) <= 0:
            continue
        left, right = above.box[0], edges[round(above.box[0] / 6)]
        full = above.box[2] - left > 0.85 * (right - left) and len(above.text) > FULL_LINE
        if full and not SENTENCE_END.search(above.text) and not opens(below.text):
            steps[round(step, 2)] += 1
    if steps.total() < ENOUGH_LINES:
        return None
    pitch, _ = max(steps.items(), key=lambda step: sum(steps[near] for near in steps if abs(near - step[0]) < 0.06))
    return pitch


class Limits:
    """The right edges of the lines of a column."""

    def __init__(self, column: Column) -> None:
        self.lines = [item for item in column.items if isinstance(item, Line)]
        self.images = [item.box for item in column.items if isinstance(item, PageImage)]
        self.left = min((line.box[0] for line in self.lines), default=0.0)
        self.right = max((line.box[2] for line in self.lines), default=0.0)

    def of(self, line: Line) -> float:
        """Return the right edge of lines in the style of this one: captions and quotations have their own margins."""
        alike = [n.box[2] for n in self.lines if abs(n.box[0] - line.box[0]) < 3 and abs(n.size - line.size) < 0.5]
        return min(max(alike) if len(alike) > 1 else self.right, self.beside(line))

    def beside(self, line: Line) -> float:
        """Return the left edge of the image around which the line runs; infinity without one."""
        boxes = (box for box in self.images if box[1] < line.base < box[3] and box[0] > line.box[0] + line.size)
        return min((box[0] for box in boxes), default=float("inf"))

    def is_broken_off(self, line: Line) -> bool:
        """Return whether the author ended a line, since it ends so early."""
        return line.box[2] < self.left + 0.6 * (min(self.right, self.beside(line)) - self.left)


def begins(text: Text, line: Line, limits: Limits, pitch: float, *, table: bool) -> bool:
    """Return whether a line begins a new paragraph after those of ``text``."""
    last, first = text.lines[-1], text.lines[0]
    em = max(line.size, 1.0)
    step = line.base - last.base
    if abs(line.size - last.size) > 0.12 * max(line.size, last.size) or line.bold != last.bold:
        return True
    inner_step = text.lines[1].base - first.base if len(text.lines) > 1 else pitch * em
    if step < 0.5 * em or step > 1.3 * max(inner_step, 0.9 * em):  # beside or above it, or after a gap
        return True
    if BULLET.match(line.text):
        return True
    item = BULLET.match(first.text) or NUMBER.match(first.text)
    shift = line.box[0] - last.box[0]
    if table:  # the lines of a cell are flush or centred
        return abs(shift) > em and not _centred(last, line)
    if NUMBER.match(line.text) and (abs(shift) > 0.5 * em or item) and abs(line.box[0] - first.box[0]) < em:
        return True
    if CAPTION_LABEL.match(line.text) and step > 1.1 * inner_step:
        return True
    if _centred(last, line) and abs(shift) > 0.5 * em:
        return False
    if shift > 0.8 * em and not (item and len(text.lines) == 1) and not _from_right(last, line):
        return True  # indented, but not as the second line of an item is
    if shift < -0.8 * em and (item or len(text.lines) > 1) and not _from_right(last, line):
        return True  # further left, but not as the second line of a paragraph with an indented first line is
    if not ends_early(last, line, limits.right):
        return False
    if ends_early(last, line, limits.of(last)) and (SENTENCE_END.search(last.text) or opens(line.text)):
        return True
    return limits.is_broken_off(last) or ends_early(last, line, limits.of(last), spare=5)


def opens(text: str) -> bool:
    """Return whether a text begins like a sentence, not like the middle of one."""
    return text[:1].isupper() or text[:1] in tuple('"“‘«„¿¡')


def _centred(above: Line, below: Line) -> bool:
    return abs((above.box[0] + above.box[2]) - (below.box[0] + below.box[2])) < 0.6 * below.size


def _from_right(above: Line, below: Line) -> bool:
    """Return whether two lines are flush at the right only, as right-to-left text is set."""
    return abs(above.box[2] - below.box[2]) < 2 and bool(re.search("[\u0590-\u08ff]", below.text))


def ends_early(line: Line, following: Line, right: float, *, spare: float = 0.5) -> bool:
    """Return whether the first word of the next line also fits into this one, with some ems to spare."""
    first = following.words[0]
    return line.box[2] + 0.35 * line.size + (first.right - first.left) < right - spare * line.size


def classify(text: Text, body: float, page: Page, *, table: bool, followed: bool) -> None:
    """Set the kind of a paragraph, by its letters, its first characters and its place."""
    size = statistics.median(line.size for line in text.lines)
    content = text.content
    words = len(content.split())
    if words <= HEADING_WORDS and WORD.search(content) and not CAPTION_LABEL.match(content):
        bold = all(line.bold for line in text.lines) and size > 0.95 * body and words <= 15
        alone = bold and followed and not table and not SENTENCE_END.search(content)
        if alone or size > HEADING_SIZE * body:
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


def words_of(pages: Iterable[Page]) -> Words:
    """Return the hyphenation of a document."""
    lines = [line for page in pages for line in page.lines]
    whole = {word.text.strip(".,;:!?()[]\"'“”‘’").casefold() for line in lines for word in line.words[:-1]}
    endings = [line.words[-1].text for line in lines]
    hyphens = sum(len(word) > 2 and word[-1] in "-‐" for word in endings)
    broken = hyphens > 2 and hyphens > 0.02 * len(endings)  # compounds alone explain fewer
    return Words(frozenset(whole), broken)


def text_block(text: Text, words: Words) -> Block:
    """Make the block of a paragraph: words that a hyphen breaks at the end of a line are joined."""
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
    shifted = [(max(a - cut, 0), b - cut, name) for a, b, name in targets if b > cut]
    italic = all(line.italic for line in text.lines)
    return Block(content[cut:], text.kind, targets=shifted, emphasised=italic)


def _ending(word: str, following: str, words: Words) -> str | None:
    """Return the part of a word at the end of a line that the next line continues.

    It is the word itself, or the word without its hyphen; None if the next line does not continue it.
    """
    if word.endswith("\u00ad"):
        return word.rstrip("\u00ad")
    if CJK.match(word[-1]) and CJK.match(following[0]):
        return word  # scripts without spaces between words
    if (len(word) > 1 and word[-1] in "–—/") or (len(following) > 1 and following[0] in "–—"):
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
    both_words = stem.casefold() in words.whole and tail.casefold() in words.whole and len(stem) > 2 and len(tail) > 2
    return word if both_words else stem
