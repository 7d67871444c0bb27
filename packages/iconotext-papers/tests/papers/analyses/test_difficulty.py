from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import f as f_distribution
from sklearn.decomposition import PCA

from iconotext import Document, Image, Sentence
from iconotext.encoders.encoder import untrained_encoder
from iconotext.errors import CorpusError, SettingError, ShapeError
from iconotext.evaluate import Evaluation
from iconotext.features import ImageFeatures
from iconotext_papers.analyses.difficulty import document_vectors, explain, reduced, spread
from tests.support.analyses import document_scores
from tests.support.encoders import image_backbone, text_backbone


def test_spread_by_hand():
    assert spread(np.array([[2.0, 0], [5, 0]])) == 0  # lengths do not count
    assert spread(np.array([[1.0, 0], [-3, 0]])) == pytest.approx(1)
    assert spread(np.array([[1.0, 0], [0, 1]])) == pytest.approx(0.5)
    assert spread(np.array([[1.0, 2, 3]])) == 0
    with pytest.raises(ShapeError, match=r"\(0, 3\)"):
        spread(np.zeros((0, 3)))


def test_spread_is_one_minus_the_squared_length_of_the_centroid():
    vectors = np.random.default_rng(0).normal(size=(9, 5))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert spread(vectors) == pytest.approx(1 - np.linalg.norm(unit.mean(0)) ** 2)


def corpus(documents=80, seed=0):
    random = np.random.default_rng(seed)
    images = [random.normal(random.normal(size=8), random.uniform(0.1, 2), (5, 8)) for _ in range(documents)]
    texts = [random.normal(random.normal(size=6), random.uniform(0.1, 2), (7, 6)) for _ in range(documents)]
    return random, images, texts


def test_regressions_agree_with_least_squares_written_out():
    random, images, texts = corpus()
    target = random.random(80)
    found = explain(target, images, texts, dimensions=3)

    def by_hand(features):
        matrix = np.column_stack([np.ones(80), features])
        rest = target - matrix @ np.linalg.lstsq(matrix, target, rcond=None)[0]
        return 1 - (rest @ rest) / np.square(target - target.mean()).sum()

    spreads = np.array([[spread(a), spread(b)] for a, b in zip(images, texts, strict=True)])
    contents = []
    for side in (images, texts):
        contents.append(PCA(3).fit_transform(np.array([each.mean(0) for each in side])))
    small, large = by_hand(spreads), by_hand(np.hstack([spreads, *contents]))
    assert found.spread.r2 == pytest.approx(small)
    assert found.content.r2 == pytest.approx(large)
    assert found.image_spread.r2 == pytest.approx(by_hand(spreads[:, :1]))
    f = (small / 2) / ((1 - small) / 77)
    assert (found.spread.f, found.spread.p) == pytest.approx((f, f_distribution.sf(f, 2, 77)))
    added = ((large - small) / 6) / ((1 - large) / (80 - 9))
    assert (found.added_f, found.added_p) == pytest.approx((added, f_distribution.sf(added, 6, 71)))
    assert (found.documents, found.spread.features, found.content.features) == (80, 2, 8)


def test_planted_causes_are_found():
    random, images, texts = corpus(200)
    wide = np.array([spread(each) for each in images])
    by_spread = explain(0.2 + 0.5 * wide + random.normal(0, 0.01, 200), images, texts, dimensions=4)
    assert by_spread.spread.r2 > 0.9
    assert by_spread.coefficients["image"] == pytest.approx(0.5, abs=0.03)
    assert by_spread.added_p > 0.001
    about = reduced([each.mean(0) for each in texts], 1)[:, 0]
    by_content = explain(0.5 + 0.1 * about + random.normal(0, 0.01, 200), images, texts, dimensions=4)
    assert by_content.spread.r2 < 0.2
    assert by_content.content.r2 > 0.9
    assert by_content.added_p < 1e-10


def test_what_does_not_vary_explains_nothing():
    random, images, texts = corpus(30)
    alike = [each[:1] for each in images]  # one picture each: no spread
    found = explain(random.random(30), alike, texts, dimensions=2)
    assert (found.image_spread.r2, found.image_spread.f, found.image_spread.features) == (0, None, 0)
    assert found.spread.r2 == pytest.approx(found.text_spread.r2)
    assert found.spread.features == 1
    same = explain(random.random(30), images, [texts[0]] * 30, dimensions=2)
    assert same.text_spread.f is None
    assert same.content.features == 3
    nothing = explain(random.random(30), [images[0]] * 30, [texts[0]] * 30, dimensions=2)
    assert (nothing.content.r2, nothing.added_f, nothing.added_p) == (0, None, None)


def test_too_few_documents_and_too_many_dimensions_are_refused():
    _, images, texts = corpus(80)
    target = list(np.linspace(0, 1, 80))
    with pytest.raises(CorpusError, match=r"8 documents are too few.*at least 10"):
        explain(target[:8], images[:8], texts[:8], dimensions=3)
    with pytest.raises(SettingError, match="dimensions is 7, expected 1 to 6"):
        explain(target, images, texts, dimensions=7)
    with pytest.raises(CorpusError, match="same AUC"):
        explain([0.5] * 80, images, texts, dimensions=2)


class Eyes:
    name, dim, classes = "eyes", 2, None

    def encode(self, files, *, regions=False):
        pooled = np.array([[len(file), 1] if file else [0, 0] for file in files], np.float32).reshape(-1, 2)
        return ImageFeatures(pooled, problems=tuple(None if file else "broken" for file in files))


def test_document_vectors_take_the_documents_that_have_an_auc():
    def document(name, *files):
        return Document(name, (Sentence("a"), Sentence("b")), tuple(Image("x", file) for file in files))

    def record(name, images, auc):
        return document_scores(name, auc, images=images)

    documents = [document("a", b"12", b""), document("b", b""), document("c", b"1"), document("d", b"1")]
    evaluation = Evaluation((record("a", 2, 0.7), record("b", 1, 0.6), record("c", 1, None)))

    class Reader:
        name, dim = "reader", 3

        def encode(self, texts):
            return np.ones((len(texts), 3), np.float32)

    encoder = untrained_encoder("bridge", text_backbone(Reader()), image_backbone(Eyes()))
    aucs, (images,), (sentences,), left_out = document_vectors(evaluation, documents, encoder)
    assert (aucs, left_out) == ([0.7], ["b"])
    assert images.tolist() == [[2, 1]]  # the broken picture is left out
    assert sentences.shape == (2, 3)
    with pytest.raises(CorpusError, match="lacks 1 of the documents in the results, such as 'b'"):
        document_vectors(evaluation, documents[:1], encoder)
    with pytest.raises(CorpusError, match="'a' had 2 sentences and 2 images"):
        document_vectors(evaluation, [document("a", b"1")], encoder)
