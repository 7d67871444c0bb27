"""What follows from the verdicts of reviewers: the agreed answers, and the order in which pictures are reviewed.

``agreed`` and ``agreement`` combine the verdicts of reviewers; ``worths`` puts those pictures first whose correction
changes most. A verdict removes all doubt about its own picture: the entropy of its confidences. It also shows where one
more picture of the collection stands. In the inferred habit, that picture has a weight of one among the other pictures
and ``STRENGTH`` (``evidence.habit``), so it can remove at most this share of the doubt about the others' places:

    worth of picture j  =  H_j  +  P_j / (STRENGTH + n) * sum of P_i over the other pictures without a verdict

with H the entropy over sentences, P the entropy over places, both in nats, and n pictures in the collection.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from iconotext.evaluate.statistics import krippendorff_alpha
from iconotext.evidence.habit import STRENGTH
from iconotext.evidence.layout import place_numbers

if TYPE_CHECKING:
    from iconotext.serve.store import Picture, Verdict
    from iconotext.types import Document, Link

PictureKey = tuple[int, int]
"""Id of a document, and number of a picture."""

CANDIDATES = 9
"""Sentences of a picture that a reviewer can choose with a digit; for entropy all others count as one."""


class Answer(NamedTuple):
    """The answer of most reviewers for a picture: its sentences, and the names of those who chose them."""

    sentences: tuple[int, ...]
    reviewers: tuple[str, ...]


def by_picture(verdicts: Iterable[Verdict]) -> dict[PictureKey, dict[str, tuple[int, ...]]]:
    """Picture to the answers of its reviewers, by reviewer."""
    answers: dict[PictureKey, dict[str, tuple[int, ...]]] = {}
    for verdict in verdicts:
        answers.setdefault((verdict.document, verdict.picture), {})[verdict.reviewer] = tuple(sorted(verdict.sentences))
    return answers


def agreed(verdicts: Iterable[Verdict]) -> dict[PictureKey, Answer]:
    """The answer that most reviewers gave for each picture; pictures with a tie are left out."""
    clear = {}
    for picture, answers in by_picture(verdicts).items():
        (answer, voices), *others = Counter(answers.values()).most_common(2)  # the second may have as many voices
        if not others or others[0][1] < voices:
            clear[picture] = Answer(answer, tuple(sorted(name for name, value in answers.items() if value == answer)))
    return clear


def agreement(verdicts: Sequence[Verdict]) -> float | None:
    """Krippendorff's alpha over the pictures that at least two reviewers judged.

    An answer is the set of chosen sentences. Sentence numbers mean different sentences in different documents, and
    hardly ever the same one for two pictures; so each picture has its own categories, except "none of them".
    """
    units = [
        [("none",) if not answer else (picture, answer) for answer in answers.values()]
        for picture, answers in by_picture(verdicts).items()
    ]
    return krippendorff_alpha(units)


def entropy(shares: Iterable[float]) -> float:
    """Entropy in nats; the difference of the probabilities' sum from 1 counts as one more outcome."""
    positive = [max(share, 0.0) for share in shares]
    total = sum(positive)
    shares = [share / max(total, 1.0) for share in positive] + [max(1.0 - total, 0.0)]
    return -sum(share * math.log(share) for share in shares if share > 0)


def doubts(document: Document, image: int, candidates: Sequence[Link]) -> tuple[float, float]:
    """Entropy over a picture's sentences, and over its possible places as seen from its sentence."""
    at: dict[int, float] = {}
    if document.has_layout and candidates:
        numbers = place_numbers(document)
        for link in candidates:
            place = int(numbers[link.sentence, image])
            at[place] = at.get(place, 0.0) + link.confidence
    return entropy(link.confidence for link in candidates), entropy(at.values()) if at else 0.0


def worths(pictures: Sequence[Picture], judged: Collection[PictureKey]) -> Mapping[PictureKey, float]:
    """The worth of each picture without a verdict, by the formula of this module."""
    left = [p for p in pictures if (p.document, p.number) not in judged]
    total = sum(p.place_doubt for p in left)
    return {
        (p.document, p.number): p.doubt + p.place_doubt * (total - p.place_doubt) / (STRENGTH + len(pictures))
        for p in left
    }
