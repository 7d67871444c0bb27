from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.encoders.relation_model import (
    LIMIT,
    TEXTS,
    LayerMeans,
    RelationModel,
    RelationWeights,
    hashed_runs,
    load_relation_model,
    relations_folder,
    save_relation_model,
    word_logits,
)
from iconotext.errors import FeatureError, ShapeError
from iconotext.features import FeatureCache
from iconotext.features.minilm import MiniLM
from iconotext.relations import CITE, CLUE
from iconotext.train.relations.fit import hashed_texts, weighted_rows

BUCKETS = 64


class TwoNumbers:
    """Reads the length of a text and 1."""

    name = "all-MiniLM-L6-v2"
    dim = 2

    def encode(self, texts):
        return np.array([[len(text), 1] for text in texts], np.float32)


def weights(dim: int = 2, images: int = 3) -> RelationWeights:
    """Two relations."""
    arrays = {
        "layers": np.tile([[0.5, -1.0]], (dim, 1)),
        "rarity": np.ones(BUCKETS),
        "words": np.tile([1.0, 0.0], (BUCKETS, 1)),
        "bias": np.array([0.25, -1.0]),
        "image": np.arange(2.0 * images).reshape(images, 2),
        "image_bias": np.array([1.0, 0.0]),
    }
    made = {name: array.astype(np.float32) for name, array in arrays.items()}
    return RelationWeights(("Visible", "Story"), made, {"text": MiniLM().name, "image": "efficientnet-lite0"})


def test_log_odds_by_hand():
    # "abcd" is 4 and 1 to the reader; n words of 1/sqrt(n) each.
    runs = len(hashed_runs("abcd", BUCKETS))
    expected = [0.5 * (4 + 1) + runs**0.5 + 0.25, -(4 + 1) - 1]
    model = RelationModel("m", weights(), TwoNumbers())
    np.testing.assert_allclose(model.text_logits(["abcd"])[0], expected, rtol=1e-6)
    assert model.text_logits([]).shape == (0, 2)


def test_log_odds_are_bounded():
    model = RelationModel("m", weights(), TwoNumbers())
    assert model.text_logits(["x" * 900])[0].tolist() == [LIMIT, -LIMIT]


def test_many_texts_are_read_some_at_a_time_and_come_out_as_one_by_one():
    class Counting(TwoNumbers):
        def encode(self, texts):
            asked.append(len(texts))
            return super().encode(texts)

    asked: list[int] = []
    model = RelationModel("m", weights(), Counting())
    texts = ["x" * (i % 40) for i in range(2 * TEXTS + 3)]
    found = model.text_logits(texts)
    assert asked == [TEXTS, TEXTS, 3]
    assert found.dtype == np.float32
    one_by_one = np.concatenate([model.text_logits([text]) for text in texts[:40]])
    np.testing.assert_allclose(found, one_by_one[np.arange(len(texts)) % 40], rtol=1e-6)


def test_what_texts_say_is_kept_and_is_the_same_to_the_last_bit_from_the_cache_and_in_any_company(tmp_path):
    class Counting(TwoNumbers):
        def encode(self, texts):
            asked.extend(texts)
            return super().encode(texts)

    asked: list[str] = []
    cache = FeatureCache(tmp_path / "features.sqlite")
    texts = ["a", "a lovely hat", "so", "plain"]
    alone = np.concatenate([RelationModel("m", weights(), TwoNumbers()).text_logits([text]) for text in texts])
    cold = RelationModel("m", weights(), Counting(), cache).text_logits(texts)
    warm = RelationModel("m", weights(), Counting(), cache).text_logits(texts[::-1])[::-1]
    assert asked == texts
    assert alone.tobytes() == cold.tobytes() == warm.tobytes()
    RelationModel("other", weights(), Counting(), cache).text_logits(texts[:1])
    assert asked == [*texts, "a"]  # other weights have other log-odds


def test_pictures_add_by_hand():
    model = RelationModel("m", weights(), TwoNumbers())
    np.testing.assert_allclose(model.image_offsets(np.array([[1, 0, 1]], np.float32)), [[0 + 4 + 1, 1 + 5]])
    assert model.image_offsets(np.zeros((0, 3), np.float32)).shape == (0, 2)
    with pytest.raises(ShapeError, match=r"\(1, 4\).*\(pictures, 3\)"):
        model.image_offsets(np.zeros((1, 4), np.float32))


def test_arrays_that_do_not_fit_are_refused():
    broken = weights()
    with pytest.raises(ShapeError, match="words"):
        replace(broken, arrays={**broken.arrays, "words": np.ones((BUCKETS, 3), np.float32)})
    nan = np.array([np.nan, 1], np.float32)
    with pytest.raises(ShapeError, match="bias of the relation model has numbers that are not finite"):
        replace(broken, arrays={**broken.arrays, "bias": nan})
    with pytest.raises(ShapeError, match="reads 3 numbers"):
        RelationModel("m", weights(dim=3), TwoNumbers())


def test_what_is_saved_is_loaded(tmp_path):
    made = weights(dim=2688)
    save_relation_model(tmp_path / "mine", made)
    model = load_relation_model(tmp_path / "mine")
    assert (model.relations, model.backbones) == (made.relations, made.backbones)
    assert model.name.startswith("mine-")
    assert load_relation_model(tmp_path / "mine").name == model.name
    np.testing.assert_allclose(model.image_offsets(np.eye(3, dtype=np.float32))[1], [3, 3])
    first = (tmp_path / "mine/weights.safetensors").read_bytes()
    save_relation_model(tmp_path / "mine", made)
    assert (tmp_path / "mine/weights.safetensors").read_bytes() == first
    save_relation_model(tmp_path / "mine", replace(made, relations=("Visible", "Meta")))
    assert load_relation_model(tmp_path / "mine").name != model.name


def test_what_is_wrong_with_a_folder_is_said(tmp_path):
    with pytest.raises(FeatureError, match=r"weights\.safetensors is missing"):
        load_relation_model(tmp_path)
    save_relation_model(tmp_path, weights(dim=2688))
    whole = (tmp_path / "weights.safetensors").read_bytes()
    (tmp_path / "weights.safetensors").write_bytes(whole[:-100])
    with pytest.raises(FeatureError, match="damaged"):
        load_relation_model(tmp_path)
    save_relation_model(tmp_path, replace(weights(dim=2688), backbones={"text": "another", "image": "x"}))
    with pytest.raises(FeatureError, match="reads the layers of another"):
        load_relation_model(tmp_path)
    save_relation_model(tmp_path, weights(dim=4))
    with pytest.raises(FeatureError, match="reads 4 numbers"):
        load_relation_model(tmp_path)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory) -> RelationModel:
    return load_relation_model(cache=FeatureCache(tmp_path_factory.mktemp("cache") / "features.sqlite"))


def test_the_model_that_ships_is_small_and_knows_all_relations(shipped):
    assert shipped.relations == (*CLUE, *CITE)
    assert sum(file.stat().st_size for file in relations_folder().iterdir()) < 1_500_000


def test_the_model_that_ships_tells_texts_apart(shipped):
    plain, action, reaction = (
        "a red car on a street",
        "football player scores a goal during the match against sports team",
        "i love this so much , the most beautiful dress ever !",
    )
    said = dict(zip(shipped.relations, shipped.text_logits([plain, action, reaction]).T, strict=True))
    assert said["Visible"].argmin() == 2
    assert said["Action"].argmax() == 1
    assert said["Subjective"].argmax() == 2
    during, quantities = shipped.text_logits(["Stir the sauce until it thickens.", "2 cups flour, 1 cup sugar, 3 eggs"])
    column = shipped.relations.index("Elaboration t")
    assert quantities[column] > during[column]


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


SENTENCES = ["A dog runs over the meadow.", "", "It was the best day of my life!", "word " * 600, "half \ud800 a pair"]


@pytest.fixture(scope="module")
def reader() -> LayerMeans:
    return LayerMeans()


def test_the_last_layer_is_what_minilm_gives(reader):
    rows = reader.encode(SENTENCES[:4])
    last = rows[:, -384:]
    assert rows.shape == (4, 7 * 384)
    np.testing.assert_allclose(
        last / np.linalg.norm(last, axis=1, keepdims=True), MiniLM().encode(SENTENCES[:4]), atol=2e-3
    )


def test_a_row_does_not_depend_on_its_neighbours(reader):
    together = reader.encode(SENTENCES)
    for text, row in zip(SENTENCES, together, strict=True):
        np.testing.assert_array_equal(reader.encode([text])[0], row)


def test_nothing_gives_nothing(reader):
    assert reader.encode([]).shape == (0, 2688)


def test_the_cache_is_asked_first_and_gives_the_same(tmp_path, monkeypatch):
    cache = FeatureCache(tmp_path / "features.sqlite")
    first = LayerMeans(cache).encode([SENTENCES[0], SENTENCES[0], SENTENCES[2]])
    monkeypatch.setattr(MiniLM, "with_layers", lambda *given: pytest.fail("encoded again"))
    again = LayerMeans(cache)
    np.testing.assert_array_equal(again.encode([SENTENCES[0], SENTENCES[0], SENTENCES[2]]), first)
    cache.close()
