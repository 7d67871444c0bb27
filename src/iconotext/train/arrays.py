"""Arrays on disk, in a folder or a tar: written row by row, memory-mapped, and cut into spans by offsets.

Offsets are the positions where each of n spans begins, and the end of the last one.
"""

from __future__ import annotations

import json
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import CorpusError, FeatureError
from iconotext.system.files import open_atomic, write_text
from iconotext.system.strict_json import parse_json

Rows = NDArray[np.int64]
"""Numbers of documents, sentences, images or links, or positions in an array."""

Files = Callable[[str], NDArray[np.uint8]]
"""A function that returns the bytes of a file of a prepared corpus, memory-mapped, by its name."""


class ArrayWriter(AbstractContextManager["ArrayWriter"]):
    """Appends rows to an array on disk; only one piece at a time is in memory.

    The numbers are written to ``NAME.bin``; dtype and shape are written to ``NAME.json`` when the writer is closed.
    """

    def __init__(self, path: Path, dtype: str, row: tuple[int, ...] = ()) -> None:
        self.path, self.dtype, self.row = path, np.dtype(dtype), row
        self.rows = 0
        self._file = path.with_suffix(".bin").open("wb")

    def append(self, rows: NDArray[Any]) -> None:
        """Append rows, (n, *row)."""
        if rows.shape[1:] != self.row:
            raise ValueError(f"{self.path.name}: rows of shape {rows.shape[1:]}, expected {self.row}")
        with np.errstate(over="ignore"):  # the error below says more than NumPy's warning
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


def files_in(path: Path) -> Files:
    """Open the files in a folder, or in a tar written by ``pack``; a tar is mapped only once."""
    if path.is_dir():
        return lambda name: _mapped(path / name)
    with tarfile.open(path, "r:") as tar:
        spans = {member.name: slice(member.offset_data, member.offset_data + member.size) for member in tar}
    whole = _mapped(path)
    return lambda name: whole[spans[name]]


def _mapped(path: Path) -> NDArray[np.uint8]:
    # An empty file cannot be mapped.
    return np.asarray(np.memmap(path, np.uint8, "r")) if path.stat().st_size else np.zeros(0, np.uint8)


def pack(folder: Path, path: Path) -> None:
    """Write the files of a folder into one tar, not compressed, so that it can be mapped; equal files, equal tar."""
    with open_atomic(path, force=True) as file, tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for source in sorted(folder.iterdir()):
            member = tarfile.TarInfo(source.name)  # without times and owners
            member.size = source.stat().st_size
            with source.open("rb") as data:
                tar.addfile(member, data)


def open_array(files: Files, name: str) -> NDArray[Any]:
    """Map an array written by ``ArrayWriter``; ``ValueError`` or a similar error if it is missing or cut short."""
    head = parse_json(files(f"{name}.json").tobytes())
    array: NDArray[Any] = files(f"{name}.bin").view(head["dtype"]).reshape(head["shape"])
    return array


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Turn errors of reading arrays into ``CorpusError``, with advice for the user."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, tarfile.TarError) as error:
        helps = "remove it, and train again" if path.is_dir() else "remove it, and make it again"
        raise CorpusError(f"{path}: damaged or missing; {helps} ({' '.join(str(error).split())})") from error


def offsets_of(counts: Iterable[int]) -> Rows:
    """Return (n + 1,) offsets of n spans of these lengths."""
    return np.cumsum([0, *counts], dtype=np.int64)


def span_counts(offsets: Rows, spans: Rows) -> Rows:
    """Return (n,) lengths of the given spans."""
    return np.asarray(offsets[spans + 1]) - np.asarray(offsets[spans])


def span_places(offsets: Rows, spans: Rows) -> Rows:
    """Return the positions of all items in the given spans, one span after the other."""
    # In the result a span begins at ends - counts; all its positions are shifted by the same distance.
    counts = span_counts(offsets, spans)
    ends = np.cumsum(counts)
    return np.repeat(np.asarray(offsets[spans]) - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def drawn_places(offsets: Rows, spans: Rows, limit: int | None, rng: np.random.Generator) -> tuple[Rows, list[int]]:
    """Draw random positions, sorted, at most ``limit`` (None: all) from each span; also return the number from each."""
    counts = span_counts(offsets, spans)
    if limit is None or counts.max(initial=0) <= limit:
        return span_places(offsets, spans), counts.tolist()
    drawn = [
        start + (np.sort(rng.permutation(count)[:limit]) if count > limit else np.arange(count))
        for start, count in zip(np.asarray(offsets[spans]), counts, strict=True)
    ]
    return np.concatenate(drawn), [len(places) for places in drawn]
