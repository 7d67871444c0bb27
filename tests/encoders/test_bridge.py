import numpy as np
import pytest

from iconotext.encoders.bridge import centred, concept_vectors
from iconotext.errors import FeatureError, SettingError, ShapeError
from iconotext.features import ImageFeatures, imagenet_classes


def features(*probabilities):
    p = np.array(probabilities, np.float32)
    return ImageFeatures(pooled=np.zeros((len(p), 2), np.float32), probabilities=p, problems=(None,) * len(p))


def test_a_thousand_different_classes():
    classes = imagenet_classes()
    assert len(classes) == len(set(classes)) == 1000
    assert all(name == name.strip() and name for name in classes)
    assert (classes[0], classes[281], classes[967], classes[999]) == ("tench", "tabby", "espresso", "toilet tissue")


def test_by_hand():
    vectors = np.array([[8, 0], [0, 8], [2, 2]], np.float32)
    # Mean (10/3, 10/3), of which 0.7 are 7/3: the first two become (17/3, -7/3) and (-7/3, 17/3).
    # The two most probable by their roots: .8 · (17, -7)/3 + .5 · (-7, 17)/3 = (10.1, 2.9)/3;
    expected = np.array([[10.1, 2.9]]) / np.sqrt(10.1**2 + 2.9**2)
    np.testing.assert_allclose(concept_vectors(features([0.64, 0.25, 0.11]), vectors, k=2), expected, rtol=1e-5)


def test_one_class_is_its_vector_less_what_all_share():
    found = concept_vectors(features([0.2, 0.7, 0.1]), np.eye(3, dtype=np.float32), k=1)
    expected = np.array([[-0.7 / 3, 1 - 0.7 / 3, -0.7 / 3]])
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), rtol=1e-5)


def test_images_with_problems_stay_zero():
    vectors = concept_vectors(features([0, 0, 0], [1, 0, 0]), np.eye(3, dtype=np.float32), k=3)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [0, 1], rtol=1e-6)
    assert vectors.dtype == np.float32


def test_what_does_not_fit():
    eye = np.eye(3, dtype=np.float32)
    with pytest.raises(ShapeError, match=r"\(3, 3\) do not fit probabilities \(1, 2\)"):
        concept_vectors(features([1, 0]), eye)
    with pytest.raises(SettingError, match="k is 4, expected 1 to 3"):
        concept_vectors(features([1, 0, 0]), eye, k=4)
    with pytest.raises(FeatureError, match="no classifier"):
        concept_vectors(ImageFeatures(pooled=np.zeros((1, 2), np.float32), problems=(None,)), eye)


def test_centred_by_hand():
    # Of two sentences half of their mean (1/2, 1/2) is taken away: (3/4, -1/4) and (-1/4, 3/4).
    expected = np.array([[3, -1], [-1, 3]]) / np.sqrt(10)
    np.testing.assert_allclose(centred(np.eye(2, dtype=np.float32)), expected, rtol=1e-6)


def test_one_sentence_or_none_stays_as_it_is():
    one = np.array([[0.6, 0.8]], np.float32)
    np.testing.assert_array_equal(centred(one), one)
    assert centred(np.zeros((0, 3), np.float32)).shape == (0, 3)
