"""Near hashes: exactly those that comparing all with all finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.images.near_duplicates import near_duplicates


def by_comparing_all(hashes, distance):
    """For each the first other one that is near, else -1."""
    return [
        next((j for j, b in enumerate(hashes) if j != i and (a ^ b).bit_count() <= distance), -1)
        for i, a in enumerate(hashes)
    ]


@st.composite
def crowds(draw):
    """Hashes, many of them a few bits from others."""
    centres = draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=4))
    member = st.tuples(st.sampled_from(centres), st.lists(st.integers(0, 63), max_size=6))
    hashes = []
    for centre, flips in draw(st.lists(member, max_size=25)):
        for bit in flips:
            centre ^= 1 << bit
        hashes.append(centre)
    return hashes


@given(hashes=crowds(), distance=st.integers(0, 15), block_size=st.integers(1, 30))
def test_finds_what_comparing_all_with_all_finds(hashes, distance, block_size):
    found = near_duplicates(np.array(hashes, np.uint64), distance, block_size=block_size)
    assert found.tolist() == by_comparing_all(hashes, distance)


def test_no_hashes_and_one_hash():
    assert near_duplicates(np.array([], np.uint64), 3).tolist() == []
    assert near_duplicates(np.array([7], np.uint64), 3).tolist() == [-1]


def test_nearness_is_not_handed_on():
    # 0 and 2 differ in four bits, each of them in two from 1
    assert near_duplicates(np.array([0b0000, 0b0011, 0b1111], np.uint64), 2).tolist() == [1, 0, 1]
    assert near_duplicates(np.array([0b0000, 0b0111, 0b1111_1111], np.uint64), 3).tolist() == [1, 0, -1]


@pytest.mark.parametrize("distance", [-1, 16, 64])
def test_refuses_distances_that_it_cannot_search(distance):
    with pytest.raises(ValueError, match=r"give one of 0 to 15"):
        near_duplicates(np.array([1], np.uint64), distance)


def test_of_three_hundred_thousand_hashes_few_pairs_are_compared(monkeypatch):
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 2**64, 300_000, np.uint64)
    hashes[1000:1200] = hashes[:200] ^ np.uint64(0b1001 << 30)
    hashes[5000:9000] = 0  # flat pictures
    compared, counted_bits = [], np.bitwise_count

    def counting(bits):
        compared.append(len(bits))
        return counted_bits(bits)

    monkeypatch.setattr(np, "bitwise_count", counting)
    found = near_duplicates(hashes, 3)
    assert 0 < sum(compared) < 10 * len(hashes)  # of 45,000 million
    assert (found[:200] == np.arange(1000, 1200)).all()
    assert (found[1000:1200] == np.arange(200)).all()
    assert found[5000] == 5001
    assert (found[5001:9000] == 5000).all()
    assert (found >= 0).sum() == 4400
