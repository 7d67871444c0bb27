"""Which relations hold between a text and a picture, as a coherence-aware model tells them (Alikhani 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError, ShapeError

if TYPE_CHECKING:
    from torch import nn

    from iconotext.embed.folder import StoredModel
    from iconotext.types import FloatMatrix


def relation_probabilities(stored: StoredModel, texts: FloatMatrix, images: FloatMatrix) -> FloatMatrix:
    """The probability of each relation for every text with every picture (x of Eq. 2).

    The module is one linear layer on both vectors, so the log-odds of a pair are what the text says plus what the
    picture says; no pair needs a forward pass of its own.

    Args:
        stored: A model that was trained with ``objective.coherence``.
        texts: (Q, D) vectors of ``SearchSpace.texts``, of that model.
        images: (N, D) vectors of ``SearchSpace.pictures``.

    Returns:
        (Q, N, R) float32, relations in the order of ``stored.relations``.

    Raises:
        FeatureError: The model tells no relations.
        ShapeError: The vectors are shorter than those of the model's joint space.
    """
    if stored.model.coherence is None:
        raise FeatureError(f"the model {stored.name} tells no relations: train one with objective.coherence")
    dim = stored.recipe.dim
    return layer_probabilities(stored.model.coherence, _joint(texts, dim), _joint(images, dim))


def layer_probabilities(layer: nn.Linear, texts: FloatMatrix, images: FloatMatrix) -> FloatMatrix:
    """The same from the module itself.

    Args:
        layer: (2 dim) to R.
        texts: (Q, dim) unit rows of the joint space.
        images: (N, dim) likewise.
    """
    weight, dim = layer.weight.detach().cpu().numpy(), texts.shape[1]  # (R, 2 dim)
    of_texts = texts @ weight[:, :dim].T + layer.bias.detach().cpu().numpy()
    of_images = images @ weight[:, dim:].T
    odds = of_texts[:, None] + of_images[None]
    return np.asarray((1 + np.tanh(odds / 2)) / 2, np.float32)  # a sigmoid that cannot overflow


def _joint(vectors: FloatMatrix, dim: int) -> FloatMatrix:
    """(n, dim) unit rows of the joint space, without what the concept bridge adds behind them."""
    if vectors.ndim != 2 or vectors.shape[1] < dim:
        raise ShapeError(f"vectors {vectors.shape} are not of the joint space, which has {dim} dimensions")
    own = vectors[:, :dim]
    lengths = np.linalg.norm(own, axis=1, keepdims=True)
    return np.asarray(own / np.where(lengths > 0, lengths, 1), np.float32)
