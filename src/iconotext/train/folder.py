"""The folder of a model while it is trained: one process at a time, one recipe, nothing left of what was refused."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from iconotext.errors import IconotextError, SettingError, TrainingError
from iconotext.write import write_error


@contextmanager
def locked(path: Path, *, wait: float, what: str) -> Iterator[None]:
    """Hold a lock, which ends with the process that holds it, however that ends.

    Args:
        path: The file that stands for the lock; made if need be, and left there.
        wait: Seconds to wait for another process.

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


@contextmanager
def gone_if_refused(folder: Path, mark: str) -> Iterator[None]:
    """Leave no new folder behind where work ends with one of our errors before ``mark``, a file in it, is there."""
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


def same_recipe(folder: Path, old: str, new: str) -> None:
    """Raise if two resolved recipes differ.

    Args:
        old: The recipe that was begun there, as TOML.
        new: The one that is to go on.

    Raises:
        SettingError: They differ; names the keys.
    """
    if old == new:
        return
    old_values, new_values = (flat(tomllib.loads(each)) for each in (old, new))
    keys = [key for key in {**old_values, **new_values} if old_values.get(key) != new_values.get(key)]
    raise SettingError(
        f"{folder}: holds a model of another recipe, which differs in {', '.join(keys)}; name another folder, "
        "or remove this one"
    )


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values of nested tables by their dotted keys."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found
