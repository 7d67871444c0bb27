from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import ShapeError
from iconotext.objectives.contrastive import draw_single_pairs, hinge, sample_negatives


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
    sentences, images = draw_single_pairs([4] * 4000, torch.tensor([2] * 4000), torch.Generator().manual_seed(1))
    for indices, size in ((sentences, 4), (images, 2)):
        shares = torch.bincount(indices % size, minlength=size) / 4000
        torch.testing.assert_close(shares, torch.full((size,), 1 / size), atol=0.04, rtol=0)
    together = torch.bincount((sentences % 4) * 2 + images % 2, minlength=8) / 4000
    torch.testing.assert_close(together, torch.full((8,), 1 / 8), atol=0.03, rtol=0)


def test_the_objectives_take_the_cosines_of_single_pairs() -> None:
    generator = torch.Generator().manual_seed(0)
    cosines = torch.rand(9, 6, requires_grad=True)
    sentences, images = draw_single_pairs([4, 2, 3], [1, 3, 2], generator)
    similarities = cosines[sentences][:, images]
    hinge(similarities, *sample_negatives(3, 3, None, generator), negatives="hardest").mean().backward()
    touched = torch.zeros(9, 6, dtype=torch.bool)
    touched[sentences[:, None], images] = True
    assert cosines.grad.any()
    assert not cosines.grad[~touched].any()


def test_shapes_must_fit() -> None:
    with pytest.raises(ShapeError, match="sentence counts of 2 documents, image counts of 1"):
        draw_single_pairs([1, 2], [3], torch.Generator())
    with pytest.raises(ShapeError, match=r"document 1 \(counted from 0\) has 0 images"):
        draw_single_pairs([1, 2], [3, 0], torch.Generator())
