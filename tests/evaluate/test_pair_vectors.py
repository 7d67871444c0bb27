from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from iconotext.encoders.coherence_relations import Refinement, refine
from iconotext.errors import CorpusError
from iconotext.evaluate import pair_vectors as module
from iconotext.evaluate.pair_vectors import LeftOut, pair_vectors, pairs_of
from iconotext.evaluate.retrieval import own_probabilities, rank_pools, refined, similarities
from iconotext.types import Document, Image, Sentence
from tests.support.pairs import pair, stand_in, unit


def test_a_corpus_of_pairs_with_labels(image):
    documents = [
        pair("a", "One.", image("a.png"), {"Story": True, "Visible": None, "Mine": False}),
        pair("b", "Two.", image("b.png"), {"Story": False, "Visible": True}, links=None),
        pair("c", "Three.", image("c.png", content="a.png")),  # the same picture as a's
    ]
    found = pair_vectors(stand_in(), documents)
    assert found.ids == ("a", "b", "c")
    assert found.texts == ("One.", "Two.", "Three.")
    assert found.image_of.tolist() == [0, 1, 0]
    assert [picture.source for picture in found.images] == ["a.png", "b.png"]
    assert (found.text_vectors.shape, found.image_vectors.shape) == ((3, 8), (2, 8))
    assert found.relations == ("Visible", "Story", "Mine")  # the papers' order, then others
    nan = math.nan
    assert np.array_equal(found.labels, [[nan, 1, 0], [1, 0, nan], [nan, nan, nan]], equal_nan=True)
    assert found.left_out == ()
    assert np.array_equal(found.image_vectors[1], unit(sum(b"b.png")))


def test_every_gold_link_is_a_pair(image):
    pictures = (image("x.png"), image("y.png"))
    document = Document("d", (Sentence("A."), Sentence("B.")), pictures, links=((0, 1), (1, 1), (0, 0), (0, 1)))
    found = pair_vectors(stand_in(), [document])
    assert found.ids == ("d/0/1", "d/1/1", "d/0/0")
    assert found.texts == ("A.", "B.", "A.")
    assert found.image_of.tolist() == [0, 0, 1]
    assert found.relations == ()
    assert found.labels.shape == (3, 0)


def test_what_is_left_out_is_said(image, tmp_path):
    two = Document("two", (Sentence("A."), Sentence("B.")), (image("x.png"),))
    gone = Image("gone.png", None, problem="not found: gone.png")
    documents = [
        two,
        pair("none", "A.", image("n.png"), links=()),
        pair("gone", "A.", gone),
        pair("table", "A.", Image("id", None)),
        pair("broken", "A.", image("broken.png")),
        pair("good", "A.", image("good.png")),
    ]
    found = pair_vectors(stand_in(), documents)
    assert found.ids == ("good",)
    assert found.image_of.tolist() == [0]  # the broken picture is no candidate
    assert len(found.image_vectors) == len(found.images) == 1
    assert dict(found.left_out) == {
        "two": "the gold links are unknown",
        "none": "it has no gold link",
        "gone": "its picture is not found: gone.png",
        "table": "its picture is not a file",
        "broken": "its picture cannot be read: cannot be decoded",
    }
    with pytest.raises(CorpusError, match="'two' is left out, because the gold links are unknown"):
        pair_vectors(stand_in(), [two])
    with pytest.raises(CorpusError, match=r"no pair of a text and its picture$"):
        pair_vectors(stand_in(), [])
    assert list(pairs_of(two)) == [LeftOut("two", "the gold links are unknown")]


def test_pictures_and_texts_are_encoded_in_batches_each_picture_once(image, monkeypatch):
    documents = [pair(f"d{n}", f"Text {n}.", image(f"{n % 7}.png")) for n in range(23)]
    at_once = pair_vectors(stand_in(), documents)
    monkeypatch.setattr(module, "BATCH", 4)
    asked: list[str] = []
    in_batches = pair_vectors(stand_in(asked), iter(documents))
    assert asked == [f"{n}.png" for n in range(7)]
    for name in ("ids", "texts", "images", "left_out"):
        assert getattr(in_batches, name) == getattr(at_once, name)
    for name in ("text_vectors", "image_vectors", "image_of", "labels"):
        assert np.array_equal(getattr(in_batches, name), getattr(at_once, name))


class RelationStandIn:
    """(Q, N, 2) probabilities from the vectors."""

    def probabilities(self, texts, images):
        odds = texts[:, None, :2] * 3 + images[None, :, 2:4]
        return 1 / (1 + np.exp(-odds))


TELLS = RelationStandIn()


def test_scores_by_vectors_and_by_relations(image):
    pairs = pair_vectors(stand_in(), [pair(f"d{n}", f"Text {n}.", image(f"{n}.png")) for n in range(9)])
    numbers = np.arange(9)
    plain = similarities(pairs)(numbers, numbers[:4])
    assert plain == pytest.approx(pairs.text_vectors @ pairs.image_vectors[:4].T)
    setting = Refinement(2.0, 0.1)
    found = refined(pairs, TELLS, setting)(numbers, numbers[:4])
    told = TELLS.probabilities(pairs.text_vectors, pairs.image_vectors[:4])
    assert np.array_equal(found, refine(plain, told, strength=2.0, threshold=0.1))
    draws = rank_pools(refined(pairs, TELLS, Refinement(2.0, 0.0)), pairs.image_of, pool=9)
    assert np.array_equal(draws[0].ranks.mean, rank_pools(similarities(pairs), pairs.image_of, pool=9)[0].ranks.mean)


def test_own_probabilities_are_those_of_each_text_with_its_image(image, monkeypatch):
    from iconotext.evaluate import retrieval as retrieval_scores

    monkeypatch.setattr(retrieval_scores, "BATCH", 4)
    pairs = pair_vectors(stand_in(), [pair(f"d{n}", f"Text {n}.", image(f"{n % 5}.png")) for n in range(9)])
    whole = TELLS.probabilities(pairs.text_vectors, pairs.image_vectors)
    expected = [whole[n, image] for n, image in enumerate(pairs.image_of)]
    assert own_probabilities(pairs, TELLS) == pytest.approx(np.array(expected))


def test_a_document_of_one_pair_needs_no_links():
    found = list(pairs_of(Document("d", (Sentence("A."),), (Image("a", Path("a.png")),), links=None)))
    assert [each.id for each in found] == ["d"]
