"""One process at a time in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from iconotext.errors import TrainingError
from iconotext.write import write_error


@contextmanager
def locked(path: Path, *, wait: float, what: str) -> Iterator[None]:
    """Hold a lock, which ends with the process that holds it, however that ends.

    Args:
        path: The file that stands for the lock; made if need be, and left there.
        wait: Seconds to wait for another process.
        what: What the other one does, for the message.

    Raises:
        TrainingError: Another process holds it.
        OutputError: The file cannot be made.
    """
    lock = FileLock(path, timeout=wait)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise TrainingError(f"{path.parent}: another process {what} here; wait for it, or end it") from error
    except OSError as error:
        raise write_error(path, error) from error
    try:
        yield
    finally:
        lock.release()
