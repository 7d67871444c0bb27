"""Arrays on disk that are written piece by piece and read through a memory map."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import CorpusError, FeatureError
from iconotext.write import write_text


class ArrayWriter(AbstractContextManager["ArrayWriter"]):
    """Appends rows to an array on disk; memory holds one piece at a time.

    The numbers go to ``NAME.bin``, dtype and shape to ``NAME.json`` when the writer is closed.
    """

    def __init__(self, path: Path, dtype: str, row: tuple[int, ...] = ()) -> None:
        self.path, self.dtype, self.row = path, np.dtype(dtype), row
        self.rows = 0
        self._file = path.with_suffix(".bin").open("wb")

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows, (n, *row); ``FeatureError`` for a number that is too large for the type, or none."""
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


def open_array(path: Path) -> NDArray[Any]:
    """Map what an ``ArrayWriter`` wrote; ``CorpusError`` where it is missing or was cut off."""
    with damaged(path):
        head = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        dtype, shape = np.dtype(head["dtype"]), tuple(head["shape"])
        if 0 in shape:  # nothing to map
            return np.zeros(shape, dtype)
        return np.memmap(path.with_suffix(".bin"), dtype, "r", shape=shape)


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Say what to do where an array of a prepared corpus cannot be read.

    Raises:
        CorpusError: Instead of the error of reading.
    """
    try:
        yield
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise CorpusError(f"{path}: damaged; remove the folder {path.parent} and train again ({error})") from error
