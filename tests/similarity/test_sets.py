from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import ShapeError
from iconotext.similarity import sets
from iconotext.similarity.sets import set_similarities, set_similarity
from tests.support import set_similarities as oracles

MATRIX = torch.tensor([[0.9, 0.8, -0.5], [0.7, 0.1, -0.3]], dtype=torch.float64)
KINDS: list[dict[str, Any]] = [
    {"kind": "dense"},
    *({"kind": "top-k", "k": k} for k in ("min", "half", 1, 2, 99)),
    *({"kind": "assignment", "k": k, "links": links} for k in ("min", "half", 2) for links in ("at-most", "exactly")),
]


@pytest.mark.parametrize(
    ("how", "value"),
    [
        # rows 0.9, 0.7; columns 0.9, 0.8, -0.3
        ({"kind": "dense"}, 1.6 / 2 + 1.4 / 3),
        ({"kind": "top-k"}, 1.6 / 2 + 1.7 / 2),
        ({"kind": "top-k", "k": "half"}, 0.9 + 0.9),
        # 0.8 + 0.7 beats 0.9 + 0.1
        ({"kind": "assignment"}, 1.5 / 2),
        ({"kind": "assignment", "k": "half"}, 0.9),
        ({"kind": "assignment", "k": 1, "links": "exactly"}, 0.9),
        ({"kind": "assignment", "k": 99, "links": "exactly"}, 1.5 / 2),
    ],
)
def test_by_hand(how: Any, value: Any) -> None:
    assert set_similarity(MATRIX, **how).item() == pytest.approx(value)
    assert set_similarity(MATRIX.T, **how).item() == pytest.approx(value)


@pytest.mark.parametrize(
    ("how", "weights"),
    [
        ({"kind": "dense"}, [[1 / 2 + 1 / 3, 1 / 3, 0], [1 / 2, 0, 1 / 3]]),
        ({"kind": "top-k"}, [[1 / 2 + 1 / 2, 1 / 2, 0], [1 / 2, 0, 0]]),
        ({"kind": "top-k", "k": "half"}, [[2, 0, 0], [0, 0, 0]]),
        ({"kind": "assignment"}, [[0, 1 / 2, 0], [1 / 2, 0, 0]]),
        ({"kind": "assignment", "k": "half"}, [[1, 0, 0], [0, 0, 0]]),
    ],
)
def test_gradient_by_hand(how: Any, weights: Any) -> None:
    matrix = MATRIX.clone().requires_grad_()
    set_similarity(matrix, **how).backward()
    torch.testing.assert_close(matrix.grad, torch.tensor(weights, dtype=torch.float64))


def test_the_two_meanings_of_links_differ_where_cells_are_negative() -> None:
    matrix = torch.tensor([[0.6, -0.2], [-0.1, -0.4]])
    assert set_similarity(matrix, kind="assignment").item() == pytest.approx(0.6)
    assert set_similarity(matrix, kind="assignment", links="exactly").item() == pytest.approx((0.6 - 0.4) / 2)


@st.composite
def batches(draw: Any, most: int = 7) -> Any:
    sides = [draw(st.lists(st.integers(1, most), min_size=1, max_size=5)) for _ in range(2)]
    seed = draw(st.integers(0, 2**32 - 1))
    shift = draw(st.sampled_from([0.0, 0.5, -0.5]))
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.rand(sum(sides[0]), sum(sides[1]), generator=generator, dtype=torch.float64) * 2 - 1 + shift
    return matrix, *sides


def loop(one: Any, matrix: Any, sentence_counts: Any, image_counts: Any) -> torch.Tensor:
    rows = [[one(block) for block in row] for row in oracles.blocks(matrix, sentence_counts, image_counts)]
    return torch.tensor(rows, dtype=matrix.dtype)


@given(batches())
def test_dense_is_the_loop_over_pairs(batch: Any) -> None:
    torch.testing.assert_close(set_similarities(*batch, kind="dense"), loop(oracles.dense, *batch))


@given(batches(), st.sampled_from(["min", "half", 1, 2, 3, 50]))
def test_top_k_is_the_loop_over_pairs(batch: Any, k: Any) -> None:
    expected = loop(lambda block: oracles.top_k(block, k), *batch)
    torch.testing.assert_close(set_similarities(*batch, kind="top-k", k=k), expected)


@pytest.mark.slow
@settings(deadline=None)
@given(batches(most=4), st.sampled_from(["min", "half", 1, 2, 3, 50]), st.sampled_from(["at-most", "exactly"]))
def test_assignment_is_the_best_of_all_matchings(batch: Any, k: Any, links: Any) -> None:
    expected = loop(lambda block: oracles.assignment(block, k, links), *batch)
    torch.testing.assert_close(set_similarities(*batch, kind="assignment", k=k, links=links), expected)


@given(batches(most=15))
def test_assignment_of_all_is_that_of_scipy(batch: Any) -> None:
    from scipy.optimize import linear_sum_assignment

    def mean(block: Any) -> Any:
        return block[linear_sum_assignment(block, maximize=True)].mean().item()

    expected = loop(mean, *batch)
    torch.testing.assert_close(set_similarities(*batch, kind="assignment", links="exactly"), expected)


@pytest.mark.parametrize("how", KINDS, ids=str)
@pytest.mark.parametrize("sizes", [([3, 3], [3, 3]), ([1, 4, 2], [3, 1]), ([5], [1]), ([1], [5]), ([1], [1])], ids=str)
def test_gradient_is_that_of_finite_differences(how: Any, sizes: Any) -> None:
    generator = torch.Generator().manual_seed(3)
    matrix = torch.rand(sum(sizes[0]), sum(sizes[1]), generator=generator, dtype=torch.float64) * 2 - 1
    matrix.requires_grad_()
    assert torch.autograd.gradcheck(lambda m: set_similarities(m, *sizes, **how), (matrix,), eps=1e-7)


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_gradient_in_float32_and_half_precision(how: Any) -> None:
    generator = torch.Generator().manual_seed(5)
    matrix = torch.rand(12, 9, generator=generator) * 2 - 1
    exact = matrix.bfloat16().double().requires_grad_()
    sizes = ([5, 4, 3], [2, 7])
    expected = set_similarities(exact, *sizes, **how)
    expected.sum().backward()
    for dtype, returned in ((torch.float32, torch.float32), (torch.bfloat16, torch.float32)):
        some = exact.detach().to(dtype).requires_grad_()
        value = set_similarities(some, *sizes, **how)
        value.sum().backward()
        assert value.dtype == returned
        assert some.grad.dtype == dtype
        torch.testing.assert_close(value.double(), expected, atol=1e-6, rtol=0)
        torch.testing.assert_close(some.grad.double(), exact.grad, atol=1e-2, rtol=0)


@pytest.mark.parametrize("how", KINDS, ids=str)
@pytest.mark.parametrize("value", [0.3, 0.0, -0.3])
def test_equal_cells(how: Any, value: Any) -> None:
    matrix = torch.full((9, 7), value, dtype=torch.float64, requires_grad=True)
    got = set_similarities(matrix, [4, 5], [1, 4, 2], **how)
    two_means = how["kind"] != "assignment"
    one = max(value, 0.0) if how.get("links") == "at-most" else value
    torch.testing.assert_close(got, torch.full((2, 3), 2 * value if two_means else one, dtype=torch.float64))
    got.sum().backward()
    # A subgradient: each similarity's weights sum to 1 a direction, or to 0 where no link is positive.
    weight = 2.0 if two_means else float(how["links"] == "exactly" or value > 0)
    assert matrix.grad.sum().item() == pytest.approx(6 * weight)
    assert (matrix.grad >= 0).all()


def test_no_positive_cell_no_link_no_gradient() -> None:
    matrix = (-torch.rand(6, 5) - 0.01).requires_grad_()
    similarity = set_similarities(matrix, [2, 4], [5], kind="assignment")
    assert similarity.tolist() == [[0.0], [0.0]]
    similarity.sum().backward()
    assert not matrix.grad.any()


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_a_broken_cell_breaks_its_own_similarity_only(how: Any) -> None:
    matrix = torch.rand(9, 7, generator=torch.Generator().manual_seed(0))
    sizes = ([4, 5], [1, 4, 2])
    whole = set_similarities(matrix, *sizes, **how)
    matrix[6, 3] = torch.nan
    broken = set_similarities(matrix, *sizes, **how)
    expected = torch.zeros(2, 3, dtype=torch.bool)
    expected[1, 1] = True
    assert torch.equal(broken.isnan(), expected)
    torch.testing.assert_close(broken[~expected], whole[~expected])


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_small_portions_change_nothing(how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(1)
    sizes = ([3, 1, 7, 2, 2, 9], [4, 1, 6, 2])
    matrix = torch.rand(24, 13, generator=generator, dtype=torch.float64) * 2 - 1
    weights = torch.rand(6, 4, generator=generator, dtype=torch.float64)
    results = []
    for max_cells in (1, 40, 100, 1 << 22):
        monkeypatch.setattr(sets, "MAX_CELLS", max_cells)
        some = matrix.clone().requires_grad_()
        value = set_similarities(some, *sizes, **how)
        (value * weights).sum().backward()
        results.append((value, some.grad))
    for value, gradient in results[1:]:
        # The order of additions may be another one.
        torch.testing.assert_close(value, results[0][0], atol=1e-14, rtol=0)
        torch.testing.assert_close(gradient, results[0][1], atol=1e-14, rtol=0)


@pytest.mark.parametrize("how", KINDS, ids=str)
def test_threads_change_nothing(how: Any) -> None:
    generator = torch.Generator().manual_seed(2)
    # Few values, so that most matchings are tied.
    matrix = torch.randint(-3, 4, (300, 200), generator=generator) / 4
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 4, 1):
            torch.set_num_threads(threads)
            some = matrix.clone().requires_grad_()
            value = set_similarities(some, [10] * 30, [5] * 40, **how)
            value.square().sum().backward()
            results.append((value, some.grad))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(value, results[0][0]) and torch.equal(grad, results[0][1]) for value, grad in results[1:])


def test_the_matrix_may_be_a_view() -> None:
    matrix, counts = torch.rand(6, 8).t(), ([5, 3], [2, 4])
    for how in KINDS:
        torch.testing.assert_close(
            set_similarities(matrix, *counts, **how), set_similarities(matrix.contiguous(), *counts, **how)
        )


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (([2, 0, 2], [2, 2]), r"document 1 \(counted from 0\) has 0 sentences"),
        (([2, 2], [2, 2, 0]), r"document 2 \(counted from 0\) has 0 images"),
        (([5, -1], [4]), r"document 1 \(counted from 0\) has -1 sentences"),
        (([2, 1], [4]), r"cosines are \(4, 4\), .* add up to \(3, 4\)"),
    ],
)
def test_shapes_must_fit(counts: Any, message: Any) -> None:
    with pytest.raises(ShapeError, match=message):
        set_similarities(torch.zeros(4, 4), *counts, kind="dense")


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_exact_whatever_the_magnitude(scale: Any) -> None:
    generator = np.random.default_rng(0)
    matrix = torch.from_numpy(generator.uniform(-1, 1, (4, 5)))
    for how in KINDS:
        assert set_similarity(matrix * scale, **how).item() == pytest.approx(
            set_similarity(matrix, **how).item() * scale
        )


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_same() -> None:
    generator = torch.Generator().manual_seed(2)
    sizes = ([10, 3, 7], [5, 12])
    for how in KINDS:
        matrix = (torch.rand(20, 17, generator=generator) * 2 - 1).requires_grad_()
        there = matrix.detach().cuda().requires_grad_()
        here, value = set_similarities(matrix, *sizes, **how), set_similarities(there, *sizes, **how)
        here.square().sum().backward()
        value.square().sum().backward()
        assert value.is_cuda
        torch.testing.assert_close(value.cpu(), here)
        torch.testing.assert_close(there.grad.cpu(), matrix.grad)
