"""How similar texts and images are in retrieval: by their vectors, or refined by the relations between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from iconotext.evaluate.average_precision import RelationPrecision, relation_precisions
from iconotext.evaluate.intervals import RESAMPLINGS
from iconotext.library.refinement import Refinement, refine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.embed.coherence import Coherence
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.evaluate.retrieval import Score

    Floats = NDArray[np.floating]

AT_ONCE = 64
"""Pairs whose own relations are predicted together."""


def similarities(pairs: PairVectors) -> Score:
    """The products of the vectors."""
    return lambda queries, images: pairs.texts[queries] @ pairs.images[images].T


def pair_probabilities(pairs: PairVectors, coherence: Coherence) -> Score:
    """(Q, N, R) probabilities of some pairs with some images, by number."""
    return lambda queries, images: coherence.probabilities(pairs.texts[queries], pairs.images[images])


def refined(pairs: PairVectors, coherence: Coherence, refinement: Refinement) -> Score:
    """The products of the vectors, those of hard queries multiplied by the confidence in the relations."""
    plain, relations = similarities(pairs), pair_probabilities(pairs, coherence)

    def score(queries: NDArray[np.intp], images: NDArray[np.intp]) -> Floats:
        return refine(
            plain(queries, images),
            relations(queries, images),
            strength=refinement.strength,
            threshold=refinement.threshold,
        )

    return score


def own_probabilities(pairs: PairVectors, coherence: Coherence) -> NDArray[np.float64]:
    """(P, R) probabilities of the relations of each text with its own image."""
    parts = []
    for start in range(0, len(pairs.ids), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        found = np.asarray(coherence.probabilities(pairs.texts[some], pairs.images[pairs.image_of[some]]), np.float64)
        parts.append(found[np.arange(len(found)), np.arange(len(found))])
    return np.concatenate(parts)


def told_precisions(
    coherence: Coherence | None, pairs: PairVectors, *, resamplings: int = RESAMPLINGS, seed: int = 0
) -> tuple[RelationPrecision, ...]:
    """Average precision of the relations that a model tells and the pairs have labels for; () without any."""
    names = [] if coherence is None else [name for name in coherence.relations if name in pairs.relations]
    if coherence is None or not names:
        return ()
    predicted = own_probabilities(pairs, coherence)[:, [coherence.relations.index(name) for name in names]]
    labels = pairs.labels[:, [pairs.relations.index(name) for name in names]]
    return relation_precisions(predicted, labels, names, resamplings=resamplings, seed=seed)
