"""The text side of a relation model: its two experts, and their calibration on texts they have not seen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from iconotext.embed.relation_model import LIMIT
from iconotext.embed.relation_weights import RelationWeights, raw_logits
from iconotext.embed.word_hashes import hashed_texts, weighted_rows
from iconotext.train.relations.logistic import fit_logistic
from iconotext.train.relations.network import fit_network

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from iconotext.recipe.relations import RelationSettings
    from iconotext.train.relations.data import RelationData
    from iconotext.types import FloatMatrix

IMAGE_DIM = 1280
"""Pooled features of the default image backbone."""

BINS = 10
"""Of equally many pairs, for the calibration error."""


def fit_text(
    layers: FloatMatrix,
    data: RelationData,
    rows: NDArray[np.int64],
    settings: RelationSettings,
    backbones: dict[str, str],
) -> RelationWeights:
    """Train both experts on some of the pairs. What pictures add is 0 yet, and nothing is calibrated.

    Args:
        layers: (N, D) of all the data's texts.
        data: N labelled pairs.
        rows: Which to train on.
        settings: See ``RelationSettings``.
        backbones: Names of the text and of the image backbone.
    """
    x, answers = layers[rows], data.answers[rows]
    texts = [data.texts[row] for row in rows]
    mean, scale = x.mean(0), x.std(0) + np.float32(1e-6)
    x -= mean  # in place: layers of thousands of texts are large
    x /= scale
    members = [fit_network(x, answers, settings, 1000 * settings.seed + member) for member in range(settings.members)]
    hidden, hidden_bias, output, output_bias = (np.stack(parts) for parts in zip(*members, strict=True))

    counts = hashed_texts(texts, settings.buckets)
    texts_with = np.asarray(counts.sum(axis=0)).ravel()
    rarity = np.where(texts_with >= settings.least_texts, np.log((1 + len(texts)) / (1 + texts_with)) + 1, 0).astype(
        np.float32
    )
    runs = weighted_rows(counts, rarity)
    words = [fit_logistic(runs, answers[:, r], settings.word_strength) for r in range(data.relations)]
    arrays = {
        "mean": mean,
        "scale": scale,
        "hidden": hidden,
        "hidden_bias": hidden_bias,
        "output": output[:, :, : data.relations],
        "output_bias": output_bias[:, : data.relations],
        "rarity": rarity,
        "words": np.stack([weights for weights, _ in words], axis=1),
        "words_bias": np.array([bias for _, bias in words], np.float32),
        "slope": np.ones(data.relations, np.float32),
        "shift": np.zeros(data.relations, np.float32),
        "picture": np.zeros((IMAGE_DIM, data.relations), np.float32),
        "picture_bias": np.zeros(data.relations, np.float32),
    }
    return RelationWeights(data.labels[: data.relations], arrays, settings.word_weight, backbones)


def unseen_logits(
    layers: FloatMatrix,
    data: RelationData,
    parts: NDArray[np.int64],
    settings: RelationSettings,
    backbones: dict[str, str],
    report_done: Callable[[int], None],
) -> FloatMatrix:
    """(N, R) raw log-odds of every pair by a model that was trained on the other parts.

    Args:
        layers: (N, D) of the texts.
        data: N labelled pairs.
        parts: (N,) the part of each pair, from 0.
        settings: See ``RelationSettings``.
        backbones: Names of the text and of the image backbone.
        report_done: Called with the number of parts that are done.
    """
    logits = np.zeros((len(data.texts), data.relations), np.float32)
    for part in range(int(parts.max()) + 1):
        weights = fit_text(layers, data, np.flatnonzero(parts != part), settings, backbones)
        rows = np.flatnonzero(parts == part)
        logits[rows] = raw_logits(weights, layers[rows], [data.texts[row] for row in rows])
        report_done(part + 1)
    return logits


def calibration(logits: FloatMatrix, answers: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Slope and shift of each relation that make raw log-odds of unseen pairs fit the answers (Platt 1999).

    Log-odds that run the wrong way say nothing: the slope is 0 then, and the shift makes the probability the share of
    yes among the answers.

    Args:
        logits: (N, R) raw.
        answers: (N, R) 1, 0 or NaN.
    """
    found = [_slope_and_shift(logits[:, r], answers[:, r]) for r in range(logits.shape[1])]
    return np.array([slope for slope, _ in found], np.float32), np.array([shift for _, shift in found], np.float32)


def _slope_and_shift(logits: NDArray[np.float32], answers: NDArray[np.float32]) -> tuple[float, float]:
    weights, bias = fit_logistic(logits[:, None], answers, 1e6)
    if weights[0] >= 0:
        return float(weights[0]), bias
    rate = np.nanmean(answers, dtype=np.float64)
    with np.errstate(divide="ignore"):  # all yes, or all no
        return 0.0, float(np.clip(np.log(rate) - np.log1p(-rate), -LIMIT, LIMIT))


def cross_calibrated(logits: FloatMatrix, answers: NDArray[np.float32], parts: NDArray[np.int64]) -> FloatMatrix:
    """(N, R) calibrated log-odds, each part by what the others say of slope and shift: for an honest error."""
    calibrated = np.zeros_like(logits)
    for part in np.unique(parts):
        slope, shift = calibration(logits[parts != part], answers[parts != part])
        calibrated[parts == part] = logits[parts == part] * slope + shift
    return calibrated


def calibration_error(logits: NDArray[np.float32], answers: NDArray[np.float32]) -> float | None:
    """Expected calibration error: mean distance of probability and share, over bins of equally many pairs; 0 to 1.

    Args:
        logits: (n,) log-odds.
        answers: (n,) 1, 0 or NaN for pairs to leave out.

    Returns:
        None without answers.
    """
    there = ~np.isnan(answers)
    if not there.any():
        return None
    order = np.argsort(logits[there], kind="stable")
    probable = 1 / (1 + np.exp(-logits[there][order].astype(np.float64)))
    gold = answers[there][order].astype(np.float64)
    bins = np.array_split(np.arange(len(gold)), min(BINS, len(gold)))
    return float(sum(len(b) * abs(probable[b].mean() - gold[b].mean()) for b in bins) / len(gold))


def calibrated_weights(weights: RelationWeights, logits: FloatMatrix, answers: NDArray[np.float32]) -> RelationWeights:
    """The same weights with slope and shift from unseen pairs."""
    slope, shift = calibration(logits, answers)
    return replace(weights, arrays={**weights.arrays, "slope": slope, "shift": shift})
