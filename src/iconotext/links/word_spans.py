"""Finds the words of a sentence by their positions, and removes words from a sentence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

Span = tuple[int, int]
"""Begin and end of a word, in characters."""

# Words are separated by white space, or by a mark such as a slash or dash. The separators are matched and not the
# letters, since Python does not count vowel signs (as of Hindi or Thai) as letters.
_RUN = re.compile(r"[^\s/—–…·|]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")


def word_spans(text: str) -> list[Span]:
    """The positions of the words of a text, in order, without the punctuation around them.

    Scripts that put no space between words are cut into pairs of characters.
    """
    return [span for run in _RUN.finditer(text) for span in _parts(text, *run.span())]


def without(text: str, spans: Iterable[Span]) -> str:
    """The text without the given spans, with white space collapsed."""
    left, at = [], 0
    for begin, end in sorted(spans):
        left.append(text[at:begin])
        at = max(at, end)
    return " ".join("".join([*left, text[at:]]).split())


def _parts(text: str, begin: int, end: int) -> Iterator[Span]:
    """The words of a run without white space: one, or more if parts are in a script without spaces."""
    at = begin
    for stretch in _UNSPACED.finditer(text, begin, end):
        yield from _trimmed(text, at, stretch.start())
        yield from _pairs(text, *stretch.span())
        at = stretch.end()
    yield from _trimmed(text, at, end)


def _pairs(text: str, begin: int, end: int) -> Iterator[Span]:
    """Pairs of characters; combining marks stay with their character."""
    starts = [i for i in range(begin, end) if i == begin or not unicodedata.combining(text[i])][::2]
    yield from zip(starts, [*starts[1:], end], strict=True)


def _trimmed(text: str, begin: int, end: int) -> Iterator[Span]:
    while begin < end and _is_punctuation(text[begin]):
        begin += 1
    while begin < end and _is_punctuation(text[end - 1]):
        end -= 1
    if begin < end:
        yield begin, end


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character)[0] in "PSC"
