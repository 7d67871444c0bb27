"""Writes alternative texts into documents, atomically, and only if a document has not changed since it was read."""

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
"""Diffs split longer lines at tags, since Word writes a document as one line."""


@dataclass(frozen=True, slots=True)
class Change:
    """A planned change of a document.

    Attributes:
        path: The document, as the user named it.
        file: The file to write, with symbolic links resolved.
        inserted: Its new bytes, and the differences.
    """

    path: Path
    file: Path
    before: bytes
    inserted: Inserted


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal, to find out whether a document has changed."""
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
    """Plan a document with alternative texts; nothing is written yet.

    Args:
        alts: Number of a picture to its text; see ``insert_alts``.
        read: The ``digest`` of the document for which the texts were made.
        within: The folder that symbolic links must not leave; None for that of the document.

    Raises:
        OutputError: The file has changed, or a symbolic link leads out of the folder.
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
    """Replace the file atomically; its permissions stay.

    Raises:
        OutputError: It has changed or moved meanwhile, or cannot be written.
    """
    if change.path.resolve() != change.file:
        raise OutputError(f"cannot write {change.path}: a symbolic link leads elsewhere by now; make the drafts again")
    with open_atomic(change.file, force=True) as stream:
        stream.write(change.inserted.data)
        stream.flush()
        if change.path.resolve() != change.file or change.file.read_bytes() != change.before:
            raise OutputError(f"cannot write {change.path}: it has changed since it was read; make the drafts again")


def unified_diff(change: Change) -> Iterator[str]:
    """The change as a unified diff; for a DOCX or EPUB, of the parts in it."""
    for part, before, after in change.inserted.changes:
        name = f"{change.path}{f'!{part}' if part else ''}"
        yield from difflib.unified_diff(_lines(before), _lines(after), name, name, lineterm="")


def _lines(text: str) -> list[str]:
    return [
        piece
        for line in text.splitlines()
        for piece in (line.replace("><", ">\n<").split("\n") if len(line) > LONG_LINE else [line])
    ]
