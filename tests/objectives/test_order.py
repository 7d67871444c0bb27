"""The order objective against all alignments, one by one."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import ShapeError
from iconotext.objectives.within import order

COUNTS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=4)


def by_enumeration(block: torch.Tensor, scale: float) -> float:
    """The loss of one document: every non-decreasing choice of a sentence for each image, both ways."""

    def total(columns: list[list[float]]) -> float:
        ways = combinations_with_replacement(range(len(block)), len(columns))
        return sum(math.exp(scale * sum(column[i] for i, column in zip(way, columns, strict=True))) for way in ways)

    columns = block.T.tolist()
    forth, back = total(columns), total(columns[::-1])
    return -math.log(forth / (forth + back))


@given(counts=COUNTS, extra=st.integers(0, 2), seed=st.integers(0, 99), scale=st.sampled_from([0.5, 3.0, 20.0]))
def test_it_sums_over_all_monotone_alignments(
    counts: list[tuple[int, int]], extra: int, seed: int, scale: float
) -> None:
    rows, columns = [s for s, _ in counts], [v for _, v in counts]
    generator = torch.Generator().manual_seed(seed)
    cosines = torch.rand(sum(rows) + extra, sum(columns) + extra, generator=generator, dtype=torch.float64) * 2 - 1
    blocks = [
        part.split([*columns, extra], 1)[i] for i, part in enumerate(cosines.split([*rows, extra])[: len(counts)])
    ]
    found = order(cosines, rows, columns, scale=scale)
    assert found.tolist() == pytest.approx([by_enumeration(block, scale) for block in blocks], rel=1e-9, abs=1e-12)


def test_by_hand() -> None:
    # Two sentences, two images, each like its own: in order e² (1 → 1, 2 → 2) + 2e (both on one); reversed 1 + 2e.
    loss = order(torch.eye(2, dtype=torch.float64), [2], [2], scale=1.0)
    forth, back = math.e**2 + 2 * math.e, 1 + 2 * math.e
    assert loss.item() == pytest.approx(-math.log(forth / (forth + back)))


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (3, 3)])
def test_nothing_is_learned_where_images_are_alike_or_alone(shape: tuple[int, int]) -> None:
    cosines = torch.rand(shape[0], 1, generator=torch.Generator().manual_seed(0)).expand(shape).clone()
    loss = order(cosines.requires_grad_(), [shape[0]], [shape[1]], scale=20.0)
    assert loss.item() == pytest.approx(math.log(2), rel=1e-5)
    if 1 in shape:
        (gradient,) = torch.autograd.grad(loss.sum(), cosines)
        assert gradient.abs().max() < 1e-5


def test_gradients() -> None:
    cosines = torch.rand(7, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64, requires_grad=True)
    scale = torch.tensor(4.0, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda c, s: order(c, [4, 3], [2, 4], scale=s), (cosines, scale))


def test_long_documents_stay_finite() -> None:
    cosines = (torch.rand(300, 80, generator=torch.Generator().manual_seed(2)) * 2 - 1).requires_grad_()
    loss = order(cosines, [299, 1], [79, 1], scale=100.0)
    loss.sum().backward()
    assert loss.isfinite().all()
    assert cosines.grad is not None
    assert cosines.grad.isfinite().all()
    assert order(cosines, [], [], scale=1.0).shape == (0,)


def test_wrong_arguments() -> None:
    with pytest.raises(ShapeError, match="0 images"):
        order(torch.zeros(2, 2), [1, 1], [2, 0], scale=1.0)
