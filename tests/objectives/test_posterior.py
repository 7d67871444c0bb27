from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iconotext.objectives.within import posterior

ONE = torch.tensor(1.0)


def test_by_hand():
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
