from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from iconotext.errors import CorpusError, SettingError, ShapeError
from iconotext.evaluate import retrieval as module
from iconotext.evaluate.retrieval import (
    draw_pools,
    of_relations,
    pool_queries,
    rank_pools,
    ranks_of,
    retrieval,
    retrieval_of,
)


def matrix_score(matrix):
    return lambda queries, images: matrix[np.ix_(queries, images)]


def test_ranks_by_hand():
    similarities = np.array([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1], [0.2, 0.2, 0.2], [0.5, 0.7, 0.7]])
    ranks = ranks_of(similarities, np.array([0, 2, 1, 2]))
    assert ranks.mean.tolist() == [1, 3, 2, 1.5]
    assert ranks.recall(1) == pytest.approx([1, 0, 1 / 3, 1 / 2])
    assert ranks.recall(2) == pytest.approx([1, 0, 2 / 3, 1])
    assert ranks.recall(10).tolist() == [1, 1, 1, 1]


@st.composite
def rows(draw):
    n = draw(st.integers(1, 5))
    row = draw(arrays(np.float32, n, elements=st.sampled_from([-0.5, 0.0, 0.5, 1.0])))
    return row, draw(st.integers(0, n - 1))


@given(rows(), st.integers(1, 6))
def test_rank_and_recall_agree_with_the_mean_over_all_orders(case, k):
    row, true = case
    places = []
    for order in permutations(range(len(row))):
        ranked = sorted(order, key=lambda i: -row[i])  # stable: equal similarities stay in this order
        places.append(ranked.index(true) + 1)
    ranks = ranks_of(row[None], np.array([true]))
    assert ranks.mean[0] == pytest.approx(np.mean(places))
    assert ranks.recall(k)[0] == pytest.approx(np.mean([place <= k for place in places]))


@pytest.mark.parametrize(
    ("similarities", "true", "message"),
    [
        (np.zeros(3), np.zeros(3, int), "must be"),
        (np.zeros((2, 3)), np.zeros(3, int), "must be"),
        (np.zeros((2, 3)), np.array([0, 3]), "not among the 3"),
        (np.zeros((2, 3)), np.array([0, -1]), "not among the 3"),
        (np.array([[0.0, math.nan]]), np.array([0]), "query 0 and image 1"),
    ],
)
def test_what_is_no_ranking_is_refused(similarities, true, message):
    with pytest.raises(ShapeError, match=message):
        ranks_of(similarities, true)


def test_no_queries_have_no_metrics():
    assert len(ranks_of(np.zeros((0, 3)), np.zeros(0, int)).mean) == 0
    with pytest.raises(CorpusError, match="no text belongs to an image of the pools"):
        retrieval([])


def test_pools_are_drawn_by_seed_without_replacement():
    first, again = (list(draw_pools(100, pool=30, draws=4, seed=1)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert len(first) == 4
    assert all(len(set(pool.tolist())) == 30 and pool.max() < 100 for pool in first)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first[0], next(draw_pools(100, pool=30, seed=2)))


def test_a_pool_of_everything_is_drawn_once():
    pools = list(draw_pools(7, pool=7, draws=5))
    assert [pool.tolist() for pool in pools] == [[0, 1, 2, 3, 4, 5, 6]]
    found = retrieval(rank_pools(matrix_score(np.eye(7)), np.arange(7), pool=7))
    assert found.draws == 1
    assert found.median_rank == (1, None)  # one draw has no deviation, rather than one of 0


def test_a_pool_that_is_too_large_is_an_error_at_once():
    with pytest.raises(CorpusError, match=r"500 images cannot be drawn from 12.*pool=12"):
        draw_pools(12)
    with pytest.raises(CorpusError, match="from 0"):
        rank_pools(matrix_score(np.zeros((0, 0))), np.zeros(0, np.intp))
    for arguments in ({"pool": 0}, {"draws": 0}):
        with pytest.raises(SettingError):
            draw_pools(12, **arguments)


def test_texts_that_share_an_image_are_all_queries_and_the_image_one_candidate():
    image_of = np.array([0, 0, 1, 2, 2])
    queries, true = pool_queries(image_of, np.array([0, 2]), 3)
    assert queries.tolist() == [0, 1, 3, 4]
    assert true.tolist() == [0, 0, 1, 1]
    similarities = np.array([[0.9, 0.1, 0], [0.2, 0.3, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.9, 0.5]])
    (draw,) = rank_pools(matrix_score(similarities), image_of, pool=3)
    assert draw.ranks.mean.tolist() == [1, 2, 1, 1, 2.5]
    found = retrieval([draw])
    assert (found.median_rank.mean, found.mean_rank.mean, found.queries) == (1, 1.5, 5)
    assert found.recall[1].mean == pytest.approx(3 / 5)


def brute(similarities, image_of, pools):
    """Metrics of each pool by counting, query by query; no ties."""
    found = []
    for pool in pools:
        ranks = [
            1 + sum(similarities[q, image] > similarities[q, image_of[q]] for image in pool)
            for q in range(len(image_of))
            if image_of[q] in pool
        ]
        found.append((np.median(ranks), [np.mean([rank <= k for rank in ranks]) for k in (1, 5, 10)]))
    return found


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_agrees_with_counting_query_by_query(seed):
    random = np.random.default_rng(seed)
    images = int(random.integers(12, 30))
    image_of = np.concatenate([np.arange(images), random.integers(0, images, 9)])
    similarities = random.normal(size=(len(image_of), images))
    pools = [pool.tolist() for pool in draw_pools(images, pool=11, draws=3, seed=seed)]
    expected = brute(similarities, image_of.tolist(), pools)
    found = retrieval(rank_pools(matrix_score(similarities), image_of, pool=11, draws=3, seed=seed))
    medians = [median for median, _ in expected]
    assert found.median_rank.mean == pytest.approx(np.mean(medians))
    assert found.median_rank.deviation == pytest.approx(np.std(medians, ddof=1))
    for place, k in enumerate((1, 5, 10)):
        assert found.recall[k].mean == pytest.approx(np.mean([recalls[place] for _, recalls in expected]))


def test_equal_similarities_give_chance():
    found = retrieval(rank_pools(matrix_score(np.zeros((60, 60))), np.arange(60), pool=50, draws=3))
    assert found.median_rank._asdict() == {"mean": 25.5, "deviation": 0}
    assert found.recall[10] == pytest.approx((0.2, 0))
    assert found.as_dict()["r@5"] == pytest.approx(0.1)
    assert found.as_dict()["deviations"]["median_rank"] == 0


def test_relations_choose_queries_and_leave_the_candidates():
    similarities = np.array([[0.1, 0.5, 0.9], [0.1, 0.5, 0.9], [0.1, 0.5, 0.9]])
    labels = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, math.nan]])
    draws = rank_pools(matrix_score(similarities), np.arange(3), pool=3)
    found = of_relations(draws, labels, ["Story", "Meta"])
    assert found["Story"].mean_rank.mean == 2  # ranks 3 and 1, of all three images
    assert found["Story"].queries == 2
    assert found["Meta"] is None


def test_draws_without_such_a_query_are_left_out():
    draws = rank_pools(matrix_score(np.eye(40)), np.arange(40), pool=10, draws=8, seed=0)
    found = retrieval_of(draws, np.arange(40) == 3)
    there = sum(3 in draw.queries for draw in draws)
    assert 0 < there < 8
    assert found.draws == there
    assert found.queries == 1


def test_large_sets_never_ask_for_more_cells_than_fit(monkeypatch):
    monkeypatch.setattr(module, "CELLS", 50)
    random = np.random.default_rng(0)
    similarities = random.normal(size=(40, 20))
    asked = []

    def score(queries, images):
        asked.append(len(queries) * len(images))
        return similarities[np.ix_(queries, images)]

    image_of = np.arange(40) % 20
    found = rank_pools(score, image_of, pool=20)[0].ranks.mean
    assert max(asked) <= 50
    assert np.array_equal(found, ranks_of(similarities, image_of).mean)


def test_a_hundred_thousand_images_need_no_square():
    n = 100_000
    vectors = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    draws = rank_pools(lambda queries, images: vectors[queries] @ vectors[images].T, np.arange(n), pool=500, draws=2)
    assert [len(draw.queries) for draw in draws] == [500, 500]
