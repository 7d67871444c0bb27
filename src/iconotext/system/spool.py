"""A sequence of items that are read once and needed several times, in a file where they do not fit into memory."""

from __future__ import annotations

import os
import pickle
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Self, TypeVar

T = TypeVar("T")

HELD = 1 << 27
"""Bytes of a spool that stay in memory, if the sizes of its items are known."""


class Spool(Sequence[T]):
    """Items that can be pickled, read once; indices count from 0.

    The first items stay in memory if ``size`` is given; a temporary file without a name holds the others.

    Args:
        items: Iterated once; ``append`` adds further items.
        size: Approximate bytes of memory of an item; without it all items go into the file.
        folder: The folder of the file; by default the system's folder for temporary files.
    """

    def __init__(
        self, items: Iterable[T] = (), size: Callable[[T], int] | None = None, folder: Path | None = None
    ) -> None:
        self._file = TemporaryFile(prefix="iconotext-", dir=folder)  # noqa: SIM115  # closed by ``__exit__``
        self._held: list[T] = []
        self._places = array("q")
        self._size = size
        self._free = 0 if size is None else HELD
        try:
            for item in items:
                self.append(item)
        except BaseException:
            self._file.close()
            raise

    def append(self, item: T) -> None:
        """Add an item at the end."""
        # Below 0 for good after the first item that does not fit, so that the order is kept.
        self._free -= 1 if self._size is None else self._size(item)
        if self._free >= 0:
            self._held.append(item)
            return
        self._places.append(self._file.seek(0, os.SEEK_END))
        pickle.dump(item, self._file, protocol=pickle.HIGHEST_PROTOCOL)

    def __enter__(self) -> Self:
        """Return the spool itself."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the file."""
        self._held.clear()
        self._file.close()

    def __len__(self) -> int:
        return len(self._held) + len(self._places)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        if index < len(self._held):
            return self._held[index]
        self._file.seek(self._places[index - len(self._held)])
        return pickle.load(self._file)
