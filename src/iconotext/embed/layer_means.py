"""Means of every layer of the sentence encoder, not only of the last: they show style as well as topic.

The last layer of a sentence encoder was trained to distinguish topics. Whether a text narrates, judges or describes
shows better in the lower layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.features import TextBackbone, cached_text
from iconotext.features.minilm import DIM, LAYERS, MiniLM

if TYPE_CHECKING:
    from iconotext.features import FeatureCache
    from iconotext.types import FloatMatrix

KIND = "layer-means"
"""The kind under which the cache stores them."""

TEXTS = 2048
"""Texts that are encoded at a time by code that needs little of a text's layers."""


class LayerMeans:
    """The mean over a text's tokens in each layer of all-MiniLM-L6-v2, beginning with the embeddings.

    The weights are loaded when the first text has to be encoded.

    Args:
        cache: For the means; None for no cache.
    """

    def __init__(self, cache: FeatureCache | None = None) -> None:
        minilm = MiniLM()
        self.name = minilm.name
        self.dim = DIM * (LAYERS + 1)
        layers = TextBackbone(self.name, self.dim, lambda texts: minilm.with_layers(texts)[1])
        self._backbone = layers if cache is None else cached_text(layers, cache, kind=KIND)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, (layers + 1) * width) float32, rounded to 16 bits.

        Long texts are cut like in MiniLM.
        """
        return self._backbone.encode(texts).astype(np.float32)
