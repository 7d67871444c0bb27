from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import ShapeError
from iconotext.objectives.contrastive import sample_negatives


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


def test_too_few_documents_says_how_many_are_needed() -> None:
    with pytest.raises(ShapeError, match="b = 20 negatives need 21 documents in a step, there are 12"):
        sample_negatives(11, 12, 20, torch.Generator())
    with pytest.raises(ShapeError, match="b = 4 negatives need 5 documents in a step, there are 4"):
        sample_negatives(4, 4, 4, torch.Generator())
    with pytest.raises(ShapeError, match="5 positives among 4 documents"):
        sample_negatives(5, 4, 1, torch.Generator())


def test_no_positives() -> None:
    assert sample_negatives(0, 3, 2, torch.Generator())[0].shape == (0, 3)
    assert sample_negatives(0, 0, None, torch.Generator())[0].shape == (0, 0)
