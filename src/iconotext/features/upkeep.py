"""Describes the contents of the feature cache (``cache_usage``), and makes it smaller (``prune_cache``).

Only rows that iconotext wrote are counted or removed. Other processes may use the cache at the same time; they encode
removed entries again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from iconotext.errors import FeatureError
from iconotext.features.cache import COLUMNS, OF_FILE, PATIENCE, cache_file, cache_limit, prepare, removals


@dataclass(frozen=True, slots=True)
class Kind:
    """Arrays of one backbone that are stored together.

    Attributes:
        backbone: Name of the backbone.
        kind: Names of the arrays, joined by ``+``.
        entries: Number of contents with such arrays.
        bytes: Their total size, without overhead of the database.
    """

    backbone: str
    kind: str
    entries: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Usage:
    """The size and contents of the cache.

    Attributes:
        path: The file.
        bytes: Size on disk; 0 without a file.
        limit: Maximum size in bytes.
        kinds: The contents, largest first.
    """

    path: Path
    bytes: int
    limit: int
    kinds: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Pruned:
    """The result of pruning the cache.

    Attributes:
        entries: Number of entries that were removed.
        bytes_before: Size on disk before.
        bytes_after: Size on disk after; while another process uses the cache, its file may shrink only later.
    """

    entries: int
    bytes_before: int
    bytes_after: int


def cache_usage(path: Path | None = None) -> Usage:
    """Describe the cache, by default the user's.

    Raises:
        FeatureError: The file is not a cache of iconotext, is damaged, or cannot be read.
        SettingError: ``ICONOTEXT_CACHE_SIZE`` is not a size.
    """
    path = path or cache_file()
    kinds: list[Kind] = []
    if path.is_file():
        with _opened(path) as connection:
            rows = connection.execute(
                "SELECT backbone, kinds, count(*), sum(length(data)) FROM features JOIN kinds ON kind = number "
                "GROUP BY 1, 2 ORDER BY 4 DESC"
            )
            kinds = [Kind(*row) for row in rows]
    return Usage(path, _bytes(path), cache_limit(), tuple(kinds))


def prune_cache(path: Path | None = None, *, older_than: float | None = None, to_bytes: int | None = None) -> Pruned:
    """Remove entries, beginning with those used longest ago.

    Args:
        path: The file, by default the user's cache.
        older_than: Seconds; entries last used longer ago are removed.
        to_bytes: Maximum size of the file on disk afterwards.

    Raises:
        FeatureError: The file is not a cache of iconotext, is damaged, or cannot be written.
    """
    path = path or cache_file()
    size_before, removed = _bytes(path), 0
    if path.is_file():
        with _opened(path) as connection:
            before = None if older_than is None else time.time() - older_than
            removed = sum(removals(connection, to_bytes=to_bytes, before=before))
            if removed:
                _shrink(connection)
    return Pruned(removed, size_before, _bytes(path))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a cache; files of other programs are not touched.

    Raises:
        FeatureError: The file is not a cache of iconotext, or work on it fails.
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


def _shrink(connection: sqlite3.Connection) -> None:
    """Return free space to the disk; if another process or a full disk prevents that, the space is used again later."""
    with suppress(sqlite3.OperationalError):
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _bytes(path: Path) -> int:
    size = 0
    for file in (Path(f"{path}{suffix}") for suffix in OF_FILE):
        with suppress(FileNotFoundError):  # SQLite deletes files when the last process closes them
            size += file.stat().st_size
    return size
