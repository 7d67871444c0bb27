"""The folder in which a build keeps files that it needs meanwhile: ``rqa.building`` beside ``rqa.jsonl``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from iconotext.corpus.builders.image_checks import FILE as IMAGE_CHECKS
from iconotext.errors import CorpusError, DocumentError, OutputError, SettingError

LOCK = "lock"
"""In the folder: an empty file, which is locked for a process until that ends, however it ends."""


@contextmanager
def work_folder(output: Path) -> Iterator[Path]:
    """Hold the folder of a build, for one process at a time.

    It is gone afterwards. Where the body was stopped, by a kill or a full disk, what it found out about images stays.

    Raises:
        OutputError: Another process holds it, something else lies there, or it cannot be written to.
    """
    folder = output.with_suffix(".building")
    lock = folder / LOCK
    if folder.exists() and not lock.is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder}: is in the way: a build keeps its files there; move it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = FileLock(lock, blocking=False).acquire()
    except Timeout as error:
        raise OutputError(f"{folder}: another process is making this corpus; wait for it, or end it") from error
    except OSError as error:
        raise OutputError(f"cannot write {lock}: {error.strerror or error}") from error
    keep = False
    try:
        _clear(folder, {LOCK, IMAGE_CHECKS})
        yield folder
    except (CorpusError, DocumentError, SettingError):
        raise
    except BaseException:
        keep = True
        raise
    finally:
        with suppress(OSError):
            _clear(folder, {LOCK, IMAGE_CHECKS} if keep else {LOCK})
        with held, suppress(OSError):
            if not keep or not (folder / IMAGE_CHECKS).exists():
                shutil.rmtree(folder)
        with suppress(OSError):  # Windows removes no folder with an open file in it
            folder.rmdir()


def _clear(folder: Path, kept: set[str]) -> None:
    """Remove what lies in the folder, but for some files."""
    for path in folder.iterdir():
        if path.name in kept:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
