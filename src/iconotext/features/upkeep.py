"""What the cache of features holds, and making it smaller.

Nothing but what the program wrote is counted or removed: rows of its own table, and the files that it set aside because
they were damaged. Another process may use the cache meanwhile; what it misses it encodes again.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from iconotext.errors import FeatureError
from iconotext.features.cache import COLUMNS, OF_FILE, PATIENCE, prepare, removals
from iconotext.features.cache_place import cache_file, cache_limit

_ASIDE = re.compile(r"\.damaged-\d{8}-\d{6}-\d+(-wal|-shm)?")


@dataclass(frozen=True, slots=True)
class Kind:
    """Arrays of one backbone that are kept together.

    Attributes:
        entries: Of how many contents there are some.
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
        bytes: What it and the files that were set aside take on disk; 0 if there are none.
        limit: What it may take.
        kinds: What is in it, the largest first.
        damaged: Files that were set aside.
    """

    path: Path
    bytes: int
    limit: int
    kinds: tuple[Kind, ...]
    damaged: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Pruned:
    """What came of making the cache smaller.

    Attributes:
        files: Damaged ones that went.
        bytes_before: On disk.
        bytes_after: On disk; while another process uses the cache, its file may shrink only later.
    """

    entries: int
    files: int
    bytes_before: int
    bytes_after: int


def cache_usage(path: Path | None = None) -> Usage:
    """Look into the cache, by default the user's.

    Raises:
        FeatureError: The file is no cache of ours, damaged, or cannot be read.
        SettingError: ``ICONOTEXT_CACHE_SIZE`` is no size.
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
    return Usage(path, _bytes(path), cache_limit(), tuple(kinds), tuple(_damaged(path)))


def prune_cache(path: Path | None = None, *, older_than: float | None = None, to_bytes: int | None = None) -> Pruned:
    """Remove entries, those that were used longest ago to begin with, and the files that were set aside as damaged.

    Args:
        path: The file, by default the user's cache.
        older_than: Seconds; entries that were not used since go.
        to_bytes: What the file may take on disk afterwards.

    Raises:
        FeatureError: The file is no cache of ours, damaged, or cannot be written.
    """
    path = path or cache_file()
    size_before, removed = _bytes(path), 0
    if path.is_file():
        with _opened(path) as connection:
            before = None if older_than is None else time.time() - older_than
            removed = sum(removals(connection, to_bytes=to_bytes, before=before))
            if removed:
                _shrink(connection)
    damaged = _damaged(path)
    for file in damaged:
        file.unlink(missing_ok=True)
    return Pruned(removed, len(damaged), size_before, _bytes(path))


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
    size = 0
    for file in files:
        with suppress(FileNotFoundError):  # SQLite takes files away when the last process that uses them ends
            size += file.stat().st_size
    return size
