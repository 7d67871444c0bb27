"""The frozen backbones that baselines and analyses look through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from iconotext.features import ImageBackbone
    from iconotext.types import FloatMatrix

Encode = Callable[[Sequence[str]], "FloatMatrix"]
"""Texts to (texts, dim) vectors."""


def load_backbones(
    image: str | None,
    text: str | None,
    *,
    cache: bool,
    word_vectors: Path | str | None,
    word_dim: int,
    texts: Iterable[str],
) -> tuple[ImageBackbone, Encode]:
    """An image backbone, and something that turns texts into vectors.

    Args:
        image: Name or folder of an image backbone; None takes the one that comes with the program.
        text: Name or folder of a text backbone; None likewise.
        cache: Whether features are kept on disk.
        word_vectors: word2vec or GloVe file, or ``minilm``, to use instead of the text backbone; None for none.
        word_dim: Length of its vectors.
        texts: All that will be encoded besides the image backbone's class names; walked only for word vectors, of
            which no others are loaded.

    Raises:
        FeatureError: One of them cannot be loaded.
    """
    from iconotext.features import FeatureCache, cached_image, cached_text, load_image_backbone, load_text_backbone

    seeing = load_image_backbone(image) if image else load_image_backbone()
    store = FeatureCache() if cache else None
    if store is not None:
        seeing = cached_image(seeing, store)
    if word_vectors is not None:
        return seeing, mean_word_vectors(word_vectors, word_dim, chain(seeing.classes or (), texts))
    reading = load_text_backbone(text) if text else load_text_backbone()
    return seeing, (reading if store is None else cached_text(reading, store)).encode


def mean_word_vectors(source: Path | str, dim: int, texts: Iterable[str]) -> Encode:
    """An encoder that gives the mean of the vectors of a text's words.

    Args:
        source: word2vec or GloVe file, or ``minilm``.
        dim: Length of its vectors.
        texts: All texts that will be encoded; only the vectors of their words are loaded.

    Returns:
        Texts to (texts, dim) float32; words without a vector do not count, a text without any gives zeros.

    Raises:
        FeatureError: The file cannot be read.
    """
    from iconotext.features.vocabulary import words_of
    from iconotext.features.word_vectors import load_word_vectors

    words = sorted({word for text in texts for word in words_of(text)})
    vectors, _ = load_word_vectors(source, words, dim=dim)
    known = {word: vector for word, vector in zip(words, vectors, strict=True) if vector.any()}

    def encode(some: Sequence[str]) -> FloatMatrix:
        means = np.zeros((len(some), dim), np.float32)
        for row, text in enumerate(some):
            found = [known[word] for word in words_of(text) if word in known]
            if found:
                means[row] = np.mean(found, axis=0)
        return means

    return encode
