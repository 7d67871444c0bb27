"""Atomic writing of files, digests of their content, locks on folders, and errors of a full disk."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from iconotext.errors import FullDiskError, IconotextError, OutputError
from iconotext.plain_text import data_size

if sys.platform != "win32":
    import fcntl

_TEMPORARY = re.compile(r"\.iconotext-[0-9a-f]{16}\.tmp")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # EFBIG: a limit on the size of a file, as of ``ulimit -f``
_SQLITE_NO_SPACE = (13, 778, 1034, 1546, 4874)  # SQLITE_FULL; SQLITE_IOERR_WRITE, _FSYNC, _TRUNCATE and _SHMSIZE


def content_digest(content: Path | bytes) -> bytes:
    """Return the SHA-256 of bytes, or of a file, in about a second per GB; ``OSError`` if it cannot be read."""
    if isinstance(content, bytes):
        return hashlib.sha256(content).digest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def open_plain(path: Path, limit: int | None = None) -> BinaryIO:
    """Open a plain file of at most ``limit`` bytes, without waiting: a pipe, a socket or a device is refused.

    Raises:
        OSError: It is no plain file, is larger, or cannot be opened.
    """
    _check_plain(path, os.stat(path), limit)  # before it is opened, which alone may do something to a device
    # Another file may have its name by now, so it is opened without waiting for somebody at a pipe's other end.
    options = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC"))
    file = os.fdopen(os.open(path, os.O_RDONLY | options), "rb")
    try:
        _check_plain(path, os.fstat(file.fileno()), limit)
    except OSError:
        file.close()
        raise
    return file


def read_plain(path: Path, limit: int) -> bytes:
    """Return the content of a plain file of at most ``limit`` bytes; ``OSError`` as for ``open_plain``."""
    with open_plain(path, limit) as file:
        content = file.read(limit + 1)
    if len(content) > limit:  # it has grown, or is one whose size the system does not know
        raise _too_large(path, limit)
    return content


def _check_plain(path: Path, status: os.stat_result, limit: int | None) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        why = "a pipe or a device, not a file; save what comes from it as a file"
        raise OSError(errno.EINVAL, why, str(path))
    if limit is not None and status.st_size > limit:
        raise _too_large(path, limit)


def _too_large(path: Path, limit: int) -> OSError:
    return OSError(errno.EINVAL, f"more than {data_size(limit)}", str(path))


@contextmanager
def open_atomic(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing; it appears under its name only when the block ends without an error.

    The bytes go to a temporary file in the same folder, which is removed on any error. Other readers see the old file,
    or none, never a part of the new one, even if the program is killed; only without hard links and without ``force``
    they may see an empty file, which a kill leaves. With two writers, the last one counts with ``force``, the first
    without it. A killed process's temporary file is removed by the next write into the folder. A pipe or a device such
    as ``/dev/stdout`` is written to directly.

    Raises:
        OutputError: The file exists and ``force`` is not set, or it cannot be written; also where the block has wrapped
            the ``OSError`` in an exception of its own.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as stream:
                yield stream
            return
        check_overwrite(path, force)
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers_once(path.parent)
        temporary, file = _create(path)
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())  # before the rename, or a power cut could leave the new name with no content
                if sys.platform == "win32":  # where only closed files can be renamed, and no open file removed
                    file.close()
                _publish(temporary, path, force)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except IconotextError:
        raise
    except Exception as error:
        failed = error if isinstance(error, OSError) else _full_disk_error(error)
        if failed is None:
            raise
        raise write_error(path, failed) from error


def write_bytes(path: Path, data: bytes | Iterable[bytes], *, force: bool = False) -> None:
    """Write bytes, or chunks of bytes, atomically."""
    with open_atomic(path, force=force) as file:
        for chunk in [data] if isinstance(data, bytes) else data:
            file.write(chunk)


def write_text(path: Path, text: str | Iterable[str], *, force: bool = False) -> None:
    """Write text, or pieces of text, in UTF-8, atomically; line ends stay as they are."""
    write_bytes(path, (piece.encode() for piece in ([text] if isinstance(text, str) else text)), force=force)


def put_in_place(finished: Path, path: Path, *, force: bool = False) -> None:
    """Rename a finished file to its name in one step, within the same file system.

    Without ``force`` it may keep its old name too (a hard link): ``samefile`` then shows that both are one file.
    """
    try:
        check_overwrite(path, force)
        if path.exists() and not path.is_file():
            with finished.open("rb") as file, path.open("wb") as stream:
                shutil.copyfileobj(file, stream)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            finished.chmod(stat.S_IMODE(path.stat().st_mode))
        _publish(finished, path, force)
        _sync_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from error


@contextmanager
def reporting_full_disk(place: Path | str) -> Iterator[None]:
    """Turn any error of the block that means a full disk into ``FullDiskError``, with ``place`` if it names no file."""
    try:
        yield
    except IconotextError:
        raise
    except Exception as error:
        full = _full_disk_error(error)
        if full is None:
            raise
        raise write_error(getattr(full, "filename", None) or place, full) from error


@contextmanager
def locked(path: Path, busy: str, error: type[IconotextError] = OutputError, *, wait: float = 0) -> Iterator[None]:
    """Hold the lock file in a folder, which is freed with the process even if it is killed.

    Args:
        busy: The message, after the name of the folder, if another process holds the lock for ``wait`` seconds.
        error: Class of the exception that has this message.
    """
    from filelock import FileLock, Timeout

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=wait).acquire()
    except Timeout as problem:
        raise error(f"{path.parent}: {busy}") from problem
    except OSError as problem:
        raise write_error(path, problem) from problem
    with lock:
        yield


def check_overwrite(path: Path, force: bool) -> None:
    """Raise the ``OutputError`` that ``open_atomic`` would raise for this path, before the content is made."""
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder")
    if not force and os.path.lexists(path) and (path.is_file() or not path.exists()):
        raise _exists(path)


def check_ours(path: Path, beginning: re.Pattern[bytes], force: bool) -> None:
    """Raise ``OutputError`` if a file would be replaced that does not begin as those of iconotext, without ``force``.

    For files that the same command writes again and again. A pipe or a device is written to, not replaced.
    """
    if path.is_dir():
        raise OutputError(f"cannot write {path}: it is a folder")
    if force or not os.path.lexists(path) or (path.exists() and not path.is_file()):
        return
    try:
        with open_plain(path) as file:
            ours = beginning.match(file.read(1024))
    except OSError:
        ours = None
    if ours is None:
        raise OutputError(f"{path} exists already, and is not as iconotext wrote it: the option force replaces it")


def write_error(path: Path | str, error: BaseException) -> OutputError:
    """Return the error to raise if something cannot be written."""
    message = f"cannot write {path}: {getattr(error, 'strerror', None) or error}"
    if is_full_disk(error):
        return FullDiskError(f"{message}; free some space there, then give the same command again")
    return OutputError(message)


def is_full_disk(error: BaseException) -> bool:
    """Return whether an error, or one of its causes, means a full disk."""
    return _full_disk_error(error) is not None


def _full_disk_error(error: BaseException | None) -> BaseException | None:
    while error is not None:
        if isinstance(error, FullDiskError) or (isinstance(error, OSError) and error.errno in _NO_SPACE):
            return error
        if isinstance(error, OSError) and error.errno is None and "requested and" in str(error):
            return error  # NumPy: "N requested and M written"
        if getattr(error, "sqlite_errorcode", None) in _SQLITE_NO_SPACE:
            return error
        if any(f"(os error {code})" in str(error) for code in _NO_SPACE):
            return error  # libraries in Rust: safetensors, Lance
        error = error.__cause__ or error.__context__
    return None


def _exists(path: Path) -> OutputError:
    return OutputError(f"{path} exists already; the option force replaces it")


def _create(path: Path) -> tuple[Path, BinaryIO]:
    """Make a temporary file beside ``path``, with the permissions of an existing file there, else those of the umask.

    It is locked while it is open, so that others know that it is still being written.
    """
    while True:
        temporary = path.with_name(f".iconotext-{secrets.token_hex(8)}.tmp")
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
        file = os.fdopen(descriptor, "wb")
        _lock(descriptor)  # where that fails, nobody can lock it, and so nobody removes it as a leftover
        if os.fstat(descriptor).st_nlink:
            break
        file.close()  # another process deleted it as a leftover, between the two calls
    with contextlib.suppress(OSError, AttributeError):  # no such file, or a system without such permissions
        os.fchmod(descriptor, stat.S_IMODE(path.stat().st_mode))
    return temporary, file


@lru_cache(maxsize=1024)
def _remove_leftovers_once(folder: Path) -> None:
    """Remove the temporary files of ended processes in a folder; only once, since it may have millions of files."""
    with contextlib.suppress(OSError):  # a folder that cannot be listed
        for name in filter(_TEMPORARY.fullmatch, os.listdir(folder)):
            with contextlib.suppress(OSError):
                _remove_if_abandoned(folder / name)


def _remove_if_abandoned(temporary: Path) -> None:
    if sys.platform == "win32":
        temporary.unlink()  # fails if it is open
        return
    descriptor = os.open(temporary, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _lock(descriptor) and stat.S_ISREG(os.fstat(descriptor).st_mode):
            temporary.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file until it is closed; False if another process has, or the file system has no locks."""
    if sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def _publish(temporary: Path, path: Path, force: bool) -> None:
    if force:
        os.replace(temporary, path)
        return
    try:
        os.link(temporary, path)  # unlike a rename, this fails if the name is taken
    except FileExistsError:
        raise _exists(path) from None
    except OSError:  # no hard links: take the name with an empty file, then put the file in its place
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            raise _exists(path) from None
        os.replace(temporary, path)


def _sync_folder(folder: Path) -> None:
    """Let the new name of a file last, too: it is stored with the folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
