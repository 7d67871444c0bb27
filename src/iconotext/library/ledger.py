"""The ledger of a library: which files were added, and their state at that time.

With it, unchanged files need not be read again. A file is forgotten before its pictures are changed, and recorded
afterwards. So a run that was killed only looks at a few files again, without encoding them, and a lost ledger loses
nothing. The process that holds the ledger may write to the library: SQLite's lock, which ends with the process.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from iconotext.errors import LibraryError, OutputError
from iconotext.library.damage import not_written, note_sums
from iconotext.library.folder import torn_versions
from iconotext.library.store import LEDGER
from iconotext.strict_json import parse_json

_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY,    -- absolute
    state TEXT NOT NULL,      -- size and time of the file, and of the pictures that a document shows
    settings TEXT NOT NULL,   -- how it was looked at
    problem TEXT              -- why it brought in none, or not all; NULL for a good one
) WITHOUT ROWID
"""

RESULT_OF = "result of"
"""The first key in the state of a result, which is JSON: the address of the shard that it is of."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known about a file.

    Attributes:
        state: Size and time of the file, and of all pictures that a document shows: see ``file_state``.
        settings: Settings with which it was read; with others it must be read again.
        problem: Why it brought in no pictures, or not all.
    """

    path: str
    state: str
    settings: str
    problem: str | None = None


class Ledger:
    """The ledger, held by this process."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, path: str) -> Entry | None:
        """The entry of a file; None if it has none."""
        row = self._connection.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        return None if row is None else Entry(*row)

    def results(self) -> dict[str, str]:
        """The results of ``scale link``, and their parts: path to the address of the shard."""
        rows = self._connection.execute("SELECT path, state FROM files WHERE state GLOB ?", (f'{{"{RESULT_OF}"*',))
        return {path: parse_json(state)[RESULT_OF] for path, state in rows}

    def put(self, entries: Iterable[Entry]) -> None:
        """Record files; all of them or none."""
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", map(astuple, entries))

    def forget(self, paths: Iterable[str]) -> None:
        """Forget files; all of them or none."""
        with self._connection:
            self._connection.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in paths])

    def clear(self) -> None:
        """Forget everything."""
        with self._connection:
            self._connection.execute("DELETE FROM files")


@contextmanager
def held_ledger(folder: Path) -> Iterator[Ledger]:
    """Hold the ledger of a library, which is needed to write to the library.

    Raises:
        LibraryError: Another process holds it, or it cannot be written, at the beginning or within the block.
    """
    path = folder / LEDGER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=0, isolation_level="DEFERRED")
    except (OSError, sqlite3.Error) as error:
        raise LibraryError(f"cannot write {path}: {error}") from error
    with closing(connection):
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # from the first write until the connection closes
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute(_SCHEMA)
            connection.commit()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise LibraryError(f"{folder}: another process is adding to it; wait for it, or end it") from error
            raise LibraryError(not_written(path, str(error))) from error
        except sqlite3.DatabaseError as error:
            raise LibraryError(
                f"{path}: damaged ({error}); delete this file; the next run looks at all files again"
            ) from error
        ledger = Ledger(connection)
        _drop_torn(folder, ledger)
        try:
            yield ledger
        except sqlite3.Error as error:  # while working: the disk is full, or gone
            raise LibraryError(not_written(path, str(error))) from error
        finally:
            torn = _drop_torn(folder, ledger)
        if torn:
            raise LibraryError(not_written(folder, "a file was cut short, as where the disk is full"))


def _drop_torn(folder: Path, ledger: Ledger) -> bool:
    """Delete broken versions of the table, and clear the ledger; note the digests of all files.

    Returns:
        Whether there were broken versions, or this failed.
    """
    try:
        torn = torn_versions(folder)
        if torn:
            ledger.clear()
        for version in torn:
            version.unlink()
        note_sums(folder, went_back=bool(torn))
    except (OSError, OutputError, sqlite3.Error):  # the next run tries again
        return True
    return bool(torn)
