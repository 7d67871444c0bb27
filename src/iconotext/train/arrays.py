"""Arrays on disk: written row by row, memory-mapped, and cut into spans by offsets.

Offsets are the positions where each of n spans begins, and the end of the last one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import CorpusError, FeatureError
from iconotext.system.files import write_text
from iconotext.system.strict_json import parse_json

Rows = NDArray[np.int64]
"""Numbers of documents, sentences, images or links, or positions in an array."""


class ArrayWriter:
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()
        if error[0] is None:
            head = {"dtype": self.dtype.str, "shape": [self.rows, *self.row]}
            write_text(self.path.with_suffix(".json"), json.dumps(head), force=True)


class OffsetWriter(ArrayWriter):
    """Writes the offsets of spans of which the lengths are given."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "<i8")
        self._end = 0
        self.append(np.zeros(1, np.int64))

    def append_spans(self, lengths: Sequence[int]) -> None:
        """Append the ends of the next spans."""
        ends = self._end + np.cumsum(lengths, dtype=np.int64)
        self.append(ends)
        self._end = int(ends[-1]) if len(ends) else self._end


class SpanWriter:
    """Appends spans of rows to an array on disk, and their offsets to another one.

    Args:
        folder: Folder of the arrays.
        names: Names of the two arrays.
        stack: Closes both.
    """

    def __init__(
        self, folder: Path, names: tuple[str, str], dtype: str, stack: ExitStack, row: tuple[int, ...] = ()
    ) -> None:
        self._rows = stack.enter_context(ArrayWriter(folder / names[0], dtype, row))
        self._offsets = stack.enter_context(OffsetWriter(folder / names[1]))

    def append(self, spans: Sequence[Sequence[Any]]) -> None:
        """Append spans, each a sequence of rows."""
        self._offsets.append_spans(list(map(len, spans)))
        self._rows.append(np.array(list(chain.from_iterable(spans)), self._rows.dtype).reshape(-1, *self._rows.row))


def open_array(folder: Path, name: str) -> NDArray[Any]:
    """Map an array written by ``ArrayWriter``; ``ValueError`` or a similar error if it is missing or cut short."""
    head, file = parse_json((folder / f"{name}.json").read_bytes()), folder / f"{name}.bin"
    # An empty file cannot be mapped.
    rows = np.memmap(file, head["dtype"], "r") if file.stat().st_size else np.zeros(0, head["dtype"])
    return np.asarray(rows).reshape(head["shape"])


@contextmanager
def damaged(path: Path) -> Iterator[None]:
    """Turn errors of reading arrays into ``CorpusError``, with advice for the user."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        text = " ".join(str(error).split())
        raise CorpusError(f"{path}: damaged or missing; remove it, and train again ({text})") from error


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
