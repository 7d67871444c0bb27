"""The candidates of a search: filters, the pictures to rank, their scores, and the levels of matches.

``find_candidates`` takes the pictures nearest to the query and those whose words match best, and gives each a score
(``deviations``) and a level (``level_of``). ``make_filters`` reads a user's filters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import SettingError
from iconotext.evidence.words import stems, words_with
from iconotext.library.index import ABOVE, measure_background
from iconotext.library.items import Compared, Near
from iconotext.library.settings import Background
from iconotext.library.store import Library, quoted
from iconotext.system.object_store import lasting
from iconotext.system.threads import thread_pool

if TYPE_CHECKING:
    from iconotext.encoders.encoder import Encoder
    from iconotext.types import FloatMatrix

_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


@dataclass(frozen=True, slots=True)
class Filters:
    """The conditions that a picture must satisfy.

    Attributes:
        folder: Absolute path; the picture, or a document with it, is in this folder or below.
        since: The picture was taken at this time or later.
        before: The picture was taken before this time; None also for the end of the year 9999.
    """

    folder: str | None = None
    since: datetime | None = None
    before: datetime | None = None

    @property
    def condition(self) -> str | None:
        """The filters as an SQL condition; None if every picture satisfies them."""
        parts = []
        if self.folder is not None:
            parts.append(f"array_has(folders, {quoted(self.folder)})")
        if self.since is not None:
            parts.append(f"date >= TIMESTAMP '{self.since.isoformat(sep=' ')}'")
        if self.before is not None:
            parts.append(f"date < TIMESTAMP '{self.before.isoformat(sep=' ')}'")
        return " AND ".join(parts) or None


def make_filters(folder: Path | None = None, since: str | None = None, until: str | None = None) -> Filters:
    """Make filters from a user's input.

    Args:
        folder: The picture, or a document with it, is in this folder or below.
        since: A year, month or day (2024, 2024-05, 2024-05-31); its beginning counts.
        until: A year, month or day; its end counts.

    Raises:
        SettingError: Not a date, or ``until`` ends before ``since`` begins.
    """
    begin = None if since is None else _span(since, "since")[0]
    end = None if until is None else _span(until, "until")[1]
    if begin is not None and end is not None and end <= begin:
        raise SettingError(f"since={since} until={until}: no time lies between them; the earlier date comes first")
    return Filters(None if folder is None else lasting(folder).as_posix(), begin, end)


def _span(text: str, option: str) -> tuple[datetime, datetime | None]:
    """Return the beginning and the (exclusive) end of a year, month or day; the end of the year 9999 is None."""
    match = _DATE.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError
        year, month, day = int(match[1]), match[2], match[3]
        begin = datetime(year, int(month or 1), int(day or 1))
    except ValueError:
        raise SettingError(
            f"{option}={text}: not a date; write a year, month or day: 2024, 2024-05, 2024-05-31"
        ) from None
    try:
        if day:
            return begin, begin + timedelta(days=1)
        if month and begin.month < 12:
            return begin, datetime(year, begin.month + 1, 1)
        return begin, datetime(year + 1, 1, 1)
    except (ValueError, OverflowError):
        return begin, None


IMAGE, TEXT, WORDS, SILENT = 0.30, 0.30, 0.85, -1.20
"""Weights for a picture with texts: of the two cosines and of the square root of BM25; and a constant below 0, since
texts that do not fit count against it. The cosine of a picture without texts has the weight 1. BM25 counts the words of
the texts, of the file's name, and of the paragraphs around the picture alike."""

GOOD, STRONG, GROWTH = 0.87, 1.83, 0.45
"""The lowest scores of a good and of a strong match among one picture, and how much they grow with the logarithm of the
number of pictures, of which the best one fits the better by chance the more there are. From these scores on, a first
result is right with a probability of one half and of nine tenths: see docs/results/records/search-levels.json."""

ALONE = 1.15
"""How much higher the limits are for a picture of which nothing is said: its score is its cosine alone, which varies
more in other languages than English. Measured for photographs and stamps in English, German, French and Czech."""


class Limits(NamedTuple):
    """The lowest scores of a good and of a strong match."""

    good: float
    strong: float


def limits(pictures: int) -> Limits:
    """Return the limits of a library with so many pictures."""
    growth = GROWTH * math.log(max(pictures, 1))
    return Limits(GOOD + growth, STRONG + growth)


EVERY_WORD = 1.4
"""Bonus if a picture's texts and the paragraphs around it have every word of the sentence, times the logarithm of the
number of words: the more words, the less likely this is by chance. It counts twice if its texts alone have them.
"""

MANY_WORDS = 3
"""From so many words on, it counts that the paragraphs around a picture have all: one or two are there by chance."""

CLEAR = 2.0
"""Standard deviations above which a cosine is named as a reason for the match."""

Level = Literal["strong", "good", "weak"]
LEVELS: tuple[Level, ...] = ("strong", "good", "weak")
"""The levels of a match from best to worst; results are sorted by them."""


@dataclass(frozen=True, slots=True)
class Match:
    """How well a picture matches a sentence, and why.

    Attributes:
        level: ``strong``, ``good`` or ``weak``.
        picture: Whether the picture itself is near to the sentence.
        text: Whether a text about it is near to the sentence.
        words: The words of the sentence that are in its texts or its file name, in order.
        around: The other words of the sentence that are in the paragraphs around it, in order.
    """

    level: Level
    picture: bool
    text: bool
    words: tuple[str, ...]
    around: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the reasons, as ``search --json`` prints them."""
        return {"picture": self.picture, "text": self.text, "words": list(self.words), "around": list(self.around)}

    @property
    def why(self) -> str:
        """The reasons in plain words."""
        words, around = (" ".join(some) for some in (self.words, self.around))
        reasons = {
            "picture": self.picture,
            "text": self.text,
            f"words: {words}": bool(words),
            f"words around it: {around}": bool(around),
        }
        return ", ".join(name for name, matched in reasons.items() if matched) or "no clear reason"


def query_stems(sentence: str) -> str:
    """Return the stems of a query for full-text search; empty if it has function words only."""
    return " ".join(sorted(stems(sentence)))


def deviations(
    cosines: FloatMatrix, text_cosines: FloatMatrix, relevance: FloatMatrix, background: Background
) -> tuple[FloatMatrix, FloatMatrix, FloatMatrix]:
    """Return how far pictures stand out for a sentence, in standard deviations.

    Args:
        cosines: (N,) cosine of each picture with the sentence.
        text_cosines: (N,) highest cosine of a text about the picture with the sentence; NaN if nothing is said of it.
        relevance: (N,) BM25.

    Returns:
        (N,) the total score, (N,) that of the picture alone, and (N,) that of the nearest text (NaN without one).
    """
    of_image, of_text = _standard(cosines, background.picture), _standard(text_cosines, background.text)
    with_text = IMAGE * of_image + TEXT * of_text + SILENT
    whole = np.where(np.isnan(text_cosines), of_image, with_text) + WORDS * np.sqrt(relevance)
    return np.asarray(whole, np.float32), of_image, of_text


def with_every_word(
    whole: FloatMatrix, every: NDArray[np.bool_], around: NDArray[np.bool_], words: int, good: float
) -> FloatMatrix:
    """Raise the (N,) scores of pictures that have every word of the sentence above ``good``.

    Args:
        every: (N,) whether the texts and the name have them.
        around: (N,) whether these together with the paragraphs around the picture have them.
        words: Number of words of the sentence.
        good: The limit of a good match.
    """
    bonus = EVERY_WORD * np.log(max(words, 1))
    raised = np.logaddexp(whole + bonus * (around + 1.0 * every), good)
    return np.asarray(np.where(every | around, raised, whole), np.float32)


def has_every_word(has: AbstractSet[str], query_words: AbstractSet[str]) -> bool:
    """Whether ``has``, the stems of a picture, contains all stems of the query; False for a query without any."""
    return bool(query_words) and query_words <= has


def in_cosines(similarities: FloatMatrix, background: Background) -> FloatMatrix:
    """Return scores as the cosine at which a picture without texts would have the same score."""
    mean, deviation = background.picture
    return np.asarray(mean + deviation * similarities, np.float32)


def match_of(
    whole: float,
    of_image: float,
    of_text: float,
    sentence: str,
    has: AbstractSet[str],
    around: AbstractSet[str],
    every: bool,
    lowest: Limits,
) -> Match:
    """The match of a picture with the sentence, for a report; its level is from ``level_of``.

    Args:
        whole: From ``deviations``; without the bonus of ``with_every_word``, since words count in it already.
        of_image: From ``deviations``.
        of_text: From ``deviations``, for the nearest text.
        sentence: The query.
        has: The stems of the picture's texts and names.
        around: The stems of the paragraphs around it.
        every: Whether all stems of the query are there.
        lowest: From ``limits``.
    """
    count = len(stems(sentence))
    level = level_of(np.array(whole), np.array(of_image), np.array(of_text), np.array(every), count, lowest)
    words, others = words_with(sentence, has), words_with(sentence, around - has)
    return Match(LEVELS[int(level)], bool(of_image >= CLEAR), bool(of_text >= CLEAR), words, others)


def level_of(
    whole: FloatMatrix,
    of_image: FloatMatrix,
    of_text: FloatMatrix,
    every: NDArray[np.bool_],
    words: int,
    lowest: Limits,
) -> NDArray[np.int64]:
    """Return the (N,) levels of matches, as numbers of ``LEVELS``.

    A match is good or strong by its score. It is also good if the picture has every word of the sentence, see
    ``with_every_word``. A single word is often there by chance; so for a sentence of one word the picture must be near,
    too.
    """
    compared = whole - ALONE * np.isnan(of_text)
    good = (compared >= lowest.good) | (every & ((words > 1) | (of_image >= CLEAR)))
    return np.where(compared >= lowest.strong, 0, np.where(good, 1, 2))


def _standard(cosines: FloatMatrix, background: tuple[float, float]) -> FloatMatrix:
    mean, deviation = background
    return np.asarray((cosines - mean) / deviation, np.float32)


def _nearest_text(picture: Compared, vector: FloatMatrix, usual: float) -> float:
    """The highest cosine of a text about a picture; without one, ``usual`` if it has text around it, else NaN."""
    if picture.text_vectors is None:
        return usual if picture.own < len(picture.words.split()) else np.nan
    return float((picture.text_vectors @ vector).max())


WITH_WORDS = 100
"""A search by sentence takes at least this many nearest pictures, and as many with the best words. With 50, in a
library of some hundred pictures, the order was the same."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Pictures to rank, best first.

    Attributes:
        near: N pictures.
        scores: (N,) cosine of each picture with the query, raised or lowered by the texts about the picture.
        matches: (N,) how well each picture matches the sentence; None in a search by picture.
    """

    near: list[Near]
    scores: FloatMatrix
    matches: list[Match] | None = None

    def match(self, number: int) -> Match | None:
        """Return how well a picture matches the sentence; None in a search by picture."""
        return None if self.matches is None else self.matches[number]

    def level(self, number: int) -> int:
        """Return 0 for a strong match, 1 for a good and 2 for a weak one; 0 for all in a search by picture."""
        return 0 if self.matches is None else LEVELS.index(self.matches[number].level)


def find_candidates(
    library: Library, encoder: Encoder, vector: FloatMatrix, n: int, *, sentence: str | None, where: str | None
) -> Candidates:
    """Find the pictures to rank: at least n, if there are n.

    Args:
        vector: (dim,) unit vector of the query.
        sentence: The query, if texts about pictures are to count; None for a search by picture.
        where: SQL condition.
    """
    n = max(n, WITH_WORDS) if sentence is not None else n
    words = query_stems(sentence or "")
    with thread_pool(1) as beside:
        by_words = beside.submit(library.matching, words, n, where=where)  # in parallel; takes about as long
        near = library.nearest(vector, n, where=where, few=ABOVE)
        needed = set(words.split())
        relevance = library.relevance(words, [e.digest for e in near if not needed.isdisjoint(e.picture.words.split())])
    if sentence is None or not near:
        return Candidates(near, np.array([item.similarity for item in near], np.float32))
    relevance |= {picture.digest: score for picture, score in by_words.result()}
    digests = {item.digest for item in near}
    near += [Near(p, float(p.vector @ vector)) for p, _ in by_words.result() if p.digest not in digests]
    background = library.settings.background or measure_background(library, encoder)
    whole, of_image, of_text = deviations(
        np.array([item.similarity for item in near], np.float32),
        np.array([_nearest_text(item.picture, vector, background.text[0]) for item in near], np.float32),
        np.array([relevance.get(item.digest, 0) for item in near], np.float32),
        background,
    )
    lowest = limits(library.count())
    stored = [item.picture.words.split() for item in near]
    own = [set(words[: item.picture.own]) for words, item in zip(stored, near, strict=True)]
    has = [*map(set, stored)]
    every = np.array([has_every_word(some, needed) for some in own])
    around = np.array([len(needed) >= MANY_WORDS and has_every_word(some, needed) for some in has])
    scores = in_cosines(with_every_word(whole, every, around, len(needed), lowest.good), background)
    order = sorted(range(len(near)), key=lambda i: (-float(scores[i]), near[i].digest))
    found = every | around
    matches = [
        match_of(
            float(whole[i]), float(of_image[i]), float(of_text[i]), sentence, own[i], has[i], bool(found[i]), lowest
        )
        for i in order
    ]
    return Candidates([near[i] for i in order], scores[order], matches)
