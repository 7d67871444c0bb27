from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from iconotext.errors import ShapeError
from iconotext.similarity.cosine import cosine_similarity


def test_by_hand() -> None:
    sentences = np.array([[1, 0], [0.6, 0.8]], np.float32)
    images = np.array([[0, 1], [1, 0], [0, 0]], np.float32)
    # 1·0 + 0·1 = 0, 1·1 = 1, nothing; 0.8·1 = 0.8, 0.6·1 = 0.6, nothing
    expected = np.array([[0, 1, 0], [0.8, 0.6, 0]])
    np.testing.assert_allclose(cosine_similarity(sentences, images), expected, atol=1e-6)


@given(arrays(np.float32, (3, 4), elements=st.floats(-1, 1, width=32).filter(lambda x: abs(x) > 0.01)))
def test_between_minus_one_and_one(vectors: Any) -> None:
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = cosine_similarity(vectors, vectors)
    assert np.abs(cosine).max() <= 1
    np.testing.assert_allclose(np.diag(cosine), 1, atol=1e-6)
    np.testing.assert_allclose(cosine, np.einsum("id,jd->ij", vectors, vectors), atol=1e-6)


@pytest.mark.parametrize(("s", "v"), [(0, 3), (3, 0), (0, 0)])
def test_empty_sides(s: Any, v: Any) -> None:
    cosine = cosine_similarity(np.zeros((s, 4), np.float32), np.zeros((v, 4), np.float32))
    assert cosine.shape == (s, v)
    assert cosine.dtype == np.float32


@pytest.mark.parametrize("shapes", [((2, 3), (2, 4)), ((3,), (2, 3)), ((2, 3), (3,))])
def test_shapes_must_fit(shapes: Any) -> None:
    with pytest.raises(ShapeError, match=r"got \("):
        cosine_similarity(*(np.zeros(shape, np.float32) for shape in shapes))
