import json
from typing import Any

import numpy as np
import pytest
from fitting.cited_documents import Cited, moved, shortened, variants, with_foreign
from fitting.fit_evidence import common_habit, dump_coefficients, example, fit_coefficients, fitted_features
from fitting.fit_logit import Added, fit_added, fit_logit
from fitting.fit_matcher import CitedCaptions, fit_matcher

from iconotext.decide.combine import ADDED, Coefficients, load_coefficients
from iconotext.errors import ShapeError
from iconotext.evidence.caption import WEIGHTS, Reading
from iconotext.evidence.habit import common_shares
from iconotext.evidence.layout import OPENING, layout_features, places
from iconotext.types import Image, LinkedSentence, TextLine
from tests.support.linking import TEXTS, document, encode, workshop


def test_every_combination_ships_with_the_features_there_are() -> None:
    shipped = load_coefficients()
    assert set(shipped) == {"caption", "layout", "caption+layout", "context", *ADDED}
    words = (TextLine("Danger", 0.9, (0, 0, 1, 1)),)
    d = workshop(
        Image("a.jpg", caption="C c", alt="An alt", position=1, lines=words),
        Image("b.jpg", alt="Lone alt", position=3, context=(LinkedSentence("A sentence.", 0.5),)),
    )
    features = fitted_features(d, np.zeros((6, 2), np.float32), Reading(encode))
    features["layout"] = layout_features([d], places([d]), np.full(12, 1 / 6, np.float32))
    for name, entry in shipped.items():
        assert set(entry.weights) == {feature for kind in name.split("+") for feature in features[kind]}
    assert (
        dump_coefficients({"layout": Coefficients(1.0, {"a": 2.0})})
        == json.dumps({"layout": {"null": 1.0, "weights": {"a": 2.0}}}, indent=1) + "\n"
    )


def test_frequencies_of_a_table_with_what_is_known_and_a_null_option_that_stays() -> None:
    # 100 groups of two rows, x = 1 and x = 0. Right: the first in 60, the second in 20, none in 20.
    # P(first) / P(second) = exp(w) = 60 / 20, P(none) / P(second) = exp(b) = 20 / 20.
    features = np.tile(np.array([[1.0], [0.0]], np.float32), (100, 1))
    groups, positive = np.repeat(np.arange(100), 2), np.zeros(200, bool)
    positive[0:120:2] = True
    positive[121:160:2] = True
    # If the first row is known to be twice as likely, exp(w) = 60 / 20 / 2.
    for known, odds in ((1, 3), (2, 1.5)):
        offset = np.tile([np.log(known), 0.0], 100)
        weights, null = fit_logit(features, groups, positive, ridge=1e-6, offset=offset)
        assert weights[0] == pytest.approx(np.log(odds), abs=0.02)
        assert null == pytest.approx(0, abs=0.02)
    assert fit_logit(features, groups, positive, offset=offset, fixed_null=1.5)[1] == 1.5


def test_separable_groups_are_separated() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)).astype(np.float32)
    groups = np.repeat(np.arange(60), 5)
    positive = np.zeros(300, bool)
    positive[np.arange(60) * 5 + x[:, 1].reshape(60, 5).argmax(axis=1)] = True
    weights, null = fit_logit(x, groups, positive, ridge=0.1)
    assert abs(weights[1]) > 5 * max(abs(weights[0]), abs(weights[2]))
    assert null < -2
    found = (x @ weights).reshape(60, 5).argmax(axis=1) == x[:, 1].reshape(60, 5).argmax(axis=1)
    assert found.mean() > 0.95


def test_weights_of_groups_count() -> None:
    features = np.array([[1.0], [0.0]] * 2, np.float32)
    groups, positive = np.array([0, 0, 1, 1]), np.array([True, False, False, True])
    strong, _ = fit_logit(features, groups, positive, weight=np.array([3.0, 1.0]), ridge=1e-6)
    assert strong[0] == pytest.approx(np.log(3), abs=0.05)


def test_the_words_weigh_what_the_rest_does_not_say() -> None:
    # Ten documents of two sentences and two pictures, of which the second has no words. The rest gives both sentences
    # odds of 1. The words fit the first sentence, which is right in 6 of 10, the second in 2: exp(w) = 3. Of the other
    # two nothing is learned.
    features = {"text.cos": np.array([[1, 0], [0, 0]], np.float32)}
    right = [np.array([[n < 6, True], [6 <= n < 8, False]]) for n in range(10)]
    documents = [Added(features, positive, np.full((2, 2), 0.5, np.float32)) for positive in right]
    fitted = fit_added([*documents, Added({}, right[0], np.full((2, 2), 0.5, np.float32))], ridge=1e-6)
    assert fitted.weights["text.cos"] == pytest.approx(np.log(3), abs=0.02)
    with pytest.raises(ShapeError, match="no cited picture has evidence"):
        fit_added([Added({}, right[0], np.full((2, 2), 0.5, np.float32))])


def test_nothing_to_fit() -> None:
    with pytest.raises(ShapeError):
        fit_logit(np.zeros((0, 2), np.float32), np.zeros(0, np.int64), np.zeros(0, bool))
    with pytest.raises(ShapeError, match="nothing to fit"):
        fit_coefficients([], common_shares())


def cited(number: Any) -> Any:
    words = [f"{text} {number}{i}" for i, text in enumerate(TEXTS)]
    images = [Image("a.jpg", caption=f"A brother {number}3", alt=f"A man {number}3", position=4)]
    d = document(words, images, blocks=(0, 0, 1, 1, 2, 2), links=((3, 0),))
    return Cited(document=d, sentence_vectors=encode(words), image_vectors=encode([words[3]]), collection="book")


def test_fit_learns_from_citations_and_is_repeatable() -> None:
    corpus = [cited(n) for n in range(10, 20)]
    for number, one in enumerate(corpus):
        object.__setattr__(one.document, "id", str(number))
    examples = [example(copy, encode, weight=weight) for copy, weight in variants(corpus, seed=3)]
    common = common_habit(examples)
    assert common[:OPENING].argmax() == 4  # right below the sentence
    first = fit_coefficients(examples, common)
    again = [example(copy, encode, weight=weight) for copy, weight in variants(corpus, seed=3)]
    assert first == fit_coefficients(again, common)
    assert set(first) == {"caption", "layout", "caption+layout", "picture"}
    assert first["picture"].weights["picture.z"] > 0
    assert first["layout"].weights["layout.habit"] > 0


@pytest.mark.slow
def test_the_matcher_learns_which_sentences_cite() -> None:
    # a caption goes with the sentence whose vector is its own turned by one place; the cosine knows nothing of that
    rng = np.random.default_rng(0)
    documents = []
    for _ in range(1200):
        captions = rng.normal(size=(2, 12)).astype(np.float32)
        captions /= np.linalg.norm(captions, axis=1, keepdims=True)
        others = rng.normal(size=(6, 12)).astype(np.float32)
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        sentences = np.concatenate([np.roll(captions, 1, axis=1), others])
        documents.append(CitedCaptions(sentences, captions, np.eye(8, 2, dtype=bool)))
    probe = documents[0].captions[0]
    one, other = (fit_matcher(documents[:100], probe) for _ in range(2))
    assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in WEIGHTS)
    matcher = fit_matcher(documents[:1100], probe)
    hits = [matcher.match(d.sentences, d.captions).argmax(axis=0) == [0, 1] for d in documents[1100:]]
    plain = [(d.sentences @ d.captions.T).argmax(axis=0) == [0, 1] for d in documents[1100:]]
    assert np.mean(hits) > np.mean(plain) + 0.2
    with pytest.raises(ShapeError, match="nothing to fit"):
        fit_matcher([documents[0]._replace(captions=np.zeros((2, 12), np.float32))], probe)


def test_variants_keep_the_documents_sound() -> None:
    rng = np.random.default_rng(0)
    one, other = cited(1), cited(2)
    object.__setattr__(other.document, "id", "other")
    for _ in range(30):
        copy = with_foreign(shortened(moved(one, rng, share=1.0), rng), [one, other], rng, share=2.0, inside=0.5)
        assert len(copy.document.images) == len(copy.image_vectors)
        assert all(0 <= (image.position or 0) <= 6 for image in copy.document.images)
        assert copy.document.links == one.document.links


def test_a_place_counts_only_where_it_could_have_been_taken() -> None:
    # Nine images between paragraphs belong to the sentence above them; one that is inside a paragraph belongs to it.
    between = document(["a", "b"], [Image("a.jpg", position=1)], blocks=(0, 2), links=((0, 0),))
    inside = document(["a", "b", "c"], [Image("a.jpg", position=1)], blocks=(0, 0, 1), links=((0, 0),))
    found = [example(Cited(d, encode([s.text for s in d.sentences]), None, "book"), encode) for d in [between] * 9]
    found.append(example(Cited(inside, encode(["a", "b", "c"]), None, "other"), encode))
    shares = common_habit(found)[:OPENING]
    assert shares.sum() == pytest.approx(1)
    # Above or below between paragraphs: seen 1 + half to half. Inside: its own sentence against two others.
    assert shares[4] > 1.5 * shares[5]
    assert shares[0] > 1.5 * shares[7]
    assert common_habit([])[:OPENING].tolist() == pytest.approx([1 / 20] * 20)
