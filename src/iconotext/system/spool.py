"""Documents as callers give them, by name too, and what is walked several times, much of it outside of memory."""

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
    """Items that can be pickled, read once: the first in memory, the others in a temporary file without a name.

    Args:
        items: Walked once.
        size: About how many bytes of memory an item takes; by default none stays there.
        folder: Where the file lies; by default where the system has its temporary files.
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
        """Take the file away."""
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
