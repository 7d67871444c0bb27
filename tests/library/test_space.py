"""The space that a library is searched in: what its products are, and that nothing else of a run changes them."""

import numpy as np
import pytest

from iconotext.embed.folder import default_folder
from iconotext.embed.joint import CONCEPTS, encode_images, encode_sentences
from iconotext.embed.trained import load_trained
from iconotext.errors import FeatureError
from iconotext.features import FeatureCache, concept_vectors, load_dual_encoder
from iconotext.library.space import load_space, model_space
from tests.features.conftest import models, noise

__all__ = ["models", "noise"]

TEXTS = ["A dog runs across the grass.", "Taxes rise.", ""]


@pytest.fixture(scope="module")
def default():
    return load_space()


def test_products_are_the_joint_cosine_and_the_concept_bridge_in_the_models_shares(default, noise):
    stored, text, image, _ = load_trained(default_folder(), text=None, image=None, default_text="minilm")
    files = [noise(0), noise(1)]
    vectors, problems = default.pictures(files)
    assert problems == (None, None)
    found = default.texts(TEXTS[:2]) @ vectors.T
    features, sentences = image.encode(files), text.encode(TEXTS[:2])
    joint = encode_sentences(stored, TEXTS[:2], sentences) @ encode_images(stored, features).T
    bridge = sentences @ concept_vectors(features, text.encode(image.classes), k=CONCEPTS).T
    share = stored.recipe.linking.bridge
    assert share > 0
    np.testing.assert_allclose(found, (1 - share) * joint + share * bridge, atol=1e-5)


def test_vectors_have_length_one_and_pictures_that_cannot_be_read_are_zero(default, noise):
    vectors, problems = default.pictures([noise(0), b"no picture", noise(1)])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 1], atol=1e-5)
    assert [problem is None for problem in problems] == [True, False, True]
    assert vectors.shape[1] == default.texts(TEXTS).shape[1] == default.dim
    np.testing.assert_allclose(np.linalg.norm(default.texts(TEXTS), axis=1), 1, atol=1e-5)


def test_no_text_and_no_picture(default):
    assert default.texts([]).shape == (0, default.dim)
    vectors, problems = default.pictures([])
    assert (vectors.shape, problems) == ((0, default.dim), ())


def test_what_lies_beside_a_picture_changes_nothing(default, noise):
    together, _ = default.pictures([noise(number) for number in range(3)])
    for number in range(3):
        np.testing.assert_allclose(default.pictures([noise(number)])[0][0], together[number], atol=1e-5)


def test_the_name_tells_models_apart_and_is_the_same_twice(default, models):
    assert load_space().name == default.name
    names = {default.name, load_space("no-training").name, load_space(str(models / "clip")).name}
    assert len(names) == 3


def test_a_dual_encoder_is_its_own_space(models, noise):
    space, dual = load_space(str(models / "clip")), load_dual_encoder(str(models / "clip"))
    np.testing.assert_allclose(space.texts(["a cat"]), dual.text.encode(["a cat"]), atol=1e-5)
    np.testing.assert_allclose(space.pictures([noise(0)])[0], dual.image.encode([noise(0)]).pooled, atol=1e-5)
    assert space.stored is None


def test_without_training_it_is_the_bridge_alone(noise):
    space = load_space("no-training")
    assert space.dim == 384
    assert space.stored is None
    assert np.linalg.norm(space.pictures([noise(0)])[0]) == pytest.approx(1, abs=1e-5)


def test_features_are_kept_where_a_cache_is_given(tmp_path, noise, default):
    cache = FeatureCache(tmp_path / "cache")
    kept = load_space(cache=cache)
    first, _ = kept.pictures([noise(5)])
    again, _ = load_space(cache=FeatureCache(tmp_path / "cache")).pictures([noise(5)])
    assert (first == again).all()
    np.testing.assert_allclose(first, default.pictures([noise(5)])[0], atol=1e-3)
    assert kept.name == default.name


def test_a_model_that_does_not_look_at_pictures_is_refused(monkeypatch):
    import iconotext.embed.trained as trained

    stored, text, _, _ = load_trained(default_folder(), text=None, image=None, default_text="minilm")
    monkeypatch.setattr(trained, "load_trained", lambda *a, **k: (stored, text, None, None))
    with pytest.raises(FeatureError, match="looks pictures up in a table"):
        load_space()


def test_a_model_of_backbones_at_hand_needs_no_folder(models, noise):
    dual = load_dual_encoder(str(models / "clip"))
    space = model_space("mine", dual.text, dual.image, None)
    assert space.dim == 12
