import math

import pytest
import torch

from iconotext.objectives.within import coherence, relation_weights

NAN = math.nan


def test_it_is_the_weighted_cross_entropy_of_the_paper():
    probabilities = torch.tensor([[0.8, 0.3], [0.5, 0.9]])
    labels = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    losses = coherence(torch.logit(probabilities), labels, torch.tensor([2.0, 5.0]))
    expected = [-2 * math.log(0.8) - 5 * math.log(0.7), -2 * math.log(0.5) - 5 * math.log(0.9)]
    assert losses.tolist() == pytest.approx(expected, rel=1e-5)


def test_what_nobody_answered_counts_as_nothing_and_has_no_gradient():
    logits = torch.tensor([[3.0, -100.0], [1.0, 2.0]], requires_grad=True)
    losses = coherence(logits, torch.tensor([[1.0, NAN], [NAN, NAN]]), torch.tensor([1.0, 1.0]))
    losses.sum().backward()
    assert losses.tolist() == pytest.approx([math.log1p(math.exp(-3)), 0])
    assert logits.grad[0, 1] == logits.grad[1, 0] == logits.grad[1, 1] == 0


def test_a_weight_is_one_divided_by_the_positive_rate_among_the_answers():
    labels = torch.tensor([[1.0, 0.0, 1.0, NAN], [0.0, 0.0, NAN, NAN], [0.0, 0.0, NAN, NAN], [0.0, 0.0, 0.0, NAN]])
    assert relation_weights(labels).tolist() == [4, 1, 2, 1]  # never true and never answered: 1


def test_extreme_log_odds_stay_finite():
    logits = torch.tensor([[1e4, -1e4]], requires_grad=True)
    losses = coherence(logits, torch.tensor([[0.0, 1.0]]), torch.tensor([1.0, 1.0]))
    losses.sum().backward()
    assert losses.isfinite().all()
    assert logits.grad.isfinite().all()
