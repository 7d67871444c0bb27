"""What reviewers say together, against sums by hand."""

from __future__ import annotations

import pytest

from iconotext.serve.store import Verdict
from iconotext.serve.verdicts import agreed, agreement


def said(picture, reviewer, *sentences):
    return Verdict(0, 1, picture, reviewer, sentences, "")


def test_the_answer_with_the_most_voices_counts_and_a_tie_does_not():
    verdicts = [said(0, "a", 1), said(0, "b", 1), said(0, "c", 2), said(1, "a", 1), said(1, "b"), said(2, "a")]
    assert agreed(verdicts) == {(1, 0): ((1,), ("a", "b")), (1, 2): ((), ("a",))}


def test_the_same_number_in_two_documents_is_not_the_same_answer():
    verdicts = [said(0, "a", 1), said(0, "b", 1), said(1, "a", 1), said(1, "b", 2)]
    # Units: {x, x}, {y, z}. Observed (0 + 2) / 4; expected of x x y z: (16 - 6) / (4 * 3). 1 - 0.5 / (10 / 12) = 0.4.
    assert agreement(verdicts) == pytest.approx(0.4)
