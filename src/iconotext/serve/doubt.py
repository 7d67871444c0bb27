"""The order in which pictures are reviewed: those whose correction changes most come first (``worths``).

A verdict removes all doubt about its own picture: the entropy of its confidences. It also shows where one more picture
of the collection stands. In the inferred habit, that picture has a weight of one among the other pictures and
``STRENGTH`` (``evidence.habit``), so it can remove at most this share of the doubt about the other pictures' places:

    worth of picture j  =  H_j  +  P_j / (STRENGTH + n) * sum of P_i over the other pictures without a verdict

with H the entropy over sentences, P the entropy over places, both in nats, and n pictures in the collection.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from iconotext.evidence.habit import STRENGTH

if TYPE_CHECKING:
    from iconotext.serve.store import Picture
    from iconotext.types import Document, Link

CANDIDATES = 9
"""Sentences of a picture that a reviewer can choose with a digit; for entropy all others count as one."""


def entropy(shares: Iterable[float]) -> float:
    """Entropy in nats; the difference of the probabilities' sum from 1 counts as one more outcome."""
    known = [max(share, 0.0) for share in shares]
    total = sum(known)
    known = [share / max(total, 1.0) for share in known] + [max(1.0 - total, 0.0)]
    return -sum(share * math.log(share) for share in known if share > 0)


def doubts(document: Document, image: int, candidates: Sequence[Link]) -> tuple[float, float]:
    """Entropy over a picture's sentences, and over its possible places as seen from its sentence."""
    from iconotext.evidence.layout import place_numbers

    at: dict[int, float] = {}
    if document.has_layout and candidates:
        numbers = place_numbers(document)
        for link in candidates:
            place = int(numbers[link.sentence, image])
            at[place] = at.get(place, 0.0) + link.confidence
    return entropy(link.confidence for link in candidates), entropy(at.values()) if at else 0.0


def worths(pictures: Sequence[Picture], judged: Collection[tuple[int, int]]) -> Mapping[tuple[int, int], float]:
    """The worth of each picture without a verdict, by the formula of this module."""
    left = [p for p in pictures if (p.document, p.number) not in judged]
    unknown = sum(p.place_doubt for p in left)
    return {
        (p.document, p.number): p.doubt + p.place_doubt * (unknown - p.place_doubt) / (STRENGTH + len(pictures))
        for p in left
    }
