"""Logistic regression, for dense and sparse rows, with answers that may be missing and log-odds that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

STEPS = 300
"""Steps of L-BFGS at most; it mostly ends by itself before."""


def fit_logistic(
    rows: NDArray[np.float32] | csr_array,
    answers: NDArray[np.float32],
    strength: float,
    *,
    known: NDArray[np.float32] | None = None,
) -> tuple[NDArray[np.float32], float]:
    """Weights w and bias b that minimise Σ cross-entropy(answer, known + row · w + b) + ‖w‖² / (2 · strength).

    Args:
        rows: (n, d).
        answers: (n,) 1 yes, 0 no, NaN not answered (then the row has no say); shares in between are taken as they are.
        strength: Above 0; C of the usual libraries: the larger, the freer the weights.
        known: (n,) log-odds to start from; None: 0.

    Returns:
        (d,) weights and the bias. Without any answer, zeros.
    """
    from scipy.optimize import minimize

    there = np.flatnonzero(~np.isnan(answers))
    if not len(there):
        return np.zeros(rows.shape[1], np.float32), 0.0
    x: Any = rows[there]
    y = answers[there].astype(np.float64)
    base = np.zeros(len(there)) if known is None else known[there].astype(np.float64)

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = base + x @ weights[:-1] + weights[-1]
        wrong = 1 / (1 + np.exp(-np.clip(logits, -500, 500))) - y
        value = float((np.logaddexp(0, logits) - y * logits).sum() + weights[:-1] @ weights[:-1] / (2 * strength))
        return value, np.append(x.T @ wrong + weights[:-1] / strength, wrong.sum())

    found = minimize(loss, np.zeros(rows.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x[:-1], np.float32), float(found.x[-1])
