import tracemalloc
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from iconotext.decide.combine import LONG, has_places
from iconotext.evidence.caption import (
    _TYPICAL_MEAN,
    _TYPICAL_SPREAD,
    _TYPICAL_WEIGHT,
    _scales,
    load_matcher,
    texts_of,
    word_features,
)
from iconotext.evidence.cells import Cells
from iconotext.evidence.layout import layout_features, places
from iconotext.evidence.picture import image_features
from iconotext.evidence.wording import wording_features
from iconotext.evidence.words import beginning, file_words, rareness, remembered, stems, words_of, words_with
from iconotext.types import Image
from tests.support.linking import TEXTS, document, encode, features, workshop


def test_stems_meet_and_empty_words_go() -> None:
    assert stems("The baker bakes and baked") == {"baker", "bak"}
    assert stems("1,000 loaves in 1945") == {"1000", "loav", "1945"}
    assert stems("東京駅") == {"東京", "京駅"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("使用GPU加速3倍", {"使用", "gpu", "加速", "3", "倍"}),
        ("ESP32를 그림에", {"esp", "32", "를", "그림", "림에"}),
        ("カメラのUSB端子", {"カメ", "メラ", "ラの", "usb", "端子"}),
        ("चित्र", {"चित्र"}),
    ],
)
def test_terms_in_latin_letters_stand_apart_in_other_scripts(text: str, expected: set[str]) -> None:
    assert stems(text) == expected


def test_words_of_other_languages_meet_in_their_first_letters() -> None:
    assert {beginning(word) for word in words_of("Evlerimiz, evleriniz ve GPU'lar")} == {"evleri", "ve", "gpu'la"}


def test_in_another_language_a_word_of_one_sentence_is_as_rare_as_an_unknown_one() -> None:
    cells = Cells(np.array([4, 2]), np.array([1, 1]))
    sentences = ["evlerimiz burada", "kediler burada", "burada", "burada", "red fox", "a house"]
    texts = ["evleri burada", "red fox"]
    (found,) = word_features(cells, np.array([0, 1, 2, 3, 0, 1]), sentences, texts, english=np.array([False, True]))
    rarest, usual = rareness("xyzzyx"), rareness("xyzzyx") * np.log1p(0.5 / 4.5) / np.log1p(3.5 / 1.5)
    expected = [rarest + usual, usual, usual, usual, rareness("red") + rareness("fox"), 0]
    np.testing.assert_allclose(found["rare"], np.log1p(expected), rtol=1e-5)
    np.testing.assert_allclose(found["share"][:2], [1, usual / (rarest + usual)], rtol=1e-5)


def test_long_texts_are_not_remembered() -> None:
    asked = []

    @remembered(2, longest=3)
    def length(text: str) -> int:
        asked.append(text)
        return len(text)

    assert [length(text) for text in ("abc", "abcd", "abc", "abcd", "", "a", "abc")] == [3, 4, 3, 4, 0, 1, 3]
    assert asked == ["abc", "abcd", "abcd", "", "a", "abc"]  # and of short ones only the last two


@pytest.mark.slow
def test_long_texts_and_words_and_many_lengths_of_documents_leave_no_memory_behind() -> None:
    vectors = np.eye(300, dtype=np.float32)

    def read(start: int) -> None:
        for number in range(start, start + 10):
            text = f"{chr(number + 97) * 50_000} " + f"{number} " * 5_000
            wording_features([document([text], [])])
            stems(text)
        for size in range(2, 256, 4):
            _scales([vectors[: size + start]])

    read(0)
    tracemalloc.start()
    read(10)
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 200_000


def test_spread_of_cosines_pair_by_pair() -> None:
    vectors = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    several = [vectors, vectors[:1], np.zeros((4, 3), np.float32), vectors[2:5]]
    expected = []
    for each in several:
        cosines = [float(one @ other) for one, other in combinations(each, 2)]
        values = [*cosines, *[_TYPICAL_MEAN] * _TYPICAL_WEIGHT]
        centre = sum(values) / len(values)
        squares = sum((each - centre) ** 2 for each in cosines) + _TYPICAL_WEIGHT * _TYPICAL_SPREAD**2
        expected.append((centre, (squares / len(values)) ** 0.5) if each.any() else (0, 1))
    found = _scales(several)
    assert np.transpose(found) == pytest.approx(np.array(expected), rel=1e-5)
    alone = [_scales([each]) for each in several]
    assert np.transpose(found).tobytes() == np.array(alone).reshape(-1, 2).tobytes()


def test_rare_words_are_rarer() -> None:
    assert rareness("process") < rareness("magnet") < rareness("carcassonne") == rareness("xyzzyx")


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
    texts, picture = ["A red fox ran.", "A red car stood.", "Nothing else."], Image("IMG_1.jpg", caption="Red fox")
    found = features(document(texts, [picture], blocks=[0, 0, 1]))
    red, fox = rareness("red"), rareness("fox")
    # The first two are one paragraph.
    expected: dict[str, Any] = {"count": [2, 1, 0], "near": [1, 1, 0], "head": [1, red / (red + fox), 0]}
    for name, column in expected.items():
        np.testing.assert_allclose(found[f"caption.{name}"][:, 0], column, rtol=1e-5, err_msg=name)
    assert not found["caption.rival"].any()  # there is no other image
    assert {name.split(".")[0] for name in found} == {"caption", "texts", "looks"}


@pytest.mark.parametrize("seed", range(8))
def test_words_of_many_images_word_by_word(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def said(most: int) -> str:
        return " ".join(
            rng.choice(["red", "fox", "The", "mill", "turbine", "of", "3", "Zürich", "東京駅"], rng.integers(most))
        )

    sentences = [said(9) for _ in range(int(rng.integers(1, 9)))]
    texts = [said(7) or None for _ in range(int(rng.integers(1, 5)))]
    ranks = np.cumsum(rng.integers(0, 2, len(sentences)))
    ranks -= ranks[0]
    cells = Cells(np.array([len(sentences)]), np.array([len(texts)]))
    flat, _ = word_features(cells, ranks, sentences, texts, texts)
    found = {name: cells.matrices(values)[0] for name, values in flat.items()}
    holds = [stems(sentence) for sentence in sentences]

    def pairs(said: str) -> set[tuple[str, str]]:
        return set(pairwise(said.lower().split()))

    for j, text in enumerate(texts):
        own = stems(text or "")
        head = stems(" ".join((text or "").split()[:5]))
        total = sum(map(rareness, own)) + 1e-6
        for i, words in enumerate(holds):
            common, block = own & words, [k for k, rank in enumerate(ranks) if rank == ranks[i]]
            rare = sum(map(rareness, common))
            idf = {
                w: np.log1p((len(holds) - n + 0.5) / (n + 0.5)) for w in common for n in [sum(w in h for h in holds)]
            }
            near = sum(rareness(w) for w in own if any(w in holds[k] for k in block))
            first = sum(rareness(w) for w in common if not any(w in holds[k] for k in range(i)))
            several = {w: sum(w in stems(other or "") for other in texts) for w in common}
            expected = {
                "count": len(common),
                "rare": np.log1p(rare),
                "share": rare / total,
                "cover": rare / (sum(map(rareness, words)) + 1),
                "dice": 2 * rare / (total + sum(map(rareness, words)) + 1),
                "own": np.log1p(sum(idf[w] / np.sqrt(several[w]) for w in common)),
                "rarest": max((rareness(w) + idf[w] for w in common), default=0),
                "both": np.log1p(sum(rareness(w) * idf[w] for w in common)),
                "near": near / total,
                "first": np.log1p(first),
                "pairs": np.log1p(len(pairs(sentences[i]) & pairs(text or ""))),
                "head": sum(map(rareness, head & words)) / (sum(map(rareness, head)) + 1e-6),
            }
            for name, value in expected.items():
                assert found[name][i, j] == pytest.approx(value, rel=1e-5, abs=1e-6), name


def test_words_that_stand_for_a_kind_are_whole_words() -> None:
    texts = ["Figs. 3", "a configuration", "photographed maps", "shown_here", "It represents it", "underrepresented"]
    found = wording_features([document(texts, [Image("mill.jpg")])])
    assert found["figure"].tolist() == [1, 0, 1, 0, 0, 0]
    assert found["shown"].tolist() == [0, 0, 0, 0, 0, 0]
    assert found["illustrates"].tolist() == [0, 0, 0, 0, 1, 0]


def test_how_a_sentence_reads() -> None:
    d = document(["A typical mill is shown in.", "which turns (A) the wheel", "Why?"], [Image("mill.jpg")])
    found = {name: column.tolist() for name, column in wording_features([d]).items()}
    assert found["shown"] == [1, 0, 0]
    assert found["example"] == [1, 0, 0]
    assert found["cut_off"] == [1, 0, 0]
    assert found["lower"] == [0, 1, 0]
    assert found["letters"] == [1, 1, 0]  # 'A typical' reads like a letter too
    assert found["question"] == [0, 0, 1]
    assert found["short"] == [0, 1, 1]


def test_the_matcher_speaks_of_vectors_that_it_knows() -> None:
    rng = np.random.default_rng(0)
    matcher = load_matcher()
    sentences, captions = rng.normal(size=(3, 384)).astype(np.float32), rng.normal(size=(2, 384)).astype(np.float32)
    known = matcher.fitting(matcher.probe / np.linalg.norm(matcher.probe), 0.3, 0.1)
    by_hand = [
        [
            matcher.scale[0] * (s @ c) + matcher.scale[1] * ((matcher.sentences @ s) @ (matcher.captions @ c))
            for c in captions
        ]
        for s in sentences
    ]
    np.testing.assert_allclose(known.match(sentences, captions), by_hand, rtol=1e-3, atol=1e-3)
    assert known.cites(sentences).any()
    other = matcher.fitting(np.ones(5, np.float32), 0.3, 0.1)
    assert not other.cites(sentences).any()
    # one spread above its mean is as much as for the encoder it knows: 0.2 + 0.14
    assert other.match(np.array([[0.4]], np.float32), np.array([[1.0]], np.float32)) == pytest.approx(
        matcher.scale[0] * 0.34, rel=1e-5
    )


def test_images_without_text_have_empty_columns_or_no_features() -> None:
    found = features(workshop())
    assert all(not column[:, 1].any() for column in found.values())
    assert features(workshop(Image("IMG_1.jpg"))) == {}


def test_sentence_vectors_save_nothing_but_time() -> None:
    given_ = features(workshop(), sentences=encode(TEXTS))
    for name, column in features(workshop()).items():
        np.testing.assert_allclose(given_[name], column, atol=1e-5)


def test_a_wider_encoder_changes_nothing() -> None:
    similarity = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    cells = Cells(np.array([9]), np.array([4]))
    for name, column in image_features(cells, similarity.T.ravel()).items():
        np.testing.assert_allclose(image_features(cells, 3 * similarity.T.ravel() + 1)[name], column, atol=1e-4)
    assert not image_features(Cells(np.array([3]), np.array([2])), np.full(6, 0.2, np.float32))["picture.z"].any()


def features_at(d: Any) -> Any:
    place = places([d])
    found = layout_features([d], place, np.full(len(d.sentences) * len(d.images), 1 / 60, np.float32))
    return {name: place.cells.matrices(values)[0] for name, values in found.items()}


def test_layout_by_hand() -> None:
    # the first picture stands between sentences 0 to 3 and the second
    found = features_at(workshop(Image("a.jpg", position=4), Image("b.jpg", position=6)))
    np.testing.assert_allclose(found["layout.between"][:, 1], np.log1p([1, 1, 1, 1, 0, 0]), rtol=1e-6)
    np.testing.assert_allclose(found["layout.habit"], 0, atol=1e-3)  # one in sixty


def test_headings_by_their_kind_or_their_looks() -> None:
    image = Image("a.jpg", position=1)
    found = features_at(document(["The Roof", "We painted it."], [image]))
    np.testing.assert_array_equal(found["layout.heading"][:, 0], [1, 0])
    item = features_at(document(["The roof", "We painted it."], [image], kinds=["item", "heading"]))
    np.testing.assert_array_equal(item["layout.heading"][:, 0], [0, 1])


def test_no_layout_no_places() -> None:
    assert not has_places(document(["a", "b"], [Image("a.jpg")]))
    assert not has_places(document(["a", "b"], [Image("a.jpg", position=1)], blocks=[None, None]))
    assert not has_places(document([], [Image("a.jpg", position=0)]))
    assert has_places(workshop())


@pytest.mark.parametrize(
    ("sentences", "positions", "expected"),
    [
        (LONG, (LONG, LONG), False),
        (LONG, (0, LONG), False),
        (LONG, (0, 0), False),
        (LONG, (LONG,), False),
        (LONG, (LONG - 1, LONG), True),  # one of them is between sentences
        (LONG, (1,), True),
        (LONG - 1, (LONG - 1, LONG - 1), True),  # a short text is near each of them
    ],
)
def test_images_before_or_after_a_long_text_have_no_places(sentences, positions, expected) -> None:
    images = [Image(f"{number}.jpg", position=position) for number, position in enumerate(positions)]
    assert has_places(document([f"Sentence {n}." for n in range(sentences)], images)) is expected


@pytest.mark.parametrize(
    ("text", "other", "shared"),
    [
        ("The dog's run in the SNOW", "snow dogs", ("dog's", "SNOW")),
        ("鏡の横に猫がいます", "図4 鏡のそばの猫がいる", ("鏡の", "猫がい")),
        ("长的公交车在马路上", "图1 马路上的公交车", ("的公交车", "马路上")),
        ("दिल्ली का नक्शा", "नक्शा", ("नक्शा",)),
        ("GPU를 사용한다", "gpu", ("GPU",)),
    ],
)
def test_words_with_stems_of_another_text(text, other, shared):
    assert words_with(text, stems(other)) == shared
