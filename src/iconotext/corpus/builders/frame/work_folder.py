"""The folder in which a build keeps what it computes on the way: for one build, and one process at a time."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from iconotext.errors import OutputError
from iconotext.write import write_text

BUILDING = ".building"

KEY = "build.json"
"""In the folder: what it is a build of."""

LOCK = "lock"
"""In the folder: an empty file, which the system locks for a process until that ends, however it ends."""

TRIES = 20
"""How often the lock is looked for again where another process has just ended and removed it."""


def work_folder(output: Path) -> Path:
    """Where a build keeps what it computes on the way: ``rqa.building`` beside ``rqa.jsonl``."""
    return output.with_suffix(BUILDING)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the folder of a build, which is made if need be; if nothing is left in it at the end, it is removed.

    Raises:
        OutputError: Another process holds it, something else lies there, or it cannot be written to.
    """
    if _content(folder) and not (folder / KEY).is_file() and _content(folder):  # the last: it may have gone meanwhile
        raise OutputError(f"{folder}: is in the way: a build keeps there what it computes; move it")
    path = folder / LOCK
    try:
        descriptor = _locked(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    try:
        yield
    finally:
        empty, gone = not _content(folder), False
        if empty:  # it is removed while it is held: a process that has opened it meanwhile sees that it went
            with suppress(OSError):
                path.unlink()
                gone = True
        os.close(descriptor)
        if empty:
            with suppress(OSError):
                if not gone:  # Windows removes no file that is open
                    path.unlink()
                folder.rmdir()


def same_build(folder: Path, key: str) -> bool:
    """Whether what lies in the folder is of the build with this key, and can be gone on with."""
    try:
        return (folder / KEY).read_bytes() == key.encode()
    except OSError:
        return False


def begin_anew(folder: Path, key: str) -> None:
    """Empty the folder, and say what it is a build of from now on.

    Raises:
        OutputError: It cannot be written to.
    """
    try:
        clear(folder)
    except OSError as error:
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}") from error
    write_text(folder / KEY, key, force=True)


def clear(folder: Path) -> None:
    """Remove what lies in the folder, the lock excepted; the key last, so that a kill leaves what is known as ours."""
    for path in _content(folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _content(folder: Path) -> list[Path]:
    """What lies in the folder besides the lock, the key at the end."""
    try:
        names = sorted(name for name in os.listdir(folder) if name != LOCK)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in sorted(names, key=KEY.__eq__)]


def _locked(path: Path) -> int:
    """Descriptor of the lock, which is held until it is closed.

    Raises:
        OutputError: Another process holds it.
        OSError: It cannot be made.
    """
    for left in reversed(range(TRIES)):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
        except (FileNotFoundError, FileExistsError):  # the folder went this moment
            if not left or path.parent.is_file():
                raise
            continue
        try:
            if not _lock(descriptor):
                raise OutputError(f"{path.parent}: another process is making this corpus; wait for it, or end it")
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):  # else who held it before has removed it
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise OutputError(f"{path}: cannot be locked, since other processes come and go; try again")


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        """Lock a file, unless it is locked."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True
else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        """Lock a file, unless it is locked."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
