"""How a sentence reads that speaks of a figure: 'is shown', 'consider', lettered parts, a start that was cut off.

The patterns are English; in other languages only length, letters and marks say something.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from iconotext.links.layout import looks_like_heading

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
"""What one whole word of a sentence must be."""

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


def looks(document: Document) -> dict[str, NDArray[np.float32]]:
    """Features of how each of S sentences reads, whatever the image.

    Returns:
        Name to (S,) float32: whether a pattern of this module is in the sentence; ``letters`` whether a part is called
        by a letter; ``length`` log(1 + words); ``short`` fewer than six words; ``lower`` it begins with a small letter;
        ``mark`` with a mark; ``heading`` it is a heading.
    """
    texts = [sentence.text for sentence in document.sentences]
    lengths = np.array([len(text.split()) for text in texts])
    small = [text.lower() for text in texts]
    columns = {name: np.array([bool(p.search(text)) for text in small]) for name, p in _COMPILED.items()}
    kinds = [frozenset[str]().union(*map(_kinds, _WORD.findall(text))) for text in small]
    columns |= {name: np.array([name in found for found in kinds]) for name in _OF_WORDS}
    columns |= {
        "letters": np.array([bool(_LETTERS.search(text)) for text in texts]),
        "length": np.log1p(lengths),
        "short": lengths < 6,
        "lower": np.array([text[:1].islower() for text in texts]),
        "mark": np.array([text[:1] in tuple("(,;.:[") for text in texts]),
        "heading": np.array([looks_like_heading(document, i) for i in range(len(texts))]),
    }
    return {name: column.astype(np.float32) for name, column in columns.items()}


@lru_cache(maxsize=1 << 16)
def _kinds(word: str) -> frozenset[str]:
    """The names of ``_WORDS`` that a word stands for."""
    return frozenset(name for name, pattern in _OF_WORDS.items() if pattern.fullmatch(word))
