"""Learns word vectors from a corpus, with gensim's word2vec."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError
from iconotext.extras import require

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

WORD2VEC = "word2vec"
"""The name in a recipe, instead of a file, for learning word vectors."""

WINDOW = 10
"""Size of the context on each side of a word (Alikhani 2021, appendix A)."""


def train_word2vec(sentences: Iterable[Sequence[int]], words: int, *, dim: int, seed: int) -> FloatMatrix:
    """Train word2vec (CBOW, window 10, minimum frequency 1, as in Alikhani 2021; else gensim's defaults).

    It uses one thread, since with more the vectors would differ between runs.

    Args:
        sentences: Word ids of each sentence, 0 for an unknown word; iterated several times, so no generator.
        seed: For the initial vectors and negative samples.

    Returns:
        (words, dim) float32, zeros for words that do not occur.

    Raises:
        FeatureError: There are no words.
        MissingPackageError: gensim is not installed.
    """
    require("papers", "gensim", purpose='text.word_vectors = "word2vec"')
    from gensim.models import Word2Vec

    vectors = np.zeros((words, dim), np.float32)
    if not any(len(sentence) for sentence in sentences):
        raise FeatureError("word2vec: there is no word to learn from")
    trained = Word2Vec(
        _Texts(sentences),
        vector_size=dim,
        window=WINDOW,
        min_count=1,
        workers=1,
        seed=seed,
        hashfxn=_digest,
        sorted_vocab=1,
    ).wv
    for word in trained.index_to_key:
        vectors[int(word)] = trained[word]
    vectors[0] = 0  # the unknown word keeps its random start
    return vectors


class _Texts:
    """The sentences in gensim's form, made one at a time."""

    def __init__(self, sentences: Iterable[Sequence[int]]) -> None:
        self._sentences = sentences

    def __iter__(self) -> Iterator[list[str]]:
        return ([str(word) for word in sentence] for sentence in self._sentences)


def _digest(text: str) -> int:
    """A hash that is the same in every process, unlike ``hash``."""
    return zlib.crc32(text.encode())
