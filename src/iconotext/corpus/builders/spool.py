"""Values that are too many for memory: written to a file once, and read again as often as needed."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from iconotext.errors import CorpusError
from iconotext.strict_json import dump_json


class Spool(Sequence[Any]):
    """Values on disk as lines of JSON; memory holds eight bytes for each. Tuples come back as lists.

    Args:
        path: The file; replaced.
        values: What JSON can hold, read once.
        parse: What is made of a value that is read again.

    Raises:
        CorpusError: JSON cannot hold a value.
        OSError: The file cannot be written.
    """

    def __init__(self, path: Path, values: Iterable[Any], parse: Callable[[Any], Any] = lambda value: value) -> None:
        self._path, self._parse = path, parse
        self._starts = array("q", [0])
        with path.open("wb") as file:
            for value in values:
                file.write(_line(value))
                self._starts.append(file.tell())
        self._file = path.open("rb", buffering=0)

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[Any]:
        with self._path.open("rb") as lines:
            for line in lines:
                yield self._parse(json.loads(line))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        self._file.seek(self._starts[index])
        return self._parse(json.loads(self._file.read(self._starts[index + 1] - self._starts[index])))

    def close(self) -> None:
        """Let go of the file, which then can be removed on any system."""
        self._file.close()


def _line(value: Any) -> bytes:
    try:
        return f"{dump_json(value)}\n".encode()
    except ValueError as error:
        name = f"document {value.get('id')!r}: " if isinstance(value, dict) else ""
        raise CorpusError(f"{name}{error}") from error
