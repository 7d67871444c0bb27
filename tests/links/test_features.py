from typing import Any

import numpy as np
import pytest

from iconotext.links.caption import caption_features, texts_of
from iconotext.links.image import image_features
from iconotext.links.layout import layout_features
from iconotext.links.words import WordIndex, file_words, names, stems
from iconotext.types import Image
from tests.links.texts import TEXTS, document, encode, workshop


def test_stems_meet_and_empty_words_go() -> None:
    assert stems("The baker bakes and baked") == {"baker", "bak"}
    assert stems("1,000 loaves in 1945") == {"1000", "loav", "1945"}
    assert stems("東京駅") == {"東京", "京駅"}


def test_names_are_capitalised_within_a_sentence_or_numbers() -> None:
    assert names("Yesterday Anna met Bob in 1945. Then 3 left.") == {"anna", "bob", "1945"}


def test_idf_by_hand() -> None:
    index = WordIndex.of(["red house", "red car", "blue car"])
    # red stands in 2 of 3: log(1 + (3 - 2 + 0.5) / (2 + 0.5)) = log 1.6
    assert index.idf("red") == pytest.approx(np.log(1.6))
    assert index.weights()[0] == pytest.approx(index.idf("red") + index.idf("hous"))


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("img/castle_of_otranto-2.jpg", "castle otranto"),
        ("https://example.org/a/Red%20Fox.png?w=3", "Red Fox"),
        ("waterTank.jpeg", "water Tank"),
        ("IMG_2351.jpg", None),
        ("DSC00042.JPG", None),
        ("8f1301ba977e.png", None),
        ("image3.png", None),
        ("2021-04-07 16-55-34.jpg", None),
        ("data:image/png;base64,iVBORhouse", None),
        ("", None),
    ],
)
def test_words_of_file_names(source: Any, words: Any) -> None:
    assert (file_words(source) or "").replace("of ", "") == (words or "")


def test_texts_of_an_image() -> None:
    assert texts_of(Image("x.jpg", caption="C", alt="An alt")) == {"caption": "C", "alt": "An alt"}
    assert texts_of(Image("x.jpg", caption="Same text", alt="Same text")) == {"caption": "Same text"}
    assert texts_of(Image("IMG_1.jpg", alt="red_fox.jpg")) == {"lone": "red fox"}
    assert texts_of(Image("house.jpg")) == {"lone": "house"}
    assert texts_of(Image("IMG_1.jpg", alt="IMG_1.jpg")) == {}


def test_caption_features_by_hand() -> None:
    d = document(["A red fox ran.", "A red car stood.", "Nothing else."], [Image("IMG_1.jpg", caption="Red fox")])
    found = caption_features(d, encode)
    index = WordIndex.of([s.text for s in d.sentences])
    red, fox = index.idf("red"), index.idf("fox")
    np.testing.assert_allclose(found["caption.common"][:, 0], np.log1p([red + fox, red, 0]), rtol=1e-6)
    np.testing.assert_allclose(found["caption.share"][:, 0], [1, red / (red + fox), 0], rtol=1e-6)
    np.testing.assert_allclose(found["caption.rare"][:, 0], [fox, red, 0], rtol=1e-6)
    assert not found["caption.rival"].any()  # there is no other image
    assert {name.split(".")[0] for name in found} == {"caption"}


def test_images_without_text_have_empty_columns_or_no_features() -> None:
    found = caption_features(workshop(), encode)
    assert all(not column[:, 1].any() for column in found.values())
    assert caption_features(workshop(Image("IMG_1.jpg")), encode) == {}


def test_sentence_vectors_save_nothing_but_time() -> None:
    given_ = caption_features(workshop(), encode, sentence_vectors=encode(TEXTS))
    for name, column in caption_features(workshop(), encode).items():
        np.testing.assert_allclose(given_[name], column, atol=1e-5)


def test_a_wider_encoder_changes_nothing() -> None:
    similarity = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    for name, column in image_features(similarity).items():
        np.testing.assert_allclose(image_features(3 * similarity + 1)[name], column, atol=1e-4)
    assert not image_features(np.full((3, 2), 0.2, np.float32))["picture.z"].any()


def test_layout_by_hand() -> None:
    # blocks 0 0 | 1 1 | picture | 2 2
    found = layout_features(workshop(Image("a.jpg", position=4), Image("b.jpg", position=6)))
    column = {name.removeprefix("layout."): value[:, 0] for name, value in found.items()}
    np.testing.assert_array_equal(column["above"], [0, 0, 1, 1, 0, 0])
    np.testing.assert_array_equal(column["below"], [0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(column["last"], [0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(column["next"], [0, 0, 0, 0, 1, 0])
    np.testing.assert_allclose(column["before"], np.log1p([3, 2, 1, 0, 0, 0]), rtol=1e-6)
    np.testing.assert_allclose(column["blocks_before"], np.log1p([1, 1, 0, 0, 0, 0]), rtol=1e-6)
    assert not column["inside"].any()
    # the first picture stands between sentences 0 to 3 and the second
    np.testing.assert_allclose(found["layout.between"][:, 1], np.log1p([1, 1, 1, 1, 0, 0]), rtol=1e-6)


@pytest.mark.parametrize("image", [Image("a.jpg", position=3), Image("a.jpg", position=2, block=1)])
def test_inside_a_block(image: Any) -> None:
    np.testing.assert_array_equal(layout_features(workshop(image))["layout.inside"][:, 0], [0, 0, 1, 1, 0, 0])


def test_headings_by_their_kind_or_their_looks() -> None:
    image = Image("a.jpg", position=1)
    looks = layout_features(document(["The Roof", "We painted it."], [image]))
    np.testing.assert_array_equal(looks["layout.heading"][:, 0], [1, 0])
    item = layout_features(document(["The roof", "We painted it."], [image], kinds=["item", "heading"]))
    np.testing.assert_array_equal(item["layout.heading"][:, 0], [0, 1])


def test_no_layout_no_features() -> None:
    assert layout_features(document(["a", "b"], [Image("a.jpg")])) == {}
    assert layout_features(document(["a", "b"], [Image("a.jpg", position=1)], blocks=[None, None])) == {}
