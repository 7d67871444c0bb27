"""Compares alternative texts as words, ignoring punctuation, case and figure numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from iconotext.read.blocks import LABEL

NEAR = 0.9
"""Share of words in the same order from which on two texts count as nearly equal."""

FEW = 4
"""Texts with fewer words must be equal word for word."""

_WORD = re.compile(r"[^\W_]+")
_NUMBERED = re.compile(r"(?:(?P<first>\d{1,3}) )?(?P<name>\D*[^\W\d])(?(first)| ?(?P<last>\d{1,3}))")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])")


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def without_number(text: str) -> tuple[str, int] | None:
    """A short text that begins or ends with a number of at most three digits, as words without it, and the number."""
    found = _NUMBERED.fullmatch(" ".join(words(text)))
    if found is None or found["name"].count(" ") >= FEW - 1:
        return None
    return found["name"], int(found["first"] or found["last"])


def without_label(caption: str) -> str:
    """A caption without a leading ``Figure 3:``."""
    found = LABEL.match(caption)
    return caption[found.end() :] if found else caption


def sentences(texts: Iterable[str]) -> Iterator[str]:
    """The sentences of texts, and the texts, split only at punctuation, which is enough for comparing."""
    for text in texts:
        yield text
        parts = _SENTENCE_END.split(text)
        if len(parts) > 1:
            yield from parts


def same(one: list[str], other: list[str]) -> bool:
    """Whether two texts have the same words, or nearly the same if they have more than ``FEW``."""
    if not one or not other:
        return False
    if one == other:
        return True
    if min(len(one), len(other)) < FEW or 2 * min(len(one), len(other)) < NEAR * (len(one) + len(other)):
        return False
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.quick_ratio() >= NEAR and matcher.ratio() >= NEAR
