"""Text evidence: the words in images."""

from dataclasses import replace

import numpy as np

from iconotext.decide.combine import Coefficients, load_coefficients, weigh_evidence
from iconotext.evidence.picture import USED, text_in
from iconotext.types import Image, TextLine
from tests.support.linking import READING, features, workshop


def written(*texts: str) -> tuple[TextLine, ...]:
    return tuple(TextLine(text, 0.9, (0.0, 0.0, 1.0, 0.1)) for text in texts)


SIGN = Image("sign.png", caption="A sign.", position=2, lines=written("FLOOR SANDED", "twice a year"))
PHOTO = Image("photo.jpg", caption="A brother helping.", position=6, lines=())
UNREAD = Image("unread.jpg", alt="Dinner", position=6)


def test_words_are_compared_as_a_caption_that_says_the_same() -> None:
    assert text_in(SIGN) == "FLOOR SANDED twice a year"
    assert text_in(PHOTO) is text_in(UNREAD) is None
    found = features(workshop(SIGN, PHOTO, UNREAD), "ocr")
    told = features(workshop(Image("", caption=text_in(SIGN), position=2), Image(""), Image("")))
    assert found.keys() == USED
    for name, matrix in found.items():
        np.testing.assert_array_equal(told[name.replace("ocr.", "caption.")], matrix)
    assert found["ocr.own"].argmax(axis=0)[0] == 2  # "Then the floor was sanded twice."
    assert not any(matrix[:, 1:].any() for matrix in found.values())
    assert features(workshop(PHOTO, UNREAD), "ocr") == {}


def test_words_speak_for_their_sentence_and_change_nothing_for_other_images() -> None:
    d = workshop(SIGN, PHOTO, UNREAD)
    kinds = ("caption", "ocr", "reference")  # through the habits one image teaches another
    bare = replace(d, images=tuple(replace(i, lines=None) for i in d.images))
    without = weigh_evidence(bare, None, READING, evidence=kinds)
    found = weigh_evidence(d, None, READING, evidence=kinds)
    assert found.confidence[2, 0] > without.confidence[2, 0]
    np.testing.assert_array_equal(found.confidence[:, 1:], without.confidence[:, 1:])
    np.testing.assert_array_equal(found.score[:, 1:], without.score[:, 1:])
    weights = load_coefficients()["ocr"].weights
    expected = sum(np.float32(weights[name]) * matrix for name, matrix in features(d, "ocr").items())
    differences = np.diff(found.contributions["ocr"], axis=0)
    np.testing.assert_allclose(differences, np.diff(expected, axis=0), atol=1e-4)
    # Against the mean of all sentences: exp of the contributions has the mean 1.
    np.testing.assert_allclose(np.exp(found.contributions["ocr"]).mean(axis=0), 1, atol=1e-4)
    for kind, matrix in without.contributions.items():
        np.testing.assert_array_equal(found.contributions[kind], matrix)


def test_words_alone_by_hand() -> None:
    # "floor", "sanded", "twice" and "year" are in the sign. Twice the log of 1 + the idf of the common ones is added.
    weights = {"ocr": Coefficients(0.0, {"ocr.own": 2.0})}
    found = weigh_evidence(workshop(SIGN, PHOTO), None, READING, evidence=["ocr"], coefficients=weights)
    odds = (1 + np.expm1(features(workshop(SIGN), "ocr")["ocr.own"][:, 0])) ** 2
    odds /= odds.mean()
    # One picture in five belongs to no sentence, the others to each of the six alike.
    np.testing.assert_allclose(found.share[:, 0], odds * 4 / 5 / 6 / (4 / 5 + 1 / 5), rtol=1e-3)
    assert found.confidence[2, 0] > 0.5
    assert found.confidence[:, 1].max() < 1e-3  # no words, no link
