"""Every layer of the sentence encoder, not only its last: how a text is put together, beside what it is about.

The last layer of a sentence encoder was trained to tell topics apart. Whether a text narrates, judges or describes
shows better in the layers below it.
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
"""What the cache keeps them as, beside the text backbone's own vectors."""

TEXTS = 2048
"""Texts that are encoded together by who needs less of a text than its layers."""


class LayerMeans:
    """The mean over a text's tokens in each layer of all-MiniLM-L6-v2, the embeddings below them first.

    The weights are loaded when the first text has to be encoded.

    Args:
        cache: Where they are kept; None keeps none.
    """

    def __init__(self, cache: FeatureCache | None = None) -> None:
        minilm = MiniLM()
        self.name = minilm.name
        self.dim = DIM * (LAYERS + 1)
        layers = TextBackbone(self.name, self.dim, lambda texts: minilm.with_layers(texts)[1])
        self._backbone = layers if cache is None else cached_text(layers, cache, kind=KIND)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, layers + 1 times the encoder's width) float32, rounded to what 16 bits hold.

        Long texts are cut as MiniLM cuts them.
        """
        return self._backbone.encode(texts).astype(np.float32)
