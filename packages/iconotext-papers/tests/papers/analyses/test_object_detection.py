from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext import Document, Image, Sentence
from iconotext.encoders.encoder import untrained_encoder
from iconotext.errors import FeatureError, SettingError
from iconotext.features import ImageFeatures
from iconotext.features.word_vectors import mean_words
from iconotext_papers.analyses.object_detection import evaluate_object_detection, object_detection_scores
from tests.support.encoders import image_backbone, text_backbone


def test_by_hand():
    classes = np.array([[1, 0], [0, 2], [-1, 0]], np.float32)
    p = np.array([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7]], np.float32)
    sentences = np.array([[3, 0], [0, 1], [0, 0]], np.float32)  # of the last, no word has a vector
    found = object_detection_scores(sentences, p, classes, largest=2)
    np.testing.assert_allclose(found[0], [[1, -1], [0, 0], [0, 0]], atol=1e-6)
    # K = 2: the means (1, 2) / 2 and (-1, 2) / 2
    a, b = 1 / np.sqrt(5), 2 / np.sqrt(5)
    np.testing.assert_allclose(found[1], [[a, -a], [b, b], [0, 0]], atol=1e-6)


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_agrees_with_a_loop(seed, k):
    random = np.random.default_rng(seed)
    sentences, p, classes = random.normal(size=(3, 4)), random.random((2, 6)), random.normal(size=(6, 4))
    found = object_detection_scores(
        sentences.astype(np.float32), p.astype(np.float32), classes.astype(np.float32), largest=6
    )
    for i in range(3):
        for j in range(2):
            names = sorted(range(6), key=lambda c: -p[j, c])[:k]
            image = np.mean([classes[c] for c in names], axis=0)
            cosine = image @ sentences[i] / np.linalg.norm(image) / np.linalg.norm(sentences[i])
            assert found[k - 1, i, j] == pytest.approx(cosine, abs=1e-4)


def test_a_picture_that_could_not_be_read_scores_0():
    found = object_detection_scores(
        np.ones((1, 2), np.float32), np.zeros((1, 3), np.float32), np.ones((3, 2), np.float32), largest=3
    )
    assert (found == 0).all()


def test_more_classes_than_there_are_is_refused():
    with pytest.raises(SettingError, match="20, expected 1 to 3"):
        object_detection_scores(np.ones((1, 4), "f4"), np.ones((1, 3), "f4"), np.ones((3, 4), "f4"))


class Seer:
    """Sees in a picture what its bytes say: probabilities falling from the first class named to the last."""

    name, dim = "seer", 1
    classes: tuple[str, ...] | None = ("red", "green", "blue")

    def encode(self, files, *, regions=False):
        p = np.zeros((len(files), 3), np.float32)
        for row, file in enumerate(files):
            for rank, digit in enumerate(file.decode()):
                p[row, int(digit)] = 0.5**rank
        return ImageFeatures(np.zeros((len(files), 1), np.float32), p, problems=(None,) * len(files))


class Reader:
    name, dim = "reader", 3

    def encode(self, texts):
        vectors = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1)}
        return np.array([vectors[text] for text in texts], np.float32).reshape(-1, 3)


def encoder(image=Seer):
    return untrained_encoder("bridge", text_backbone(Reader()), image_backbone(image()))


def document(name, *seen, links):
    images = tuple(Image(f"{i}", what.encode()) for i, what in enumerate(seen))
    return Document(name, tuple(map(Sentence, ("red", "green", "blue"))), images, links=links)


def test_k_is_the_best_on_these_documents_and_also_the_best_on_validation():
    first = document("first", "012", "102", links=((0, 0), (1, 1)))  # the most probable class is right
    second = document("second", "012", "210", links=((1, 0), (1, 1)))  # only the first two together tell
    found = evaluate_object_detection([first], [second], encoder(), largest=2)
    assert (found.k, found.validation_k) == (1, 2)
    assert found.best.means["auc"] == 1
    assert found.chosen.means["auc"] < 1
    alone = evaluate_object_detection([first], [], encoder(), largest=2)
    assert (alone.k, alone.validation_k, alone.chosen) == (1, None, None)


def test_pictures_with_a_problem_keep_their_column():
    given_ = document("x", "012", "102", links=((0, 0),))
    broken = Document(
        "x", given_.sentences, (given_.images[0], Image("gone", None, problem="not found")), links=given_.links
    )
    found = evaluate_object_detection([broken], [], encoder(), largest=1)
    assert found.best.documents[0].images == 2


def test_a_corpus_without_any_picture_file_is_refused():
    bare = Document("x", (Sentence("red"),), (Image("a"), Image("b")), links=((0, 0),))
    with pytest.raises(FeatureError, match="none of the 2 pictures"):
        evaluate_object_detection([bare], [], encoder(), largest=1)


def test_a_backbone_without_classifier_is_refused():
    class Blind(Seer):
        classes = None

    with pytest.raises(FeatureError, match="seer has no classifier"):
        evaluate_object_detection([], [], encoder(Blind))


def test_mean_word_vectors(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 0\ndog 0 1\nunused 9 9\n")
    words = mean_words(path, 2, ["A cat.", "cat dog dog", "nothing here"])
    vectors = words.encode(["A cat.", "cat dog dog", "nothing here", ""])
    np.testing.assert_allclose(vectors, [[1, 0], [1 / 3, 2 / 3], [0, 0], [0, 0]], atol=1e-6)
