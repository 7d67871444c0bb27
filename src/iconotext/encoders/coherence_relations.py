"""Coherence-aware models (Alikhani 2021): relations between a text and an image, and searches that use them.

``Coherence`` predicts the relations. ``refine`` is the selective similarity refinement: hard queries also use the
confidence in the relations (Eq. 4-6). A coherence-aware model is expected to be more confident of the relations between
a text and its own image than between the text and any other image. The confidence in one relation is
``η_c = exp(λ |x_c - ½|)``, from 1 (x_c = ½) to ``exp(λ / 2)``; the confidence in a pair is the sum over its R
relations, and multiplies its cosine. Only hard queries are refined: those whose two best images differ by less than T.

Three consequences of the equations stay as they are:

- η is a sum, so the similarities of a hard query grow by a factor of R to R exp(λ / 2), while those of an easy one stay
  the same. A common factor does not change the order of a query's images, so every rank within a query is the same as
  with a mean instead of the sum. But refined similarities are not cosines, and cannot be compared between queries.
- A negative cosine becomes more negative with more confidence: among images that do not fit a text at all, those with
  the least confidence rise. Images with positive cosines, where the best ones are, are ranked as intended.
- λ = 0 and T = 0 change no rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import FeatureError, SettingError, ShapeError
from iconotext.similarity import unit_rows
from iconotext.system.strict_json import parse_json

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import nn

    from iconotext.types import FloatMatrix

    Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True, eq=False)
class Coherence:
    """The Coherence Aware Module of a model that was trained with ``objective.coherence``.

    Attributes:
        relations: Names of the R relations.
        layer: (2 dim) to R: a text's vector of the joint space followed by an image's, to log-odds; several layers
            with ReLU between them, or one.
    """

    relations: tuple[str, ...]
    layer: nn.Linear | nn.Sequential

    def probabilities(self, texts: FloatMatrix, images: FloatMatrix) -> FloatMatrix:
        """The probability of each relation for every text with every image (x of Eq. 2).

        Args:
            texts: (Q, D) vectors from ``Encoder.encode_sentences``, which begin with the joint space.
            images: (N, D) vectors from ``Encoder.encode_images``.

        Returns:
            (Q, N, R) float32.
        """
        (weight, bias), *layers = self.arrays()  # (H, 2 dim) and (H,)
        dim = weight.shape[1] // 2
        # The first layer reads both vectors: its output for a pair is a term of the text plus a term of the image.
        of_texts = _joint(texts, dim) @ weight[:, :dim].T + bias
        of_images = _joint(images, dim) @ weight[:, dim:].T
        if not layers:
            odds = of_texts[:, None] + of_images[None]
        else:  # text by text: outputs of a hidden layer for all pairs would fill the memory
            odds = np.stack([_through(layers, row + of_images) for row in of_texts])
        return np.asarray((1 + np.tanh(odds / 2)) / 2, np.float32)  # a sigmoid without overflow

    def arrays(self) -> list[tuple[FloatMatrix, FloatMatrix]]:
        """Return weights and bias of each layer."""
        from torch.nn import Linear

        linear = [module for module in self.layer.modules() if isinstance(module, Linear)]
        return [(layer.weight.detach().cpu().numpy(), layer.bias.detach().cpu().numpy()) for layer in linear]


def _through(layers: Sequence[tuple[FloatMatrix, FloatMatrix]], rows: FloatMatrix) -> FloatMatrix:
    """Apply layers to (N, H) outputs of the layer before, with a ReLU in front of each."""
    for weight, bias in layers:
        rows = np.maximum(rows, 0) @ weight.T + bias
    return rows


def _joint(vectors: FloatMatrix, dim: int) -> FloatMatrix:
    """Return (n, dim) unit vectors of the joint space, without the dimensions of the concept bridge that follow."""
    if vectors.ndim != 2 or vectors.shape[1] < dim:
        raise ShapeError(f"vectors {vectors.shape} are not of the joint space, which has {dim} dimensions")
    return unit_rows(vectors[:, :dim])


SETTINGS_FILE = "refinement.json"
"""File in a model's folder with the refinement settings that were chosen for the model."""


class Refinement(NamedTuple):
    """Settings of the selective similarity refinement; see above.

    Attributes:
        strength: λ.
        threshold: T; 0 refines nothing.
    """

    strength: float
    threshold: float


def read_refinement(folder: Path) -> Refinement | None:
    """Read the settings in the folder of a model; None if there are none; ``FeatureError`` if the file is damaged."""
    path = folder / SETTINGS_FILE
    if not path.is_file():
        return None
    try:
        values = parse_json(path.read_text(encoding="utf-8"))
        refinement = Refinement(float(values["strength"]), float(values["threshold"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FeatureError(
            f"{path}: not settings of a refinement: {error}; run `iconotext analyze refinement` again"
        ) from error
    if not (0 <= refinement.strength < math.inf and refinement.threshold >= 0):
        raise FeatureError(f"{path}: λ is {refinement.strength} and T is {refinement.threshold}; both are at least 0")
    return refinement


def refine(similarities: Floats, probabilities: Floats, *, strength: float, threshold: float) -> Floats:
    """Multiply the similarities of hard queries by the confidence in the relations (Eq. 6).

    Args:
        similarities: (Q, N) of Q queries and N images, finite.
        probabilities: (Q, N, R) of R ≥ 1 relations, 0 to 1.
        strength: λ, at least 0; 0.13 for CITE++ and 0.12 for Clue in the paper.
        threshold: T, at least 0; 0.1 in the paper. A query is hard if its two highest similarities differ by less.

    Returns:
        (Q, N), a new array of the same type; rows of easy queries are unchanged.
    """
    if not threshold >= 0:
        raise SettingError(f"threshold is {threshold}; T is at least 0")
    checked = _checked(similarities)
    eta = confidence(probabilities, strength)
    if eta.shape != checked.shape:
        raise ShapeError(f"probabilities of {eta.shape} pairs do not fit similarities of {checked.shape}")
    hard = top_difference(checked) < threshold
    return np.where(hard[:, None], checked * eta, checked).astype(checked.dtype)


def confidence(probabilities: Floats, strength: float) -> NDArray[np.float64]:
    """The confidence in the relations of each pair (Eq. 4, 5).

    Args:
        probabilities: (..., R) of R ≥ 1 relations, 0 to 1.
        strength: λ, at least 0.

    Returns:
        (...), from R to R exp(λ / 2).
    """
    if not (strength >= 0 and math.isfinite(strength)):
        raise SettingError(f"strength is {strength}; λ is a number of at least 0")
    probabilities = np.asarray(probabilities)
    if probabilities.ndim < 1 or not probabilities.shape[-1]:
        raise ShapeError(f"probabilities {probabilities.shape} need at least one relation in their last dimension")
    if not ((probabilities >= 0) & (probabilities <= 1)).all():  # also finds NaN
        raise ShapeError("probabilities must be numbers from 0 to 1")
    summed: NDArray[np.float64] = np.exp(strength * np.abs(probabilities - 0.5)).sum(axis=-1, dtype=np.float64)
    return summed


def top_difference(similarities: Floats) -> NDArray[np.float64]:
    """Return the (Q,) differences Δ between the two highest similarities of each query, of (Q, N) finite similarities.

    They are infinite if there is only one image, so that no such query is hard.
    """
    checked = _checked(similarities)
    if checked.shape[1] < 2:
        return np.full(len(checked), np.inf)
    top = np.partition(checked, checked.shape[1] - 2, axis=1)[:, -2:].astype(np.float64)
    return np.asarray(top[:, 1] - top[:, 0], np.float64)


def _checked(similarities: Floats) -> Floats:
    similarities = np.asarray(similarities)
    if similarities.ndim != 2:
        raise ShapeError(f"similarities must be (queries, images), got {similarities.shape}")
    if not np.isfinite(similarities).all():
        query, image = np.argwhere(~np.isfinite(similarities))[0]
        raise ShapeError(f"the similarity of query {query} and image {image} is not a finite number")
    return similarities
