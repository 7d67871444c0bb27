"""Arrays on disk, written piece by piece and read through a memory map."""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import CorpusError, FeatureError
from iconotext.strict_json import parse_json
from iconotext.write import open_atomic, write_text


class ArrayWriter(AbstractContextManager["ArrayWriter"]):
    """Appends rows to an array on disk; only one piece at a time is in memory.

    The numbers go to ``NAME.bin``; dtype and shape go to ``NAME.json`` when the writer is closed.
    """

    def __init__(self, path: Path, dtype: str, row: tuple[int, ...] = ()) -> None:
        self.path, self.dtype, self.row = path, np.dtype(dtype), row
        self.rows = 0
        self._file = path.with_suffix(".bin").open("wb")

    def append(self, rows: NDArray[Any]) -> None:
        """Append rows, (n, *row); ``FeatureError`` for NaN, or a number that is too large for the type."""
        if rows.shape[1:] != self.row:
            raise ValueError(f"{self.path.name}: rows of shape {rows.shape[1:]} where {self.row} were")
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(rows, self.dtype)
        if self.dtype.kind == "f" and not np.isfinite(stored).all():
            raise FeatureError(
                f"{self.path.name}: a feature is not a finite number, or larger than {np.finfo(self.dtype).max:g}, the "
                "most that training keeps; scale the features down"
            )
        self._file.write(stored.tobytes())
        self.rows += len(rows)

    def __exit__(self, *error: object) -> None:
        self._file.close()
        if error[0] is None:
            head = {"dtype": self.dtype.str, "shape": [self.rows, *self.row]}
            write_text(self.path.with_suffix(".json"), json.dumps(head), force=True)


class Files(Protocol):
    """Access to the files of a prepared corpus, in a folder or in one archive."""

    def __call__(self, name: str) -> NDArray[np.uint8]:
        """The bytes of a file, memory-mapped."""


def files_in(path: Path) -> Files:
    """The files in a folder, or in a tar from ``pack``; a tar is mapped only once."""
    if path.is_dir():
        return lambda name: _mapped(path / name)
    with tarfile.open(path, "r:") as tar:
        places = {each.name: slice(each.offset_data, each.offset_data + each.size) for each in tar}
    whole = _mapped(path)
    return lambda name: whole[places[name]]


def _mapped(path: Path) -> NDArray[np.uint8]:
    # An empty file cannot be mapped.
    return np.asarray(np.memmap(path, np.uint8, "r")) if path.stat().st_size else np.zeros(0, np.uint8)


def pack(folder: Path, path: Path) -> None:
    """Write the files of a folder into one tar; equal files give an equal tar."""
    with open_atomic(path, force=True) as file, tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for each in sorted(folder.iterdir()):
            member = tarfile.TarInfo(each.name)
            member.size = each.stat().st_size
            with each.open("rb") as data:
                tar.addfile(member, data)


def open_array(files: Files, name: str) -> NDArray[Any]:
    """Map an array from ``ArrayWriter``; ``ValueError`` or a similar error if it is missing or cut short."""
    head = parse_json(files(f"{name}.json").tobytes())
    found: NDArray[Any] = files(f"{name}.bin").view(head["dtype"]).reshape(head["shape"])
    return found


class Stacked:
    """Several arrays as one, row after row; rows are read when they are indexed."""

    def __init__(self, arrays: Sequence[NDArray[Any]]) -> None:
        self._arrays = arrays
        self._begins = np.cumsum([0, *map(len, arrays)])
        self.shape = (int(self._begins[-1]), *arrays[0].shape[1:])

    def __getitem__(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        found = np.empty((len(rows), *self.shape[1:]), self._arrays[0].dtype)
        owner = np.searchsorted(self._begins, rows, side="right") - 1
        for number in np.unique(owner):
            own = owner == number
            found[own] = self._arrays[number][rows[own] - self._begins[number]]
        return found


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Turn errors of reading arrays into ``CorpusError``, which says what to do.

    Raises:
        CorpusError: The arrays cannot be read.
    """
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, tarfile.TarError) as error:
        helps = "remove it, and train again" if path.is_dir() else "remove it, and make it again"
        raise CorpusError(f"{path}: damaged or missing; {helps} ({' '.join(str(error).split())})") from error
