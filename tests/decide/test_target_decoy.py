"""The competition of images with their decoys: thresholds by hand, by a slow walk, and the share that is false."""

from __future__ import annotations

import random

import numpy as np
import pytest
from false_discoveries import competition
from hypothesis import given
from hypothesis import strategies as st

from iconotext.decide import target_decoy as rules
from iconotext.decide.target_decoy import MEMORY, NEVER, Competition, ordered
from tests.support.false_discoveries import mean_false, share

SCORES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30)


def test_threshold_of_the_competition_by_hand():
    # Winners from the top: own 9, own 8, own 7, decoy 6, own 5, own 4. (1 + 0)/3 is 33 %, then (1 + 1)/5 is 40 %.
    own, decoy = np.array([9.0, 8, 7, 1, 5, 4]), np.array([0.0, 0, 0, 6, 2, 3])
    assert competition(own, decoy, 0.3).tolist() == [False] * 6
    assert competition(own, decoy, 1 / 3).tolist() == [True, True, True, False, False, False]
    assert competition(own, decoy, 0.4).tolist() == [True, True, True, False, True, True]


def test_equal_scores_are_the_decoys():
    assert not competition(np.ones(50), np.ones(50), 0.5).any()
    assert competition(np.ones(50), np.zeros(50), 0.5).all()


@given(SCORES, st.sampled_from([0.05, 0.1, 0.25, 0.5]))
def test_competition_takes_the_smallest_threshold(pairs, alpha):
    best: set[int] = set()
    for threshold in sorted({max(pair) for pair in pairs}, reverse=True):
        taken = {n for n, (own, decoy) in enumerate(pairs) if own > decoy and own >= threshold}
        lost = sum(decoy >= own and decoy >= threshold for own, decoy in pairs)
        if (1 + lost) / max(1, len(taken)) <= alpha:
            best = taken
    own, decoy = np.array(pairs, np.float64).reshape(-1, 2).T
    assert set(np.flatnonzero(competition(own, decoy, alpha))) == best


def slowly(pairs, names, alpha) -> set[int]:
    """Image after image, each time of the collection where decoys have won most often of late."""
    few = {name for name in names if names.count(name) < MEMORY}
    order: dict[str, list[int]] = {}
    for n, name in sorted(enumerate(names), key=lambda each: max(pairs[each[0]])):
        order.setdefault("" if name is None or name in few else name, []).append(n)
    late = dict.fromkeys(sorted(order), 0.5)
    memory = {name: min(MEMORY, 1 + len(some) / 5) for name, some in order.items()}
    while True:
        left = [n for some in order.values() for n in some]
        taken = {n for n in left if pairs[n][0] > pairs[n][1]}
        if not left or (1 + len(left) - len(taken)) <= alpha * len(taken) + 1e-12:
            return taken if left else set()
        worst = max((name for name in late if order[name]), key=lambda name: late[name])
        least = max(pairs[order[worst][0]])
        alike = [n for n in order[worst] if max(pairs[n]) == least]
        lost = [float(pairs[n][0] <= pairs[n][1]) for n in alike]
        late[worst] += (sum(lost) / len(lost) - late[worst]) / memory[worst]
        order[worst] = order[worst][len(alike) :]


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 6), st.sampled_from([None, "a", "b", "c"])), min_size=1, max_size=90
    ),
    st.sampled_from([0.1, 0.2, 0.5]),
)
def test_thresholds_of_collections_as_the_slow_walk_has_them(images, alpha):
    pairs, names = [each[:2] for each in images], [each[2] for each in images]
    own, decoy = np.array(pairs, np.float64).T
    assert set(np.flatnonzero(competition(own, decoy, alpha, names))) == slowly(pairs, names, alpha)


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_in_a_large_collection_too_each_image_may_be_the_last(alpha):
    rng = np.random.default_rng(2)
    own, decoy = np.array([rng.normal(1.5, size=900), rng.normal(size=900)]).round(2)
    lasts = [least for least in sorted({*own, *decoy}) if estimated_share(own, decoy, least) <= alpha]
    assert competition(own, decoy, alpha).sum() == ((own > decoy) & (own >= lasts[0])).sum() > 0


def estimated_share(own, decoy, least) -> float:
    return (1 + ((decoy >= own) & (decoy >= least)).sum()) / max(1, ((own > decoy) & (own >= least)).sum())


def test_a_hard_collection_is_left_out_and_an_easy_one_stays_by_hand():
    # Of "hard" every second decoy wins, with high scores; of "easy" none does, with low ones. Images count a fifth. Two of
    # "easy" go, until its share of late, from 50 over 40 to 32 %, is below all that of "hard" ever has (40 to 55.6 %).
    own = np.array([*range(100, 120), *range(20, 40)], np.float64)
    decoy = np.array([own[n] + (1 if n % 2 else -1) for n in range(20)] + [0.0] * 20)
    names = ["hard"] * 20 + ["easy"] * 20
    assert competition(own, decoy, 0.1, names).tolist() == [False] * 22 + [True] * 18
    assert not competition(own, decoy, 0.1).any()  # one threshold for both


def test_collections_of_few_images_share_a_threshold_and_each_of_more_has_its_own():
    with Competition() as all_of_them:
        for name, number in (("b", MEMORY), (None, 1), ("a", MEMORY - 1), ("c", 3 * MEMORY)):
            all_of_them.add([name] * number, np.ones(number), np.zeros(number))
        thresholds = all_of_them.thresholds(0.1)
    assert list(thresholds.scores) == [None, "b", "c"]
    assert (thresholds.tested, thresholds.kept, thresholds.collections) == (5 * MEMORY, 5 * MEMORY, 2)
    new = thresholds.passed(["a", "d", "c", "c"], np.array([1.0, 1.0, 1.0, 0.5]), np.array([0.0, 2.0, 0.0, 0.0]))
    assert new.tolist() == [True, False, True, False]


def test_nothing_competes():
    with Competition() as nobody:
        assert nobody.thresholds(0.5) == ({None: NEVER}, 0, 0)


def test_neither_order_nor_batches_change_the_thresholds(monkeypatch):
    rng = random.Random(4)
    images = [(rng.choice("abc"), rng.gauss(1, 1), rng.gauss(0, 1)) for _ in range(900)]
    found = []
    for batch in (1_000_000, 7):
        monkeypatch.setattr(rules, "BATCH_KEYS", batch)
        rng.shuffle(images)
        with Competition() as all_of_them:
            for begin in range(0, 900, 100):
                names, own, decoy = zip(*images[begin : begin + 100], strict=True)
                all_of_them.add(names, np.array(own), np.array(decoy))
            found.append(all_of_them.thresholds(0.2))
    assert found[0] == found[1]
    assert 0 < found[0].kept < 900


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=2))
def test_whole_numbers_in_the_order_of_scores(scores):
    numbers = ordered(np.array(scores, np.float64)).tolist()
    for one, two, a, b in zip(scores, scores[1:], numbers, numbers[1:], strict=False):
        assert ((one > two) - (one < two)) == ((a > b) - (a < b))
    assert 0 <= min(numbers) <= max(numbers) < NEVER


@pytest.mark.parametrize("foreign", [0.2, 0.5, 1.0])
def test_competition_keeps_its_promise_and_not_with_easier_decoys(foreign):
    rng = np.random.default_rng(3)
    fair, unfair = [], []
    for _ in range(150):
        is_foreign = rng.random(150) < foreign
        own, decoy = rng.normal(2.5 * ~is_foreign), rng.normal(size=150)
        fair.append(share(competition(own, decoy, 0.1), is_foreign))
        unfair.append(share(competition(own, decoy - 1, 0.1), is_foreign))
    mean, error = mean_false(fair)
    assert mean <= 0.1 + error
    mean, error = mean_false(unfair)
    assert mean > 0.12 + error


def test_collections_together_keep_the_promise_and_most_of_what_each_alone_keeps():
    rng = np.random.default_rng(6)
    shares, kept = [], {"together": 0, "one threshold": 0, "each alone": 0}
    for _ in range(40):
        sizes = rng.integers(30, 200, 12)
        names = np.repeat([f"c{n}" for n in range(12)], sizes)
        high, apart = np.repeat(rng.normal(0, 2, 12), sizes), np.repeat(rng.uniform(1, 4, 12), sizes)
        foreign = rng.random(len(names)) < 0.5
        own, decoy = rng.normal(high + apart * ~foreign), rng.normal(high)
        passed = competition(own, decoy, 0.1, names.tolist())
        shares.append(share(passed, foreign))
        kept["together"] += int((passed & ~foreign).sum())
        kept["one threshold"] += int((competition(own, decoy, 0.1) & ~foreign).sum())
        kept["each alone"] += sum(
            int((competition(own[some], decoy[some], 0.1) & ~foreign[some]).sum())
            for some in (names == name for name in np.unique(names))
        )
    mean, error = mean_false(shares)
    assert mean <= 0.1 + error
    assert kept["together"] >= 0.9 * kept["each alone"] > 1.5 * kept["one threshold"]
