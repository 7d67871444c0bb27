"""Fits a relation model: the text by two logistic regressions, one of layers and one of words, and offsets of images.

The regressions are calibrated on log-odds of texts that they were not fitted to. The offsets are added to the log-odds
of a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.encoders.relation_model import LIMIT, hashed_runs, text_logits
from iconotext.evaluate.metrics import average_precision

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from iconotext.recipe.recipe import RelationSettings
    from iconotext.train.prepare import Report
    from iconotext.train.relations.data import RelationData
    from iconotext.types import FloatMatrix

    Arrays = Mapping[str, NDArray[np.float32]]


STEPS = 300
"""Largest number of L-BFGS steps; it mostly converges earlier."""


def fit_logistic(
    rows: FloatMatrix | csr_array, answers: FloatMatrix, strength: float, *, offsets: FloatMatrix | None = None
) -> tuple[FloatMatrix, NDArray[np.float32]]:
    """Fit logistic regressions.

    The weights W and biases b minimise Σ cross-entropy(answer, offset + row · W + b) + ‖W‖² / (2 · strength).

    Args:
        rows: (n, d).
        answers: (n, R), a column for each regression: 1 yes, 0 no, NaN not answered (the row is not used); shares in
            between are allowed.
        strength: C of the usual libraries, above 0: the larger, the less regularisation.
        offsets: (n, R) log-odds to start from; None for 0.

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
            base = np.float32(0) if offsets is None else offsets[cells]
            weights[:, cells[1][0]], biases[cells[1][0]] = _fitted(rows[answered], answers[cells], strength, base)
    return weights, biases


def fit_standardised(
    rows: FloatMatrix, answers: FloatMatrix, strength: float, *, offsets: FloatMatrix | None = None
) -> tuple[FloatMatrix, NDArray[np.float32]]:
    """Fit ``fit_logistic`` on standardised columns; returns weights and biases for the original rows."""
    mean, scale = standard(rows)
    weights, biases = fit_logistic((rows - mean) / scale, answers, strength, offsets=offsets)
    weights /= scale[:, None]
    return weights, biases - mean @ weights


def standard(rows: FloatMatrix) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return mean and standard deviation of each column; the latter is never 0."""
    return rows.mean(0), rows.std(0) + np.float32(1e-3)  # a constant column is divided by this


def _fitted(
    x: FloatMatrix | csr_array, y: FloatMatrix, strength: float, base: FloatMatrix | np.float32
) -> tuple[FloatMatrix, NDArray[np.float32]]:
    """Fit columns that every row answers."""
    from scipy.optimize import minimize

    shape = (x.shape[1] + 1, y.shape[1])

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, bias = np.split(parameters.reshape(shape), [-1])
        logits = base + x @ weights.astype(np.float32) + bias
        wrong = 1 / (1 + np.exp(-np.clip(logits, -500, 500))) - y  # exp of more would overflow
        value = (np.logaddexp(0, logits) - y * logits).sum() + np.square(weights).sum() / (2 * strength)
        slope: Any = x.T @ wrong.astype(np.float32)
        return float(value), np.concatenate([slope + weights / strength, wrong.sum(0, keepdims=True)]).ravel()

    result = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    weights, bias = np.split(result.x.reshape(shape).astype(np.float32), [-1])
    return weights, bias[0]


BINS = 10
"""Number of bins, with equally many pairs, from which the calibration error is computed."""

LEAST_TEXTS = 2
"""Smallest number of texts with a run of words for which the run has a weight."""

FREE = 1e6
"""Strength for fitting a calibration: practically without regularisation."""


def fit_text(layers: FloatMatrix, texts: Sequence[str], answers: FloatMatrix, settings: RelationSettings) -> Arrays:
    """Fit the arrays of a relation model for texts, without calibration.

    One regression reads the layers, one the words; their log-odds are added.
    """
    of_layers, layer_bias = fit_standardised(layers, answers, settings.layer_strength)
    counts = hashed_texts(texts, settings.buckets)
    texts_with = np.asarray(counts.sum(axis=0)).ravel()
    rarity = np.where(texts_with >= LEAST_TEXTS, np.log((1 + len(texts)) / (1 + texts_with)) + 1, 0).astype(np.float32)
    words, word_bias = fit_logistic(weighted_rows(counts, rarity), answers, settings.word_strength)
    return {"layers": of_layers, "rarity": rarity, "words": words, "bias": layer_bias + word_bias}


def unseen_logits(
    layers: FloatMatrix,
    data: RelationData,
    parts: NDArray[np.int64],
    settings: RelationSettings,
    report: Report,
) -> FloatMatrix:
    """(N, R) log-odds of every pair by regressions fitted to the other parts; not calibrated."""
    logits = np.zeros_like(data.answers)
    texts = np.array(data.texts, object)
    for part in range(int(parts.max()) + 1):
        training, held_out = parts != part, parts == part
        arrays = fit_text(layers[training], texts[training].tolist(), data.answers[training], settings)
        logits[held_out] = text_logits(arrays, layers[held_out], texts[held_out].tolist())
        report("fold", part + 1)
    return logits


def calibration(logits: FloatMatrix, answers: FloatMatrix) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Fit slope and shift of each relation that turn the log-odds of unseen pairs into calibrated ones (Platt 1999).

    If log-odds and answers are negatively correlated, the slope is 0, and the shift gives the share of yes among the
    answers as probability.
    """
    fitted = [_platt(logits[:, [r]], answers[:, [r]]) for r in range(answers.shape[1])]
    slopes, shifts = np.array(fitted, np.float32).reshape(-1, 2).T
    return slopes, np.clip(shifts, -LIMIT, LIMIT)


def _platt(logits: FloatMatrix, answers: FloatMatrix) -> tuple[float, float]:
    slope, shift = fit_logistic(logits, answers, FREE)
    if slope[0, 0] < 0:
        slope, shift = fit_logistic(np.zeros_like(logits), answers, FREE)
    return float(slope[0, 0]), float(shift[0])


def cross_calibrated(logits: FloatMatrix, answers: FloatMatrix, parts: NDArray[np.int64]) -> FloatMatrix:
    """Calibrate (N, R) log-odds, each part with slope and shift of the other parts, to measure an unbiased error."""
    calibrated = np.zeros_like(logits)
    for part in np.unique(parts):
        slope, shift = calibration(logits[parts != part], answers[parts != part])
        calibrated[parts == part] = logits[parts == part] * slope + shift
    return np.clip(calibrated, -LIMIT, LIMIT)


def calibrated(arrays: Arrays, logits: FloatMatrix, answers: FloatMatrix) -> Arrays:
    """Apply slope and shift from unseen pairs to the arrays of a relation model."""
    slope, shift = calibration(logits, answers)
    scaled = {name: arrays[name] * slope for name in ("layers", "words", "bias")}
    return {**arrays, **scaled, "bias": scaled["bias"] + shift}


def calibration_error(logits: NDArray[np.float32], answers: NDArray[np.float32]) -> float | None:
    """Expected calibration error, 0 to 1: mean distance of probability and share over bins of equally many pairs."""
    answered = np.flatnonzero(~np.isnan(answers))
    if not len(answered):
        return None
    order = answered[np.argsort(logits[answered], kind="stable")]
    gaps = 1 / (1 + np.exp(-logits[order].astype(np.float64))) - answers[order]
    return float(sum(abs(bin_.sum()) for bin_ in np.array_split(gaps, min(BINS, len(gaps)))) / len(gaps))


def hashed_texts(texts: Sequence[str], buckets: int) -> csr_array:
    """Return (n, buckets) float32 with a 1 for each run of words in the text, by the hash of the run."""
    from scipy.sparse import csr_array

    rows = [hashed_runs(text, buckets) for text in texts]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column in row], np.int64)
    return csr_array((np.ones(len(columns), np.float32), columns, ends), shape=(len(texts), buckets))


def weighted_rows(counts: csr_array, weights: np.ndarray[tuple[int], np.dtype[np.float32]]) -> csr_array:
    """Multiply columns by their weights, then scale rows to length 1; rows of zeros stay."""
    from scipy.sparse import csr_array, diags_array

    rows = csr_array(counts @ diags_array(weights))
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1))).ravel()
    return csr_array(diags_array((1 / np.where(lengths > 0, lengths, 1)).astype(np.float32)) @ rows)


STRENGTH = 1e-3
"""Inverse regularisation of the weights of an image's features, which have standard deviation 1: C of the logistic
regression on labels, 1 / penalty of the ridge regression on texts."""

WEIGHT_OF_TEXTS = 0.5
"""Factor of offsets learned from texts: the text beside an image contains part of the same evidence already."""

LEAST_CORRELATION = 0.2
"""Smallest correlation between offset and texts on held-out images; below it the offset is 0."""

HELD_OUT = 5
"""One image in this many is held out to measure the reported correlation."""


class ImageOffsets(NamedTuple):
    """The terms of images in the log-odds: a linear function of an image's pooled features.

    Attributes:
        weight: (P, R), for unscaled pooled features.
        bias: (R,)
        figures: Values for each of the R relations, by the name of the figure. ``kept``: whether the relation has an
            offset. The others are measured on images not used for fitting: ``correlation``, or ``held_out`` with the
            average precision of the text alone and with the image.
    """

    weight: FloatMatrix
    bias: NDArray[np.float32]
    figures: dict[str, list[Any]]


def from_labels(
    pooled: FloatMatrix,
    answers: FloatMatrix,
    text: FloatMatrix,
    parts: NDArray[np.int64],
    strength: float = STRENGTH,
) -> ImageOffsets:
    """Fit offsets that, added to the text's log-odds, predict the labels: one logistic regression for each relation.

    Each part is also predicted with offsets learned from the other parts. A relation gets no offset if that lowers its
    average precision, or if the latter is unknown.

    Args:
        pooled: (n, P) features of labelled images.
        answers: (n, R) 1, 0 or NaN.
        text: (n, R) calibrated log-odds of their texts, by a model that was not fitted to them.
        parts: (n,) part of each image; images that share a text or are equal are in one part.
        strength: Inverse regularisation, see ``fit_logistic``.
    """
    combined = text.copy()
    for fold in (parts == part for part in np.unique(parts)):
        if not fold.all():
            weight, bias = fit_standardised(pooled[~fold], answers[~fold], strength, offsets=text[~fold])
            combined[fold] += np.clip(pooled[fold] @ weight + bias, -LIMIT, LIMIT)
    held_out = [_held_out(answers[:, r], text[:, r], combined[:, r]) for r in range(answers.shape[1])]
    better = [None not in figures.values() and figures["text_and_image"] >= figures["text"] for figures in held_out]
    weight, bias = fit_standardised(pooled, answers, strength, offsets=text)
    mask = np.array(better, np.float32)
    return ImageOffsets(weight * mask, bias * mask, {"kept": better, "held_out": held_out})


def _held_out(answers: FloatMatrix, text: FloatMatrix, combined: FloatMatrix) -> dict[str, Any]:
    answered = ~np.isnan(answers)
    gold = answers[answered] > 0.5
    precisions = {"text": text, "text_and_image": combined}
    return {"pairs": len(gold), **{name: average_precision(x[answered], gold) for name, x in precisions.items()}}


def from_texts(
    pooled: FloatMatrix,
    texts: Sequence[FloatMatrix],
    sources: NDArray[np.int64],
    relations: Sequence[str],
    settings: RelationSettings,
    strength: float = STRENGTH,
) -> ImageOffsets:
    """Fit offsets that predict the text model's log-odds for the texts that people write about such an image.

    The target of an image is the mean log-odds of its n texts, minus the mean over all images of its corpus (so that
    differences between corpora are not learned), times n / (n + 1), since few texts say little about further ones.
    Ridge regression on the image's features. A relation gets no offset if its correlation on held-out images is too
    small, or if it is in ``picture_silent``.

    Args:
        pooled: (n, P) features.
        texts: For each image the (texts, R) calibrated log-odds.
        sources: (n,) number of each image's corpus.
        relations: R names.
    """
    means = np.stack([vectors.mean(0) for vectors in texts])
    for source in np.unique(sources):
        means[sources == source] -= means[sources == source].mean(0)
    targets = means * np.array([[len(vectors) / (len(vectors) + 1)] for vectors in texts], np.float32)
    held_out = np.random.default_rng(settings.seed).permutation(len(pooled)) % HELD_OUT == 0
    weight, bias = _ridge(pooled[~held_out], targets[~held_out], strength)
    correlation = _correlation(pooled[held_out] @ weight + bias, means[held_out])
    useful = [
        value >= LEAST_CORRELATION and name not in settings.picture_silent
        for value, name in zip(correlation, relations, strict=True)
    ]
    weight, bias = _ridge(pooled, targets, strength)
    share = np.array(useful, np.float32) * np.float32(WEIGHT_OF_TEXTS)
    return ImageOffsets(weight * share, bias * share, {"correlation": correlation, "kept": useful})


def _ridge(pooled: FloatMatrix, y: FloatMatrix, strength: float) -> tuple[FloatMatrix, NDArray[np.float32]]:
    """Return (P, R) weights and (R,) biases for unscaled features; the penalty is on standardised features."""
    mean, scale = standard(pooled)
    x = ((pooled - mean) / scale).astype(np.float64)
    solved = np.linalg.solve(x.T @ x + np.eye(x.shape[1]) / strength, x.T @ (y - y.mean(0)))
    weight = (solved / scale[:, None]).astype(np.float32)
    return weight, y.mean(0) - mean @ weight


def _correlation(x: FloatMatrix, y: FloatMatrix) -> list[float]:
    """Return Pearson's correlation of each column of both; 0 for a constant one."""
    x, y = x - x.mean(0), y - y.mean(0)
    spread = np.sqrt(np.square(x).sum(0) * np.square(y).sum(0))
    correlation: list[float] = np.where(spread > 0, (x * y).sum(0) / np.where(spread > 0, spread, 1), 0).tolist()
    return correlation
