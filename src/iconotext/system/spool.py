"""A spool: a sequence that is read once from an iterable and can be iterated again, mostly from a temporary file."""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Self, TypeVar

T = TypeVar("T")

HELD = 1 << 27
"""Bytes of a spool that stay in memory."""


class Spool(Sequence[T]):
    """Items that can be pickled, read once: the first stay in memory, a temporary file without a name holds the others.

    Args:
        items: Iterated once.
        size: Approximate bytes of memory of an item; without it all items go into the file.
        folder: The folder of the file; by default the system's folder for temporary files.
    """

    def __init__(self, items: Iterable[T], size: Callable[[T], int] | None = None, folder: Path | None = None) -> None:
        self._file = TemporaryFile(prefix="iconotext-", dir=folder)  # noqa: SIM115  # closed at the end of the block
        self._held: list[T] = []
        self._places = array("q")
        free = HELD if size is not None else 0
        try:
            for item in items:
                free -= size(item) if size is not None else 1
                if free >= 0:
                    self._held.append(item)
                    continue
                self._places.append(self._file.tell())
                pickle.dump(item, self._file, protocol=pickle.HIGHEST_PROTOCOL)
        except BaseException:
            self._file.close()
            raise

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
