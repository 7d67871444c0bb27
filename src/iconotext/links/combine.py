"""Combines several kinds of evidence into one probability.

For every image the model chooses among the sentences and a null option, 'none of them':

    P(sentence i | image j) = exp(s_ij) / (exp(null) + sum over k of exp(s_kj)),   s_ij = sum over kinds of w . x_ij

This is a conditional logistic regression. Unlike one yes-or-no question per cell it models that sentences compete for
an image, so its probabilities stay calibrated in documents of any length. The probabilities of an image's sentences and
of the null option sum to 1. The weights are fitted by ``benchmarks/evidence.py``: one set for caption alone, one for
layout alone and one for both, since either may be switched off or missing (an image without any text is judged without
captions).

Picture and text evidence (``ADDED``) are kept out of these sets, whose number they would multiply: their weights are
fitted on top of the other kinds. An image that belongs to no sentence should be equally similar to all sentences; so a
sentence's odds against the null option are its odds against the mean of all sentences. An image without words is
judged as if text evidence were off.

Reference weights are not fitted, since the labels of the fit come from references; they follow from how often
references are right.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import ShapeError
from iconotext.links.cells import Cells, Columns
from iconotext.links.reference import DIRECTED, EXPLICIT, VAGUE
from iconotext.types import EVIDENCE, Evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

FITTED: tuple[Evidence, ...] = ("caption", "layout")
"""The kinds whose weights are fitted together, in the order of their names in ``coefficients.json``."""

ADDED: tuple[Evidence, ...] = ("picture", "text")
"""The kinds whose log-odds are added to those of any fitted combination."""

NOWHERE = 0.25
"""Assumed ratio of images that belong to no sentence to images that belong to one, if only ``ADDED`` kinds speak."""

EXPLICIT_PRECISION = 0.97
"""Share of explicit references that are right. All 17 in the three original textbook pages are; 17 prove no more."""

# Explicit: log-odds of its precision minus those of the share of cells that are links, 1 in 150 sentences.
# Pointing words ('the photo above') mean the nearest image, which layout alone gets right in some 3 of 10 cases;
# their precision is an estimate: 0.8 with a direction, 0.5 without.
REFERENCE_WEIGHTS: Mapping[float, float] = {EXPLICIT: 8.5, DIRECTED: 2.2, VAGUE: 0.85}
"""Log-odds that each strength of reference adds."""

_NOTHING = 10.0  # the null option's log-odds where no fitted kind speaks: only a reference can make a link then


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Weights of one combination of kinds of evidence.

    Attributes:
        null: Log-odds of the null option.
        weights: Feature name to weight.
    """

    null: float
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """The combined evidence of a document with S sentences and V images.

    Attributes:
        contributions: Kind to (S, V) float32, what it adds to the log-odds of each cell.
        score: (S, V) float32: the cosine if pictures are the only evidence, else the confidence.
        confidence: (S, V) float32, 0 to 1, probability that the cell is a link. A column sums to at most 1, unless
            several sentences cite the image explicitly: all of them can be right.
    """

    contributions: dict[Evidence, FloatMatrix]
    score: FloatMatrix
    confidence: FloatMatrix


def subset_name(kinds: Collection[Evidence]) -> str:
    """The name of a combination in ``coefficients.json``: 'caption+layout'."""
    return "+".join(kind for kind in FITTED if kind in kinds)


@cache
def load_coefficients() -> Mapping[str, Coefficients]:
    """The fitted weights in the package, by ``subset_name`` and the names in ``ADDED``."""
    text = files("iconotext.links").joinpath("coefficients.json").read_text(encoding="utf-8")
    return {name: Coefficients(entry["null"], entry["weights"]) for name, entry in json.loads(text).items()}


class Weighable(NamedTuple):
    """The evidence about a document with S sentences and V images.

    Attributes:
        features: Kind to name to (S, V), for each kind that the document has.
        shape: (S, V).
        has_text: (V,) whether the image has a text for caption evidence.
        reference: (S, V) from ``reference_evidence``; None if switched off.
        image_similarity: (S, V) cosines, the score if pictures are the only evidence.
    """

    features: Mapping[Evidence, Mapping[str, FloatMatrix]]
    shape: tuple[int, int]
    has_text: NDArray[np.bool_]
    reference: FloatMatrix | None = None
    image_similarity: FloatMatrix | None = None

    @property
    def kinds(self) -> list[Evidence]:
        """The kinds of evidence there are, in the order in which they are summed."""
        known: list[Evidence] = [kind for kind in (*FITTED, *ADDED) if self.features.get(kind)]
        return known if self.reference is None else [*known, "reference"]


def combine(several: Sequence[Weighable], coefficients: Mapping[str, Coefficients] | None = None) -> list[Combination]:
    """Combine the evidence of each document.

    Args:
        coefficients: As ``load_coefficients`` returns them, the default.

    Raises:
        ShapeError: A matrix is not (S, V).
    """
    for each in several:
        _check(each)
    found = [
        Combination(
            {kind: np.zeros(each.shape, np.float32) for kind in each.kinds}, *np.zeros((2, *each.shape), np.float32)
        )
        for each in several
    ]
    numbers = [number for number, each in enumerate(several) if each.shape[0] and each.shape[1]]
    if numbers:
        full = _combined([several[number] for number in numbers], coefficients or load_coefficients())
        for number, combination in zip(numbers, full, strict=True):
            found[number] = combination
    return found


def _check(each: Weighable) -> None:
    for name, matrix in [
        *((next(iter(columns)), columns[next(iter(columns))]) for columns in each.features.values() if columns),
        ("reference", each.reference),
        ("image_similarity", each.image_similarity),
    ]:
        if matrix is not None and matrix.shape != each.shape:
            raise ShapeError(f"{name} has the shape {matrix.shape}, the document {each.shape} (sentences, images)")


def _combined(several: Sequence[Weighable], coefficients: Mapping[str, Coefficients]) -> list[Combination]:
    """``combine`` for documents that all have sentences and images."""
    sentences, images = np.array([each.shape for each in several]).T
    cells = Cells(sentences, images)
    of, kinds = cells.of_image, [each.kinds for each in several]
    there = {kind: np.array([kind in own for own in kinds])[of] for kind in EVIDENCE}
    has_text = np.concatenate([each.has_text for each in several])
    null = np.full(len(of), _NOTHING, dtype=np.float32)
    contributions = {kind: np.zeros(len(cells.image), np.float32) for kind in EVIDENCE if there[kind].any()}
    columns = {
        kind: [Columns.of(features) if (features := each.features.get(kind)) else None for each in several]
        for kind in contributions
    }
    for chosen, own in _by_subset(there, has_text):
        entry = coefficients[subset_name(own)]
        null[chosen] = entry.null
        for kind in own:
            np.copyto(contributions[kind], cells.summed(columns[kind], entry.weights), where=chosen[cells.image])
    for kind in ADDED:
        if kind in contributions:
            own_odds = _against_mean(cells, cells.summed(columns[kind], coefficients[kind].weights))
            contributions[kind] = own_odds
            speaks = cells.image_sums(own_odds != 0) > 0
            null[speaks & (null == _NOTHING)] = np.log(sentences * NOWHERE)[of][speaks & (null == _NOTHING)]
    reference = cells.joined([each.reference for each in several])
    if "reference" in contributions:
        contributions["reference"] = _reference_weight(reference)
    log_odds = -null[cells.image]
    for kind in (*FITTED, *ADDED, "reference"):
        if kind in contributions:
            log_odds += contributions[kind]
    confidence = _share(cells, log_odds)
    explicit = reference >= EXPLICIT
    confidence[explicit] = 1 - (1 - confidence[explicit]) * np.float32(1 - EXPLICIT_PRECISION)
    matrices = {kind: cells.matrices(values) for kind, values in contributions.items()}
    return [
        Combination(
            {kind: matrices[kind][number] for kind in own},
            each.image_similarity if own == ["picture"] and each.image_similarity is not None else sure,
            sure,
        )
        for number, (each, own, sure) in enumerate(zip(several, kinds, cells.matrices(confidence), strict=True))
    ]


def _by_subset(
    there: Mapping[Evidence, NDArray[np.bool_]], has_text: NDArray[np.bool_]
) -> list[tuple[NDArray[np.bool_], list[Evidence]]]:
    """Groups of images that are judged by the same weights: (images,) mask, and the kinds of the weights."""
    groups: list[tuple[NDArray[np.bool_], list[Evidence]]] = []
    for written, placed in ((True, True), (True, False), (False, True)):
        chosen = ((there["caption"] & has_text) == written) & (there["layout"] == placed)
        if chosen.any():
            groups.append((chosen, [kind for kind, is_in in zip(FITTED, (written, placed), strict=True) if is_in]))
    return groups


def _reference_weight(reference: FloatMatrix) -> FloatMatrix:
    """Log-odds for reference strengths."""
    weight = np.zeros(reference.shape, dtype=np.float32)
    for strength in sorted(REFERENCE_WEIGHTS):
        weight[reference >= np.float32(strength)] = REFERENCE_WEIGHTS[strength]
    return weight


def _against_mean(cells: Cells, log_odds: FloatMatrix) -> FloatMatrix:
    """Log-odds of each cell against its image's mean odds; exactly 0 where all log-odds of an image are 0."""
    top = cells.image_tops(log_odds)
    mean = np.log(cells.image_means(np.exp(log_odds - top[cells.image])))
    return np.asarray(log_odds - (top + mean)[cells.image], np.float32)


def _share(cells: Cells, log_odds: FloatMatrix) -> FloatMatrix:
    """exp(x) / (1 + sum of exp over the image), without overflow; the 1 is the null option."""
    top = np.maximum(cells.image_tops(log_odds), 0.0)
    mass = np.exp(log_odds - top[cells.image])
    return np.asarray(mass / (cells.image_sums(mass) + np.exp(-top))[cells.image], np.float32)
