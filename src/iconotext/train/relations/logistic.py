"""Logistic regression for dense and sparse rows, with missing answers and with known log-odds to start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from iconotext.types import FloatMatrix

STEPS = 300
"""Largest number of L-BFGS steps; it mostly converges earlier."""


def fit_logistic(
    rows: FloatMatrix | csr_array, answers: FloatMatrix, strength: float, *, known: FloatMatrix | None = None
) -> tuple[FloatMatrix, NDArray[np.float32]]:
    """Weights W and biases b that minimise Σ cross-entropy(answer, known + row · W + b) + ‖W‖² / (2 · strength).

    Args:
        rows: (n, d).
        answers: (n, R), a column for each regression: 1 yes, 0 no, NaN not answered (the row is not used); shares in
            between are allowed.
        strength: Above 0; C of the usual libraries: the larger, the less regularisation.
        known: (n, R) log-odds to start from; None for 0.

    Returns:
        (d, R) weights and (R,) biases; zeros for a column without answers.
    """
    weights = np.zeros((rows.shape[1], answers.shape[1]), np.float32)
    biases = np.zeros(answers.shape[1], np.float32)
    # Columns answered in the same rows are fitted together: a data set asks all its questions about every pair.
    patterns, pattern_of = np.unique(~np.isnan(answers), axis=1, return_inverse=True)
    for number, answered in enumerate(patterns.T):
        if answered.any():
            cells = np.ix_(answered, pattern_of.ravel() == number)
            base = np.float32(0) if known is None else known[cells]
            weights[:, cells[1][0]], biases[cells[1][0]] = _fitted(rows[answered], answers[cells], strength, base)
    return weights, biases


def fit_standardised(
    rows: FloatMatrix, answers: FloatMatrix, strength: float, *, known: FloatMatrix | None = None
) -> tuple[FloatMatrix, NDArray[np.float32]]:
    """``fit_logistic`` on standardised columns; returns weights and biases for the original rows."""
    mean, scale = standard(rows)
    weights, biases = fit_logistic((rows - mean) / scale, answers, strength, known=known)
    weights /= scale[:, None]
    return weights, biases - mean @ weights


def standard(rows: FloatMatrix) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Mean and standard deviation of each column; the latter is never 0."""
    return rows.mean(0), rows.std(0) + np.float32(1e-3)


def _fitted(
    x: FloatMatrix | csr_array, y: FloatMatrix, strength: float, base: FloatMatrix | np.float32
) -> tuple[FloatMatrix, NDArray[np.float32]]:
    """``fit_logistic`` if every row answers every column."""
    from scipy.optimize import minimize

    shape = (x.shape[1] + 1, y.shape[1])

    def loss(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, bias = np.split(given.reshape(shape), [-1])
        logits = base + x @ weights.astype(np.float32) + bias
        wrong = 1 / (1 + np.exp(-np.clip(logits, -500, 500))) - y
        value = (np.logaddexp(0, logits) - y * logits).sum() + np.square(weights).sum() / (2 * strength)
        slope: Any = x.T @ wrong.astype(np.float32)
        return float(value), np.concatenate([slope + weights / strength, wrong.sum(0, keepdims=True)]).ravel()

    found = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    weights, bias = np.split(found.x.reshape(shape).astype(np.float32), [-1])
    return weights, bias[0]
