"""Selects the pictures for a search to rank: the nearest, and those whose words match, with a score for each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from iconotext.library.index import ABOVE, measure_background
from iconotext.library.items import Near
from iconotext.library.ranking import (
    LEVELS,
    Match,
    asked_words,
    deviations,
    has_every_word,
    in_cosines,
    match_of,
    stems_of_words,
    with_every_word,
)
from iconotext.library.store import Library
from iconotext.links.words import stems

if TYPE_CHECKING:
    from iconotext.encoder import Encoder
    from iconotext.types import FloatMatrix

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
        """How well a picture matches the sentence; None in a search by picture."""
        return None if self.matches is None else self.matches[number]

    def level(self, number: int) -> int:
        """0 for a strong match, 1 for a good and 2 for a weak one; 0 for all in a search by picture."""
        return 0 if self.matches is None else LEVELS.index(self.matches[number].level)


def find_candidates(
    library: Library,
    encoder: Encoder,
    vector: FloatMatrix,
    n: int,
    *,
    sentence: str | None,
    where: str | None,
) -> Candidates:
    """Find the pictures to rank.

    Args:
        vector: (dim,) unit vector of the query.
        n: Find at least n, if there are n.
        sentence: The query, if texts about pictures are to count; None for a search by picture.
        where: SQL condition.
    """
    n = max(n, WITH_WORDS) if sentence is not None else n
    words = asked_words(sentence or "")
    with ThreadPoolExecutor(1) as beside:
        by_words = beside.submit(library.matching, words, n, where=where)  # in parallel; takes about as long
        near = library.nearest(vector, n, where=where, few=ABOVE)
        asked = set(words.split())
        relevance = library.relevance(words, [e.digest for e in near if not asked.isdisjoint(e.picture.words.split())])
    if sentence is None or not near:
        return Candidates(near, np.array([each.similarity for each in near], np.float32))
    relevance |= {each.digest: score for each, score in by_words.result()}
    digests = {each.digest for each in near}
    near += [Near(each, float(each.vector @ vector)) for each, _ in by_words.result() if each.digest not in digests]
    background = library.settings.background or measure_background(library, encoder)
    whole, of_image, of_text = deviations(
        np.array([each.similarity for each in near], np.float32),
        np.array([np.nan if said is None else (said @ vector).max() for (_, _, said, *_), _ in near], np.float32),
        np.array([relevance.get(each.digest, 0) for each in near], np.float32),
        background,
    )
    has, wanted = [set(each.picture.words.split()) for each in near], stems(sentence)
    every = np.array([has_every_word(each, wanted) for each in has])
    scores = in_cosines(with_every_word(whole, every, len(wanted)), background)
    order = sorted(range(len(near)), key=lambda i: (-float(scores[i]), near[i].digest))
    stems_of = stems_of_words(sentence)
    matches = [
        match_of(float(whole[i]), float(of_image[i]), float(of_text[i]), stems_of, has[i], bool(every[i]))
        for i in order
    ]
    return Candidates([near[i] for i in order], scores[order], matches)
