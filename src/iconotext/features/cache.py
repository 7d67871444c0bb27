"""Features on disk, so that no picture and no sentence is encoded twice.

One SQLite file, keyed by what was encoded (a digest of the bytes or of the text), by which backbone, and which of its
arrays. Several processes may use it at once; one that is killed in the middle of writing loses what it was writing and
nothing else. A cache never stops a run: what is damaged is set aside, and where it cannot write it only reads.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import sys
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

logger = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS features (
    content BLOB NOT NULL,   -- digest of what was encoded
    backbone TEXT NOT NULL,  -- its name
    kind TEXT NOT NULL,      -- which array
    dtype TEXT NOT NULL,
    shape TEXT NOT NULL,     -- lengths separated by commas
    checksum INTEGER NOT NULL,
    written INTEGER NOT NULL DEFAULT 0, -- seconds since 1970
    data BLOB NOT NULL,      -- C order
    PRIMARY KEY (content, backbone, kind)
)
"""
_SELECT = "SELECT content, dtype, shape, checksum, data FROM features WHERE backbone = ? AND kind = ? AND content IN "
COLUMNS = frozenset(("content", "backbone", "kind", "dtype", "shape", "checksum", "written", "data"))
_INSERT = """INSERT OR REPLACE INTO features (content, backbone, kind, dtype, shape, checksum, data, written)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_AT_ONCE = 500  # keys in a query; SQLite takes at least 999
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
OF_FILE = ("", "-wal", "-shm")  # what SQLite keeps beside the file belongs to it


def cache_folder() -> Path:
    """Where this user's caches lie: $ICONOTEXT_CACHE, else the system's usual place."""
    if own := os.environ.get("ICONOTEXT_CACHE"):
        return Path(own)
    if cache_home := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache_home) / "iconotext"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "iconotext" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "iconotext"
    return Path.home() / ".cache" / "iconotext"


def cache_file() -> Path:
    """This user's cache of features."""
    return cache_folder() / "features.sqlite"


class FeatureCache:
    """Arrays on disk by content, backbone and kind. Safe to use from several threads and processes.

    Args:
        path: The SQLite file, made with its folder when first used. By default ``features.sqlite`` in the user's
            cache folder.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_file()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._reads = self._writes = True

    def __reduce__(self) -> tuple[type[FeatureCache], tuple[Path]]:
        return FeatureCache, (self.path,)  # workers open it for themselves

    def get(self, contents: Sequence[bytes], *, backbone: str, kind: str) -> dict[bytes, NDArray[Any]]:
        """The arrays that are there.

        Args:
            contents: Digests.
            backbone: Name of the backbone.
            kind: Name of the array.

        Returns:
            By digest, read-only. What is missing or damaged is left out.
        """
        found: dict[bytes, NDArray[Any]] = {}

        def read(connection: sqlite3.Connection) -> None:
            for start in range(0, len(contents), _AT_ONCE):
                some = contents[start : start + _AT_ONCE]
                query = f"{_SELECT}({','.join('?' * len(some))})"
                for content, *stored in connection.execute(query, (backbone, kind, *some)):
                    array = _unpacked(*stored)
                    if array is not None:
                        found[content] = array

        if self._reads:
            self._guarded(read, writing=False)
        return found

    def put(self, arrays: Mapping[bytes, NDArray[Any]], *, backbone: str, kind: str) -> None:
        """Store arrays by digest; all of them are stored, or none."""
        if not self._writes or not arrays:
            return
        now = int(time.time())
        rows = [(content, backbone, kind, *_packed(array), now) for content, array in arrays.items()]

        def write(connection: sqlite3.Connection) -> None:
            with connection:  # one transaction
                connection.executemany(_INSERT, rows)

        self._guarded(write, writing=True)

    def close(self) -> None:
        """Let go of the file; the next use opens it again."""
        with self._lock:
            self._drop()

    def _guarded(self, work: Callable[[sqlite3.Connection], None], *, writing: bool) -> None:
        """Do something with the database; what goes wrong there goes no further than the log."""
        with self._lock:
            try:
                work(self._open())
            except sqlite3.Error as error:
                if _is_damage(error):
                    self._set_aside(error)
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
        self._connection = None  # after a fork the parent's connection must not even be closed
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=PATIENCE, check_same_thread=False)
        try:
            prepare(connection)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
                connection.close()
                raise
            connection.close()
            connection = self._open_read_only(error)
        except sqlite3.Error:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()
        return connection

    def _open_read_only(self, error: sqlite3.Error) -> sqlite3.Connection:
        """A cache that an administrator filled for all, or on a read-only disk."""
        connection = sqlite3.connect(f"{self.path.absolute().as_uri()}?immutable=1", uri=True, check_same_thread=False)
        try:
            connection.execute("SELECT 1 FROM features LIMIT 1")
        except sqlite3.Error:
            connection.close()
            raise
        if self._writes:
            self._writes = False
            logger.warning("%s: features are read from the cache but not added to it: %s", self.path, error)
        return connection

    def _stop(self, error: Exception) -> None:
        self._reads = self._writes = False
        self._drop()
        logger.warning("%s: going on without a cache: %s", self.path, error)

    def _set_aside(self, error: sqlite3.Error) -> None:
        self._drop()
        aside = self.path.with_name(f"{self.path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
        if _is_sound(self.path):
            return  # another process has set it aside and begun a new one
        try:
            for suffix in OF_FILE:
                with contextlib.suppress(FileNotFoundError):
                    os.replace(f"{self.path}{suffix}", f"{aside}{suffix}")
        except OSError as failure:
            self._stop(failure)
            return
        logger.warning("%s: damaged (%s), set aside as %s; a new cache was begun", self.path, error, aside.name)

    def _drop(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None


def prepare(connection: sqlite3.Connection) -> None:
    """Set a connection up, and the file if it is new.

    A reader never waits for a writer, and the file is whole whenever a process dies. NORMAL may lose the last
    transactions to a power cut, which for a cache is cheaper than a sync for each.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            # Of two processes that begin a file at the same time SQLite refuses one at once, however patient it is.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(_SCHEMA)


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) or 0
    # A table of another make is no use either: some other program's file.
    return code & 0xFF in _DAMAGED or "no such column" in str(error) or "has no column" in str(error)


def _is_sound(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path, timeout=PATIENCE)) as connection:
            result = connection.execute("PRAGMA quick_check(1)").fetchone()
            connection.execute(f"SELECT {', '.join(COLUMNS)} FROM features LIMIT 1")
    except sqlite3.Error:
        return False
    return bool(result == ("ok",))


def _packed(array: NDArray[Any]) -> tuple[str, str, int, bytes]:
    data = np.ascontiguousarray(array).tobytes()
    return array.dtype.str, ",".join(map(str, array.shape)), zlib.crc32(data), data


def _unpacked(dtype: str, shape: str, checksum: int, data: bytes) -> NDArray[Any] | None:
    if zlib.crc32(data) != checksum:  # a flipped bit within an array, which SQLite does not notice
        return None
    return np.frombuffer(data, dtype).reshape([int(length) for length in shape.split(",") if length])
