"""Fitting the combination without labels: sentences that cite a figure are its links, the citation hidden."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import ShapeError
from iconotext.links.combine import FITTED, Coefficients, subset_name
from iconotext.links.evidence import fitted_features, images_with_text
from iconotext.train.evidence_documents import Cited, variants

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.links.caption import Encode
    from iconotext.types import Evidence, FloatMatrix

RIDGE = 3.0
"""Penalty on the weights. From 1 to 10 the results on unseen books do not change."""


class Example(NamedTuple):
    """A training document with its features; S sentences, V images.

    Attributes:
        features: Kind to name to (S, V).
        positive: (S, V) bool, the sentence cites the image.
        has_text: (V,) bool, the image has a caption or alt text.
        weight: How much each of its images counts.
    """

    features: dict[Evidence, dict[str, FloatMatrix]]
    positive: NDArray[np.bool_]
    has_text: NDArray[np.bool_]
    weight: float = 1.0


def fit_coefficients(documents: Sequence[Cited], encode: Encode, *, seed: int = 0) -> dict[str, Coefficients]:
    """The weights of every combination of picture, caption and layout.

    Args:
        documents: With citations as links; see ``Cited``.
        encode: Texts to unit vectors, as it will be used for linking.
        seed: Of the disturbed copies that are fitted on.

    Returns:
        By ``subset_name``, seven of them; what ``coefficients.json`` holds.

    Raises:
        ShapeError: There are no documents.
    """
    copies = variants(documents, seed=seed)
    return fit_subsets([example(cited, encode, weight=weight) for cited, weight in copies])


def example(cited: Cited, encode: Encode, *, weight: float = 1.0) -> Example:
    """The features of a document and what its citations say."""
    document = cited.document
    positive = np.zeros((len(document.sentences), len(document.images)), dtype=np.bool_)
    for i, j in document.links or ():
        positive[i, j] = True
    features = fitted_features(document, cited.similarity, encode, sentence_vectors=cited.sentence_vectors)
    return Example(features, positive, images_with_text(document), weight)


def subsets() -> Iterator[tuple[Evidence, ...]]:
    """Every combination of the fitted kinds but the empty one."""
    for size in range(1, len(FITTED) + 1):
        yield from combinations(FITTED, size)


def fit_subsets(examples: Sequence[Example]) -> dict[str, Coefficients]:
    """The weights of every combination, from examples."""
    return {subset_name(kinds): fit_subset(examples, kinds) for kinds in subsets()}


def fit_subset(examples: Sequence[Example], kinds: tuple[Evidence, ...]) -> Coefficients:
    """The weights of one combination; with captions in it, from the images that have a text.

    Raises:
        ShapeError: No example has all of the kinds.
    """
    names = sorted({name for e in examples for kind in kinds for name in e.features.get(kind, ())})
    blocks: list[tuple[FloatMatrix, NDArray[np.bool_], int, float]] = []
    for e in examples:
        columns = np.flatnonzero(e.has_text) if "caption" in kinds else np.arange(len(e.has_text))
        if not e.positive.size or not len(columns) or any(kind not in e.features for kind in kinds):
            continue
        there = {name: matrix for kind in kinds for name, matrix in e.features[kind].items()}
        empty = np.zeros(e.positive.shape, np.float32)
        stacked = np.stack([there.get(name, empty)[:, columns].T for name in names], axis=-1)  # (images, S, F)
        blocks.append((stacked.reshape(-1, len(names)), e.positive[:, columns].T.ravel(), len(columns), e.weight))
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


def fit_logit(
    features: FloatMatrix,
    groups: NDArray[np.int64],
    positive: NDArray[np.bool_],
    *,
    weight: NDArray[np.float64] | None = None,
    ridge: float = RIDGE,
    offset: NDArray[np.float64] | None = None,
    fixed_null: float | None = None,
) -> tuple[NDArray[np.float64], float]:
    """Conditional logistic regression with a null option.

    P(row i | its group) = exp(x_i w) / (exp(b) + sum over the group's rows k of exp(x_k w)); what is missing to 1 is
    the null option. The probability of a group is that of its positive rows together, or of the null option where it
    has none.

    Args:
        features: (N, F), the rows of a group side by side.
        groups: (N,) number of the group, ascending from 0 without gaps.
        positive: (N,) whether the row is right.
        weight: (groups,) how much each group counts; all 1 by default.
        ridge: Penalty on half the squared length of w, in units of each feature's standard deviation.
        offset: (N,) what is known of the rows' log-odds besides; 0 by default.
        fixed_null: b, if it is not to be fitted.

    Returns:
        (F,) weights and the null option's log-odds b.

    Raises:
        ShapeError: The lengths differ, or there is nothing to fit.
    """
    from scipy.optimize import minimize

    if not (len(features) == len(groups) == len(positive)) or not len(features):
        shapes = f"{features.shape}, {groups.shape}, {positive.shape}"
        raise ShapeError(f"features, groups and positive must be as long as each other and not empty, got {shapes}")
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    counts = np.diff(np.append(starts, len(groups)))
    spread = features.std(axis=0, dtype=np.float64)
    spread[spread < 1e-8] = 1.0
    x = (features / spread).astype(np.float32)
    null = ~np.logical_or.reduceat(positive, starts)
    weight = np.ones(len(starts)) if weight is None else weight
    known = 0.0 if offset is None else offset
    first = np.append(np.zeros(x.shape[1]), fixed_null or 0.0)

    def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        w, b = theta[:-1], theta[-1]
        score = (x @ w.astype(np.float32)).astype(np.float64) + known
        top = np.maximum(np.maximum.reduceat(score, starts), b)
        mass = np.exp(score - np.repeat(top, counts))
        null_mass = np.exp(b - top)
        total = np.add.reduceat(mass, starts) + null_mass
        right_mass = np.where(positive, mass, 0.0)
        right = np.where(null, null_mass, np.add.reduceat(right_mass, starts))
        # d log P / d score: share among the right ones minus share among all
        by_group = weight / total
        slope = np.repeat(by_group, counts) * mass - np.repeat(np.where(null, 0.0, weight / right), counts) * right_mass
        gradient = np.append(slope.astype(np.float32) @ x, (by_group * null_mass - np.where(null, weight, 0.0)).sum())
        gradient[:-1] += ridge * w
        gradient[-1] *= fixed_null is None
        value = float((weight * (np.log(total) - np.log(right))).sum() + ridge / 2 * w @ w)
        return value, gradient.astype(np.float64)

    result = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": 200, "ftol": 1e-7})
    return result.x[:-1] / spread, float(result.x[-1])
