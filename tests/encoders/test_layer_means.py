from __future__ import annotations

import numpy as np
import pytest

from iconotext.encoders.relation_model import MEANS_KIND, LayerMeans
from iconotext.features import FeatureCache
from iconotext.features.minilm import MiniLM

TEXTS = ["A dog runs over the meadow.", "", "It was the best day of my life!", "word " * 600, "half \ud800 a pair"]


@pytest.fixture(scope="module")
def reader() -> LayerMeans:
    return LayerMeans()


def test_the_last_layer_is_what_minilm_gives(reader):
    rows = reader.encode(TEXTS[:4])
    last = rows[:, -384:]
    assert rows.shape == (4, 7 * 384)
    np.testing.assert_allclose(
        last / np.linalg.norm(last, axis=1, keepdims=True), MiniLM().encode(TEXTS[:4]), atol=2e-3
    )


def test_a_row_does_not_depend_on_its_neighbours(reader):
    together = reader.encode(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        np.testing.assert_array_equal(reader.encode([text])[0], row)


def test_nothing_gives_nothing(reader):
    assert reader.encode([]).shape == (0, 2688)


def test_the_cache_is_asked_first_and_gives_the_same(tmp_path, monkeypatch):
    cache = FeatureCache(tmp_path / "features.sqlite")
    first = LayerMeans(cache).encode([TEXTS[0], TEXTS[0], TEXTS[2]])
    monkeypatch.setattr(MiniLM, "with_layers", lambda *given: pytest.fail("encoded again"))
    again = LayerMeans(cache)
    np.testing.assert_array_equal(again.encode([TEXTS[0], TEXTS[0], TEXTS[2]]), first)
    assert MEANS_KIND == "layer-means"
    cache.close()
