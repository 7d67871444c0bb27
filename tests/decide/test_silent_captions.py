"""Captions that say nothing: how many they are, found without labels, and what they no longer do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext import Document, Image, Linker, LinkSettings, Sentence
from iconotext.decide.combine import PRIOR_CAPTIONS, Coefficients, caption_matches, combine, silent_share
from iconotext.evidence.gather import DocumentEvidence
from iconotext.evidence.habit import PlaceEvidence
from iconotext.run import habits_of

COEFFICIENTS = {
    "caption": Coefficients(1.0, {"caption.x": 2.0}),
    "layout": Coefficients(3.0, {"layout.x": 1.0}),
    "caption+layout": Coefficients(2.0, {"caption.x": 1.5, "layout.x": 0.5}),
}


def evidence(caption: list[list[float]], layout: list[list[float]] | None = None) -> DocumentEvidence:
    shape = np.shape(caption)
    images = tuple(Image(f"{j}.png", caption="A tram.") for j in range(shape[1]))
    document = Document("d", tuple(Sentence("Text.") for _ in range(shape[0])), images)
    features = {"caption": {"caption.x": np.array(caption, np.float32)}}
    if layout is not None:
        features["layout"] = {"layout.x": np.array(layout, np.float32)}
    return DocumentEvidence(document, document, np.arange(shape[1]), features)


def share(log_odds: list[float], null: float) -> np.ndarray:
    mass = np.exp(np.array(log_odds) - null)
    return mass / (1 + mass.sum())


@pytest.mark.parametrize("silent", [0.0, 0.3, 1.0])
def test_the_odds_of_a_caption_are_mixed_with_odds_that_change_nothing(silent):
    each = evidence([[2.0], [-1.0]], [[1.0], [4.0]])
    (combined,) = combine([each], COEFFICIENTS, [silent])
    even = np.exp(2.0 - 3.0)  # with it the image's null option is that of layout alone
    caption = [np.log((1 - silent) * np.exp(1.5 * x) + silent * even) for x in (2.0, -1.0)]
    expected = share([caption[0] + 0.5, caption[1] + 2.0], 2.0)
    np.testing.assert_allclose(combined.share[:, 0], expected, rtol=1e-5)
    np.testing.assert_allclose(combined.contributions["caption"][:, 0], caption, atol=2e-6)


def test_an_image_that_has_no_layout_is_left_to_chance_where_its_caption_is_silent():
    (combined,) = combine([evidence([[2.0], [-1.0], [0.0]])], COEFFICIENTS, [1.0])
    np.testing.assert_allclose(combined.share[:, 0], [1 / 3 / (1 + 0.25)] * 3, rtol=1e-5)


def test_the_captions_of_one_document_do_not_touch_another():
    one, other = evidence([[2.0], [-1.0]], [[1.0], [4.0]]), evidence([[0.5], [1.0]], [[0.0], [1.0]])
    (_, beside), (alone,) = combine([one, other], COEFFICIENTS, [0.6, 0.0]), combine([other], COEFFICIENTS)
    np.testing.assert_array_equal(beside.confidence, alone.confidence)


def test_how_well_a_caption_matches_is_the_mean_odds_of_the_sentences():
    each = evidence([[0.5, 1.0, 0.5], [1.5, 1.0, 1.5]])
    images = (each.sound.images[0], Image("IMG_1.png"), Image("c.png", caption="A tram."))
    document = replace(each.sound, images=images)
    (matches,) = caption_matches([replace(each, document=document, sound=document)], COEFFICIENTS)
    assert matches[0] == pytest.approx(np.log((np.exp(1.0) + np.exp(3.0)) / 2))
    # A file name that says nothing is no caption, and one that stands below several pictures counts once.
    assert np.isnan(matches[1:]).all()


def test_the_share_by_hand():
    own, decoys = np.array([5.0, 6.0, 7.0, 0.0, np.nan]), np.array([1.0, 2.0, 3.0])
    assert silent_share(own, decoys) == pytest.approx(2 * 2 * 1 / (4 + PRIOR_CAPTIONS))
    assert silent_share(own, np.array([np.nan])) == silent_share(np.zeros(0), decoys) == 0.0


@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_the_share_grows_with_the_captions_that_are_like_decoys(seed, silent):
    rng = np.random.default_rng(seed)
    count = 2000
    like_decoys = rng.random(count) < silent
    own = rng.normal(np.where(like_decoys, 0.0, 8.0))
    shared = silent_share(own, rng.normal(size=count))
    assert shared == pytest.approx(min(2 * silent * count / (count + PRIOR_CAPTIONS), 1.0), abs=0.15)


def test_silent_evidence_about_places_is_flat_where_there_are_sentences():
    places = PlaceEvidence(np.array([[8.0, 2.0, 0.0], [1.0, 0.0, 0.0]]), np.array([[1.0, 3.0, 0.0], [2.0, 2.0, 0.0]]))
    mean = (8 * 1 + 2 * 3) / 4
    half = places.mixed(0.5)
    np.testing.assert_allclose(half.likelihood[0], [0.5 * 8 / mean + 0.5, 0.5 * 2 / mean + 0.5, 0.0])
    np.testing.assert_allclose(places.mixed(1.0).likelihood, [[1, 1, 0], [1, 1, 0]])
    assert places.mixed(0.0) is places


TOPICS = "bridge engine valve harbour meadow lantern needle orchard saddle kettle".split()
PARTS = (
    "The {} was painted red.",
    "Rust had eaten the {} away.",
    "Nobody knew where the {} came from.",
    "We sold the {}.",
)


def collection(*, shuffled: bool) -> list[Document]:
    """Documents about one thing each, with captions about it or, shuffled, about the things of other documents."""
    documents = []
    for number, topic in enumerate(TOPICS):
        sentences = tuple(Sentence(part.format(topic), n) for n, part in enumerate(PARTS))
        things = [TOPICS[(number + 3 * n + 1) % len(TOPICS)] if shuffled else topic for n in range(4)]
        images = tuple(Image(f"{n}.png", b"", caption=f"An old {thing}", position=n) for n, thing in enumerate(things))
        documents.append(Document(f"book/{topic}", sentences, images))
    return documents


@pytest.fixture(scope="module")
def linker() -> Linker:
    return Linker.load("default", LinkSettings(evidence=("caption", "layout"), relations="none", cache=False))


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_run_finds_out_whether_captions_belong_to_their_documents(linker, shuffled):
    (habit,) = linker.habits(collection(shuffled=shuffled)).values()
    assert (habit.silent == 0) != shuffled
    linked = list(linker.link_all(collection(shuffled=shuffled)))
    assert ("file names count for" in linked[0].habit) == shuffled
    if shuffled:
        assert habit.silent > 0.5
        assert habit.digest != replace(habit, silent=0.0).digest


def test_captions_are_judged_where_no_document_has_places(linker):
    documents = collection(shuffled=True)
    placeless = [
        replace(document, images=tuple(replace(image, position=None) for image in document.images))
        for document in documents
    ]
    (habit,) = linker.habits(placeless).values()
    assert habit.silent == linker.habits(documents)["book"].silent > 0.5


def test_a_document_alone_keeps_the_weights_that_were_fitted(linker):
    (document, *_) = collection(shuffled=True)
    (habit,) = linker.habits([document]).values()
    assert habit.silent == 0.0


def test_a_share_that_is_known_is_not_inferred_again(linker):
    texts = list(linker._first(linker._encoded(collection(shuffled=True))))
    assert habits_of(texts, silent={"book": 0.25})["book"].silent == 0.25
