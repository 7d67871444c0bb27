from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate import Evaluation
from iconotext_papers.analyses.difficulty import as_dict, correlations
from tests.support.analyses import document_scores


def scores(aucs) -> Evaluation:
    return Evaluation(tuple(document_scores(str(i), float(a)) for i, a in enumerate(aucs)))


def test_by_hand():
    found = correlations({"a": scores([0.1, 0.2, 0.3]), "b": scores([0.5, 0.6, 0.9]), "c": scores([0.9, 0.5, 0.1])})
    assert [(c.first, c.second, round(c.rho, 9)) for c in found] == [("a", "b", 1), ("a", "c", -1), ("b", "c", -1)]
    assert as_dict(found)["pairs"][0] == {"models": ["a", "b"], "spearman": pytest.approx(1), "documents": 3}


def test_agrees_with_scipy_with_ties_and_another_order():
    random = np.random.default_rng(0)
    a, b = random.integers(0, 6, 40) / 6, random.integers(0, 6, 40) / 6
    other = Evaluation(scores(b).documents[::-1])
    assert correlations({"a": scores(a), "b": other})[0].rho == pytest.approx(spearmanr(a, b).statistic)


def test_a_model_that_never_varies_has_no_correlation():
    found = correlations({"a": scores([0.5, 0.5, 0.5]), "b": scores([0.1, 0.2, 0.3])})
    assert found[0].rho is None


def test_what_cannot_be_correlated():
    with pytest.raises(SettingError, match="two"):
        correlations({"a": scores([0.1])})
    with pytest.raises(CorpusError, match=r"a and b.*three documents"):
        correlations({"a": scores([0.1, 0.2]), "b": scores([0.1, 0.2])})
    with pytest.raises(CorpusError, match=r"a and b.*different documents"):
        correlations({"a": scores([0.1, 0.2, 0.3]), "b": scores([0.1, 0.2, 0.3, 0.4])})
