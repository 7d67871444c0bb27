"""The mean of the vectors of a text's words, as a text backbone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.features.vocabulary import words_of
from iconotext.features.word_vectors import load_word_vectors

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


class MeanWords:
    """Gives the mean of the vectors of a text's words; unlike other backbones, not brought to length 1.

    Words without a vector do not count, a text without any gives zeros.

    Args:
        source: word2vec or GloVe file, or ``minilm``.
        dim: Length of its vectors.
        texts: All texts that will be encoded; only the vectors of their words are loaded.

    Raises:
        FeatureError: The file cannot be read.
    """

    def __init__(self, source: Path | str, dim: int, texts: Iterable[str]) -> None:
        self.name = self.space = f"mean-words/{source}"
        self.dim = dim
        words = sorted({word for text in texts for word in words_of(text)})
        vectors, _ = load_word_vectors(source, words, dim=dim)
        self._known = {word: vector for word, vector in zip(words, vectors, strict=True) if vector.any()}

    def encode(self, texts: Sequence[str]) -> FloatMatrix:
        """(n, dim) float32, in the order of the texts."""
        means = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            found = [self._known[word] for word in words_of(text) if word in self._known]
            if found:
                means[row] = np.mean(found, axis=0)
        return means
