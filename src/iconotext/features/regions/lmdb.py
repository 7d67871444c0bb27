"""Regions in an LMDB as UNITER has it: by picture, arrays of msgpack-numpy, or an NPZ file where it was compressed.

Other programs (ViLBERT, MMF) keep pickled Python objects in theirs, which are never read.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from iconotext.errors import FeatureError
from iconotext.extras import require
from iconotext.features.regions.npz import npz_arrays
from iconotext.features.regions.row import KNOWN, Stored, plain_array

DATA = "data.mdb"
LIST = b"__keys__"
"""Entry with the names of all others, as JSON; not needed here."""

_ZIP, _PICKLE = b"PK", b"\x80"


@dataclass(frozen=True, slots=True, eq=False)
class LmdbTable:
    """A folder with a ``data.mdb``, or such a file by itself, opened anew for each reading.

    Attributes:
        path: The folder or file.
        keys: Key of each picture.
    """

    path: Path
    keys: Mapping[str, bytes]

    @property
    def ids(self) -> Collection[str]:
        """The keys, without the ``.npz`` of the files that UNITER made its database of."""
        return self.keys.keys()

    def read(self, ids: Sequence[str]) -> Iterator[Stored]:
        """The arrays of some pictures; see ``RegionTable``."""
        with _opened(self.path) as entries:
            for picture in ids:
                value = entries.get(self.keys[picture])
                if value is None:
                    raise FeatureError(f"{self.path}: changed while it was read: start again")
                yield _arrays(value, f"{self.path}, image {picture}")

    def digest(self) -> bytes:
        """Of all bytes: a second a GB."""
        with (self.path / DATA if self.path.is_dir() else self.path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()


def open_lmdb(path: Path) -> LmdbTable:
    """Find the pictures.

    Raises:
        FeatureError: It is no LMDB, two keys mean the same picture, or ``lmdb`` is not installed.
    """
    keys: dict[str, bytes] = {}
    with _opened(path) as entries:
        for key in entries.cursor().iternext(values=False):
            if key == LIST:
                continue
            picture = key.decode("utf-8", "replace").removesuffix(".npz")
            if picture in keys:
                raise FeatureError(f"{path}: image {picture} is there twice")
            keys[picture] = key
    return LmdbTable(path, keys)


def _arrays(value: bytes, where: str) -> Stored:
    if value.startswith(_ZIP):
        return npz_arrays(io.BytesIO(value), where)
    if value.startswith(_PICKLE) and len(value) > 1:  # alone it is an empty map of msgpack
        raise FeatureError(f"{where}: is a pickled Python object, which is never read; convert it to NPZ or HDF5")
    try:
        # Lengths beyond those of the value itself are refused by msgpack.
        entry = import_module("msgpack").unpackb(value, raw=False)
    except Exception as error:  # its errors have no common base
        raise FeatureError(f"{where}: not msgpack ({error}): cut off, damaged or of another layout") from error
    if not isinstance(entry, dict):
        raise FeatureError(f"{where}: holds {type(entry).__name__}, expected arrays by name")
    return {name: _array(entry[name], f"{where}, array {name}") for name in KNOWN & entry.keys()}


def _array(packed: Any, where: str) -> np.ndarray[Any, np.dtype[Any]] | None:
    """An array as msgpack-numpy packs it; None for Python objects."""
    fields = packed if isinstance(packed, dict) else {}
    fields = {key.decode("ascii", "replace") if isinstance(key, bytes) else key: value for key, value in fields.items()}
    kind, shape, data = fields.get("type"), fields.get("shape", ()), fields.get("data")
    if fields.get("kind") in (b"O", "O") or kind in ("|O", "O"):
        return None
    try:
        if not isinstance(kind, str | bytes):  # NumPy takes None for float64
            raise TypeError(kind)
        dtype = np.dtype(str(kind, "ascii") if isinstance(kind, bytes) else kind)
        return plain_array(data if isinstance(data, bytes) else b"", dtype, [*map(int, shape)], where)
    except (AttributeError, TypeError, ValueError) as error:
        raise FeatureError(f"{where}: not an array of msgpack-numpy: damaged, or of another layout") from error


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A transaction on the database, which nobody writes to meanwhile."""
    require("lmdb", "msgpack", purpose=f"reading {path}")
    lmdb = import_module("lmdb")
    try:
        with _shared(lmdb, path) as environment, environment.begin() as entries:
            yield entries
    except lmdb.Error as error:
        raise FeatureError(f"{path}: not an LMDB that can be read ({error})") from error


_lock = threading.Lock()
_open: dict[tuple[int, str], tuple[Any, int]] = {}  # by process and path, with the number of its users


@contextmanager
def _shared(lmdb: Any, path: Path) -> Iterator[Any]:
    """The environment of a database, which a process may have open only once, whatever its threads do."""
    key = os.getpid(), str(path.resolve())
    with _lock:
        environment, users = _open.get(key) or (
            lmdb.open(key[1], subdir=path.is_dir(), readonly=True, create=False, lock=False, readahead=False),
            0,
        )
        _open[key] = environment, users + 1
    try:
        yield environment
    finally:
        with _lock:
            environment, users = _open.pop(key)
            if users > 1:
                _open[key] = environment, users - 1
            else:
                environment.close()
