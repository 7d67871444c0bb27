from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from iconotext.encoders.bridge import ConceptBridge, centred
from iconotext.encoders.image_source import LONGER, SHORTER, covered_cells
from iconotext.encoders.spaces import SharedSpace
from iconotext.errors import ImageError
from iconotext.evidence import occlusion
from iconotext.evidence.occlusion import Coverable, explain_links, grid_windows, trials
from iconotext.evidence.words import without, word_spans
from iconotext.features import ImageFeatures
from iconotext.features.regions import grid_boxes
from iconotext.types import Link
from tests.support import images
from tests.support.encoders import text_backbone
from tests.support.linking import encode


def words(text: str) -> list[str]:
    return [text[begin:end] for begin, end in word_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A dog, caught in mid-air!", ["A", "dog", "caught", "in", "mid-air"]),
        ("“Don’t,” she said (twice).", ["Don’t", "she", "said", "twice"]),
        ("cats/dogs — and $5…", ["cats", "dogs", "and", "5"]),
        ("  ", []),
        ("... !", []),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("猫が寝る。", ["猫が", "寝る"]),
        ("das iPhone 犬", ["das", "iPhone", "犬"]),
        ("لا تنس القطة", ["لا", "تنس", "القطة"]),
    ],
)
def test_words_are_found_without_their_punctuation(text, expected):
    assert words(text) == expected


@given(st.text(max_size=60))
def test_words_stand_in_order_apart_and_hold_every_letter(text):
    spans = word_spans(text)
    assert all(0 <= begin < end <= len(text) for begin, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    covered = {i for begin, end in spans for i in range(begin, end)}
    assert all(i in covered for i, character in enumerate(text) if character.isalnum())
    assert not any(character.isspace() for word in words(text) for character in word)


@given(st.text("ab ,", max_size=20), st.data())
def test_without_takes_away_just_the_words(text, data):
    spans = word_spans(text)
    gone = data.draw(st.lists(st.sampled_from(spans), unique=True)) if spans else []
    dropped = {i for begin, end in gone for i in range(begin, end)}
    kept = "".join(" " if c.isspace() else c for i, c in enumerate(text) if i not in dropped)
    assert without(text, gone).split() == kept.split()
    assert "  " not in without(text, gone)


def test_a_sentence_of_one_word_is_left_empty():
    assert without("Cat", [(0, 3)]) == ""
    assert without("A cat sleeps.", [(2, 5)]) == "A sleeps."


# --- Weights. Vectors that are sums of their parts make every weight known: the product of the part with the other side.

VOCABULARY = {"dog": [1.0, 0.0], "frisbee": [0.0, 2.0], "the": [0.0, 0.0], "rain": [-1.0, 0.5]}


def summed(texts, places=()):
    return np.array([np.sum([VOCABULARY[word] for word in text.split()] or [[0, 0]], 0) for text in texts], np.float32)


def picture(regions, trials=None) -> Coverable:
    """A picture whose vector is the sum of its regions'."""
    vectors = np.array(regions, np.float32)
    share = 1 / len(vectors)
    boxes = np.array([[n * share, 0, (n + 1) * share, 1] for n in range(len(vectors))], np.float32)
    trials = np.eye(len(vectors), dtype=bool) if trials is None else np.array(trials, bool)
    return Coverable(boxes, trials, lambda masks: np.asarray(~masks @ vectors, np.float32))


def link(sentence: int, image: int) -> Link:
    return Link(sentence, image, 0.5, 0.5, 0.5, {})


def test_weights_are_falls_of_the_similarity():
    shown = picture([[1, 0], [0, 1], [0.5, 0.5]])
    (found,) = explain_links([link(1, 0)], ["x", "the dog frisbee"], {0: np.array([3.0, 1.0])}, summed, lambda _: shown)
    assert found.words == ((0, 3, 0.0), (4, 7, 3.0), (8, 15, 2.0))
    assert [weight for *_, weight in found.regions] == [1.0, 2.0, 1.5]
    np.testing.assert_allclose(found.regions[1][:4], [1 / 3, 0, 2 / 3, 1], rtol=1e-6)


def test_a_region_weighs_the_mean_of_its_trials_and_nothing_without_one():
    shown = picture([[1, 0], [4, 0], [9, 0]], trials=[[1, 1, 0], [0, 1, 0]])
    (found,) = explain_links([link(0, 0)], ["dog"], {0: np.array([14.0, 0.0])}, summed, lambda _: shown)
    assert [weight for *_, weight in found.regions] == [5.0, (5.0 + 4.0) / 2, 0.0]


def test_what_speaks_against_a_link_weighs_less_than_nothing():
    (found,) = explain_links(
        [link(0, 0)], ["rain dog"], {0: np.array([1.0, 0.0])}, summed, lambda _: picture([[-2, 0]])
    )
    assert [weight for *_, weight in found.words] == [-1.0, 1.0]
    assert found.regions[0][4] == 0.0  # rain and dog cancel out


def test_an_image_that_nobody_can_look_at_has_no_regions():
    (found,) = explain_links([link(0, 3)], ["dog"], {3: np.array([1.0, 0.0])}, summed, lambda _: None)
    assert found.regions == ()
    assert found.words == ((0, 3, 1.0),)
    assert explain_links([], ["dog"], {}, summed, lambda _: None) == []


@pytest.mark.slow
@given(st.data())
def test_many_links_are_explained_as_each_alone(data):
    texts = data.draw(
        st.lists(st.lists(st.sampled_from(sorted(VOCABULARY)), max_size=5).map(" ".join), min_size=1, max_size=5)
    )
    numbers = st.integers(-3, 3).map(float)
    regions = data.draw(st.lists(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4), min_size=1, max_size=3))
    pairs = [(s, i) for s in range(len(texts)) for i in range(len(regions))]
    chosen = data.draw(st.permutations(pairs))[: data.draw(st.integers(0, len(pairs)))]
    shown = [picture(some) for some in regions]
    whole = {i: np.sum(some, 0, dtype=np.float32) for i, some in enumerate(regions)}
    original, occlusion.TRIAL_TEXTS = occlusion.TRIAL_TEXTS, data.draw(st.integers(1, 12))
    try:
        found = explain_links([link(*pair) for pair in chosen], texts, whole, summed, shown.__getitem__)
    finally:
        occlusion.TRIAL_TEXTS = original
    for (s, i), each in zip(chosen, found, strict=True):
        assert [w for *_, w in each.words] == [float(np.dot(VOCABULARY[w], whole[i])) for w in texts[s].split()]
        sentence = summed([texts[s]])[0]
        assert [w for *_, w in each.regions] == [float(np.dot(region, sentence)) for region in regions[i]]


def test_links_of_a_picture_or_a_sentence_share_their_trials():
    seen: list[tuple[str, int]] = []
    looks: list[int] = []

    def sentences(texts, places):
        seen.extend(zip(texts, places, strict=True))
        return summed(texts)

    def vectors(masks):
        looks.append(len(masks))
        return np.ones((len(masks), 2), np.float32)

    shown = Coverable(np.zeros((2, 4), np.float32), np.eye(2, dtype=bool), vectors)
    links = [link(s, i) for s in (0, 1) for i in (0, 1)]
    both = {0: np.ones(2), 1: np.ones(2)}
    explain_links(links, ["the dog", "rain", "not linked"], both, sentences, lambda _: shown)
    assert seen == [("the dog", 0), ("dog", 0), ("the", 0), ("rain", 1), ("", 1)]
    assert looks == [3, 3]  # the whole picture and each region


def test_only_the_first_words_of_an_endless_sentence_are_tried():
    text = " ".join(["dog"] * 5000)
    (found,) = explain_links([link(0, 0)], [text], {0: np.array([1.0, 0.0])}, summed, lambda _: None)
    assert len(found.words) == occlusion.MOST_WORDS


# --- Covered pictures.


def test_windows_of_a_grid():
    windows = grid_windows(3, 2)
    assert windows.astype(int).tolist() == [
        [1, 1, 0, 1, 1, 0, 0, 0, 0],
        [0, 1, 1, 0, 1, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 0, 1, 1, 0],
        [0, 0, 0, 0, 1, 1, 0, 1, 1],
    ]
    assert (grid_windows(6, 1) == np.eye(36, dtype=bool)).all()


def encoded(pixels) -> bytes:
    return images.encoded(Pillow.fromarray(np.asarray(pixels, np.uint8)))


def nothing(files) -> ImageFeatures:
    return ImageFeatures(np.zeros((len(files), 2), np.float32), problems=(None,) * len(files))


def seen(file: bytes, masks) -> list[np.ndarray]:
    """What is looked at when parts of a picture are covered."""
    pictures: list[np.ndarray] = []

    def look(files):
        pictures.extend(np.asarray(Pillow.open(io.BytesIO(bytes(f)))) for f in files)
        return nothing(files)

    covered_cells(file, look).without(np.array(masks, bool))
    return pictures


def test_covered_cells_have_the_mean_colour_and_the_rest_stays():
    pixels = np.random.default_rng(0).integers(0, 256, (60, 120, 3))
    mask = np.zeros(36, bool)
    mask[[0, 8]] = True  # top left; second row, third column
    whole, changed = seen(encoded(pixels), [np.zeros(36), mask])
    np.testing.assert_array_equal(whole, pixels)
    expected = pixels.copy()
    expected[:10, :20] = expected[10:20, 40:60] = np.round(pixels.mean((0, 1)))
    np.testing.assert_array_equal(changed, expected)


@pytest.mark.parametrize("size", [(1, 1), (3, 200), (7, 5), (50, 4000), (1500, 2000)])
def test_cells_cover_pictures_of_every_shape(size):
    pixels = np.zeros((*size, 3), np.uint8)
    pixels[0, 0] = 200
    whole, covered = seen(encoded(pixels), [np.zeros(36), np.ones(36)])
    assert len(np.unique(covered)) == 1
    assert max(whole.shape) <= LONGER
    assert min(whole.shape[:2]) <= max(SHORTER, 1)
    assert whole.shape[0] >= 1


def test_a_picture_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ImageError, match=r"gone\.png"):
        covered_cells(Path(tmp_path / "gone.png"), nothing)


@pytest.mark.parametrize(("count", "number"), [(3, 3), (2, 2), (1, 0)])
def test_objects_are_left_out_each_in_turn_but_never_all(count, number):
    found = trials(np.full((count, 4), 0.5, np.float32))
    assert found.tolist() == np.eye(count, dtype=bool)[:number].tolist()


def test_cells_of_a_grid_are_left_out_in_squares():
    boxes = covered_cells(encoded(np.zeros((9, 9, 3))), nothing).boxes
    np.testing.assert_allclose(boxes[7], [1 / 6, 1 / 6, 2 / 6, 2 / 6])
    found = trials(boxes)
    assert found.shape == (25, 36)
    assert set(found.sum(axis=1).tolist()) == {4}
    assert np.flatnonzero(found[0]).tolist() == [0, 1, 6, 7]
    assert (found.sum(axis=0) > 0).all()


def test_as_many_objects_as_cells_are_no_grid():
    boxes = grid_boxes().copy()
    boxes[5] += 0.05
    assert trials(boxes).shape == (36, 36)


# --- The document stays as it is while a part of it changes.


@given(st.lists(st.text("abc ", min_size=1, max_size=8), max_size=6))
def test_sentences_among_themselves_are_centred_as_ever(texts):
    vectors = encode(texts)
    np.testing.assert_array_equal(centred(vectors, vectors), centred(vectors))


class Texts:
    name, dim = "texts", 32

    def encode(self, texts):
        return encode(texts)


def test_a_changed_sentence_meets_the_old_mean():
    texts = ["a cat", "a dog", "the rain"]
    space, old = ConceptBridge(text_backbone(Texts()), ("cat", "dog"), 1), encode(texts)
    shifted = encode(["a bird"])[0] - 2 / 3 * old.mean(0)
    np.testing.assert_allclose(
        space.sentences(encode(["a bird"]), old)[0], shifted / np.linalg.norm(shifted), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(space.sentences(old, old), centred(old), atol=1e-6)


def test_two_backbones_of_one_space_need_no_document():
    np.testing.assert_array_equal(SharedSpace(32).sentences(encode(["a cat"]), None), encode(["a cat"]))
