"""Every layer of the sentence encoder, not only its last: how a text is put together, beside what it is about.

The last layer of a sentence encoder was trained to tell topics apart. Whether a text narrates, judges or describes
shows better in the layers below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.features import TextBackbone, cached_text
from iconotext.features.minilm import MiniLM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features import FeatureCache
    from iconotext.types import FloatMatrix

KIND = "layer-means"
"""What the cache keeps them as, beside the text backbone's own vectors."""

TEXTS = 2048
"""Texts that are encoded together by who needs less of a text than its layers."""


class LayerMeans:
    """The mean over a text's tokens in each layer of all-MiniLM-L6-v2, the embeddings below them first.

    PyTorch and the weights are loaded when the first text has to be encoded.

    Args:
        cache: Where they are kept; None keeps none.

    Raises:
        FeatureError: The package with the weights is not installed.
    """

    def __init__(self, cache: FeatureCache | None = None) -> None:
        minilm = MiniLM("cpu")
        self.name = minilm.name
        self.dim = minilm.dim * (int(minilm.config["num_hidden_layers"]) + 1)

        def encode(texts: Sequence[str]) -> NDArray[Any]:
            rows = np.zeros((len(texts), self.dim), np.float16)  # enough for the cache
            minilm.fill(rows, texts, lambda bert, ids, mask: bert.layer_means(ids, mask))
            return rows

        layers = TextBackbone(self.name, self.dim, encode)
        self._backbone = layers if cache is None else cached_text(layers, cache, kind=KIND)

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, layers + 1 times the encoder's width) float32, rounded to what 16 bits hold.

        A row depends on the texts in its batch by no more than rounding. Long texts are cut as MiniLM cuts them.
        """
        return self._backbone.encode(texts).astype(np.float32)
