import sys

import numpy as np
import pytest

from iconotext.errors import FeatureError, MissingPackageError
from iconotext.features.word_vectors import train_word2vec

SENTENCES = [[1, 2, 3], [1, 2, 4], [5, 6], [0, 5, 6, 7]] * 30


def test_words_that_occur_have_vectors_and_the_unknown_word_and_others_have_none():
    vectors = train_word2vec(SENTENCES, 10, dim=8, seed=0)
    assert vectors.shape == (10, 8)
    assert vectors.dtype == np.float32
    assert np.flatnonzero(np.abs(vectors).sum(1)).tolist() == [1, 2, 3, 4, 5, 6, 7]


def test_words_that_stand_in_the_same_places_are_similar():
    rng = np.random.default_rng(0)
    sentences = [
        [int(rng.integers(1, 3)), 5, 6, 7] if number % 2 else [int(rng.integers(3, 5)), 8, 9, 10]
        for number in range(4000)
    ]
    vectors = train_word2vec(sentences, 11, dim=16, seed=0)
    unit = vectors[1:] / np.linalg.norm(vectors[1:], axis=1, keepdims=True)
    cosines = unit @ unit.T
    assert cosines[0, 1] > cosines[0, 2] + 0.2
    assert cosines[2, 3] > cosines[2, 1] + 0.2


def test_the_same_seed_gives_the_same_vectors():
    first, again = (train_word2vec(SENTENCES, 10, dim=8, seed=3) for _ in range(2))
    assert (first == again).all()
    assert (first != train_word2vec(SENTENCES, 10, dim=8, seed=4)).any()


def test_without_a_word_there_is_an_error():
    with pytest.raises(FeatureError, match="no word"):
        train_word2vec([[], []], 10, dim=8, seed=0)


def test_without_gensim_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    with pytest.raises(MissingPackageError, match=r'pip install "iconotext\[papers\]"'):
        train_word2vec(SENTENCES, 10, dim=8, seed=0)
