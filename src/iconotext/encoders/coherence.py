"""``Coherence`` predicts the relations between a text and an image with a coherence-aware model (Alikhani 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import ShapeError
from iconotext.similarity.vectors import unit_rows

if TYPE_CHECKING:
    from torch import nn

    from iconotext.types import FloatMatrix


@dataclass(frozen=True, slots=True, eq=False)
class Coherence:
    """The Coherence Aware Module of a model that was trained with ``objective.coherence``.

    Attributes:
        relations: Names of the R relations.
        layer: (2 dim) to R: a text's vector of the joint space followed by an image's, to log-odds.
    """

    relations: tuple[str, ...]
    layer: nn.Linear

    def probabilities(self, texts: FloatMatrix, images: FloatMatrix) -> FloatMatrix:
        """The probability of each relation for every text with every image (x of Eq. 2).

        Args:
            texts: (Q, D) vectors from ``Encoder.encode_sentences``, which begin with the joint space.
            images: (N, D) vectors from ``Encoder.encode_images``.

        Returns:
            (Q, N, R) float32.

        Raises:
            ShapeError: The vectors are shorter than the model's joint space.
        """
        dim = self.layer.in_features // 2
        weight = self.layer.weight.detach().cpu().numpy()  # (R, 2 dim)
        # One linear layer on both vectors: the log-odds of a pair are a term of the text plus a term of the image.
        of_texts = _joint(texts, dim) @ weight[:, :dim].T + self.layer.bias.detach().cpu().numpy()
        of_images = _joint(images, dim) @ weight[:, dim:].T
        odds = of_texts[:, None] + of_images[None]
        return np.asarray((1 + np.tanh(odds / 2)) / 2, np.float32)  # a sigmoid without overflow


def _joint(vectors: FloatMatrix, dim: int) -> FloatMatrix:
    """Return (n, dim) unit vectors of the joint space, without the dimensions of the concept bridge that follow."""
    if vectors.ndim != 2 or vectors.shape[1] < dim:
        raise ShapeError(f"vectors {vectors.shape} are not of the joint space, which has {dim} dimensions")
    return unit_rows(vectors[:, :dim])
