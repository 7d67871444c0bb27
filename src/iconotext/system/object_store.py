"""Files and objects in stores, under one kind of address: a path, or a URI such as ``s3://bucket/folder``.

Begin with ``entries`` (list) and ``read_bytes``; ``local_files`` lends local files for reading. fsspec reaches the
stores, by a package for each (s3fs, gcsfs, adlfs), which finds credentials and tries failed requests again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from iconotext.errors import IconotextError, StoreError, one_line
from iconotext.extras import require

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

VERSIONS = ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated")
"""Fields with which stores tell one version of an object from another; the first that is there counts."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, or an object in a store.

    Attributes:
        version: Another one after each change: the time of the change, or a digest of the store's.
    """

    address: str
    size: int
    version: str


def is_remote(address: str) -> bool:
    """Return whether an address is in a store."""
    return _SCHEME.match(address) is not None


def address_of(path: Path) -> str:
    """Return the inverse of ``Path(address)``, which leaves one slash of a store's ``//``."""
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.-]+:/)(?=[^/])", r"\1/", str(path))


def lasting(path: Path) -> Path:
    """Return an absolute path, unchanged for a store."""
    return path if is_remote(address_of(path)) else path.resolve()


def joined(folder: str, name: str) -> str:
    """Return the address of a name in a folder."""
    return f"{folder.rstrip('/')}/{name}" if is_remote(folder) else os.path.join(folder, name)


def lies_in(address: str, folder: str) -> bool:
    """Return whether an address is in a folder, or in a folder below."""
    if not is_remote(address) and not is_remote(folder):
        address, folder = os.path.abspath(address), os.path.abspath(folder)
    return address.rstrip("/").startswith(joined(folder, ""))


def split_address(address: str) -> tuple[str, str]:
    """Return the folder of an address, and the name in it."""
    folder, name = address.rsplit("/", 1) if is_remote(address) else os.path.split(address)
    return folder, name


def entry(address: str) -> Entry | None:
    """Return the file or object at an address; None if there is none."""
    if not is_remote(address):
        try:
            status = os.stat(address)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return None if os.path.isdir(address) else Entry(address, status.st_size, str(status.st_mtime_ns))
    with _asked(address) as (store, path):
        try:
            return _entry(address, store.info(path))
        except FileNotFoundError:
            return None


def is_folder(address: str) -> bool:
    """Return whether an address is a non-empty folder of a store."""
    with _asked(address) as (store, path):
        return bool(store.isdir(path))


def entries(folder: str) -> list[Entry]:
    """Return all files in a folder and below, sorted by address, without hidden ones."""
    if not is_remote(folder):
        addresses = []
        for place, inner, names in os.walk(folder):
            inner[:] = [name for name in inner if not name.startswith(".")]
            addresses += [os.path.join(place, name) for name in names if not name.startswith(".")]
        return [file for address in sorted(addresses) if (file := entry(address)) is not None]
    with _asked(folder) as (store, path):
        start = path.rstrip("/")
        infos = {name.removeprefix(start).lstrip("/"): info for name, info in store.find(path, detail=True).items()}
    found = [_entry(joined(folder, name), info) for name, info in sorted(infos.items()) if "/." not in f"/{name}"]
    return [file for file in found if file is not None]


def read_bytes(address: str, most: int | None = None) -> bytes | None:
    """Return the contents of a file or object, or its first ``most`` bytes; None if it does not exist."""
    if not is_remote(address):
        try:
            with open(address, "rb") as file:
                return file.read(most)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
    with _asked(address) as (store, path):
        try:
            data: bytes = store.cat_file(path, start=0 if most else None, end=most)
        except (FileNotFoundError, IsADirectoryError):
            return None
        return data


@contextmanager
def opened(address: str) -> Iterator[IO[bytes]]:
    """Open a file or object to read parts of it; ``StoreError`` or ``OSError`` if that fails."""
    if not is_remote(address):
        with open(address, "rb") as file:
            yield file
        return
    with _asked(address) as (store, path), store.open(path, "rb") as file:
        yield file


@contextmanager
def local_files(*addresses: str) -> Iterator[list[Path]]:
    """Lend local files with the contents of addresses; those of a store are temporary copies, until the block ends."""
    with TemporaryDirectory(prefix="iconotext-") as name:
        yield [_fetched(address, Path(name)) if is_remote(address) else Path(address) for address in addresses]


def _fetched(address: str, folder: Path) -> Path:
    file = folder / split_address(address)[1]
    with _asked(address) as (store, path):
        store.get_file(path, str(file))
    return file


def located(address: str) -> tuple[Any, str]:
    """Return the file system of fsspec for an address, and the path in it.

    Raises:
        StoreError: There is no such kind of store, or its package is not installed.
    """
    require("scale", purpose=address)
    from fsspec.core import url_to_fs

    try:  # listings are not remembered: another program may write there
        store, path = url_to_fs(address, **({"use_listings_cache": False} if is_remote(address) else {}))
    except (ImportError, ValueError) as error:
        raise StoreError(f"{address}: no store that fsspec reaches: {one_line(error)}") from error
    return store, path


@contextmanager
def _asked(address: str) -> Iterator[tuple[Any, str]]:
    """Lend the file system of a store; whatever it raises, of any library below it, becomes a ``StoreError``."""
    store, path = located(address)
    try:
        yield store, path
    except IconotextError:
        raise
    except FileNotFoundError as error:
        raise StoreError(f"{address}: is not there any more") from error
    except PermissionError as error:
        raise StoreError(f"{address}: the store refuses: {one_line(error)}") from error
    except Exception as error:
        raise StoreError(f"{address}: the store does not answer: {one_line(error) or type(error).__name__}") from error


def _entry(address: str, info: dict[str, Any]) -> Entry | None:
    if info["type"] != "file":
        return None
    return Entry(address, int(info["size"] or 0), str(next((info[name] for name in VERSIONS if info.get(name)), "")))
