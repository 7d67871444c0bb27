"""Similarities of documents with themselves, and their opposites (Li 2021, Eq. 2)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.similarity.sets import negative_similarities, own_similarities, set_similarities

MATRIX = torch.tensor([[0.9, 0.8, -0.5], [0.7, 0.1, -0.3]], dtype=torch.float64)
KINDS: list[dict[str, Any]] = [
    {"kind": "dense"},
    *({"kind": "top-k", "k": k, "directions": d} for k in ("min", "half", 3) for d in ("sum", "mean")),
    {"kind": "assignment", "k": "half"},
]


def worst_edges(matrix: torch.Tensor, k: int) -> float:
    """NegTK edge by edge: each sentence's least likely image, each image's least likely sentence, k of each."""
    cells = matrix.tolist()
    rows = sorted(min(row) for row in cells)
    columns = sorted(min(column) for column in zip(*cells, strict=True))
    return (sum(rows[:k]) + sum(columns[:k])) / (2 * k)


def test_the_mean_of_both_directions_is_the_mean_over_the_2k_edges() -> None:
    # Sentences: 0.9, 0.7; images: the best two of 0.9, 0.8, -0.3.
    found = set_similarities(MATRIX, [2], [3], kind="top-k", directions="mean")
    assert found.item() == pytest.approx((0.9 + 0.7 + 0.9 + 0.8) / 4)


@pytest.mark.parametrize("how", [{"kind": "dense"}, {"kind": "top-k"}, {"kind": "top-k", "k": 1}])
def test_the_mean_is_half_the_sum(how: Any) -> None:
    both = [set_similarities(MATRIX, [1, 1], [1, 2], directions=d, **how) for d in ("sum", "mean")]
    torch.testing.assert_close(both[0], 2 * both[1])


def test_what_belongs_together_least_by_hand() -> None:
    # Sentences: -0.5, -0.3; images: the worst two of 0.7, 0.1, -0.5.
    found = negative_similarities(MATRIX, [2], [3], kind="top-k", directions="mean")
    assert found.item() == pytest.approx((-0.5 - 0.3 - 0.5 + 0.1) / 4)
    # One edge from each side: -0.5 twice.
    assert negative_similarities(MATRIX, [2], [3], kind="top-k", k=1).item() == pytest.approx(-1.0)
    # -0.5 + 0.1 is the least sum of two links; it has no positive cell to leave out.
    assert negative_similarities(MATRIX, [2], [3], kind="assignment").item() == pytest.approx(-0.2)


def test_an_assignment_without_negative_cells_has_least_likely_links_too() -> None:
    matrix = torch.tensor([[0.9, 0.2], [0.4, 0.8]], requires_grad=True)
    found = negative_similarities(matrix, [2], [2], kind="assignment")
    assert found.item() == pytest.approx(0.3)
    found.sum().backward()
    torch.testing.assert_close(matrix.grad, torch.tensor([[0.0, 0.5], [0.5, 0.0]]))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=11), st.integers(0, 99))
def test_negative_top_k_is_minus_top_k_of_minus_the_matrix(sizes: list[tuple[int, int]], seed: int) -> None:
    counts = [n for n, _ in sizes], [m for _, m in sizes]
    cosines = torch.rand(sum(counts[0]), sum(counts[1]), generator=torch.Generator().manual_seed(seed)) * 2 - 1
    found = negative_similarities(cosines, *counts, kind="top-k", directions="mean")
    opposite = -set_similarities(-cosines, *counts, kind="top-k", directions="mean").diagonal()
    torch.testing.assert_close(found, opposite)
    blocks = zip(cosines.split(counts[0]), range(len(sizes)), strict=True)
    slow = [worst_edges(rows.split(counts[1], 1)[i], min(sizes[i])) for rows, i in blocks]
    assert found.tolist() == pytest.approx(slow, abs=1e-6)


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_own_similarities_are_the_diagonal_of_all(how: Any) -> None:
    counts = [2, 1, 4, 3, 3, 2, 5], [3, 2, 2, 1, 4, 4, 1]
    cosines = torch.rand(20, 17, generator=torch.Generator().manual_seed(1)) * 2 - 1
    torch.testing.assert_close(
        own_similarities(cosines, *counts, **how), set_similarities(cosines, *counts, **how).diagonal()
    )
