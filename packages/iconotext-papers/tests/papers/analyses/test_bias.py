from __future__ import annotations

import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import CorpusError, SettingError
from iconotext_papers.analyses.bias import Distances, ImageVectors, in_words, measure, negative_distances
from papers.support.distances import of


def document(identifier, vectors, links, names=None):
    rows = np.array(vectors, np.float32)
    return ImageVectors(identifier, rows, tuple(names or (f"{identifier}{n}" for n in range(len(rows)))), tuple(links))


# Distances


def test_distances_by_hand():
    documents = [
        document("a", [[0, 0], [3, 4], [6, 8]], [(0, 0), (1, 1)]),
        document("b", [[0, 5], [12, 5]], [(0, 1)]),
    ]
    found = negative_distances(documents)
    # a: image 0 to b's images 5 and 13, image 1 to them √10 and √82; b: image 1 to a's three.
    a_far = [5, 13, math.sqrt(10), math.sqrt(82)]
    b_far = [13, math.sqrt(82), math.sqrt(45)]
    assert found.training == pytest.approx([*a_far, *b_far])
    assert found.evaluation == pytest.approx([5, 10, 5, 5, 12])
    assert found.training_counts.tolist() == [4, 3]
    assert found.evaluation_counts.tolist() == [4, 1]
    assert found.golds == 3


def test_what_a_sentence_is_linked_to_is_no_negative_of_it():
    both = document("a", [[0], [1], [5]], [(0, 0), (0, 1)])
    other = document("b", [[9]], [])
    found = negative_distances([both, other])
    assert found.evaluation == pytest.approx([5, 4])  # not the 1 between the two gold images
    assert found.training == pytest.approx([9, 8])
    assert found.training_counts.tolist() == [2, 0]  # b has no gold image, it is a negative only


def test_a_picture_is_no_negative_of_itself():
    a = document("a", [[0], [0], [2]], [(0, 0)], names=["x", "x", "y"])
    b = document("b", [[0], [7]], [(0, 0)], names=["x", "z"])
    c = document("c", [[3]], [], names=["w"])
    found = negative_distances([a, b, c])
    assert found.evaluation == pytest.approx([2, 7])  # not the second place of x
    assert found.training == pytest.approx([3, 3])  # a and b share x, so only c is left


def test_a_link_that_stands_twice_counts_once():
    once = document("a", [[0], [1]], [(0, 0)])
    twice = replace(once, links=((0, 0), (0, 0)))
    other = document("b", [[5]], [])
    assert negative_distances([twice, other]).golds == negative_distances([once, other]).golds == 1


@given(st.integers(2, 40), st.integers(2, 6), st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_batches_of_the_wanted_size_or_a_few_more(count, batch, seed):
    documents = [document(f"d{n}", [[n], [n + 0.5]], [(0, 0)]) for n in range(count)]
    found = negative_distances(documents, batch=batch, seed=seed)
    assert found.evaluation == pytest.approx([0.5] * count)
    others = found.training_counts / 2  # two images each
    assert ((others >= min(batch, count) - 1) & (others < 2 * batch - 1)).all()
    again = negative_distances(documents, batch=batch, seed=seed)
    assert (again.training == found.training).all()


@pytest.mark.parametrize(
    ("documents", "more", "error", "said"),
    [
        ([], {}, CorpusError, "0 documents have images"),
        ([document("a", [[0]], [])], {}, CorpusError, "1 documents have images"),
        ([document("a", [[0]], [(0, 0)])] * 2, {}, CorpusError, "documents of several images"),
        ([document("a", [[0], [1]], [])] * 2, {}, CorpusError, "needs gold links"),
        ([document("a", [[0], [1]], [(0, 0)])] * 2, {"batch": 1}, SettingError, "batch is 1"),
    ],
)
def test_what_cannot_be_measured(documents, more, error, said):
    with pytest.raises(error, match=said):
        negative_distances(documents, **more)


# The test of Kolmogorov and Smirnov, against its definition


def slow_ks(first, second):
    """The largest distance of the empirical distribution functions, which only changes at a value."""
    points = [*first, *second]
    return max(
        abs(sum(x <= point for x in first) / len(first) - sum(x <= point for x in second) / len(second))
        for point in points
    )


def test_a_known_sample():
    # F1 rises at 3, 4, 5; F2 at 1, 2, 4.5: the largest distance is 2/3, after 2.
    found = measure(of([3, 4, 5], [1, 2, 4.5]), resamplings=100)
    assert found.ks == pytest.approx(2 / 3)
    assert found.p == pytest.approx(12 / 20)  # of the ways to share out six values, so many are 2/3 apart or more
    assert found.larger == pytest.approx(7 / 9)  # all nine pairs but (3, 4.5) and (4, 4.5)
    assert found.difference == pytest.approx(4 - 2.5)
    assert (found.documents, found.training.count, found.evaluation.count) == (1, 3, 3)
    assert list(found.training.quartiles) == [3.5, 4, 4.5]
    # Variances 2/3 and 13/6 of three values each: pooled (2 + 6.5) / 4.
    assert found.cohen_d == pytest.approx(1.5 / math.sqrt(8.5 / 4))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.lists(st.integers(0, 3), min_size=1, max_size=30))
@settings(max_examples=30, deadline=None)
def test_ties_and_equal_values(first, second):
    found = measure(of(first, second), resamplings=100)
    assert found.ks == pytest.approx(slow_ks(first, second))
    assert found.larger == pytest.approx(np.mean([(x > y) + (x == y) / 2 for x in first for y in second]))
    assert sum(found.histogram["training"]) == len(first)
    assert sum(found.histogram["evaluation"]) == len(second)


def test_means_over_documents_not_over_distances():
    far, near = np.array([1.0, 3.0, 10.0]), np.array([1.0, 4.0, 4.0, 4.0])
    distances = Distances(far, near, np.array([2, 1, 0]), np.array([1, 3, 0]), 4, ((1,), (2,), (3,)))
    found = measure(distances, resamplings=500)
    assert found.difference == pytest.approx(((2 - 1) + (10 - 4)) / 2)
    assert found.interval == pytest.approx((1, 6))  # each document may be drawn alone
    assert found.documents == 2
    assert found.p_documents == pytest.approx(0.5)  # two of the four ways to swap


def test_no_bias_where_all_is_equal():
    found = measure(of([2, 2], [2]), resamplings=100)
    assert (found.ks, found.larger, found.cohen_d, found.difference) == (0, 0.5, None, 0)
    assert "Cohen's d = –" in in_words(found)[1]


def test_for_json():
    import json

    found = asdict(measure(of([3, 4, 5], [1, 2, 4.5]), resamplings=100))
    assert json.loads(json.dumps(found, allow_nan=False))["interval"] == list(found["interval"])
    assert len(found["edges"]) == len(found["histogram"]["training"]) + 1
