"""What the cache of features holds, and making it smaller.

Nothing but what the program wrote is counted or removed: rows of its own table, and the files that it set aside because
they were damaged. Another process may use the cache meanwhile; what it misses it encodes again.
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from iconotext.errors import FeatureError
from iconotext.features.cache import COLUMNS, OF_FILE, PATIENCE, cache_file, prepare

AT_ONCE = 1000
"""Rows that are removed in one go; between two goes others may write."""

_ASIDE = re.compile(r"\.damaged-\d{8}-\d{6}-\d+(-wal|-shm)?")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of array of one backbone.

    Attributes:
        backbone: Its name.
        kind: Which array.
        entries: How many there are.
        bytes: What they take together, without what the database adds.
    """

    backbone: str
    kind: str
    entries: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What there is.

    Attributes:
        path: The file of the cache.
        bytes: What it and the files that were set aside take on disk; 0 if there are none.
        kinds: What is in it, the largest first.
        damaged: Files that were set aside.
    """

    path: Path
    bytes: int
    kinds: tuple[Kind, ...]
    damaged: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What came of making the cache smaller.

    Attributes:
        entries: How many went.
        files: Damaged ones that went.
        bytes_before: On disk.
        bytes_after: On disk; while another process uses the cache, its file may shrink only later.
    """

    entries: int
    files: int
    bytes_before: int
    bytes_after: int


def cache_usage(path: Path | None = None) -> Usage:
    """Look into the cache.

    Args:
        path: Its file, by default the user's.

    Raises:
        FeatureError: The file is no cache of ours, damaged, or cannot be read.
    """
    path = path or cache_file()
    kinds: list[Kind] = []
    if path.is_file():
        with _opened(path) as connection:
            rows = connection.execute(
                "SELECT backbone, kind, count(*), sum(length(data)) FROM features GROUP BY 1, 2 ORDER BY 4 DESC"
            )
            kinds = [Kind(*row) for row in rows]
    return Usage(path, _bytes(path), tuple(kinds), tuple(_damaged(path)))


def prune_cache(
    path: Path | None = None,
    *,
    older_than: float | None = None,
    to_bytes: int | None = None,
    watch: Callable[[Iterator[int], int], Iterable[int]] = lambda steps, total: steps,
) -> Pruned:
    """Remove entries, those that were written first to begin with, and the files that were set aside as damaged.

    Args:
        path: The file, by default the user's cache.
        older_than: Seconds; entries written before that go.
        to_bytes: About what the file may take on disk afterwards.
        watch: Passes on the steps that it is given, of which there are about so many, and may show how it goes on.

    Raises:
        FeatureError: The file is no cache of ours, damaged, or cannot be written.
    """
    path = path or cache_file()
    before, removed = _bytes(path), 0
    if path.is_file():
        with _opened(path) as connection:
            last = max(_last_of_age(connection, older_than), _last_of_size(connection, to_bytes))
            (total,) = connection.execute("SELECT count(*) FROM features WHERE rowid <= ?", (last,)).fetchone()
            removed = sum(watch(_removals(connection, last), math.ceil(total / AT_ONCE)))
            if removed:
                _shrink(connection)
    damaged = _damaged(path)
    for file in damaged:
        file.unlink(missing_ok=True)
    return Pruned(removed, len(damaged), before, _bytes(path))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a cache; other programs' files are left alone.

    Raises:
        FeatureError: The file is no cache of ours, or what is done with it fails.
    """
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
        try:
            columns = {row[1] for row in connection.execute("PRAGMA table_info(features)")}
            if not columns >= COLUMNS:
                raise FeatureError(f"{path}: not a cache that iconotext wrote, so nothing in it is counted or removed")
            prepare(connection)
            yield connection
        except sqlite3.Error as error:
            raise FeatureError(f"{path}: the cache cannot be used: {error}") from error


def _last_of_age(connection: sqlite3.Connection, seconds: float | None) -> int:
    """The newest row that is older; 0 if there is none. Later rows have higher numbers."""
    if seconds is None:
        return 0
    query = "SELECT coalesce(max(rowid), 0) FROM features WHERE written < ?"
    return int(connection.execute(query, (time.time() - seconds,)).fetchone()[0])


def _last_of_size(connection: sqlite3.Connection, to_bytes: int | None) -> int:
    """The newest row that must go for the rest to fit; 0 if all of it does."""
    if to_bytes is None:
        return 0
    (pages,), (free,), (size,) = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "freelist_count", "page_size")
    )
    (total,) = connection.execute("SELECT coalesce(sum(length(data)), 0) FROM features").fetchone()
    allowed = to_bytes * total / max(1, (pages - free) * size)  # the same share of what the arrays take themselves
    query = """SELECT coalesce(max(rowid), 0) FROM (
        SELECT rowid, sum(length(data)) OVER (ORDER BY rowid DESC) AS kept FROM features) WHERE kept > ?"""
    return int(connection.execute(query, (allowed,)).fetchone()[0])


def _removals(connection: sqlite3.Connection, last: int) -> Iterator[int]:
    """Remove all rows up to one, some at a time; how many."""
    chosen = "SELECT rowid FROM features WHERE rowid <= ? ORDER BY rowid LIMIT ?"
    while True:
        with connection:
            gone = connection.execute(f"DELETE FROM features WHERE rowid IN ({chosen})", (last, AT_ONCE)).rowcount
        if not gone:
            return
        yield gone


def _shrink(connection: sqlite3.Connection) -> None:
    """Give the room back to the disk; where another process or a full disk is in the way, it is used again later."""
    with suppress(sqlite3.OperationalError):
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _damaged(path: Path) -> list[Path]:
    if not path.parent.is_dir():
        return []
    return sorted(
        file
        for file in path.parent.iterdir()
        if file.name.startswith(path.name)
        and _ASIDE.fullmatch(file.name.removeprefix(path.name))
        and file.is_file()
        and not file.is_symlink()
    )


def _bytes(path: Path) -> int:
    files = [*(Path(f"{path}{suffix}") for suffix in OF_FILE), *_damaged(path)]
    return sum(file.stat().st_size for file in files if file.is_file())
