"""The three kinds of encoders: what their vectors are, and that nothing else of a run changes them."""

import shutil

import numpy as np
import pytest

from iconotext.encoders.bridge import CONCEPTS, concept_vectors
from iconotext.encoders.encoder import untrained_encoder
from iconotext.encoders.load import load_encoder
from iconotext.encoders.spaces import JointSpace
from iconotext.encoders.stored_model import load_model
from iconotext.errors import FeatureError
from iconotext.features import FeatureCache, load_dual_encoder, load_image_backbone, load_text_backbone
from iconotext.features.model_folder import shipped_folder
from iconotext.library.models import library_encoder
from iconotext.types import Document, Image
from tests.support.images import noise

TEXTS = ["A dog runs across the grass.", "The taxes rise again.", ""]


@pytest.fixture(scope="module")
def default():
    return load_encoder(cache=False)


@pytest.mark.slow
def test_products_are_the_joint_cosine_and_the_concept_bridge_in_the_models_shares(default):
    stored, text, image = load_model(shipped_folder()), load_text_backbone(), load_image_backbone()
    files = [noise(0), noise(1)]
    images = default.encode_images(files)
    assert images.problems == (None, None)
    found = default.encode_sentences(TEXTS[:2]) @ images.vectors.T
    features, sentences = image.encode(files), text.encode(TEXTS[:2])
    space = JointSpace(stored)
    joint = space.sentences(sentences) @ space.images(features).T
    bridge = sentences @ concept_vectors(features, text.encode(image.classes), k=CONCEPTS).T
    share, alone = stored.recipe.linking.bridge, stored.recipe.linking.bridge_alone
    assert 0 < share < alone
    length = np.hypot((1 - alone) / (1 - share) ** 0.5, alone / share**0.5)  # before they are unit vectors
    np.testing.assert_allclose(found, ((1 - alone) * joint + alone * bridge) / length, atol=1e-5)
    document = Document("a", TEXTS[:2], [Image(f"{n}", file) for n, file in enumerate(files)])
    read = default.read(document)
    np.testing.assert_allclose(read.sentences(TEXTS[:2], [0, 1]) @ read.images().T, read.similarity, atol=1e-5)
    np.testing.assert_array_equal(images.features.pooled, features.pooled)


def test_what_is_read_of_a_document_does_not_depend_on_those_beside_it(default):
    texts = [f"A dog runs across field {n}." for n in range(30)]
    given = [Document(f"{n}", texts[n : 2 * n + 1], [Image(f"{i}", noise(i)) for i in range(n % 4)]) for n in range(12)]
    together = default.read_all([(each, default.reader.encode([s.text for s in each.sentences])) for each in given])
    for document, read in zip(given, together, strict=True):
        assert read.similarity.shape == (len(document.sentences), len(document.images))
        assert read.similarity.tobytes() == default.similarity(document).tobytes()


def test_vectors_have_length_one_and_pictures_that_cannot_be_read_are_zero(default):
    images = default.encode_images([noise(0), b"no picture", noise(1)])
    np.testing.assert_allclose(np.linalg.norm(images.vectors, axis=1), [1, 0, 1], atol=1e-5)
    assert [problem is None for problem in images.problems] == [True, False, True]
    assert images.vectors.shape[1] == default.encode_sentences(TEXTS).shape[1] == default.dim
    np.testing.assert_allclose(np.linalg.norm(default.encode_sentences(TEXTS), axis=1), 1, atol=1e-5)


def test_images_of_a_document_that_are_known_to_be_bad_are_not_looked_at(default):
    given = [Image("gone", problem="not found"), Image("there", noise(0)), Image("nowhere")]
    images = default.encode_images(given)
    assert images.problems == ("not found", None, "there is no file of it")
    assert images.features.pooled.any(axis=1).tolist() == images.vectors.any(axis=1).tolist() == [False, True, False]


def test_no_text_and_no_picture(default):
    assert default.encode_sentences([]).shape == (0, default.dim)
    images = default.encode_images([])
    assert (images.vectors.shape, images.problems) == ((0, default.dim), ())


def test_what_lies_beside_a_picture_changes_nothing(default):
    together = default.encode_images([noise(number) for number in range(3)]).vectors
    for number in range(3):
        alone = default.encode_images([noise(number)]).vectors
        np.testing.assert_allclose(alone[0], together[number], atol=1e-5)


@pytest.mark.slow
def test_the_fingerprint_tells_models_apart_and_is_the_same_twice(default, models):
    assert load_encoder().fingerprint == default.fingerprint
    others = [load_encoder(name).fingerprint for name in ("no-training", str(models / "clip"))]
    assert len({default.fingerprint, *others}) == 3


@pytest.mark.slow
def test_another_share_of_the_concept_bridge_is_another_fingerprint(default, tmp_path):
    model = shutil.copytree(shipped_folder(), tmp_path / "model")
    assert load_encoder(str(model)).fingerprint == default.fingerprint
    recipe = model / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("bridge_alone = 0.6", "bridge_alone = 0.5"))
    assert load_encoder(str(model)).fingerprint != default.fingerprint


def test_a_dual_encoder_is_its_own_space(models):
    encoder, dual = load_encoder(str(models / "clip"), cache=False), load_dual_encoder(str(models / "clip"))
    np.testing.assert_allclose(encoder.encode_sentences(["a cat"]), dual.text.encode(["a cat"]), atol=1e-5)
    np.testing.assert_allclose(
        encoder.encode_images([noise(0)]).vectors, dual.image.encode([noise(0)]).pooled, atol=1e-5
    )
    assert encoder.coherence is None
    document = Document("d", ["a cat", "a dog"], [Image("a", noise(0))])
    product = dual.text.encode(["a cat", "a dog"]) @ dual.image.encode([noise(0)]).pooled.T
    np.testing.assert_allclose(encoder.similarity(document), product, atol=1e-5)


def test_without_training_it_is_the_bridge_alone():
    encoder = load_encoder("no-training")
    assert encoder.dim == 384
    assert encoder.coherence is None
    assert np.linalg.norm(encoder.encode_images([noise(0)]).vectors) == pytest.approx(1, abs=1e-5)


def test_features_are_kept_in_the_cache(tmp_path, default, monkeypatch):
    monkeypatch.setenv("ICONOTEXT_CACHE", str(tmp_path / "cache"))
    first = load_encoder().encode_images([noise(5)]).vectors
    monkeypatch.setattr("iconotext.features.decoding.run_network", None)
    assert (first == load_encoder().encode_images([noise(5)]).vectors).all()
    monkeypatch.undo()
    np.testing.assert_allclose(first, default.encode_images([noise(5)]).vectors, atol=1e-3)


def test_a_model_that_does_not_look_at_pictures_is_refused_by_libraries(tmp_path):
    from iconotext.train import train
    from tests.support.training import small_recipe, write_synthetic

    corpus = write_synthetic(tmp_path / "corpus", 20)
    model = train(small_recipe(training={"epochs": 1}), [corpus], tmp_path / "model")
    with pytest.raises(FeatureError, match=r"name it: image=FILE.npy"):
        library_encoder(str(model))


def test_a_model_of_backbones_at_hand_needs_no_folder(models):
    dual = load_dual_encoder(str(models / "clip"))
    encoder = untrained_encoder("mine", dual.text, dual.image, cache=FeatureCache())
    assert (encoder.name, encoder.dim) == ("mine", 5)
