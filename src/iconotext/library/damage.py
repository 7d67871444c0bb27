"""Digests of a library's files, so that a file that was damaged later is named instead of read.

LanceDB reads some damaged files without an error, and never returns from reading others. Its files never change once
they are written, except for an optional hint. So ``note_sums`` records their digests whenever a run that writes ends,
and ``check_sums`` compares them.
"""

from __future__ import annotations

import re
from pathlib import Path

from iconotext.errors import LibraryError
from iconotext.library.settings import SETTINGS
from iconotext.system.files import content_digest, write_bytes
from iconotext.system.strict_json import parse_json

TABLE = "pictures"
SUMS = "sums.json"
"""Path below the table to size and digest, one file on a line."""

HINT = "latest_version_hint.json"

SMALL = 2**20
"""Files up to this size, in bytes, are compared whenever a library is opened; of larger files only the size is
compared, until one cannot be read.
"""


def note_sums(path: Path, *, went_back: bool = False) -> None:
    """Record the digests of files that have none yet, and drop those of files that are gone.

    Args:
        went_back: Record truncated files with their new size: the table versions that used them were deleted.
    """
    noted, table, now = _stored_digests(path), path / f"{TABLE}.lance", dict[str, list[int | str]]()
    for file in sorted(place for place in table.rglob("*") if place.is_file() and place.name != HINT):
        name, size = file.relative_to(table).as_posix(), file.stat().st_size
        unchanged = name in noted and not (went_back and noted[name][0] != size)
        now[name] = noted[name] if unchanged else [size, content_digest(file).hex()]
    if now != noted:
        lines = ",\n".join(f'"{name}": [{size}, "{digest}"]' for name, (size, digest) in now.items())
        write_bytes(path / SUMS, f"{{\n{lines}\n}}\n".encode(), force=True)


def check_sums(path: Path, *, whole: bool = False) -> None:
    """Raise ``LibraryError`` for the first file that is not as it was written; a missing file counts as removed.

    Args:
        whole: Compare the digests of large files, too.
    """
    for name, (size, digest) in _stored_digests(path).items():
        file = path / f"{TABLE}.lance" / name
        try:
            same = file.stat().st_size == size and (
                not (whole or size <= SMALL) or content_digest(file).hex() == digest
            )
        except FileNotFoundError:
            continue
        except OSError as error:
            raise LibraryError(f"{file}: cannot be read: {error.strerror or error}") from error
        if not same:
            raise LibraryError(
                f"{file}: damaged since it was written; add the pictures again with: iconotext library add {path}"
                f" PATH... ({SETTINGS} in it names the paths as roots); if it says the same, delete {path} first"
            )


def not_written(path: Path, why: str) -> str:
    """Return the error message for a library that cannot be read or written."""
    line = f"{path}: the library cannot be read or written: {why}"
    if not re.search(r"No space left|quota exceeded|File too large|disk is full|disk I/O error|whole buffer", why):
        return line
    return f"{line}; if the disk is full, make room: what is in the library stays, and the same command goes on"


def _stored_digests(path: Path) -> dict[str, list[int | str]]:
    """The recorded sizes and digests; empty if the file is damaged, or missing, as in older libraries."""
    try:
        sums = parse_json((path / SUMS).read_bytes())
    except (OSError, ValueError):
        return {}
    entries = sums.items() if isinstance(sums, dict) else ()
    return {name: entry for name, entry in entries if isinstance(entry, list) and len(entry) == 2 and ".." not in name}
