"""Scores how well a picture matches a sentence, by what the picture shows and by the texts about it.

Three numbers count: the cosine of the sentence with the picture, the cosine with the best text about the picture
(caption, alternative text, linked sentence), and the words in common (BM25). Cosines of different models and libraries
mean different things, so each is counted in standard deviations above the cosines of made-up sentences
(``Background``). A picture without texts is judged by its cosine alone. The weights were fitted on captions and
documents: ``benchmarks/search.py`` fits them on one half of its sources and measures on the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from iconotext.library.settings import Background
from iconotext.links.words import stems

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

IMAGE, TEXT, WORDS, SILENT = 0.50, 0.35, 0.85, -0.85
"""Weights for a picture with texts: of the two cosines and of the square root of BM25; and a constant below 0, since
texts that do not fit count against it. The cosine of a picture without texts has the weight 1, and only the words of
its file name count, with the same weight."""

GOOD, STRONG = 4.1, 7.4
"""Scores from which on a match is good, and strong: see docs/search.md for how often either is wrong."""

EVERY_WORD = 1.4
"""Bonus if a picture's texts have every word of the sentence, times the logarithm of the number of words: the more
words, the less likely by chance. From 0.7 to 2 the measured order is the same."""

CLEAR = 2.0
"""Standard deviations from which on a cosine is named as a reason for the match."""

LEAST_DEVIATION = 0.01
"""Lower limit for standard deviations of cosines: a library may have only one picture."""

Level = Literal["strong", "good", "weak"]
LEVELS: tuple[Level, ...] = ("strong", "good", "weak")
"""From best to worst, as results are sorted."""


@dataclass(frozen=True, slots=True)
class Match:
    """How well a picture matches a sentence, and why.

    Attributes:
        level: ``strong``, ``good`` or ``weak``.
        picture: Whether what it shows is near to the sentence.
        text: Whether a text about it is near to the sentence.
        words: The words of the sentence that are in its texts or its file name, in order.
    """

    level: Level
    picture: bool
    text: bool
    words: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The reasons, as ``search --json`` prints them."""
        return {"picture": self.picture, "text": self.text, "words": list(self.words)}

    @property
    def why(self) -> str:
        """The reasons in plain words."""
        seen = [name for name, named in (("picture", self.picture), ("text", self.text)) if named]
        return ", ".join(seen + [f"words: {' '.join(self.words)}"][: bool(self.words)]) or "no clear reason"


def asked_words(sentence: str) -> str:
    """The stems of a query for full-text search; empty if it has function words only."""
    return " ".join(sorted(stems(sentence)))


def deviations(
    cosines: FloatMatrix, said: FloatMatrix, relevance: FloatMatrix, background: Background
) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
    """How far pictures stand out for a sentence, in standard deviations.

    Args:
        cosines: (N,) cosine of each picture with the sentence.
        said: (N,) highest cosine of a text about the picture with the sentence; NaN without texts.
        relevance: (N,) BM25.
        background: The cosines of made-up sentences in this library.

    Returns:
        (N,) the total score, (N,) that of the picture alone, and (N,) that of the nearest text (NaN without one).
    """
    of_image, of_text = _standard(cosines, background.picture), _standard(said, background.text)
    with_text = IMAGE * of_image + TEXT * of_text + SILENT
    whole = np.where(np.isnan(said), of_image, with_text) + WORDS * np.sqrt(relevance)
    return np.asarray(whole, np.float32), of_image, of_text


def with_every_word(whole: FloatMatrix, every: NDArray[np.bool_], words: int) -> FloatMatrix:
    """Scores, raised above ``GOOD`` for pictures whose texts and names have every word; their order stays the same.

    Args:
        whole: (N,) total scores from ``deviations``.
        every: (N,) whether a picture has every word.
        words: Number of words in the sentence, without function words.
    """
    raised = np.logaddexp(whole + EVERY_WORD * np.log(max(words, 1)), GOOD)
    return np.asarray(np.where(every, raised, whole), np.float32)


def has_every_word(has: AbstractSet[str], wanted: AbstractSet[str]) -> bool:
    """Whether ``has`` contains all wanted stems; False if none are wanted."""
    return bool(wanted) and wanted <= has


def in_cosines(found: FloatMatrix, background: Background) -> FloatMatrix:
    """Scores expressed as cosines: the cosine at which a picture without texts would have the same score."""
    mean, deviation = background.picture
    return np.asarray(mean + deviation * found, np.float32)


def stems_of_words(sentence: str) -> dict[str, set[str]]:
    """The words of a sentence, in order, to their stems; an empty set for a function word."""
    return {word: stems(word) for word in re.findall(r"\w+", sentence)}


def match_of(
    whole: float,
    of_image: float,
    of_text: float,
    asked: Mapping[str, AbstractSet[str]],
    has: AbstractSet[str],
    every: bool,
) -> Match:
    """The match to report: see ``level_of``.

    Args:
        whole: From ``deviations``; not raised for the words, which count in it already.
        of_image: From ``deviations``.
        of_text: From ``deviations``, for the nearest text.
        asked: From ``stems_of_words``, for the query.
        has: The stems of the picture's texts and names.
        every: Whether ``has`` contains all stems of the query.
    """
    words = tuple(word for word, own in asked.items() if has & own)
    wanted = len(set().union(*asked.values()))
    level = level_of(np.array(whole), np.array(of_image), np.array(of_text), np.array(every), wanted)
    return Match(LEVELS[int(level)], bool(of_image >= CLEAR), bool(of_text >= CLEAR), words)


def level_of(
    whole: FloatMatrix, of_image: FloatMatrix, of_text: FloatMatrix, every: NDArray[np.bool_], words: int
) -> NDArray[np.int64]:
    """Numbers of levels in ``LEVELS``.

    A match is good or strong by its score, if the picture or a text is near to the sentence; and good if its texts and
    names have every word of the sentence. If that is a single word, which is often there by chance, the picture must be
    near, too.
    """
    near = (of_image >= CLEAR) | (of_text >= CLEAR)
    good = (near & (whole >= GOOD)) | (every & ((words > 1) | (of_image >= CLEAR)))
    return np.where(near & (whole >= STRONG), 0, np.where(good, 1, 2))


def _standard(cosines: FloatMatrix, background: tuple[float, float]) -> FloatMatrix:
    mean, deviation = background
    return np.asarray((cosines - mean) / deviation, np.float32)
