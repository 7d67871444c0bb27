"""Alternative texts as words, so that signs, cases and the numbers of figures make no difference."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from iconotext.read.blocks import LABEL

NEAR = 0.9
"""Share of words in the same order from which on two texts are nearly equal."""

FEW = 4
"""Words below which only the same words are equal."""

_WORD = re.compile(r"[^\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])")


def words(text: str) -> list[str]:
    """The words of a text in small letters."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def without_label(caption: str) -> str:
    """A caption without ``Figure 3:`` before it."""
    found = LABEL.match(caption)
    return caption[found.end() :] if found else caption


def sentences(texts: Iterable[str]) -> Iterator[str]:
    """The sentences of texts, and the texts; told apart by their last sign alone, which is enough to compare them."""
    for text in texts:
        yield text
        parts = _SENTENCE_END.split(text)
        if len(parts) > 1:
            yield from parts


def same(one: list[str], other: list[str]) -> bool:
    """Whether two texts have the same words, or nearly so where there are more than a few."""
    if not one or not other:
        return False
    if one == other:
        return True
    if min(len(one), len(other)) < FEW or 2 * min(len(one), len(other)) < NEAR * (len(one) + len(other)):
        return False
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.quick_ratio() >= NEAR and matcher.ratio() >= NEAR
