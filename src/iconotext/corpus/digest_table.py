"""Remember tens of millions of texts by digests of 64 bits, with a number for each."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SMALLEST_BITS = 12
FULL = 0.75
"""Share of the places that may be taken before there are twice as many."""


def digest_of(text: str) -> int:
    """A digest of 64 bits, the same in every process; half surrogate pairs are taken as they are.

    Of ten million texts, two have the same with a probability of 3 in a million.
    """
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


class DigestTable:
    """A hash table of two arrays: 16 bytes a place, so about 21 to 43 bytes a digest.

    Attributes:
        values: By slot, a number (uint64) that is 0 until somebody writes another one.
    """

    def __init__(self) -> None:
        self._bits = SMALLEST_BITS
        self._keys = np.zeros(1 << self._bits, np.uint64)
        self.values = np.zeros(1 << self._bits, np.uint64)
        self._number = 0

    def __len__(self) -> int:
        return self._number

    def put(self, digests: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Put digests into the table that are not in it.

        Args:
            digests: (n,), evenly spread over 64 bits, in any order, the same ones may come again.

        Returns:
            The slot of each, which counts until the next call; and whether it comes for the first time, here and in the
            table.
        """
        wanted, first, place = np.unique(np.maximum(digests, 1), return_index=True, return_inverse=True)
        while self._number + len(wanted) > FULL * len(self._keys):
            self._grow()
        slots, added = _insert(self._keys, self._bits, wanted)
        self._number += int(added.sum())
        new = np.zeros(len(digests), np.bool_)
        new[first[added]] = True
        return slots[place.reshape(-1)], new

    def _grow(self) -> None:
        taken = np.flatnonzero(self._keys)
        keys, values = self._keys[taken], self.values[taken]
        del taken
        self._keys = self.values = np.zeros(0, np.uint64)  # so that old and new ones are not in memory together
        self._bits += 1
        self._keys = np.zeros(1 << self._bits, np.uint64)
        self.values = np.zeros(1 << self._bits, np.uint64)
        for start in range(0, len(keys), 1 << 16):
            some = slice(start, start + (1 << 16))
            slots, _ = _insert(self._keys, self._bits, keys[some])
            self.values[slots] = values[some]


def _insert(
    table: NDArray[np.uint64], bits: int, keys: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Slots of keys (different ones, none 0), and which of them were not there: linear probing, all keys at once."""
    mask = (1 << bits) - 1
    slots = (keys >> np.uint64(64 - bits)).astype(np.int64)
    added = np.zeros(len(keys), np.bool_)
    left = np.arange(len(keys))
    while len(left):
        there = table[slots[left]]
        free = left[there == 0]
        table[slots[free]] = keys[free]  # of several that want a slot the last gets it
        added[free] = table[slots[free]] == keys[free]
        left = left[table[slots[left]] != keys[left]]
        slots[left] = (slots[left] + 1) & mask
    return slots, added
