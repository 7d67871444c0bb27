"""In which order pictures are worth a look: first those of which a correction changes most.

A verdict settles its own picture: it takes away all its doubt, the entropy of its confidences. It also says where one
more picture of the collection stands. In the habit of the others that picture counts as one among their own number and
``STRENGTH`` (see ``links.habit``), so of what is unknown about their places it can settle at most that share:

    worth of picture j  =  H_j  +  P_j / (STRENGTH + n) * sum of P_i over the other pictures nobody has judged

with H the entropy over sentences, P that over places, both in nats, and n pictures in the collection.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from iconotext.links.habit import STRENGTH

if TYPE_CHECKING:
    from iconotext.serve.records import Picture
    from iconotext.types import Document, Link

CANDIDATES = 9
"""Sentences of a picture that a reviewer can choose by a digit; doubt takes all others as one."""


def entropy(shares: Iterable[float]) -> float:
    """In nats, of probabilities; what is missing to 1 is one more."""
    known = [max(share, 0.0) for share in shares]
    total = sum(known)
    known = [share / max(total, 1.0) for share in known] + [max(1.0 - total, 0.0)]
    return -sum(share * math.log(share) for share in known if share > 0)


def doubts(document: Document, image: int, candidates: Sequence[Link]) -> tuple[float, float]:
    """Entropy over the sentences of a picture, and over the places where it may stand seen from its sentence."""
    from iconotext.links.layout import place_numbers

    at: dict[int, float] = {}
    if document.has_layout and candidates:
        numbers = place_numbers(document)
        for link in candidates:
            place = int(numbers[link.sentence, image])
            at[place] = at.get(place, 0.0) + link.confidence
    return entropy(link.confidence for link in candidates), entropy(at.values()) if at else 0.0


def worths(pictures: Sequence[Picture], judged: Collection[tuple[int, int]]) -> Mapping[tuple[int, int], float]:
    """The formula of this module, for each picture that nobody has judged."""
    left = [p for p in pictures if (p.document, p.number) not in judged]
    unknown = sum(p.place_doubt for p in left)
    return {
        (p.document, p.number): p.doubt + p.place_doubt * (unknown - p.place_doubt) / (STRENGTH + len(pictures))
        for p in left
    }
