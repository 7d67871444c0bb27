"""A cache of features on disk, so that no picture or sentence is encoded twice.

``FeatureCache`` is the cache; ``cache_folder`` and ``cache_limit`` are the user's settings. The cache is one SQLite
file with a row for each content and backbone, which has all arrays that were requested together. Several processes may
use it at once; a process that is killed while writing loses only its last transaction. The cache never stops a run: a
damaged file is deleted and begun anew, and a file that cannot be written is only read. Its size is bounded by
``cache_limit``: the entries used longest ago are removed first.
"""

from __future__ import annotations

import logging
import os
import re
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import FeatureError, SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.backbone import Row

SIZE = "ICONOTEXT_CACHE_SIZE"
"""Environment variable with the maximum size of the file."""

LIMIT = "2GB"

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


def cache_folder() -> Path:
    """Return the folder of this user's caches: $ICONOTEXT_CACHE, else the usual place of the operating system."""
    if folder := os.environ.get("ICONOTEXT_CACHE"):
        return Path(folder)
    if cache_home := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache_home) / "iconotext"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "iconotext" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "iconotext"
    return Path.home() / ".cache" / "iconotext"


def cache_file() -> Path:
    """Return the file of this user's feature cache."""
    return cache_folder() / "features-2.sqlite"  # 2 is the version of the tables


def cache_limit() -> int:
    """Return the maximum size of the file in bytes."""
    return size_in_bytes(os.environ.get(SIZE) or LIMIT, SIZE)


def size_in_bytes(text: str, name: str) -> int:
    """Convert a size such as 500MB to bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise SettingError(f"{name} {text}: give a size such as 500MB, 2GB or 0")
    return int(float(match[1]) * _UNITS[match[2]])


def packed(arrays: Sequence[NDArray[Any]]) -> tuple[str, int, bytes]:
    """Return the layout of arrays, a checksum, and their numbers in C order."""
    layout = ";".join(" ".join((array.dtype.str, *map(str, array.shape))) for array in arrays)
    data = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return layout, zlib.crc32(data), data


@lru_cache
def _places(layout: str) -> list[tuple[np.dtype[Any], tuple[int, ...], int, int]]:
    """Return for each array its dtype, shape, number of values, and first byte."""
    places, offset = [], 0
    for array in layout.split(";"):
        name, *lengths = array.split(" ")
        dtype, shape = np.dtype(name), tuple(map(int, lengths))
        count = int(np.prod(shape, dtype=np.int64))
        places.append((dtype, shape, count, offset))
        offset += count * dtype.itemsize
    return places


def unpacked(layout: str, packed: Sequence[bytes]) -> Iterator[tuple[NDArray[Any], ...]]:
    """Yield the arrays of several byte strings of equal layout and length; read-only."""
    together = np.frombuffer(b"".join(packed), np.uint8).reshape(len(packed), -1)
    columns = []
    for dtype, shape, count, offset in _places(layout):
        part = np.ascontiguousarray(together[:, offset : offset + count * dtype.itemsize])
        column = part.view(dtype).reshape(-1, *shape) if count else np.zeros((len(packed), *shape), dtype)
        column.flags.writeable = False
        columns.append([column[row, ...] for row in range(len(packed))])
    return zip(*columns, strict=True)


logger = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""

USED = 86_400
"""A row's time of last use is updated only after this many seconds, since each update is a write."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS kinds (
    number INTEGER PRIMARY KEY,
    backbone TEXT NOT NULL,  -- its name
    kinds TEXT NOT NULL,     -- which arrays, separated by signs of addition
    UNIQUE (backbone, kinds)
);
CREATE TABLE IF NOT EXISTS features (
    id INTEGER PRIMARY KEY,  -- ascending: what was written together lies together
    hash INTEGER NOT NULL,   -- of kind and content
    kind INTEGER NOT NULL,   -- number of its kind
    content BLOB NOT NULL,   -- digest of what was encoded
    used INTEGER NOT NULL,   -- seconds since 1970, exact to a day
    layout TEXT NOT NULL,    -- of each array its dtype and its lengths
    checksum INTEGER NOT NULL,
    data BLOB NOT NULL       -- the arrays one after the other, in C order
);
CREATE UNIQUE INDEX IF NOT EXISTS by_hash ON features (hash);
CREATE INDEX IF NOT EXISTS by_use ON features (used);
"""
COLUMNS = frozenset(("id", "hash", "kind", "content", "used", "layout", "checksum", "data"))
_SELECT = "SELECT content, layout, checksum, data, id, used FROM features WHERE kind = ? AND hash IN "
_INSERT = """INSERT OR REPLACE INTO features (hash, kind, content, used, layout, checksum, data)
    VALUES (?, ?, ?, ?, ?, ?, ?)"""
ROWS = 500
"""Rows in a query (SQLite allows at least 999 parameters), and rows that are removed at a time."""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
OF_FILE = ("", "-wal", "-shm")  # files that SQLite keeps beside the database


class FeatureCache:
    """Arrays on disk by content, backbone and kinds of arrays; safe for several threads and processes.

    Args:
        path: The SQLite file, created when first used; default: the user's, see ``cache_file``.
        limit: Maximum size in bytes; default ``cache_limit``.
    """

    def __init__(self, path: Path | None = None, limit: int | None = None) -> None:
        self.path = path or cache_file()
        self.limit = cache_limit() if limit is None else limit
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._numbers: dict[tuple[str, str], int] = {}
        self._reads = self._writes = True

    def __reduce__(self) -> tuple[type[FeatureCache], tuple[Path, int]]:
        return FeatureCache, (self.path, self.limit)  # workers open it again

    def get(self, contents: Sequence[bytes], *, backbone: str, kinds: Sequence[str]) -> dict[bytes, Row]:
        """Return stored arrays, read-only, by digest and name; missing or damaged entries are left out."""
        row_of: dict[bytes, Row] = {}
        names = tuple(kinds)

        def read(connection: sqlite3.Connection) -> None:
            number = self._number(connection, backbone, names)
            if number is None:
                return
            now, used_again = int(time.time()), []
            by_layout: dict[tuple[str, int], dict[bytes, bytes]] = {}  # most rows are alike, and unpacked together
            for content, layout, checksum, data, row, used in _entries(connection, number, contents):
                if zlib.crc32(data) == checksum:  # SQLite does not notice a flipped bit within an array
                    by_layout.setdefault((layout, len(data)), {})[content] = data
                if now - used > USED:
                    used_again.append((now, row))
            for (layout, _), data_of in by_layout.items():
                for content, arrays in zip(data_of, unpacked(layout, list(data_of.values())), strict=True):
                    row_of[content] = dict(zip(names, arrays, strict=True))
            if used_again and self._writes:
                with connection:
                    connection.executemany("UPDATE features SET used = ? WHERE id = ?", used_again)

        if self._reads:
            self._guarded(read, writing=False)
        return row_of

    def put(self, rows: Mapping[bytes, Row], *, backbone: str, kinds: Sequence[str]) -> None:
        """Store arrays by digest of the content and name, all or none.

        The entries used longest ago are removed to make room.
        """
        if not self._writes or not rows:
            return
        now, names = int(time.time()), tuple(kinds)

        def write(connection: sqlite3.Connection) -> None:
            with connection:  # one transaction
                number = self._number(connection, backbone, names, make=True)
                values = (
                    (_hash(number, content), number, content, now, *packed([row[name] for name in names]))
                    for content, row in rows.items()
                )
                connection.executemany(_INSERT, values)
            if bytes_used(connection) > self.limit:
                make_room(connection, self.limit * 9 // 10)

        self._guarded(write, writing=True)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._drop()

    def _number(
        self, connection: sqlite3.Connection, backbone: str, kinds: tuple[str, ...], *, make: bool = False
    ) -> Any:
        """Return the number of a backbone's kind of arrays; None if no such arrays are stored."""
        name = backbone, "+".join(kinds)
        if name not in self._numbers:
            if make:
                connection.execute("INSERT OR IGNORE INTO kinds (backbone, kinds) VALUES (?, ?)", name)
            row = connection.execute("SELECT number FROM kinds WHERE backbone = ? AND kinds = ?", name).fetchone()
            if row is None or connection.in_transaction:  # an uncommitted number may be rolled back
                return row and row[0]
            self._numbers[name] = row[0]
        return self._numbers[name]

    def _guarded(self, work: Callable[[sqlite3.Connection], None], *, writing: bool) -> None:
        """Work on the database; errors are only logged, since a run must not stop for its cache."""
        with self._lock:
            try:
                work(self._open())
            except sqlite3.Error as error:
                if _is_damage(error):
                    self._begin_anew(error)
                elif writing:
                    self._writes = False
                    logger.warning("%s: features are no longer cached: %s", self.path, error)
                else:
                    self._stop(error)
            except OSError as error:
                self._stop(error)

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        self._numbers.clear()
        self._connection = None  # after a fork, the parent's connection must not even be closed
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        try:
            prepare(connection)
        except sqlite3.Error:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()
        return connection

    def _stop(self, error: Exception) -> None:
        self._reads = self._writes = False
        self._drop()
        logger.warning("%s: going on without a cache: %s", self.path, error)

    def _begin_anew(self, error: sqlite3.Error) -> None:
        """Delete a damaged file, unless another process has done so and has begun a new one."""
        self._drop()
        if _is_sound(self.path):
            return
        try:
            for suffix in OF_FILE:
                Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        except OSError as failure:
            self._stop(failure)
            return
        logger.warning("%s: damaged (%s), and begun anew", self.path, error)

    def _drop(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None
        self._numbers.clear()


def prepare(connection: sqlite3.Connection) -> None:
    """Configure a connection, and create the tables of a new file.

    Readers never wait for a writer, and the file stays intact if a process dies. NORMAL may lose the last transactions
    in a power cut, which for a cache costs less than a sync for each.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            # If two processes create the file at the same time, SQLite refuses one at once, despite its time-out.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -16384")  # kB: the indices stay in memory
    connection.executescript(_SCHEMA)


def _is_damage(error: sqlite3.Error) -> bool:
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF in _DAMAGED


def _is_sound(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
            result = connection.execute("PRAGMA quick_check(1)").fetchone()
            connection.execute(f"SELECT {', '.join(COLUMNS)} FROM features LIMIT 1")
    except sqlite3.Error:
        return False
    return bool(result == ("ok",))


def bytes_used(connection: sqlite3.Connection) -> int:
    """Return the number of bytes of the file that are in use."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def make_room(connection: sqlite3.Connection, to_bytes: int) -> None:
    """Remove the entries used longest ago, until the file uses at most ``to_bytes``; others may write between steps."""
    while (excess := bytes_used(connection) - to_bytes) > 0:
        rows = connection.execute("SELECT id, length(data) FROM features ORDER BY used, id LIMIT ?", (ROWS,)).fetchall()
        if not rows:
            return
        chosen = []
        for row, size in rows:
            chosen.append((row,))
            excess -= size
            if excess <= 0:
                break
        with connection:
            connection.executemany("DELETE FROM features WHERE id = ?", chosen)


def _entries(connection: sqlite3.Connection, number: int, contents: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
    """Yield content, layout, checksum, data, id and time of last use of each stored entry of a kind of arrays."""
    for start in range(0, len(contents), ROWS):
        batch = contents[start : start + ROWS]
        hashes = (_hash(number, content) for content in batch)
        yield from connection.execute(f"{_SELECT}({','.join('?' * len(batch))})", (number, *hashes))


def _hash(number: int, content: bytes) -> int:
    """Compute the key of a row. If two contents collide, one pair in 10^19, the later replaces the earlier."""
    # The odd number near 2^64 / golden ratio spreads the kinds; SQLite's integers have a sign.
    mixed = (int.from_bytes(content[:8], "big") + number * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    return mixed - 2**63


@dataclass(frozen=True, slots=True)
class Kind:
    """Arrays of one backbone that are stored together.

    Attributes:
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
        bytes: Size on disk; 0 without a file.
        kinds: The contents, largest first.
    """

    path: Path
    bytes: int
    limit: int
    kinds: tuple[Kind, ...]


def cache_usage(path: Path | None = None) -> Usage:
    """Describe the cache, by default the user's."""
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


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a cache; files of other programs are not touched."""
    with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
        try:
            columns = {row[1] for row in connection.execute("PRAGMA table_info(features)")}
            if not columns >= COLUMNS:
                raise FeatureError(f"{path}: not a cache that iconotext wrote, so nothing in it is counted")
            prepare(connection)
            yield connection
        except sqlite3.Error as error:
            raise FeatureError(f"{path}: the cache cannot be used: {error}") from error


def _bytes(path: Path) -> int:
    size = 0
    for file in (Path(f"{path}{suffix}") for suffix in OF_FILE):
        with suppress(FileNotFoundError):  # SQLite deletes files when the last process closes them
            size += file.stat().st_size
    return size
