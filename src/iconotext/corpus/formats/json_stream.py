"""Large JSON objects of arrays, as data sets are published, read with one element in memory at a time."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, BinaryIO

import ijson

from iconotext.errors import CorpusError

MAX_DEPTH = 1000
"""Maximum depth of nested values; deeper ones are refused, since recursive functions would fail on them."""


@contextmanager
def open_json(path: Path, about: str) -> Iterator[BinaryIO]:
    """Open a JSON file for ``lists``; ``CorpusError`` if it cannot be read, is no UTF-8, or not the expected JSON."""
    try:
        with path.open("rb") as stream:
            if stream.read(3) != codecs.BOM_UTF8:
                stream.seek(0)
            yield stream
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}; it should be {about}") from error
    except ValueError as error:
        raise CorpusError(
            f"{path}: cut off, or not the JSON that is expected: {error}; it should be {about}"
        ) from error


def lists(stream: IO[bytes], *, others: bool = False) -> Iterator[tuple[str, Iterator[Any]]]:
    """Yield keys and values of ``{"key": [value, value, ...], ...}``; read the values of a key before the next key.

    With ``others``, values that are not arrays are skipped. Raises ``ValueError`` if it is not such an object.
    """
    events = _events(stream)
    if next(events, None) != ("start_map", None):
        raise ValueError("an object is needed")
    for event, key in events:
        if event != "map_key":
            continue  # the end of the object; ijson refuses what follows it
        event, value = next(events)
        if event == "start_array":
            yield key, _elements(events)
        elif others:
            _value(event, value, events)
        else:
            raise ValueError(f"the value of {key!r} is no array")


def _events(stream: IO[bytes]) -> Iterator[tuple[str, Any]]:
    depth = 0
    try:
        for event, value in ijson.basic_parse(stream):
            depth += event.startswith("start_") - event.startswith("end_")
            if depth > MAX_DEPTH:
                raise ValueError("nested too deeply")
            # Not ijson's ``use_float``, which refuses integers of more than 64 bits.
            yield event, float(value) if isinstance(value, Decimal) else value
    except ijson.JSONError as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise ValueError(" ".join(text.split())[:200]) from error


def _elements(events: Iterator[tuple[str, Any]]) -> Iterator[Any]:
    for event, value in events:
        if event == "end_array":
            return
        yield _value(event, value, events)


def _value(event: str, value: Any, events: Iterator[tuple[str, Any]]) -> Any:
    """Return the value that begins with an event, read to its end."""
    builder = ijson.ObjectBuilder()
    builder.event(event, value)
    depth = int(event.startswith("start_"))
    while depth:
        event, value = next(events)
        depth += event.startswith("start_") - event.startswith("end_")
        builder.event(event, value)
    return builder.value


def source_entries(path: Path, keys: Collection[str], about: str) -> Iterator[tuple[str, int, Any]]:
    """Yield key, index (from 0) and value of every element of some lists in a file.

    Args:
        keys: Keys of the lists; others are skipped. The first one must exist, even if empty.
        about: Description of the file and its source, for the error.
    """
    needed, is_present = next(iter(keys)), False
    with open_json(path, about) as stream:
        for key, values in lists(stream, others=True):
            is_present = is_present or key == needed
            for index, value in enumerate(values):
                if key in keys:
                    yield key, index, value
    if not is_present:
        raise CorpusError(f'{path}: has no list "{needed}"; it should be {about}')


def source_file(folder: Path, names: Collection[str], about: str) -> Path:
    """Return a file in a folder or its subfolders: the nearest one, then the first of ``names``."""
    if not folder.is_dir():
        raise CorpusError(f"{folder}: not a folder; name the one that has {next(iter(names))}: {about}")
    candidates = [
        (len(path.parts), rank, path)
        for rank, name in enumerate(names)
        for path in (folder.glob(name) if (folder / name).is_file() else folder.rglob(name))
        if path.is_file()
    ]
    if not candidates:
        raise CorpusError(f"{folder}: {next(iter(names))} is neither in it nor in a folder in it: {about}")
    return min(candidates)[2]
