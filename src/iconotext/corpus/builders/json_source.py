"""A large JSON file of a data set: one object of lists, of which one element at a time is in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from iconotext.corpus.formats.json_stream import lists, open_json
from iconotext.errors import CorpusError


def source_entries(path: Path, keys: Collection[str], about: str) -> Iterator[tuple[str, int, Any]]:
    """Key, index (from 0) and value of every element of some lists of a file, as they come.

    Args:
        keys: Of the lists; whatever else the object has is skipped. The first must be there, if only empty.
        about: What the file is and where it comes from, for the error.

    Raises:
        CorpusError: The file cannot be read, is no such object, or ends too early.
    """
    needed, seen = next(iter(keys)), False
    with open_json(path, about) as stream:
        for key, values in lists(stream, others=True):
            seen = seen or key == needed
            for index, value in enumerate(values):
                if key in keys:
                    yield key, index, value
    if not seen:
        raise CorpusError(f'{path}: has no list "{needed}"; it should be {about}')


def source_file(folder: Path, names: Collection[str], about: str) -> Path:
    """A file in a folder, or else in the folders in it: the nearest one counts, then the first name.

    Raises:
        CorpusError: It is not there; says what it is and where it comes from.
    """
    if not folder.is_dir():
        raise CorpusError(f"{folder}: not a folder; name the one that has {next(iter(names))}: {about}")
    found = [
        (len(path.parts), rank, path)
        for rank, name in enumerate(names)
        for path in (folder.glob(name) if (folder / name).is_file() else folder.rglob(name))
        if path.is_file()
    ]
    if not found:
        raise CorpusError(f"{folder}: {next(iter(names))} is neither in it nor in a folder in it: {about}")
    return min(found)[2]
