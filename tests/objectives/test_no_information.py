"""The loss of a model that knows nothing, against the objectives themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iconotext.objectives.contrastive import hinge, logistic, loss_without_information, softmax


@st.composite
def masks(draw):
    documents = draw(st.integers(2, 6))
    positives = draw(st.integers(1, documents))
    flags = draw(st.lists(st.booleans(), min_size=positives * documents, max_size=positives * documents))
    return torch.tensor(flags).view(positives, documents) & ~torch.eye(documents, dtype=torch.bool)[:positives]


@given(masks(), st.floats(-2, 2), st.floats(0.05, 1))
def test_all_alike_the_hinge_and_the_softmax_say_nothing(mask, similarity, margin):
    alike = torch.full((mask.shape[1], mask.shape[1]), similarity, dtype=torch.float64)
    for negatives in ("hardest", "mean"):
        found = loss_without_information(mask, mask, kind="hinge", margin=margin)
        torch.testing.assert_close(found, hinge(alike, mask, mask, margin=margin, negatives=negatives))
        torch.testing.assert_close(found, 2 * margin * mask.any(1).double())
    found = loss_without_information(mask, mask, kind="softmax", margin=margin)
    torch.testing.assert_close(found, softmax(alike, mask, mask, scale=7.0))
    torch.testing.assert_close(found, mask.sum(1).double().log1p())


@given(masks())
def test_the_logistic_objective_is_least_at_the_true_log_odds(mask):
    found = loss_without_information(mask, mask, kind="logistic", margin=0.2).mean()
    alike = torch.zeros(mask.shape[1], mask.shape[1], dtype=torch.float64)
    others = [logistic(alike, mask, mask, scale=1.0, bias=bias).mean() for bias in np.linspace(-4, 8, 97)]
    assert found <= min(others) + 1e-12
    if mask.any():
        assert found == pytest.approx(float(min(others)), rel=0.01)


def test_by_hand():
    mask = ~torch.eye(11, dtype=torch.bool)  # b = 10
    assert float(loss_without_information(mask, mask, kind="hinge", margin=0.2)[0]) == pytest.approx(0.4)
    assert float(loss_without_information(mask, mask, kind="softmax", margin=0.2)[0]) == pytest.approx(np.log(11))
    found = float(loss_without_information(mask, mask, kind="logistic", margin=0.2)[0])
    assert found == pytest.approx(np.log(11) + 10 * np.log(1.1))
