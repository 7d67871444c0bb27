from __future__ import annotations

import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from iconotext.encoders.relation_model import hashed_runs, word_logits
from iconotext.train.relations.fit import hashed_texts, weighted_rows

words = st.lists(st.sampled_from(["a", "dog", "runs", ".", "7", "!"]), max_size=6)


@given(words)
def test_runs_are_all_stretches_of_one_to_three_words(text):
    padded = ["<", *text, ">"]
    wanted = set()
    for first in range(len(padded)):
        for last in range(first, len(padded)):
            if last - first < 3:
                wanted.add(" ".join(padded[first : last + 1]))
    wanted -= {"<", ">"}
    assert hashed_runs(" ".join(text), 10**6) == sorted({zlib.crc32(run.encode()) % 10**6 for run in wanted})


def test_case_makes_no_other_word_and_strange_text_no_error():
    assert hashed_runs("A Dog", 1000) == hashed_runs("a dog", 1000)
    assert hashed_runs("\ud800", 1000)
    assert hashed_runs("", 1000) == [zlib.crc32(b"< >") % 1000]


def test_rows_are_weighted_and_of_length_one():
    counts = hashed_texts(["a dog", "runs"], 50)
    assert counts.shape == (2, 50)
    assert set(counts.toarray()[0].nonzero()[0]) == set(hashed_runs("a dog", 50))
    weights = np.linspace(0.5, 2, 50, dtype=np.float32)
    rows = weighted_rows(counts, weights).toarray()
    expected = counts.toarray() * weights
    np.testing.assert_allclose(rows, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-5)
    assert not weighted_rows(counts, np.zeros(50, np.float32)).toarray().any()
    words = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    np.testing.assert_allclose(word_logits(["a dog", "runs"], weights, words), rows @ words, rtol=1e-4)
    assert not word_logits(["a dog"], np.zeros(50, np.float32), words).any()
