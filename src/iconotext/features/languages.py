"""Encodes texts in several languages: English ones by an encoder of English, all others by the one beside it.

``encode_texts`` sends each text to the encoder that reads it best, ``english_share`` decides which one that is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.features.minilm import load_tokenizer
from iconotext.read.sentences import ENGLISH, WORD, english_probability
from iconotext.similarity.vectors import unit_rows

if TYPE_CHECKING:
    from iconotext.features.backbone import TextBackbone
    from iconotext.types import FloatMatrix

_LATIN = re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
_LETTER = re.compile(r"[^\W\d_]")

LATIN = frozenset(
    "af az ca cs cy da de en es et eu fi fr ga gl hr hu id is it lt lv ms mt nb nl nn no pl pt ro sk sl sq sv sw tl tr "
    "uz vi".split()
)
"""Languages that are written in Latin letters."""

WHOLE = 1.25
"""Mean number of pieces into which MiniLM's tokenizer, whose pieces are English words, cuts the words of English.
German captions have 1.8, Czech ones 2.4."""

FEW = 4
"""With fewer words the number of pieces says little."""


def encode_texts(backbone: TextBackbone, texts: Sequence[str], language: str | None = None) -> FloatMatrix:
    """Compute (n, dim) vectors of texts, each by the encoder that knows its language.

    Args:
        language: ISO 639-1 code of the language of the document from which they come; None for a text by itself.
    """
    if backbone.other is None:
        return backbone.encode(texts)
    shares = np.array([english_share(text, language) for text in texts], np.float32)
    vectors = np.zeros((len(texts), backbone.dim), np.float32)
    for reader, weights in ((backbone, shares), (backbone.other, 1 - shares)):
        rows = np.flatnonzero(weights).tolist()
        if rows:
            vectors[rows] += weights[rows, np.newaxis] * reader.encode([texts[row] for row in rows])
    in_doubt = (shares > 0) & (shares < 1)
    vectors[in_doubt] = unit_rows(vectors[in_doubt])  # others are left as they are, to the last bit
    return vectors


def readers_of(backbone: TextBackbone, text: str, language: str | None) -> list[TextBackbone]:
    """Return the encoders that ``encode_texts`` asks for the vector of a text."""
    if backbone.other is None:
        return [backbone]
    share = english_share(text, language)
    return [reader for reader, weight in ((backbone, share), (backbone.other, 1 - share)) if weight]


def english_share(text: str, language: str | None) -> float:
    """Return the weight of the English vector of a text: 1 for English, 0 for another language, 0.5 if in doubt.

    Args:
        language: As for ``encode_texts``. A short text is in the language of its document, unless its letters are not.
    """
    letters = _LETTER.findall(text)
    if letters and 2 * len(_LATIN.findall(text)) < len(letters):
        return 0.0
    if language == "en" or not letters:
        return 1.0
    words = WORD.findall(text.lower())
    whole = len(load_tokenizer().encode(" ".join(words), add_special_tokens=False)) <= WHOLE * len(words)
    # Some French sentences have no other words than the tokenizer knows.
    whole = whole and (len(words) < FEW or not ENGLISH.isdisjoint(words))
    if language is not None:
        return float(whole and (len(words) >= FEW or language not in LATIN))
    probability = english_probability(text)
    if probability >= 0.5 or (whole and probability >= 0.2):
        return 1.0
    return 0.5 if whole or probability >= 0.1 else 0.0
