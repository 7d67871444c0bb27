"""The agreed answers of reviewers, and the order in which pictures are reviewed, against sums by hand."""

from __future__ import annotations

import math

import pytest

from iconotext.evidence.habit import STRENGTH
from iconotext.serve.store import Picture, Verdict
from iconotext.serve.verdicts import agreed, agreement, doubts, entropy, worths
from iconotext.types import Document, Image, Link, Sentence


def test_entropy_by_hand():
    assert entropy([1.0]) == 0
    assert entropy([0.5, 0.5]) == pytest.approx(math.log(2))
    assert entropy([0.5]) == pytest.approx(math.log(2))  # the other half is none of them
    assert entropy([]) == 0
    assert entropy([2.0, 2.0]) == pytest.approx(math.log(2))  # sentences that all cite it may sum to more than 1


def test_doubt_of_sentences_and_of_places():
    sentences = tuple(Sentence("x", block=b) for b in range(4))
    document = Document("d", sentences, (Image("a.jpg", position=2),))
    both_sides = [Link(1, 0, 0.5, 0.5, 0.5, {}), Link(2, 0, 0.5, 0.5, 0.5, {})]  # right above it, right below it
    assert doubts(document, 0, both_sides) == pytest.approx((math.log(2), math.log(2)))
    inside = Document("d", (Sentence("x", 0), Sentence("y", 0), Sentence("z", 0)), (Image("a.jpg", position=3),))
    one_side = [Link(0, 0, 0.5, 0.5, 0.5, {}), Link(1, 0, 0.5, 0.5, 0.5, {})]  # both further up in the paragraph above
    assert doubts(inside, 0, one_side) == pytest.approx((math.log(2), 0.0))
    assert doubts(Document("d", ("x",), ("a.jpg",)), 0, [Link(0, 0, 0.5, 0.5, 0.5, {})])[1] == 0  # no layout


def test_a_verdict_is_worth_its_own_doubt_and_a_share_of_that_of_others():
    pictures = [Picture(1, 0, 0, 0.5, 1.0, 0.4), Picture(1, 1, 0, 0.5, 0.9, 0.0), Picture(2, 0, 0, 0.5, 0.8, 2.0)]
    found = worths(pictures, set())
    assert found[1, 0] == pytest.approx(1.0 + 0.4 * 2.0 / (STRENGTH + 3))
    assert found[1, 1] == pytest.approx(0.9)
    assert found[2, 0] == pytest.approx(0.8 + 2.0 * 0.4 / (STRENGTH + 3))
    assert worths(pictures, {(2, 0)})[1, 0] == pytest.approx(1.0)  # nothing is left to learn of its place
    assert (2, 0) not in worths(pictures, {(2, 0)})


def by(picture, reviewer, *sentences):
    return Verdict(0, 1, picture, reviewer, sentences, "")


def test_the_answer_with_the_most_voices_counts_and_a_tie_does_not():
    verdicts = [
        by(0, "a", 1),
        by(0, "b", 1),
        by(0, "c", 2),
        by(1, "a", 1),
        by(1, "b"),
        by(2, "a"),
    ]
    assert agreed(verdicts) == {(1, 0): ((1,), ("a", "b")), (1, 2): ((), ("a",))}


def test_the_same_number_in_two_documents_is_not_the_same_answer():
    verdicts = [by(0, "a", 1), by(0, "b", 1), by(1, "a", 1), by(1, "b", 2)]
    # Units: {x, x}, {y, z}. Observed (0 + 2) / 4; expected of x x y z: (16 - 6) / (4 * 3). 1 - 0.5 / (10 / 12) = 0.4.
    assert agreement(verdicts) == pytest.approx(0.4)
