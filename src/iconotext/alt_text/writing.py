"""Write alternative texts into the documents themselves: whole or not at all, and only into what was read."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from iconotext.alt_text.insertion import Inserted, insert_alts
from iconotext.errors import DocumentError, OutputError
from iconotext.read import ReadSettings
from iconotext.write import open_atomic

LONG_LINE = 2_000
"""Characters of a line from which on a difference shows it cut at its tags: Word writes a document in one line."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is to be written into a document.

    Attributes:
        path: The document, as it was named.
        file: The file that is written: where symbolic links lead.
        inserted: Its bytes afterwards, and what is different.
    """

    path: Path
    file: Path
    before: bytes
    inserted: Inserted


def digest(data: bytes) -> str:
    """What tells whether a document has changed: SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def plan_change(
    path: Path,
    alts: Mapping[int, str],
    settings: ReadSettings,
    *,
    read: str,
    within: Path | None = None,
    over: bool = False,
) -> Change:
    """What a document will be with alternative texts; nothing is written yet.

    Args:
        alts: By number of the picture, its text; see ``insert_alts``.
        read: The ``digest`` of what was read, when the texts were made.
        within: The folder that a symbolic link may not leave; None for that of the document.

    Raises:
        OutputError: The file is not what was read any more, or a symbolic link leads out of the folder.
        DocumentError: See ``insert_alts``; or the file cannot be read.
    """
    try:
        file = path.resolve(strict=True)
        folder = (within or path.parent).resolve(strict=True)
        if not file.is_relative_to(folder):
            raise OutputError(f"cannot write {path}: a symbolic link leads out of {folder}; name the file itself")
        before = file.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror or error}") from error
    if digest(before) != read:
        raise OutputError(f"cannot write {path}: it has changed since it was read; make the drafts again")
    return Change(path, file, before, insert_alts(path, before, alts, settings, over=over))


def write_change(change: Change) -> None:
    """Replace the file in one step: whoever stops the program finds the old file or the new one. Its rights stay.

    Raises:
        OutputError: It changed meanwhile, or lies elsewhere by now, or cannot be written.
    """
    if change.path.resolve() != change.file:
        raise OutputError(f"cannot write {change.path}: a symbolic link leads elsewhere by now; make the drafts again")
    with open_atomic(change.file, force=True) as stream:
        stream.write(change.inserted.data)
        stream.flush()
        if change.path.resolve() != change.file or change.file.read_bytes() != change.before:
            raise OutputError(f"cannot write {change.path}: it has changed since it was read; make the drafts again")


def unified_diff(change: Change) -> Iterator[str]:
    """The change in lines, as ``diff -u`` shows it; of a DOCX or EPUB, that of the parts in it."""
    for part, before, after in change.inserted.changes:
        name = f"{change.path}{f'!{part}' if part else ''}"
        yield from difflib.unified_diff(_lines(before), _lines(after), name, name, lineterm="")


def _lines(text: str) -> list[str]:
    return [
        piece
        for line in text.splitlines()
        for piece in (line.replace("><", ">\n<").split("\n") if len(line) > LONG_LINE else [line])
    ]
