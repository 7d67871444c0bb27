"""The evidence of documents weighed: captions and references say where images stand, the places what is probable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.links.caption import Encode, Reading, texts_of
from iconotext.links.cells import Columns
from iconotext.links.combine import Coefficients, Combination, Weighable, combine
from iconotext.links.evidence import Gathered, gather_evidence
from iconotext.links.habit import (
    Habit,
    PlaceEvidence,
    habit_probability,
    joined_places,
    judged_evidence,
    place_evidence,
)
from iconotext.links.layout import Places, layout_features, places
from iconotext.types import EVIDENCE, Document, Evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.links.matcher import Matcher
    from iconotext.types import FloatMatrix


def weigh_evidence(
    document: Document,
    image_similarity: FloatMatrix | None,
    encode: Encode,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    sentence_vectors: FloatMatrix | None = None,
    coefficients: Mapping[str, Coefficients] | None = None,
    matcher: Matcher | None = None,
    habit: Habit | None = None,
) -> Combination:
    """Weigh all evidence about which sentence of a document belongs to which image.

    Args:
        document: With S sentences and V images. Images with a ``problem`` are ignored: their columns are 0.
        image_similarity: (S, V) cosines of an encoder; None without picture evidence.
        encode: Texts to unit vectors, for captions and words; called at most twice, and not if no image has any.
        evidence: The kinds to use; a kind that the document lacks is left out.
        sentence_vectors: (S, d) result of ``encode`` for the sentences, if available; saves time.
        coefficients: Default: the fitted weights in the package.
        matcher: Default: the matcher in the package.
        habit: Where the author puts images; inferred from this document alone by default.

    Raises:
        SettingError: A kind has an unknown name.
        ShapeError: A matrix does not fit the document.
    """
    (found,) = gather_evidence(
        [document],
        [image_similarity],
        [Reading(encode, sentence_vectors)],
        evidence=evidence,
        matcher=matcher,
    )
    (weighed,) = weigh_gathered([found], evidence=evidence, coefficients=coefficients, habits=[habit or Habit()])
    return weighed


def weigh_gathered(
    found: Sequence[Gathered],
    *,
    habits: Sequence[Habit],
    evidence: Collection[Evidence] = EVIDENCE,
    coefficients: Mapping[str, Coefficients] | None = None,
) -> list[Combination]:
    """Weigh the gathered evidence of each document; ``evidence`` may leave out kinds; see ``weigh_evidence``."""
    known = [_weighable(each, evidence) for each in found]
    placed = [n for n, each in enumerate(found) if "layout" in evidence and has_places(each.document)]
    if placed:
        documents, usual = [found[n].document for n in placed], [habits[n] for n in placed]
        place = places(documents)
        stand = [
            judged_evidence(document, where, habit.judged.get(document.id, {}), found[n].numbers.tolist())
            for n, document, where, habit in zip(
                placed,
                documents,
                _places_by_evidence([known[n] for n in placed], place, coefficients),
                usual,
                strict=True,
            )
        ]
        for n, columns in zip(placed, layouts(documents, stand, usual, place), strict=True):
            known[n] = known[n]._replace(features={**known[n].features, "layout": columns})
    if "picture" in evidence:
        known = [each._replace(image_similarity=of.similarity) for each, of in zip(known, found, strict=True)]
    return [
        Combination(
            {kind: _spread(matrix, each) for kind, matrix in weighed.contributions.items()},
            _spread(weighed.score, each),
            _spread(weighed.confidence, each),
        )
        for weighed, each in zip(combine(known, coefficients), found, strict=True)
    ]


def gathered_places(
    found: Sequence[Gathered],
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    coefficients: Mapping[str, Coefficients] | None = None,
) -> list[PlaceEvidence | None]:
    """Where the images of each document stand by all evidence but layout; ``evidence`` may leave out kinds.

    Returns:
        The input for inferring a habit; None for a document without layout, sentences or usable images.
    """
    every: list[PlaceEvidence | None] = [None] * len(found)
    placed = [n for n, each in enumerate(found) if has_places(each.document)]
    if placed:
        place = places([found[n].document for n in placed])
        some = _places_by_evidence([_weighable(found[n], evidence) for n in placed], place, coefficients)
        for n, where in zip(placed, some, strict=True):
            every[n] = where
    return every


def _places_by_evidence(
    known: Sequence[Weighable], place: Places, coefficients: Mapping[str, Coefficients] | None
) -> list[PlaceEvidence]:
    weighed = combine(known, coefficients)
    log_odds = [
        sum(each.contributions.values(), np.zeros(of.shape, np.float32))
        for each, of in zip(weighed, known, strict=True)
    ]
    found = place_evidence(place, place.cells.joined(log_odds))
    ends = np.cumsum(place.cells.images)[:-1]
    return list(map(PlaceEvidence, np.split(found.likelihood, ends), np.split(found.sentences, ends)))


def layouts(
    documents: Sequence[Document],
    found: Sequence[PlaceEvidence],
    habits: Sequence[Habit],
    place: Places | None = None,
) -> list[Columns]:
    """The layout features of each document; ``has_places`` must be true for all.

    Args:
        found: Where each document's images stand by other evidence.
        habits: For each document the habit of its collection.
        place: ``places(documents)``, if available; saves time.
    """
    place = place or places(documents)
    usual = habit_probability(documents, place, joined_places(found), habits)
    return place.cells.columns(layout_features(documents, place, usual))


def _weighable(found: Gathered, evidence: Collection[Evidence]) -> Weighable:
    return Weighable(
        {kind: columns for kind, columns in found.features.items() if kind in evidence},
        (len(found.document.sentences), len(found.document.images)),
        images_with_text(found.document),
        found.reference if "reference" in evidence else None,
    )


def has_places(document: Document) -> bool:
    """Whether the document has a layout, sentences and images."""
    return bool(document.sentences and document.images) and document.has_layout


def images_with_text(document: Document) -> NDArray[np.bool_]:
    """(V,) whether the image has a caption, an alt text or a meaningful file name."""
    return np.array([bool(texts_of(image)) for image in document.images], dtype=np.bool_)


def _spread(matrix: FloatMatrix, of: Gathered) -> FloatMatrix:
    """Put the columns of the sound images back to their numbers; the columns of the other images are 0."""
    if len(of.numbers) == of.images:
        return matrix
    spread = np.zeros((len(matrix), of.images), dtype=np.float32)
    spread[:, of.numbers] = matrix
    return spread
