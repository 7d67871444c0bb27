from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import wilcoxon

from iconotext.errors import CorpusError
from iconotext.evaluate import DocumentScores, Evaluation, compare
from iconotext.evaluate.results import permutation_p, wilcoxon_p


def scores(*aucs: float | None, **facts) -> Evaluation:
    return Evaluation(
        tuple(
            DocumentScores(str(i), 4, 3, 2, undefined="it has no gold links")
            if value is None
            else DocumentScores(str(i), 4, 3, 2, value, value, value / 2, 2 * value, 2, **facts)
            for i, value in enumerate(aucs)
        )
    )


def test_few_documents_are_done_exactly():
    # 3 documents, all better: of the 8 ways to swap, the one seen and its mirror are as far from 0.
    assert permutation_p(np.array([0.1, 0.2, 0.3])) == 2 / 8
    assert permutation_p(np.array([0.1, -0.1])) == 1
    assert permutation_p(np.zeros(20)) == 1


def test_exact_values_agree_with_a_loop():
    random = np.random.default_rng(0)
    for n in (1, 4, 7):
        d = random.normal(0.3, 1, n)
        sums = [abs(sum(s * x for s, x in zip(signs, d, strict=True))) for signs in product((-1, 1), repeat=n)]
        assert permutation_p(d) == pytest.approx(np.mean([s >= abs(d.sum()) - 1e-12 for s in sums]))


def test_random_swaps_come_near_the_exact_value():
    d = np.random.default_rng(1).normal(0.25, 1, 14)  # one more than is done exactly
    bits = (np.arange(2**14)[:, None] >> np.arange(14)) & 1
    exact = np.mean(np.abs((2 * bits - 1) @ d) >= abs(d.sum()) - 1e-12)
    assert permutation_p(d) == pytest.approx(exact, abs=0.02)
    assert permutation_p(np.ones(40)) == pytest.approx(1 / 10_001)  # never 0


def test_under_the_null_p_values_are_even():
    random = np.random.default_rng(2)
    found = [permutation_p(random.normal(0, 1, 30), permutations=400, seed=i) for i in range(200)]
    assert 0.01 <= np.mean(np.array(found) < 0.05) <= 0.1


def test_compare_by_hand():
    found = compare(scores(0.9, 0.8, 0.7), scores(0.5, 0.6, 0.7))
    assert found["auc"].difference == pytest.approx(0.2)
    assert found["p@5"].difference == pytest.approx(0.1)
    assert found["image@1"].difference == pytest.approx(0.2)  # 1.2 hits more among 6 images
    assert found["auc"].p == 0.5  # 2 of the 4 different ways
    assert found["auc"].interval[0] <= 0.2 <= found["auc"].interval[1]
    back = compare(scores(0.5, 0.6, 0.7), scores(0.9, 0.8, 0.7))
    assert back["auc"].difference == pytest.approx(-0.2)
    assert back["auc"].p == found["auc"].p


def test_a_model_compared_with_itself():
    for each in compare(scores(0.1, 0.9, None), scores(0.1, 0.9, None)).values():
        assert (each.difference, each.interval, each.p, each.p_wilcoxon) == (0, (0, 0), 1, 1)
    assert wilcoxon_p(np.zeros(5)) == 1


def test_wilcoxon_agrees_with_scipy():
    random = np.random.default_rng(3)
    for size in (1, 2, 9, 50, 51, 400):
        differences = random.normal(0.2, 1, size)
        assert wilcoxon_p(differences) == pytest.approx(wilcoxon(differences).pvalue)
    ties = np.round(random.normal(0.2, 1, 80), 1)
    assert wilcoxon_p(ties) == pytest.approx(wilcoxon(ties).pvalue)


def test_wilcoxon_counts_ties_by_hand():
    # Ranks 1.5, 1.5 and 3; of the 8 ways, 2 give sums of at most 0 or at least 6: all plus, all minus. Zeros are left out.
    assert wilcoxon_p(np.array([0.1, 0.1, 0.5, 0])) == 2 / 8
    assert wilcoxon_p(np.array([0.1, -0.1, 0.5])) == 6 / 8  # 1.5 below the ends: 0, 1.5 twice, and the mirror


def test_order_does_not_matter_and_documents_are_matched_by_id():
    one, other = scores(0.9, 0.2, 0.4), scores(0.1, 0.3, 0.4)
    turned = Evaluation(other.documents[::-1])
    assert compare(one, other) == compare(one, turned)


def test_different_documents_are_refused():
    with pytest.raises(CorpusError, match=r"1 only in the first \(2\), 0 only in the second"):
        compare(scores(0.1, 0.2, 0.3), scores(0.1, 0.2))
    other = Evaluation(tuple(DocumentScores(d.id, 5, 3, 2, 0.5, 0, 0, 0, 2) for d in scores(0.1, 0.2).documents))
    with pytest.raises(CorpusError, match=r"'0' differs.*\(4, 3, 2\) and \(5, 3, 2\)"):
        compare(scores(0.1, 0.2), other)
    with pytest.raises(CorpusError, match="no document has a defined AUC"):
        compare(scores(None), scores(None))
    twice = Evaluation(scores(0.1).documents * 2)
    with pytest.raises(CorpusError, match="twice"):
        compare(twice, scores(0.1))
