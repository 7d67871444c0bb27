"""Conditional logistic regression: one choice among the rows of a group, or none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

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
