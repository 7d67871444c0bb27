"""Files and objects in stores, under one kind of address: a path, or a URI such as ``s3://bucket/folder``.

Begin with ``entries`` (list), ``read_bytes`` and ``write``; ``local_files`` and ``target`` lend local files for reading
and writing. All stores of pyarrow work. Requests that fail are tried again for ``PATIENCE`` seconds.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from iconotext.errors import StoreError
from iconotext.extras import require
from iconotext.system.files import reporting_full_disk, write_bytes, write_error

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

PATIENCE = 60.0
"""Seconds for which requests to a store are tried again."""

FIRST = 0.2
"""Seconds before the second try; doubled each time, up to 5."""

CHUNK = 8 * 2**20
"""Bytes that are copied at a time."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
# Parts of error messages that no second try changes.
_FINAL = ("ACCESS_DENIED", "NO_SUCH_BUCKET", "INVALID_ACCESS_KEY", "SIGNATURE", "NO_SUCH_KEY", "RESOURCE_NOT_FOUND")


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, or an object in a store.

    Attributes:
        modified: Time of the last change, in nanoseconds since 1970; some stores have whole seconds only.
    """

    address: str
    size: int
    modified: int


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


def absolute(address: str) -> str:
    """Return an absolute address."""
    return address if is_remote(address) else os.path.abspath(address)


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
        return None if os.path.isdir(address) else Entry(address, status.st_size, status.st_mtime_ns)
    info = _request(address, lambda store, path: store.get_file_info(path))
    return Entry(address, info.size, _nanoseconds(info)) if info.is_file else None


def is_folder(address: str) -> bool:
    """Return whether an address is a non-empty folder of a store."""
    from pyarrow.fs import FileType

    return bool(_request(address, lambda store, path: store.get_file_info(path).type == FileType.Directory))


def entries(folder: str) -> list[Entry]:
    """Return all files in a folder and below, sorted by address, without hidden ones."""
    if not is_remote(folder):
        addresses = []
        for place, inner, names in os.walk(folder):
            inner[:] = [name for name in inner if not name.startswith(".")]
            addresses += [os.path.join(place, name) for name in names if not name.startswith(".")]
        return [file for address in sorted(addresses) if (file := entry(address)) is not None]

    def listed(store: Any, path: str) -> list[Entry]:
        from pyarrow.fs import FileSelector

        infos = store.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
        start = path.rstrip("/")
        return [
            Entry(joined(folder, info.path.removeprefix(start).lstrip("/")), info.size, _nanoseconds(info))
            for info in infos
            if info.is_file and "/." not in info.path.removeprefix(start)
        ]

    return sorted(_request(folder, listed), key=lambda item: item.address)


def read_bytes(address: str, most: int | None = None) -> bytes | None:
    """Return the contents of a file or object, or its first ``most`` bytes; None if it does not exist."""
    if not is_remote(address):
        try:
            with open(address, "rb") as file:
                return file.read(most)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def read(store: Any, path: str) -> bytes | None:
        if not store.get_file_info(path).is_file:
            return None
        with store.open_input_stream(path, compression=None) as stream:  # else pyarrow decompresses by suffix
            data: bytes = stream.read(most)
            return data

    return _request(address, read)


def write(address: str, data: bytes) -> None:
    """Write a small file or object atomically, replacing an existing one."""
    if not is_remote(address):
        write_bytes(Path(address), data, force=True)
        return

    def put(store: Any, path: str) -> None:
        with store.open_output_stream(path, compression=None) as stream:
            stream.write(data)

    _request(address, put)


def remove(address: str) -> None:
    """Delete a file or object if it exists; ``OutputError`` if it cannot be deleted."""
    if not is_remote(address):
        try:
            Path(address).unlink(missing_ok=True)
        except OSError as error:
            raise write_error(address, error) from error
        return

    def take_away(store: Any, path: str) -> None:
        if store.get_file_info(path).is_file:
            store.delete_file(path)

    _request(address, take_away)


@contextmanager
def local_files(*addresses: str) -> Iterator[list[Path]]:
    """Lend local files with the contents of addresses; those of a store are temporary copies, until the block ends."""
    with TemporaryDirectory(prefix="iconotext-") as name:
        yield [_fetched(address, Path(name)) if is_remote(address) else Path(address) for address in addresses]


@contextmanager
def target(address: str) -> Iterator[Path]:
    """Lend a local file to write (atomically); it is at the address after the block has ended without an error."""
    if not is_remote(address):
        yield Path(address)
        return
    with TemporaryDirectory(prefix="iconotext-") as name:
        file = Path(name) / split_address(address)[1]
        yield file

        def put(store: Any, path: str) -> None:  # the object appears only once it is complete
            with store.open_output_stream(path, compression=None) as stream, file.open("rb") as source:
                shutil.copyfileobj(source, stream, CHUNK)

        _request(address, put)


def _fetched(address: str, folder: Path) -> Path:
    file = folder / split_address(address)[1]

    def get(store: Any, path: str) -> None:
        with store.open_input_stream(path, compression=None) as stream, file.open("wb") as into:
            while chunk := stream.read(CHUNK):
                with reporting_full_disk(file):  # not the store's fault
                    into.write(chunk)

    _request(address, get)
    return file


def _request(address: str, work: Callable[[Any, str], Result]) -> Result:
    """Call a store, and try again for ``PATIENCE`` seconds."""
    until, pause = time.monotonic() + PATIENCE, FIRST
    while True:
        try:
            return work(*located(address))
        except FileNotFoundError as error:
            raise StoreError(f"{address}: is not there any more") from error
        except OSError as error:
            message = " ".join(str(error).split())
            if any(word in message for word in _FINAL):
                raise StoreError(f"{address}: the store refuses: {message}") from error
            if time.monotonic() + pause > until:
                raise StoreError(
                    f"{address}: the store did not answer for {PATIENCE:.0f} seconds ({message}); what was written is "
                    "whole, and the same command goes on from there"
                ) from error
            if pause == FIRST:
                logger.warning("%s: the store did not answer (%s); asking again", address, message)
        time.sleep(pause)
        pause = min(2 * pause, 5.0)


def located(address: str) -> tuple[Any, str]:
    """Return the pyarrow file system of an address, and the path in it; errors are of type ``OSError``."""
    from pyarrow.fs import LocalFileSystem

    scheme, _, path = address.partition("://")
    return (_file_system(scheme), path) if is_remote(address) else (LocalFileSystem(), address)


@lru_cache
def _file_system(scheme: str) -> Any:
    require("parquet", purpose=f"{scheme}://")
    import pyarrow as pa
    from pyarrow.fs import AwsStandardS3RetryStrategy, FileSystem, S3FileSystem

    if scheme == "s3":  # region and credentials come from the usual variables
        once = AwsStandardS3RetryStrategy(max_attempts=1)  # retries are ours, in ``_request``
        return S3FileSystem(
            retry_strategy=once,
            connect_timeout=5,
            request_timeout=30,
            endpoint_override=os.environ.get("AWS_ENDPOINT_URL"),
        )
    try:
        return FileSystem.from_uri(f"{scheme}://x")[0]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StoreError(f"{scheme}://: no store that pyarrow reaches: {' '.join(str(error).split())}") from error


def _nanoseconds(info: Any) -> int:
    return int(info.mtime_ns or 0)
