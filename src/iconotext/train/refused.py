"""Work that is refused leaves no new folder behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from iconotext.errors import IconotextError, TrainingError


@contextmanager
def gone_if_refused(folder: Path, mark: str) -> Iterator[None]:
    """Where work ends with one of our errors before it has begun for good, leave no new folder behind.

    Args:
        mark: A file in it, which is there as soon as there is something to keep.
    """
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        yield
    except IconotextError as error:
        # A TrainingError may say that another process works there.
        if new and not isinstance(error, TrainingError) and not (folder / mark).exists():
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # somebody else put something there
                for parent in new[1:]:
                    parent.rmdir()
        raise
