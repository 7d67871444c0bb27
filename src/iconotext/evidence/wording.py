"""The wording of sentences, whatever the image: words and marks that tell captions and their sentences from others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.evidence.layout import headings
from iconotext.evidence.words import of_texts, of_words

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
    "math": r"[$=\\²³¹\u2070-\u208e\u2200-\u22ff]",  # LaTeX, and what readers show of it: exponents, indices, signs
}
_COMPILED = {name: re.compile(pattern) for name, pattern in _PATTERNS.items()}  # for lower-case texts, which is faster
_OF_WORDS = {name: re.compile(pattern) for name, pattern in _WORDS.items()}
_CITING_WORD = re.compile(r"\w+")
_LETTERS = re.compile(r"\([a-zA-Z]{1,2}\)|\b[A-Z]\b(?!['’])")


def wording_features(documents: Sequence[Document]) -> dict[str, NDArray[np.float32]]:
    """Compute features of the wording of each sentence, independent of the image.

    Returns:
        Name to (sentences,) float32: 1 or 0 for each pattern of this module; ``letters``, a part is named by a letter;
        ``length``, log(1 + number of words); ``short``, fewer than six words; ``lower``, begins with a lower-case
        letter; ``mark``, begins with a punctuation mark; ``heading``, is a heading.
    """
    texts = (sentence.text for document in documents for sentence in document.sentences)
    rows = np.frombuffer(b"".join(map(_wording, texts)), np.float32).reshape(-1, len(_WORDING))
    return dict(zip(_WORDING, np.ascontiguousarray(rows.T), strict=True)) | {
        "length": np.log1p(rows[:, _WORDING.index("length")].astype(np.float64)).astype(np.float32),
        "heading": headings(documents).astype(np.float32),
    }


_WORDING = (*_COMPILED, *_OF_WORDS, "letters", "length", "short", "lower", "mark")


@of_texts
def _wording(text: str) -> bytes:
    """Return the features of one text as bytes of float32, in the order of ``_WORDING``."""
    small, length = text.lower(), len(text.split())
    kinds = frozenset[str]().union(*map(_kinds, _CITING_WORD.findall(small)))
    values = (
        *(pattern.search(small) is not None for pattern in _COMPILED.values()),
        *(name in kinds for name in _OF_WORDS),
        _LETTERS.search(text) is not None,
        length,
        length < 6,
        text[:1].islower(),
        text[:1] in tuple("(,;.:["),
    )
    return np.array(values, np.float32).tobytes()


@of_words
def _kinds(word: str) -> frozenset[str]:
    return frozenset(name for name, pattern in _OF_WORDS.items() if pattern.fullmatch(word))
