"""Several kinds of evidence to one probability.

For every image the model chooses among the sentences and a null option, 'none of them':

    P(sentence i | image j) = exp(s_ij) / (exp(null) + sum over k of exp(s_kj)),   s_ij = sum over kinds of w . x_ij

a conditional logistic regression. Unlike one yes-or-no question per cell it knows that the sentences of an image
compete, so that its probabilities stay calibrated in documents of any length; what is missing to 1 is the probability
that the image belongs to no sentence, so that an image may abstain. The weights come from
``iconotext.train.evidence``, a set for caption, layout and both, since any of them may be switched off or missing: an
image without any text is judged by the weights that were fitted without captions.

Pictures and the words in them are no kinds of these combinations, of which they would only make more. Their weights,
``ADDED`` in ``coefficients.json``, are fitted with what the other kinds say as it is. An image that belongs to no
sentence is as like one as another: against the null option, each sentence has the odds that it has against the mean of
all. An image without words is judged as if nobody had looked for any.

References are not fitted, since the labels of the fit were made from them; their weight follows from how often they
are right.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import ShapeError
from iconotext.links.reference import DIRECTED, EXPLICIT, VAGUE
from iconotext.types import Evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

FITTED: tuple[Evidence, ...] = ("caption", "layout")
"""The kinds whose weights are fitted together, in the order of their names in ``coefficients.json``."""

ADDED: tuple[Evidence, ...] = ("picture", "text")
"""The kinds whose weights are added to those of any combination."""

NOWHERE = 0.25
"""Where pictures or their words are all there is: images that belong to no sentence, for each that belongs to one."""

EXPLICIT_PRECISION = 0.97
"""Share of explicit references that are right. All 17 in the three original textbook pages are; 17 prove no more."""

# An explicit reference is worth its precision against the share of cells that are links anyway, 1 in 150 sentences.
# Pointing words have been narrowed down to the nearest image, where the layout alone is right in some 3 of 10 cases;
# their precision is an estimate: 0.8 with a direction, 0.5 without.
REFERENCE_WEIGHTS: Mapping[float, float] = {EXPLICIT: 8.5, DIRECTED: 2.2, VAGUE: 0.85}
"""Log-odds that each strength of reference adds."""

_NOTHING = 10.0  # the null option's log-odds where no fitted kind speaks: only a reference can make a link then


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Weights of one combination of kinds.

    Attributes:
        null: Log-odds of the null option.
        weights: Feature name to weight.
    """

    null: float
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """What the evidence says together; S sentences, V images.

    Attributes:
        contributions: Kind to (S, V) float32, what it adds to the log-odds of a cell.
        score: (S, V) float32: the cosine where the image is the only evidence, else the confidence.
        confidence: (S, V) float32, 0 to 1, probability that the cell is a link. A column sums to 1 at most, but for
            sentences that cite the image explicitly: each of several can be right.
    """

    contributions: dict[Evidence, FloatMatrix]
    score: FloatMatrix
    confidence: FloatMatrix


def subset_name(kinds: Collection[Evidence]) -> str:
    """The name of a combination in ``coefficients.json``: 'caption+layout'."""
    return "+".join(kind for kind in FITTED if kind in kinds)


def dump_coefficients(coefficients: Mapping[str, Coefficients]) -> str:
    """The text of ``coefficients.json``."""
    return json.dumps({name: asdict(entry) for name, entry in coefficients.items()}, indent=1, sort_keys=True) + "\n"


@cache
def load_coefficients() -> Mapping[str, Coefficients]:
    """The fitted weights that ship with the package, by ``subset_name``."""
    text = files("iconotext.links").joinpath("coefficients.json").read_text(encoding="utf-8")
    return {name: Coefficients(entry["null"], entry["weights"]) for name, entry in json.loads(text).items()}


def combine(
    features: Mapping[Evidence, Mapping[str, FloatMatrix]],
    *,
    shape: tuple[int, int],
    has_text: NDArray[np.bool_],
    reference: FloatMatrix | None = None,
    image_similarity: FloatMatrix | None = None,
    coefficients: Mapping[str, Coefficients] | None = None,
) -> Combination:
    """Weighs the evidence of a document.

    Args:
        features: Of each fitted kind that is there, name to (S, V).
        shape: (S, V).
        has_text: (V,) whether there is anything to compare for the caption evidence.
        reference: (S, V) from ``reference_evidence``, None where it is switched off.
        image_similarity: (S, V) cosines; the score where images are the only evidence.
        coefficients: By ``subset_name``; those of the package by default.

    Raises:
        ShapeError: A matrix is not (S, V).
    """
    for name, matrix in [(n, m) for kind in features.values() for n, m in kind.items()] + [
        ("reference", reference),
        ("image_similarity", image_similarity),
    ]:
        if matrix is not None and matrix.shape != shape:
            raise ShapeError(f"{name} has the shape {matrix.shape}, the document {shape} (sentences, images)")
    coefficients = load_coefficients() if coefficients is None else coefficients
    kinds = [kind for kind in FITTED if features.get(kind)]
    contributions: dict[Evidence, FloatMatrix] = {kind: np.zeros(shape, np.float32) for kind in kinds}
    null = np.full(shape[1], _NOTHING, dtype=np.float32)
    for columns, name in _by_subset(kinds, has_text):
        entry = coefficients[name]
        null[columns] = entry.null
        for kind in kinds:
            if kind in name.split("+"):
                contributions[kind][:, columns] = _weighted(features[kind], entry.weights, columns)
    for kind in ADDED:
        if some := features.get(kind):
            contributions[kind] = _against_mean(_weighted(some, coefficients[kind].weights, np.arange(shape[1])))
            null[contributions[kind].any(axis=0) & (null == _NOTHING)] = np.log(max(shape[0], 1) * NOWHERE)
    if reference is not None:
        contributions["reference"] = _reference_weight(reference)
    log_odds = sum(contributions.values(), np.zeros(shape, np.float32)) - null
    confidence = _share(log_odds)
    if reference is not None:
        explicit = reference >= EXPLICIT
        confidence[explicit] = 1 - (1 - confidence[explicit]) * np.float32(1 - EXPLICIT_PRECISION)
    only_image = list(contributions) == ["picture"] and image_similarity is not None
    score = image_similarity if only_image and image_similarity is not None else confidence
    return Combination(contributions, score, confidence)


def _by_subset(kinds: list[Evidence], has_text: NDArray[np.bool_]) -> list[tuple[NDArray[np.int64], str]]:
    """Images that are judged by the same weights, with the name of these."""
    groups = []
    for with_text in (True, False):
        own = [kind for kind in kinds if kind != "caption" or with_text]
        columns = np.flatnonzero(has_text == with_text)
        if own and len(columns):
            groups.append((columns, subset_name(own)))
    return groups


def _weighted(
    features: Mapping[str, FloatMatrix], weights: Mapping[str, float], columns: NDArray[np.int64]
) -> FloatMatrix:
    """(S, columns) weighted sum of one kind's features."""
    shape = next(iter(features.values())).shape
    names = [name for name in features if weights.get(name, 0.0)]
    stacked = np.zeros((len(names), *shape), np.float32)
    for number, name in enumerate(names):
        stacked[number] = features[name]
    total = np.array([weights[name] for name in names], np.float32) @ stacked.reshape(len(names), -1)
    return total.reshape(shape)[:, columns]


def _reference_weight(reference: FloatMatrix) -> FloatMatrix:
    """(S, V) log-odds of the references."""
    weight = np.zeros(reference.shape, dtype=np.float32)
    for strength in sorted(REFERENCE_WEIGHTS):
        weight[reference >= np.float32(strength)] = REFERENCE_WEIGHTS[strength]
    return weight


def _against_mean(log_odds: FloatMatrix) -> FloatMatrix:
    """The odds of each row against those of the column's mean; of a column of zeros, zeros exactly."""
    if not len(log_odds):
        return log_odds
    top = log_odds.max(axis=0)
    against: FloatMatrix = log_odds - (top + np.log(np.exp(log_odds - top).mean(axis=0)))
    return against


def _share(log_odds: FloatMatrix) -> FloatMatrix:
    """exp(x) / (1 + sum of exp over the column), without overflow; the 1 is the null option."""
    top = np.maximum(log_odds.max(axis=0, initial=0.0), 0.0)
    mass = np.exp(log_odds - top)
    share: FloatMatrix = mass / (mass.sum(axis=0) + np.exp(-top))
    return share
