from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import CorpusError
from iconotext.evaluate.results import Evaluation, compare
from iconotext_papers.analyses.seeds import differences, over_seeds, resampled_seeds, spread_over_seeds
from tests.support.analyses import document_scores


def scores(aucs, *, hits=None, names=None):
    """p@1 is 0 or 1, p@5 half the AUC; every document has two images with links."""
    documents = []
    for number, area in enumerate(aucs):
        name = names[number] if names else f"d{number}"
        figures = (area, float(area > 0.5), area / 2, hits[number] if hits else 1.0) if area is not None else (None,)
        documents.append(document_scores(name, *figures, sentences=3, links=2, linked_images=2))
    return Evaluation(tuple(documents), resamplings=200)


def test_means_by_hand():
    one, two = scores([0.2, None, 0.8], hits=[0, 0, 2]), scores([0.6, None, 0.6], hits=[1, 0, 2])
    found = over_seeds([one, two])
    assert [each.auc for each in found.documents] == [pytest.approx(0.4), None, pytest.approx(0.7)]
    assert [each.figures["p@1"][0] for each in found.defined] == [0.5, 1]
    assert found.means["image@1"] == pytest.approx((0.5 + 2) / 4)
    assert found.documents[1].undefined == "it has no gold links"
    assert over_seeds([one]) is one
    assert over_seeds([scores([None])] * 2).means["auc"] is None


def test_spread_by_hand():
    found = spread_over_seeds([scores([0.4, 0.6]), scores([0.6, 0.8]), scores([0.9, 0.9])])
    assert found["auc"] == pytest.approx(0.2)  # of 0.5, 0.7, 0.9
    assert spread_over_seeds([scores([0.5])])["auc"] is None
    assert spread_over_seeds([scores([None])] * 2)["auc"] is None


def test_documents_are_matched_by_name():
    one, two = scores([0.1, 0.9], names=["a", "b"]), scores([0.7, 0.3], names=["b", "a"])
    found = over_seeds([one, two])
    assert [each.id for each in found.documents] == ["a", "b"]
    assert [each.auc for each in found.documents] == [pytest.approx(0.2), pytest.approx(0.8)]
    with pytest.raises(CorpusError, match="different documents"):
        over_seeds([one, scores([0.1, 0.2], names=["a", "c"])])


def test_differences_by_hand():
    mine = {0: scores([0.6, 0.6]), 1: scores([0.7, 0.5]), 2: scores([0.3, 0.3])}
    theirs = {2: scores([0.4, 0.4]), 0: scores([0.5, 0.5]), 1: scores([0.4, 0.4])}
    found = differences(mine, theirs)["auc"]
    # +0.1, +0.2 and −0.1 by seed.
    assert found.difference == pytest.approx(0.2 / 3)
    assert (found.seeds, found.same_sign) == (3, 2)
    # The third seed alone is drawn in 1 of 27 cases. The first document alone in 1 of 4, together with twice the
    # second seed and once the first in 3 of 27, with three times the second in 1 of 27: 3.7 % have this or more.
    assert found.interval[0] == pytest.approx(-0.1)
    assert found.interval[1] == pytest.approx((0.3 + 0.3 + 0.1) / 3)
    assert found.interval_documents[0] == pytest.approx((0.1 + 0.1 - 0.1) / 3)  # its second document alone


def test_one_seed_is_the_comparison_of_two_models():
    rng = np.random.default_rng(0)
    one, two = scores(rng.random(30).tolist()), scores(rng.random(30).tolist())
    found, expected = differences({4: one}, {4: two}), compare(one, two)
    for metric, each in expected.items():
        assert found[metric].difference == pytest.approx(each.difference)
        assert found[metric].interval == pytest.approx(each.interval)
        assert found[metric].interval_documents == pytest.approx(each.interval)


def test_only_common_seeds_count():
    mine, theirs = {0: scores([0.9]), 1: scores([0.5])}, {1: scores([0.4]), 7: scores([0.0])}
    found = differences(mine, theirs)["auc"]
    assert found.difference == pytest.approx(0.1)
    assert (found.seeds, found.same_sign) == (1, 1)
    with pytest.raises(CorpusError, match="no seed in common"):
        differences({0: scores([0.9])}, {1: scores([0.9])})


def test_no_difference_has_no_sign():
    same = scores([0.5, 0.7])
    found = differences({0: same, 1: same}, {0: same, 1: same})["auc"]
    assert (found.difference, found.interval, found.same_sign) == (0, (0, 0), 0)
    theirs = {s: scores([0.5] * 3) for s in range(3)}  # what is zero but for rounding
    mine = {s: scores([0.5 + shift] * 3) for s, shift in enumerate((0.225, 0.0, -0.225))}
    found = differences(mine, theirs)["auc"]
    assert (found.difference, found.same_sign) == (0, 0)


def slow(mine, theirs, resamplings, seed):
    """The same interval, a draw at a time, with the documents and seeds written out."""
    from iconotext.evaluate.statistics import Groups, resampled_counts

    by_seed = np.array([[a.auc - b.auc for a, b in zip(mine[s].documents, theirs[s].documents, strict=True)]
                        for s in mine])  # fmt: skip
    drawn = resampled_seeds(len(mine), resamplings, seed)
    found = []
    groups = Groups(np.arange(by_seed.shape[1]), by_seed.shape[1])
    for counts, shares in zip(np.concatenate(list(resampled_counts(groups, resamplings, seed))), drawn,
                              strict=True):  # fmt: skip
        documents = np.repeat(np.arange(by_seed.shape[1]), counts.astype(int))
        seeds = np.repeat(np.arange(len(mine)), np.rint(shares * len(mine)).astype(int))
        found.append(np.mean([[by_seed[s, d] for d in documents] for s in seeds]))
    return np.quantile(found, [0.025, 0.975])


@given(st.integers(2, 4), st.integers(1, 6), st.integers(0, 3))
@settings(max_examples=15, deadline=None)
def test_the_interval_is_that_of_drawing_documents_and_seeds(seeds, documents, seed):
    rng = np.random.default_rng([seeds, documents, seed])
    mine = {s: scores(rng.random(documents).tolist()) for s in range(seeds)}
    theirs = {s: scores(rng.random(documents).tolist()) for s in range(seeds)}
    found = differences(mine, theirs, resamplings=120, seed=seed)["auc"]
    assert found.interval == pytest.approx(tuple(slow(mine, theirs, 120, seed)))


def test_seeds_widen_the_interval():
    rng = np.random.default_rng(1)
    base = rng.random(400)
    theirs = {s: scores(base.tolist()) for s in range(3)}
    mine = {s: scores((base + shift).tolist()) for s, shift in enumerate((0.0, 0.1, 0.2))}
    found = differences(mine, theirs)["auc"]
    assert np.ptp(found.interval_documents) < 0.02  # every document gains the same
    assert np.ptp(found.interval) > 0.15
