"""Regions in an LMDB like UNITER's: for each picture, arrays of msgpack-numpy, or a compressed NPZ file.

Other programs (ViLBERT, MMF) store pickled Python objects, which are never read.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from iconotext.errors import FeatureError
from iconotext.extras import require
from iconotext.features.fingerprint import digest_of
from iconotext.features.regions.npz import npz_arrays
from iconotext.features.regions.table import KNOWN, RegionTable, Stored, plain_array

DATA = "data.mdb"
LIST = b"__keys__"
"""Entry with the names of all others, as JSON; not needed here."""

_ZIP, _PICKLE = b"PK", b"\x80"


def open_lmdb(path: Path) -> RegionTable:
    """Find the pictures in a folder with a ``data.mdb``, or in such a file.

    Their ids are the keys, without the suffix ``.npz`` that UNITER's keys have.

    Raises:
        FeatureError: Not an LMDB, two keys mean the same picture, or ``lmdb`` is not installed.
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
    data = path / DATA if path.is_dir() else path
    return RegionTable(path, keys.keys(), partial(_read, path, keys), partial(digest_of, data))


def _read(path: Path, keys: Mapping[str, bytes], ids: Sequence[str]) -> Iterator[Stored]:
    for picture in ids:
        with _opened(path) as entries:
            value = entries.get(keys[picture])
        if value is None:
            raise FeatureError(f"{path}: changed while it was read: start again")
        yield _arrays(value, f"{path}, image {picture}")


def _arrays(value: bytes, where: str) -> Stored:
    if value.startswith(_ZIP):
        return npz_arrays(io.BytesIO(value), where)
    if value.startswith(_PICKLE) and len(value) > 1:  # the byte alone is an empty map of msgpack
        raise FeatureError(f"{where}: is a pickled Python object, which is never read; convert it to NPZ or HDF5")
    try:
        # msgpack refuses lengths beyond the value's own.
        entry = import_module("msgpack").unpackb(value, raw=False)
    except Exception as error:  # its errors have no common base class
        raise FeatureError(f"{where}: not msgpack ({error}): cut off, damaged or of another layout") from error
    if not isinstance(entry, dict):
        raise FeatureError(f"{where}: holds {type(entry).__name__}, expected arrays by name")
    return {name: _array(entry[name], f"{where}, array {name}") for name in KNOWN & entry.keys()}


def _array(packed: Any, where: str) -> np.ndarray[Any, np.dtype[Any]] | None:
    """An array packed by msgpack-numpy; None for Python objects."""
    fields = packed if isinstance(packed, dict) else {}
    fields = {key.decode("ascii", "replace") if isinstance(key, bytes) else key: value for key, value in fields.items()}
    kind, shape, data = fields.get("type"), fields.get("shape", ()), fields.get("data")
    if fields.get("kind") in (b"O", "O") or kind in ("|O", "O"):
        return None
    try:
        if not isinstance(kind, str | bytes):  # NumPy would take None for float64
            raise TypeError(kind)
        dtype = np.dtype(str(kind, "ascii") if isinstance(kind, bytes) else kind)
        return plain_array(data if isinstance(data, bytes) else b"", dtype, [*map(int, shape)], where)
    except (AttributeError, TypeError, ValueError) as error:
        raise FeatureError(f"{where}: not an array of msgpack-numpy: damaged, or of another layout") from error


_lock = threading.Lock()
"""A process may open a database only once, so threads take turns."""


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A read transaction on the database."""
    require("papers", "lmdb", "msgpack", purpose=f"reading {path}")
    lmdb = import_module("lmdb")
    try:
        with (
            _lock,
            lmdb.open(
                str(path.resolve()), subdir=path.is_dir(), readonly=True, create=False, lock=False, readahead=False
            ) as environment,
            environment.begin() as entries,
        ):
            yield entries
    except lmdb.Error as error:
        raise FeatureError(f"{path}: not an LMDB that can be read ({error})") from error
