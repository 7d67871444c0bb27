"""One process at a time in a folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from iconotext.errors import OutputError, TrainingError


@contextmanager
def locked(path: Path, *, wait: float, what: str) -> Iterator[None]:
    """Hold a lock, which ends with the process that holds it, however that ends.

    It is SQLite's lock on an empty database: one that every system has.

    Args:
        path: The file that stands for the lock; made if need be, and left there.
        wait: Seconds to wait for another process.
        what: What the other one does, for the message.

    Raises:
        TrainingError: Another process holds it.
        OutputError: The file cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise OutputError(f"cannot write {path}: {error}") from error
    with closing(connection):
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise TrainingError(f"{path.parent}: another process {what} here; wait for it, or end it") from error
            raise OutputError(f"cannot write {path}: {error}") from error
        yield
