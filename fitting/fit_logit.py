"""Conditional logistic regression: one choice among the rows of a group, or none of them.

``fit_added`` fits the weights of pictures and of the words in them, with what the other evidence says as it is: they
are to choose among the sentences, not to say whether one is right, so that a null option has no part in their fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from iconotext.decide.combine import Coefficients
from iconotext.errors import ShapeError

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

RIDGE = 3.0
"""Penalty on the weights. From 1 to 10 the results on unseen books do not change."""


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


_NONE = -1e4  # log-odds of a null option that takes no part


class Added(NamedTuple):
    """A training document with what is added to the other evidence; S sentences, V images.

    Attributes:
        features: Of ``image_features`` or ``text_features``, name to (S, V).
        positive: (S, V) bool, the sentence cites the image.
        score: (S, V) what the other evidence gives, 0 to 1: see ``Combination``.
    """

    features: Mapping[str, FloatMatrix]
    positive: NDArray[np.bool_]
    score: FloatMatrix


def fit_added(documents: Sequence[Added], *, ridge: float = RIDGE) -> Coefficients:
    """The weights of one kind that is added to the others; they bring no null option of their own.

    Args:
        documents: Images without the kind, or without a sentence that cites them, take no part. The other evidence is
            best that of weights from elsewhere. A document may come several times, with different evidence.

    Raises:
        ShapeError: No cited image has the kind.
    """
    names = sorted({name for document in documents for name in document.features})
    rows, known, positive, lengths = [], [], [], []
    for features, right, score in (document for document in documents if document.features):
        columns = np.flatnonzero(
            right.any(axis=0) & np.any([matrix.any(axis=0) for matrix in features.values()], axis=0)
        )
        known.append(np.log(np.maximum(score[:, columns].T.ravel().astype(np.float64), 1e-30)))
        rows.append(np.stack([features[name][:, columns].T for name in names], axis=-1).reshape(-1, len(names)))
        positive.append(right[:, columns].T.ravel())
        lengths += [len(right)] * len(columns)
    if not lengths:
        raise ShapeError("no cited picture has evidence of this kind: nothing to fit")
    x, right, groups = np.concatenate(rows), np.concatenate(positive), np.repeat(np.arange(len(lengths)), lengths)
    weights, _ = fit_logit(x, groups, right, ridge=ridge, offset=np.concatenate(known), fixed_null=_NONE)
    return Coefficients(0.0, {n: round(float(w), 4) for n, w in zip(names, weights, strict=True)})
