"""How well a picture matches a sentence: what it shows and what is said of it, as one number.

Three witnesses are heard: the cosine of the sentence with the picture, the cosine with the text that stands with the
picture (its caption, its alternative text, a sentence linked to it), and how much the words have in common (BM25).
Cosines of different models and libraries mean different things; so each is counted in standard deviations above what
sentences have that nobody asked of this library (``Background``). A picture of which nothing is said is judged by
what it shows alone, and where something is said, what the words weigh was fitted on captions and documents:
``benchmarks/search.py`` fits these numbers on one half of its sources and measures on the other.
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
"""The score of a picture with texts: weights of the two cosines and of the square root of BM25, and a constant, since
texts that do not fit speak against it. The cosine of a picture without texts weighs 1, and only the words of its file
name count, as much as others."""

GOOD, STRONG = 3.51, 4.57
"""Deviations from which on a match is good, and strong: see docs/search.md for how often either is wrong."""

EVERY_WORD = 1.4
"""What every word of a sentence counts, times the logarithm of their number: the more there are, the less they stand
with a picture by chance. From 0.7 to 2 the measured order is the same."""

CLEAR = 2.0
"""Deviations from which on a cosine is named as a reason."""

LEAST_DEVIATION = 0.01
"""No standard deviation of cosines counts as smaller: a library may have one picture."""

Level = Literal["strong", "good", "weak"]
LEVELS: tuple[Level, ...] = ("strong", "good", "weak")
"""Best first, as results are sorted."""


@dataclass(frozen=True, slots=True)
class Match:
    """How well a picture matches a sentence, and why.

    Attributes:
        level: ``strong``, ``good`` or ``weak``.
        picture: What it shows is near to the sentence.
        text: A text that stands with it is near to the sentence.
        words: The words of the sentence that stand in its texts or its file name, in their order.
    """

    level: Level
    picture: bool
    text: bool
    words: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Why, as ``search --json`` prints it."""
        return {"picture": self.picture, "text": self.text, "words": list(self.words)}

    @property
    def why(self) -> str:
        """The same in plain words."""
        seen = [name for name, named in (("picture", self.picture), ("text", self.text)) if named]
        return ", ".join(seen + [f"words: {' '.join(self.words)}"][: bool(self.words)]) or "nothing clear"


def asked_words(sentence: str) -> str:
    """The stems of a question, for full-text search; empty where it has function words only."""
    return " ".join(sorted(stems(sentence)))


def deviations(
    cosines: FloatMatrix, said: FloatMatrix, relevance: FloatMatrix, background: Background
) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
    """How far pictures stand out for a sentence.

    Args:
        cosines: (N,) of the pictures with the sentence.
        said: (N,) highest cosine of what is said of each with it; nan where nothing is said.
        relevance: (N,) BM25.
        background: The cosines that the library is compared with.

    Returns:
        (N,) the whole, of the picture alone, and of the text that is nearest (nan without one); all in standard
        deviations.
    """
    of_image, of_text = _standard(cosines, background.picture), _standard(said, background.text)
    with_text = IMAGE * of_image + TEXT * of_text + SILENT
    whole = np.where(np.isnan(said), of_image, with_text) + WORDS * np.sqrt(relevance)
    return np.asarray(whole, np.float32), of_image, of_text


def with_every_word(whole: FloatMatrix, every: NDArray[np.bool_], words: int) -> FloatMatrix:
    """Deviations, raised for pictures whose texts and names have every word: above ``GOOD``, in the order they had.

    Args:
        whole: (N,) what ``deviations`` gives.
        every: (N,) whether a picture has them all.
        words: How many the sentence has, function words not counted.
    """
    raised = np.logaddexp(whole + EVERY_WORD * np.log(max(words, 1)), GOOD)
    return np.asarray(np.where(every, raised, whole), np.float32)


def has_every_word(has: AbstractSet[str], wanted: AbstractSet[str]) -> bool:
    """Whether stems have all that are wanted; never where none are."""
    return bool(wanted) and wanted <= has


def in_cosines(found: FloatMatrix, background: Background) -> FloatMatrix:
    """Deviations as cosines of a picture of which nothing is said: for such a one, just its cosine."""
    mean, deviation = background.picture
    return np.asarray(mean + deviation * found, np.float32)


def stems_of_words(sentence: str) -> dict[str, set[str]]:
    """The words of a sentence in its order, each with its stems: none for a function word."""
    return {word: stems(word) for word in re.findall(r"\w+", sentence)}


def match_of(
    whole: float,
    of_image: float,
    of_text: float,
    asked: Mapping[str, AbstractSet[str]],
    has: AbstractSet[str],
    every: bool,
) -> Match:
    """What is told of a match; one that has every word of the sentence, but function words, is good at least.

    Args:
        whole: What ``with_every_word`` gives.
        of_image: What ``deviations`` gives.
        of_text: What ``deviations`` gives for the nearest text.
        asked: What ``stems_of_words`` gives for the question.
        has: The stems of the picture's texts and names.
        every: Whether those are all of the question's.
    """
    level: Level = "strong" if whole >= STRONG else "good" if whole >= GOOD or every else "weak"
    words = tuple(word for word, own in asked.items() if has & own)
    return Match(level, bool(of_image >= CLEAR), bool(of_text >= CLEAR), words)


def _standard(cosines: FloatMatrix, background: tuple[float, float]) -> FloatMatrix:
    mean, deviation = background
    return np.asarray((cosines - mean) / deviation, np.float32)
