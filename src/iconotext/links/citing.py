"""Features of wording that is typical of sentences about a figure: 'is shown', 'consider', lettered parts.

The patterns are English; in other languages only length, letters and punctuation help.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.links.layout import headings
from iconotext.links.words import of_texts, of_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import Document

_WORDS = {
    "shown": r"shown|shows?|showing|showed",
    "illustrates": r"(?:illustrat|depict|demonstrat|portray|display|represent|present|plot|sketch)\w*|drawn",
    "figure": r"fig(?:ure)?s?|diagrams?|graphs?|images?|pictures?|photo\w*|plates?|maps?|charts?|drawings?|tables?"
    r"|illustrations?|cuts?|engravings?|screenshots?|views?",
    "see": r"see|seen|look|looking|notice|note|observe|consider|refer",
}
"""Patterns that a whole word of the sentence must match."""

_PATTERNS = {
    "example": r"\b(?:examples?|instance|such as|typical|similar)\b",
    "this_shows": r"^(?:this|these|it|they|here|as|in|the)\s+(?:shows?|is|are|illustrates?|can|we|shown)\b",
    "cut_off": r"\b(?:in|by|from|see|and|or|of|with|on|at|to)\s*[.,)]",
    "question": r"\?$",
    "math": r"[$=\\]",
}
_COMPILED = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}  # of small letters, which is faster
_OF_WORDS = {name: re.compile(pattern) for name, pattern in _WORDS.items()}
_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"\([a-zA-Z]{1,2}\)|\b[A-Z]\b(?!['’])")


def looks(documents: Sequence[Document]) -> dict[str, NDArray[np.float32]]:
    """Features of the wording of each sentence, independent of the image.

    Returns:
        Name to (sentences,) float32: 1 or 0 for each pattern of this module; ``letters``, a part is named by a letter;
        ``length``, log(1 + number of words); ``short``, fewer than six words; ``lower``, begins with a lower-case
        letter; ``mark``, begins with a punctuation mark; ``heading``, is a heading.
    """
    texts = (sentence.text for document in documents for sentence in document.sentences)
    rows = np.frombuffer(b"".join(map(_reads, texts)), np.float32).reshape(-1, len(_READS))
    return dict(zip(_READS, np.ascontiguousarray(rows.T), strict=True)) | {
        "length": np.log1p(rows[:, _READS.index("length")].astype(np.float64)).astype(np.float32),
        "heading": headings(documents).astype(np.float32),
    }


_READS = (*_COMPILED, *_OF_WORDS, "letters", "length", "short", "lower", "mark")


@of_texts
def _reads(text: str) -> bytes:
    """The features of one text as bytes of float32, in the order of ``_READS``."""
    small, length = text.lower(), len(text.split())
    kinds = frozenset[str]().union(*map(_kinds, _WORD.findall(small)))
    says = (
        *(pattern.search(small) is not None for pattern in _COMPILED.values()),
        *(name in kinds for name in _OF_WORDS),
        _LETTERS.search(text) is not None,
        length,
        length < 6,
        text[:1].islower(),
        text[:1] in tuple("(,;.:["),
    )
    return np.array(says, np.float32).tobytes()


@of_words
def _kinds(word: str) -> frozenset[str]:
    """The names of the patterns in ``_WORDS`` that match a word."""
    return frozenset(name for name, pattern in _OF_WORDS.items() if pattern.fullmatch(word))
