"""Count different things without keeping them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WAITING = 1 << 20
"""Digests that wait, 8 MB, before they are put among those that are known."""


class Distinct:
    """Counts different texts; of each it keeps 8 bytes, whatever its length.

    The 8 bytes are Python's own keyed hash of the text. Of ten million texts, two have the same with a probability of
    3 in a million; the count is then one too small.
    """

    def __init__(self) -> None:
        self._known: NDArray[np.int64] | None = None  # sorted, each once
        self._new = array("q")

    def add(self, texts: Iterable[str]) -> None:
        """Some more, of which any may have come before."""
        self._new.extend(map(hash, texts))
        if len(self._new) >= WAITING and len(self._new) * 8 >= self._size():
            self._merge()

    def __len__(self) -> int:
        self._merge()
        return self._size()

    def _size(self) -> int:
        return 0 if self._known is None else len(self._known)

    def _merge(self) -> None:
        """Put those that wait among the known ones."""
        if not self._new:
            return
        import numpy as np

        new = np.unique(np.frombuffer(self._new, np.int64))
        if self._known is not None and len(self._known):
            places = np.searchsorted(self._known, new)
            there = self._known[np.minimum(places, len(self._known) - 1)] == new
            new = np.insert(self._known, places[~there], new[~there])
        self._known = new
        self._new = array("q")
