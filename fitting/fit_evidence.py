"""Fitting the combination without labels: sentences that cite a figure are its links, the citation hidden."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fitting.cited_documents import Cited
from fitting.fit_logit import Added, fit_added, fit_logit
from iconotext.decide.combine import (
    FITTED,
    Coefficients,
    combine,
    has_places,
    images_with_text,
    layouts,
    places_by_evidence,
    subset_name,
)
from iconotext.errors import ShapeError
from iconotext.evidence.caption import Reading
from iconotext.evidence.gather import DocumentEvidence, gather_evidence
from iconotext.evidence.habit import OPENING_SHARES, Habit, PlaceEvidence, infer_habit
from iconotext.evidence.kinds import EVIDENCE
from iconotext.evidence.layout import OPENING, place_numbers, places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.evidence.caption import Encode, Matcher
    from iconotext.types import Document, Evidence, FloatMatrix


class Example(NamedTuple):
    """A training document with its features; S sentences, V images.

    Attributes:
        document: Its identifier is that of its features.
        features: Kind to name to (S, V); without the layout until ``with_habits``.
        positive: (S, V) bool, the sentence cites the image.
        has_text: (V,) bool, the image has a caption or alt text.
        collection: What has one author's habits.
        weight: How much each of its images counts.
    """

    document: Document
    features: dict[Evidence, dict[str, FloatMatrix]]
    positive: NDArray[np.bool_]
    has_text: NDArray[np.bool_]
    collection: str
    weight: float = 1.0

    def only(self, kinds: Collection[Evidence]) -> DocumentEvidence:
        """Its evidence of these kinds."""
        features = {kind: columns for kind, columns in self.features.items() if kind in kinds}
        return DocumentEvidence(self.document, self.document, np.arange(len(self.document.images)), features)


def example(cited: Cited, encode: Encode, *, weight: float = 1.0, matcher: Matcher | None = None) -> Example:
    """The features of a document and what its citations say; the matcher is best one that has not seen it."""
    document = cited.document
    positive = np.zeros((len(document.sentences), len(document.images)), dtype=np.bool_)
    for i, j in document.links or ():
        positive[i, j] = True
    features = fitted_features(document, cited.similarity, Reading(encode, cited.sentence_vectors, matcher))
    return Example(document, features, positive, images_with_text(document), cited.collection, weight)


def fitted_features(
    document: Document,
    similarity: FloatMatrix | None,
    reading: Reading,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
) -> dict[Evidence, dict[str, FloatMatrix]]:
    """Kind to name to (S, V) float32, without the layout; also images that have a problem take part."""
    whole = replace(document, images=tuple(replace(image, problem=None) for image in document.images))
    (found,) = gather_evidence([whole], [similarity], [reading], evidence=evidence)
    return {kind: dict(columns) for kind, columns in found.features.items()}


def dump_coefficients(coefficients: Mapping[str, Coefficients]) -> str:
    """The text of ``coefficients.json``."""
    return json.dumps({name: asdict(entry) for name, entry in coefficients.items()}, indent=1, sort_keys=True) + "\n"


def fit_coefficients(
    examples: Sequence[Example], common: NDArray[np.float64], *, pictures: bool = True
) -> dict[str, Coefficients]:
    """The weights of every combination of caption and layout, and of pictures added to them.

    Args:
        examples: Of ``variants``; without layout features. Their habits are inferred with the weights of the captions.
        common: (K,) how often images stand at each place: ``common_habit``.
        pictures: Whether the weights of pictures are wanted.

    Returns:
        By ``subset_name``, and by kind for what is added; ``coefficients.json`` without the words in pictures.

    Raises:
        ShapeError: There are no examples with a kind.
    """
    found = {"caption": fit_subset(examples, ("caption",))}
    complete = with_habits(examples, found, common)
    for kinds in FIRST:
        found[subset_name(kinds)] = fit_subset(complete, kinds)
    if not pictures:
        return found
    seen = [Added(e.features["picture"], e.positive, _score(e, found)) for e in complete if e.features.get("picture")]
    return found | {"picture": fit_added(seen)}


def _score(e: Example, coefficients: Mapping[str, Coefficients]) -> FloatMatrix:
    """(S, V) what captions and layout say of an example."""
    return combine([e.only(FITTED)], coefficients)[0].share


ALONE: tuple[Evidence, ...] = ("caption",)
"""What says where images stand before their habits are known."""

FIRST: tuple[tuple[Evidence, ...], ...] = (("layout",), ("caption", "layout"))
"""The combinations that need habits."""


def with_habits(
    examples: Sequence[Example],
    coefficients: Mapping[str, Coefficients],
    common: NDArray[np.float64],
    *,
    together: bool = True,
) -> list[Example]:
    """The examples with layout features, by the habits of their collections.

    Args:
        common: (K,) how often images stand at each place.
        together: Whether the documents of a collection are seen together; else each alone.
    """
    places = [places_by_evidence([e.only(ALONE)], coefficients=coefficients)[0] for e in examples]
    collections: dict[str, list[tuple[str, PlaceEvidence]]] = {}
    for e, found in zip(examples, places, strict=True):
        if found is not None and together:
            collections.setdefault(e.collection, []).append((e.document.id, found))
    habits = {name: infer_habit(some, common) for name, some in collections.items()}
    alone = Habit(common=common)
    return [
        e._replace(
            features=e.features | {"layout": dict(layouts([e.document], [found], [habits.get(e.collection, alone)])[0])}
        )
        if found is not None
        else e
        for e, found in zip(examples, places, strict=True)
    ]


def common_habit(examples: Sequence[Example]) -> NDArray[np.float64]:
    """How usual each place of ``PLACES`` is, seen from the sentences that cite an image that opens no section.

    A place counts only where it could have been taken: most books have no image inside a paragraph, and where one is
    inside, it belongs there. So the shares are the strengths of Luce's choice model, fitted by the iteration of Hunter
    (2004, MM algorithms for generalized Bradley-Terry models), with half an image at each place for a start.

    Args:
        examples: Of ``variants``; the collections count alike, all disturbed copies together as much as one in four.

    Returns:
        (K,) shares, sum 1; and those of images that open a section, which are assumed.
    """
    chosen, there, weights = [], [], []
    sizes: Counter[str] = Counter()
    for e in examples:
        sizes[_counted_with(e)] += len(_cited(e))
    for e in examples:
        if not has_places(e.document):
            continue
        numbers, name, opens = place_numbers(e.document), _counted_with(e), places([e.document]).opens
        for j in _cited(e):
            if opens[j]:
                continue
            right = np.bincount(numbers[e.positive[:, j], j], minlength=OPENING)
            chosen.append(right / right.sum())
            there.append(np.bincount(numbers[:, j], minlength=OPENING) > 0)
            weights.append((len(sizes) / 4 if name == _DISTURBED else 1.0) / sizes[name])
    wins = 0.5 + (np.array(weights)[:, None] * np.array(chosen)).sum(axis=0) if chosen else np.ones(OPENING)
    shares = np.full(OPENING, 1 / OPENING)
    around = np.array(there, dtype=np.float64)
    for _ in range(_STEPS if chosen else 0):
        total = 0.5 * OPENING + (np.array(weights)[:, None] * around / (around @ shares)[:, None]).sum(axis=0)
        shares = wins / total
        shares /= shares.sum()
    return np.concatenate([shares, OPENING_SHARES])


_DISTURBED, _STEPS = "disturbed", 200


def _cited(e: Example) -> NDArray[np.int64]:
    """The images that some sentence cites."""
    return np.flatnonzero(np.asarray(e.positive.any(axis=0)))


def _counted_with(e: Example) -> str:
    return _DISTURBED if e.collection.startswith(_DISTURBED) else e.collection


def fit_subset(examples: Sequence[Example], kinds: tuple[Evidence, ...]) -> Coefficients:
    """The weights of one combination; with captions in it, from the images that have a text.

    Raises:
        ShapeError: No example has all of the kinds.
    """
    names = sorted({name for e in examples for kind in kinds for name in e.features.get(kind, ())})
    blocks: list[tuple[FloatMatrix, NDArray[np.bool_], int, float]] = []
    for e in examples:
        columns = np.flatnonzero(e.has_text) if "caption" in kinds else np.arange(len(e.has_text))
        if e.positive.size and len(columns) and all(kind in e.features for kind in kinds):
            rows = _rows({n: m for kind in kinds for n, m in e.features[kind].items()}, names, columns)
            blocks.append((rows, e.positive[:, columns].T.ravel(), len(columns), e.weight))
    if not blocks:
        raise ShapeError(f"no document has {' and '.join(kinds)}: nothing to fit")
    lengths = [len(rows) // images for rows, _, images, _ in blocks for _ in range(images)]
    weights, null = fit_logit(
        np.concatenate([rows for rows, *_ in blocks]),
        np.repeat(np.arange(len(lengths)), lengths),
        np.concatenate([positive for _, positive, *_ in blocks]),
        weight=np.array([weight for _, _, images, weight in blocks for _ in range(images)]),
    )
    return Coefficients(round(null, 4), {n: round(float(w), 4) for n, w in zip(names, weights, strict=True)})


def _rows(features: Mapping[str, FloatMatrix], names: Sequence[str], columns: NDArray[np.int64]) -> FloatMatrix:
    """(columns x S, names), the rows of an image side by side; 0 for a feature that is not there."""
    empty = np.zeros(next(iter(features.values())).shape, np.float32)
    stacked = np.stack([features.get(name, empty)[:, columns].T for name in names], axis=-1)
    rows: FloatMatrix = stacked.reshape(-1, len(names))
    return rows
