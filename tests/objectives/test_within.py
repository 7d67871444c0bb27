"""The objectives that look into a document: those of Li 2021, and the posterior."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iconotext.objectives.contrastive import hinge, logistic, softmax
from iconotext.objectives.within import draw_members, intra_document, posterior
from tests.support.set_similarities import contrasted

SIMILARITIES = torch.tensor([[0.5, 0.4, 0.1], [0.2, 0.3, 0.6], [0.7, 0.0, 0.9]], dtype=torch.float64)
ALL = torch.tensor([[False, True, True], [True, False, True]])
OWN = torch.tensor([0.1, 0.45], dtype=torch.float64)


def test_the_intra_document_objective_by_hand() -> None:
    likely = torch.tensor([0.6, 0.3, 0.1], requires_grad=True)
    unlikely = torch.tensor([0.1, 0.25, 0.4], requires_grad=True)
    losses = intra_document(likely, unlikely, margin=0.1)
    # 0.1 - 0.6 + 0.1 < 0; 0.1 - 0.3 + 0.25; 0.1 - 0.1 + 0.4
    assert losses.tolist() == pytest.approx([0.0, 0.05, 0.4])
    losses.sum().backward()
    assert likely.grad is not None
    assert unlikely.grad is not None
    assert likely.grad.tolist() == [0, -1, -1]
    assert unlikely.grad.tolist() == [0, 1, 1]


def test_objectives_take_the_similarities_of_sub_documents() -> None:
    # Document 0: 0.1 - 0.1 + 0.4 to images, 0.1 - 0.1 + 0.7 to sentences;
    # document 1: 0.1 - 0.45 + 0.6 to images, 0.1 - 0.45 + 0.4 to sentences.
    hard = contrasted(hinge, SIMILARITIES, ALL, ALL, margin=0.1, negatives="hardest", own=OWN)
    assert hard.tolist() == pytest.approx([0.4 + 0.7, 0.25 + 0.05])
    soft = contrasted(softmax, SIMILARITIES, ALL, ALL, scale=1.0, own=OWN)
    rest = [math.exp(0.4) + math.exp(0.1), math.exp(0.2) + math.exp(0.7)]
    assert soft[0].item() == pytest.approx(sum(-math.log(math.exp(0.1) / (math.exp(0.1) + r)) for r in rest) / 2)
    pairwise = contrasted(logistic, SIMILARITIES, ALL, ALL, scale=1.0, bias=0.0, own=OWN)
    wrong = [0.4, 0.1, 0.2, 0.7]
    expected = math.log(1 + math.exp(-0.1)) + sum(math.log(1 + math.exp(x)) for x in wrong) / 2
    assert pairwise[0].item() == pytest.approx(expected)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(1, 20), st.integers(0, 9))
def test_members_are_drawn_without_replacement_rounded_down_but_one_at_least(
    counts: list[int], twentieths: int, seed: int
) -> None:
    drawn, sizes = draw_members(counts, twentieths / 20, torch.Generator().manual_seed(seed))
    assert sizes == [max(1, count * twentieths // 20) for count in counts]
    start = 0
    for part, count in zip(drawn.split(sizes), counts, strict=True):
        members = part.tolist()
        assert members == sorted(set(members))
        assert start <= members[0]
        assert members[-1] < start + count
        start += count


def test_every_member_is_drawn_equally_often() -> None:
    generator = torch.Generator().manual_seed(0)
    seen = torch.zeros(5)
    for _ in range(2000):
        drawn, sizes = draw_members([5], 0.6, generator)
        assert sizes == [3]
        seen[drawn] += 1
    assert (seen / 2000 - 0.6).abs().max() < 0.05


ONE = torch.tensor(1.0)


def test_posterior_by_hand():
    # Document 0: two sentences, one image, surely the first. Document 1: one image that belongs to none of its three.
    cosines = torch.zeros(5, 2)
    cosines[0, 0] = math.log(3)  # softmax 3/4 and 1/4
    targets = torch.tensor([1.0, 0.0, 0.0, 0.0, 0.0])
    losses = posterior(cosines, targets, [2, 3], [1, 1], scale=ONE)
    assert losses.tolist() == pytest.approx([2 * math.log(4 / 3), 0.0])  # one image in all: its loss is the mean
    # Half a probability: the same direction, half the weight, and less than one image in all counts as one.
    losses = posterior(cosines, targets / 2, [2, 3], [1, 1], scale=ONE)
    assert losses.tolist() == pytest.approx([math.log(4 / 3), 0.0])


def test_two_sentences_that_cite_an_image_share_it():
    losses = posterior(torch.tensor([[2.0], [2.0]]), torch.tensor([0.97, 0.97]), [2], [1], scale=ONE)
    assert losses.tolist() == pytest.approx([math.log(2)])  # weight 1, not 1.94


@given(st.integers(0, 999), st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=4))
def test_it_is_the_weighted_mean_over_images(seed, sizes):
    rng = np.random.default_rng(seed)
    rows, columns = (sum(size[side] for size in sizes) for side in (0, 1))
    cosines = rng.uniform(-1, 1, (rows + 2, columns + 1))  # negatives stand behind
    blocks = [rng.dirichlet(np.ones(s + 1), v).T[:s] for s, v in sizes]
    flat = torch.from_numpy(np.concatenate([block.ravel() for block in blocks]))
    found = posterior(torch.from_numpy(cosines), flat, *zip(*sizes, strict=True), scale=torch.tensor(3.0))
    total, weight, row, column = 0.0, 0.0, 0, 0
    for block in blocks:
        for j in range(block.shape[1]):
            exps = [math.exp(3 * cosines[row + i, column + j]) for i in range(len(block))]
            for i, q in enumerate(block[:, j]):
                total -= q * math.log(exps[i] / sum(exps))
            weight += block[:, j].sum()
        row, column = row + len(block), column + block.shape[1]
    assert float(found.mean()) == pytest.approx(total / max(weight, 1), rel=1e-5, abs=1e-6)


def test_what_belongs_nowhere_teaches_nothing():
    cosines = torch.randn(3, 2, requires_grad=True)
    posterior(cosines, torch.zeros(6), [3], [2], scale=ONE).sum().backward()
    assert not cosines.grad.any()
