"""Stores several arrays as one byte string."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def packed(arrays: Sequence[NDArray[Any]]) -> tuple[str, int, bytes]:
    """The arrays' layout, a checksum, and their numbers in C order."""
    layout = ";".join(" ".join((array.dtype.str, *map(str, array.shape))) for array in arrays)
    data = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return layout, zlib.crc32(data), data


@lru_cache
def _places(layout: str) -> list[tuple[np.dtype[Any], tuple[int, ...], int, int]]:
    """For each array its dtype, shape, number of values, and first byte."""
    found, offset = [], 0
    for array in layout.split(";"):
        name, *lengths = array.split(" ")
        dtype, shape = np.dtype(name), tuple(map(int, lengths))
        count = int(np.prod(shape, dtype=np.int64))
        found.append((dtype, shape, count, offset))
        offset += count * dtype.itemsize
    return found


def unpacked(layout: str, several: Sequence[bytes]) -> Iterator[tuple[NDArray[Any], ...]]:
    """The arrays of several byte strings of equal layout and length; read-only."""
    together = np.frombuffer(b"".join(several), np.uint8).reshape(len(several), -1)
    columns = []
    for dtype, shape, count, offset in _places(layout):
        part = np.ascontiguousarray(together[:, offset : offset + count * dtype.itemsize])
        column = part.view(dtype).reshape(-1, *shape) if count else np.zeros((len(several), *shape), dtype)
        column.flags.writeable = False
        columns.append([column[row, ...] for row in range(len(several))])
    return zip(*columns, strict=True)
