"""The contrastive objectives against loops over documents, their negatives, and their loss without information."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iconotext.objectives.contrastive import (
    draw_single_pairs,
    hinge,
    logistic,
    loss_without_information,
    sample_negatives,
    softmax,
)
from tests.support.set_similarities import contrasted

# Documents 0 and 1 are positives, 2 is a negative only.
SIMILARITIES = torch.tensor([[0.5, 0.4, 0.1], [0.2, 0.3, 0.6], [0.7, 0.0, 0.9]], dtype=torch.float64)
ALL = torch.tensor([[False, True, True], [True, False, True]])
OBJECTIVES: dict[str, Any] = {
    "hardest": lambda s, i, v: contrasted(hinge, s, i, v, negatives="hardest"),
    "mean": lambda s, i, v: contrasted(hinge, s, i, v, negatives="mean"),
    "softmax": lambda s, i, v: contrasted(softmax, s, i, v, scale=3.0),
    "logistic": lambda s, i, v: contrasted(logistic, s, i, v, scale=3.0, bias=-1.0),
}


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def slowly(name: str, similarities: Any, image_negatives: Any, sentence_negatives: Any) -> list[float]:
    """Equation by equation, a loop over documents."""
    cell = similarities.tolist()
    losses = []
    for i, (images, sentences) in enumerate(zip(image_negatives.tolist(), sentence_negatives.tolist(), strict=True)):
        own = cell[i][i]
        ways = (
            [cell[i][j] for j, negative in enumerate(images) if negative],
            [cell[j][i] for j, negative in enumerate(sentences) if negative],
        )
        violations = [[max(0.0, 0.2 - own + other) for other in way] for way in ways]
        if name == "hardest":
            losses.append(sum(max(way, default=0.0) for way in violations))
        elif name == "mean":
            losses.append(sum(sum(way) / len(way) if way else 0.0 for way in violations))
        elif name == "softmax":
            rest = [sum(math.exp(3 * other) for other in way) for way in ways]
            losses.append(sum(-math.log(math.exp(3 * own) / (math.exp(3 * own) + r)) for r in rest) / 2)
        else:
            wrong = sum(-math.log(sigmoid(-(3 * other - 1))) for way in ways for other in way)
            losses.append(-math.log(sigmoid(3 * own - 1)) + wrong / 2)
    return losses


def test_hinge_by_hand() -> None:
    # Document 0: images 0.2 - 0.5 + 0.4 = 0.1, 0.2 - 0.5 + 0.1 < 0; sentences 0.2 - 0.5 + 0.2 < 0, 0.2 - 0.5 + 0.7 = 0.4
    # Document 1: images 0.2 - 0.3 + 0.2 = 0.1, 0.2 - 0.3 + 0.6 = 0.5; sentences 0.2 - 0.3 + 0.4 = 0.3, 0.2 - 0.3 < 0
    hard = contrasted(hinge, SIMILARITIES, ALL, ALL, negatives="hardest")
    assert hard.tolist() == pytest.approx([0.1 + 0.4, 0.5 + 0.3])
    mean = contrasted(hinge, SIMILARITIES, ALL, ALL, negatives="mean")
    assert mean.tolist() == pytest.approx([0.05 + 0.2, 0.3 + 0.15])
    # Only document 1's images for 0, only document 2's sentences for 1.
    image_negatives = torch.tensor([[False, True, False], [False, False, False]])
    sentence_negatives = torch.tensor([[False, False, False], [False, False, True]])
    some = contrasted(hinge, SIMILARITIES, image_negatives, sentence_negatives, negatives="hardest", margin=0.4)
    assert some.tolist() == pytest.approx([0.3, 0.1])


@given(st.integers(1, 6), st.integers(0, 3), st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("name", OBJECTIVES)
def test_objectives_are_the_loop_over_documents(name: Any, positives: Any, more: Any, seed: Any) -> None:
    generator = torch.Generator().manual_seed(seed)
    documents = positives + more
    similarities = torch.rand(documents, documents, generator=generator, dtype=torch.float64) * 4 - 2
    masks = [torch.rand(positives, documents, generator=generator) < 0.5 for _ in range(2)]
    for mask in masks:
        mask.fill_diagonal_(False)
    losses = OBJECTIVES[name](similarities, *masks)
    assert losses.tolist() == pytest.approx(slowly(name, similarities, *masks))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradient_is_that_of_finite_differences(name: Any) -> None:
    generator = torch.Generator().manual_seed(4)
    similarities = torch.rand(6, 6, generator=generator, dtype=torch.float64).requires_grad_()
    masks = sample_negatives(4, 6, 3, generator)
    assert torch.autograd.gradcheck(lambda s: OBJECTIVES[name](s, *masks), (similarities,), eps=1e-7)


def test_scale_and_bias_may_be_learned() -> None:
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    bias = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: contrasted(softmax, SIMILARITIES, ALL, ALL, scale=x), (scale,))
    assert torch.autograd.gradcheck(
        lambda x, y: contrasted(logistic, SIMILARITIES, ALL, ALL, scale=x, bias=y), (scale, bias)
    )


def test_softmax_of_all_others_is_clip() -> None:
    from torch.nn.functional import cross_entropy

    similarities = torch.rand(5, 5, generator=torch.Generator().manual_seed(1))
    expected = (
        cross_entropy(similarities * 20, torch.arange(5)) + cross_entropy(similarities.T * 20, torch.arange(5))
    ) / 2
    masks = sample_negatives(5, 5, None, torch.Generator())
    torch.testing.assert_close(contrasted(softmax, similarities, *masks, scale=20.0).mean(), expected)


def test_logistic_of_all_others_is_siglip() -> None:
    from torch.nn.functional import logsigmoid

    similarities = torch.rand(5, 5, generator=torch.Generator().manual_seed(1))
    signs = 2 * torch.eye(5) - 1
    expected = -logsigmoid(signs * (similarities * 10 - 10)).sum() / 5
    masks = sample_negatives(5, 5, None, torch.Generator())
    torch.testing.assert_close(contrasted(logistic, similarities, *masks, scale=10.0, bias=-10.0).mean(), expected)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_what_is_no_negative_has_no_say(name: Any) -> None:
    """Not even where it is broken."""
    masks = [torch.tensor([[False, True, False], [True, False, False]])] * 2
    similarities = SIMILARITIES.clone()
    similarities[2] = similarities[:, 2] = torch.nan
    similarities.requires_grad_()
    losses = OBJECTIVES[name](similarities, *masks)
    losses.sum().backward()
    assert losses.isfinite().all()
    assert similarities.grad[:2, :2].isfinite().all()
    if name != "logistic":
        assert not similarities.grad[2].any()


@pytest.mark.parametrize("name", ["hardest", "mean", "softmax"])
def test_a_document_without_negatives_has_loss_0(name: Any) -> None:
    similarities = torch.rand(3, 3, requires_grad=True)
    nobody = torch.zeros(3, 3, dtype=torch.bool)
    losses = OBJECTIVES[name](similarities, nobody, nobody)
    losses.sum().backward()
    assert losses.tolist() == pytest.approx([0.0] * 3, abs=1e-6)
    assert similarities.grad.abs().max().item() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_large_scores_stay_finite(name: Any) -> None:
    masks = sample_negatives(3, 3, None, torch.Generator())
    assert OBJECTIVES[name](torch.tensor([[1e4, -1e4, 0.0]] * 3), *masks).isfinite().all()


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 2**32 - 1), st.data())
def test_b_others_and_never_the_document_itself(positives: Any, more: Any, seed: Any, data: Any) -> None:
    documents = positives + more
    b = data.draw(st.integers(1, documents - 1)) if documents > 1 else None
    for mask in sample_negatives(positives, documents, b, torch.Generator().manual_seed(seed)):
        assert mask.dtype == torch.bool
        assert mask.shape == (positives, documents)
        assert mask.sum(dim=1).tolist() == [b or 0] * positives
        assert not mask.diagonal().any()


def test_all_others() -> None:
    for mask in sample_negatives(2, 4, None, torch.Generator()):
        assert mask.tolist() == [[False, True, True, True], [True, False, True, True]]
    for mask in sample_negatives(1, 1, None, torch.Generator()):
        assert mask.tolist() == [[False]]


def test_every_other_document_is_as_likely() -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = sum(sample_negatives(5, 9, 2, generator)[0].double() for _ in range(2000)) / 2000
    # 1 in 4; the standard deviation of a share is below 0.01
    expected = torch.full((5, 9), 0.25, dtype=torch.float64).fill_diagonal_(0)
    torch.testing.assert_close(drawn, expected, atol=0.05, rtol=0)


def test_the_directions_are_drawn_apart_and_repeat_with_the_seed() -> None:
    one = sample_negatives(20, 20, 5, torch.Generator().manual_seed(7))
    again = sample_negatives(20, 20, 5, torch.Generator().manual_seed(7))
    assert not torch.equal(one[0], one[1])
    assert all(torch.equal(a, b) for a, b in zip(one, again, strict=True))


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 20)), min_size=1, max_size=8), st.integers(0, 2**32 - 1))
def test_each_index_belongs_to_its_document(counts: Any, seed: Any) -> None:
    drawn = draw_single_pairs([n for n, _ in counts], [m for _, m in counts], torch.Generator().manual_seed(seed))
    for side, indices in enumerate(drawn):
        start = 0
        assert indices.dtype == torch.int64
        for document, index in enumerate(indices.tolist()):
            assert start <= index < start + counts[document][side]
            start += counts[document][side]


def test_every_member_is_as_likely() -> None:
    sentences, images = draw_single_pairs([4] * 4000, [2] * 4000, torch.Generator().manual_seed(1))
    for indices, size in ((sentences, 4), (images, 2)):
        shares = torch.bincount(indices % size, minlength=size) / 4000
        torch.testing.assert_close(shares, torch.full((size,), 1 / size), atol=0.04, rtol=0)
    together = torch.bincount((sentences % 4) * 2 + images % 2, minlength=8) / 4000
    torch.testing.assert_close(together, torch.full((8,), 1 / 8), atol=0.03, rtol=0)


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
        torch.testing.assert_close(found, contrasted(hinge, alike, mask, mask, margin=margin, negatives=negatives))
        torch.testing.assert_close(found, 2 * margin * mask.any(1).double())
    found = loss_without_information(mask, mask, kind="softmax", margin=margin)
    torch.testing.assert_close(found, contrasted(softmax, alike, mask, mask, scale=7.0))
    torch.testing.assert_close(found, mask.sum(1).double().log1p())


@given(masks())
def test_the_logistic_objective_is_least_at_the_true_log_odds(mask):
    found = loss_without_information(mask, mask, kind="logistic", margin=0.2).mean()
    alike = torch.zeros(mask.shape[1], mask.shape[1], dtype=torch.float64)
    others = [contrasted(logistic, alike, mask, mask, scale=1.0, bias=bias).mean() for bias in np.linspace(-4, 8, 97)]
    assert found <= min(others) + 1e-12
    if mask.any():
        assert found == pytest.approx(float(min(others)), rel=0.01)
    ten = ~torch.eye(11, dtype=torch.bool)  # n = 10 negatives each
    assert float(loss_without_information(ten, ten, kind="logistic", margin=0.2)[0]) == pytest.approx(
        np.log(11) + 10 * np.log(1.1)
    )
