"""Encodes texts in several languages, each by the encoders that may know it: that of English and those beside it.

``encode_texts`` mixes the vectors of a text by how far they agree, ``readers_of`` decides who reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.features.minilm import load_tokenizer
from iconotext.read.sentences import ENGLISH, LATIN_LETTER, OTHER_LETTER, WORD, language_probabilities
from iconotext.similarity import unit_rows

if TYPE_CHECKING:
    from iconotext.features.backbone import TextBackbone
    from iconotext.types import FloatMatrix

LATIN = frozenset(
    "af az bs ca cs cy da de en es et eu fi fil fr ga gl hr hu id is it jv ku lt lv ms mt nb nl nn no pl pt ro sk sl "
    "so sq sv sw tl tr uz vi xh".split()
)
"""Languages that are written in Latin letters."""

WHOLE = 1.25
"""Mean number of pieces into which MiniLM's tokenizer, whose pieces are English words, cuts the words of English.
German captions have 1.8, Czech ones 2.4."""

FEW = 4
"""With fewer words neither the number of pieces nor the runs of letters say much: "quantum chromodynamics"."""

APART, ALIKE = 0.4, 0.6
"""Cosines of two encoders' vectors of a text from which the first one counts, and counts in full.

An encoder that does not know the language is nowhere near the other one. Of names of signs, 98 % of the English ones
have more than 0.63; of those in other languages half to two thirds have less than 0.4, and most of the tenth that has
more than 0.6 are words such as "pizza".
"""


def encode_texts(backbone: TextBackbone, texts: Sequence[str], language: str | None = None) -> FloatMatrix:
    """Compute (n, dim) vectors of texts, each by the encoder that knows its language.

    Where several encoders may know it, each one counts instead of those after it, as far as its vector agrees with
    theirs or its languages are probable.

    Args:
        language: ISO 639-1 code of the language of the document from which they come; None for a text by itself.
    """
    if backbone.other is None:
        return backbone.encode(texts)
    read_by = [readers_of(backbone, text, language) for text in texts]
    vectors = np.zeros((len(texts), backbone.dim), np.float32)
    for reader in reversed(_chain(backbone)):
        rows = [row for row, readers in enumerate(read_by) if reader in readers]
        if not rows:
            continue
        found, others = reader.encode([texts[row] for row in rows]), vectors[rows]
        agree = np.clip(((found * others).sum(1) - APART) / (ALIKE - APART), 0, 1)
        last = np.array([read_by[row][-1] is reader for row in rows])
        chances = [{} if alone else language_probabilities(texts[row]) for row, alone in zip(rows, last, strict=True)]
        known = [sum(chance for code, chance in of.items() if code in (reader.languages or ())) for of in chances]
        share = np.maximum(agree, known)[:, np.newaxis].astype(np.float32)
        mixed = unit_rows(share * found + (1 - share) * others)
        # Vectors of one encoder are left as they are, to the last bit.
        vectors[rows] = np.where(last[:, np.newaxis], found, mixed)
    return vectors


def readers_of(backbone: TextBackbone, text: str, language: str | None) -> list[TextBackbone]:
    """Return the encoders that ``encode_texts`` asks for the vector of a text: several if its language is in doubt."""
    english, *others = _chain(backbone)
    share = english_share(text, language)
    if not others or share == 1:
        return [english]
    if language is None or (language in LATIN and not _in_latin(text)):
        return [english, *others] if share else others
    return [next((reader for reader in others if language in (reader.languages or [language])), others[-1])]


def english_share(text: str, language: str | None) -> float:
    """Return how certain it is that a text is in English: 1, or 0 for another language, or 0.5 if it is in doubt.

    Args:
        language: As for ``encode_texts``. A short text is in the language of its document, unless its letters are not.
    """
    if not _in_latin(text):
        return 0.0
    if language == "en" or not LATIN_LETTER.search(text):
        return 1.0
    words = WORD.findall(text.lower())
    if language is not None:
        return float(_in_pieces_of_english(words) and (len(words) >= FEW or language not in LATIN))
    probability = language_probabilities(text)["en"]
    if probability >= 0.5 or (probability >= 0.2 and _in_pieces_of_english(words)):
        return 1.0
    return 0.5 if len(words) < FEW or probability >= 0.1 or _in_pieces_of_english(words) else 0.0


def is_english(text: str) -> bool:
    """Return whether a text by itself is more likely in English than not; a guess, if it has few words."""
    english = _in_pieces_of_english(WORD.findall(text.lower())) or language_probabilities(text)["en"] >= 0.1
    return _in_latin(text) and english


def _in_latin(text: str) -> bool:
    return len(LATIN_LETTER.findall(text)) >= len(OTHER_LETTER.findall(text))


def _in_pieces_of_english(words: Sequence[str]) -> bool:
    whole = len(load_tokenizer().encode(" ".join(words), add_special_tokens=False)) <= WHOLE * len(words)
    # Some French sentences have no other words than the tokenizer knows.
    return whole and (len(words) < FEW or not ENGLISH.isdisjoint(words))


def _chain(backbone: TextBackbone) -> list[TextBackbone]:
    return [backbone] if backbone.other is None else [backbone, *_chain(backbone.other)]
