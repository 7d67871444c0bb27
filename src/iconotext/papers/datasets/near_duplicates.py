"""Find hashes that differ in few bits among hundreds of thousands, without comparing all with all.

Two numbers that differ in at most d bits are equal in at least one of d + 1 parts of their bits (the pigeonhole
principle; Norouzi et al. 2012, "Fast search in Hamming space with multi-index hashing"). So only those are compared
that have a part in common, and none is missed.
"""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BITS = 64
MAX_DISTANCE = 15
"""The most for which the parts have four bits each, below which nearly all would be compared with all."""


def near_duplicates(hashes: NDArray[np.uint64], distance: int) -> NDArray[np.int64]:
    """For each hash the first other one that is near.

    Args:
        hashes: (n,)
        distance: Bits in which two may differ and still be near, 0 to 15.

    Returns:
        (n,) the smallest number of another hash within the distance; -1 where there is none. Memory is a few times that
        of the hashes.
    """
    if not 0 <= distance <= MAX_DISTANCE:
        raise ValueError(f"a distance of {distance}: give one of 0 to {MAX_DISTANCE}")
    total = len(hashes)
    different, first, same_as = np.unique(hashes, return_index=True, return_inverse=True)
    nearest = np.full(len(different), total, np.int64)  # of each different hash, the first that has another near one
    for shift, mask in _parts(distance + 1):
        _compare(different, first.astype(np.int64), (different >> shift) & mask, distance, nearest)
    partner = nearest[same_as]
    own = first[same_as].astype(np.int64)
    numbers = np.arange(total)
    second = np.full(len(different), total, np.int64)  # the second hash that is quite the same
    repeats = numbers[numbers != own]
    np.minimum.at(second, same_as[repeats], repeats)
    twin = np.where(numbers == own, second[same_as], own)
    partner = np.minimum(partner, twin)
    return np.where(partner == total, -1, partner)


def lookalikes(hashes: array[int], usable: bytearray, distance: int) -> NDArray[np.int64]:
    """(n,) for each picture the number of another one that looks the same, -1 where there is none."""
    numbers = np.flatnonzero(np.frombuffer(usable, np.uint8))
    other = near_duplicates(np.frombuffer(hashes, np.uint64)[numbers], distance)
    found = np.full(len(usable), -1, np.int64)
    found[numbers] = np.where(other < 0, -1, numbers[other])
    return found


def _parts(number: int) -> list[tuple[np.uint64, np.uint64]]:
    """Shift and mask of each of so many parts of 64 bits, as equal as can be."""
    edges = [BITS * part // number for part in range(number + 1)]
    return [(np.uint64(low), np.uint64((1 << (high - low)) - 1)) for low, high in pairwise(edges)]


def _compare(
    hashes: NDArray[np.uint64],
    first: NDArray[np.int64],
    keys: NDArray[np.uint64],
    distance: int,
    nearest: NDArray[np.int64],
) -> None:
    """Compare all that have the same key; in ``nearest``, set the smallest ``first`` among those that are near."""
    order = np.argsort(keys, kind="stable")
    keys, hashes, first = keys[order], hashes[order], first[order]
    begins = np.arange(max(len(keys) - 1, 0))
    step = 1
    while len(begins):
        begins = begins[begins + step < len(keys)]
        begins = begins[keys[begins] == keys[begins + step]]
        near = begins[np.bitwise_count(hashes[begins] ^ hashes[begins + step]) <= distance]
        np.minimum.at(nearest, order[near], first[near + step])
        np.minimum.at(nearest, order[near + step], first[near])
        step += 1
