"""Guards the folder of a model during training: one process at a time, one recipe, no leftovers of refused runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from iconotext.errors import IconotextError, SettingError, TrainingError
from iconotext.strict_json import parse_toml

LOCK = ".lock"
"""File in the model's folder that one process at a time locks."""

BUSY = "another process trains here; wait for it, or end it"


@contextmanager
def gone_if_refused(folder: Path, mark: str) -> Iterator[None]:
    """Remove a new folder if the block fails with an error of ours before it has the file ``mark``."""
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        yield
    except IconotextError as error:
        # A TrainingError may mean that another process works there.
        if new and not isinstance(error, TrainingError) and not (folder / mark).exists():
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another process put something there
                for parent in new[1:]:
                    parent.rmdir()
        raise


def same_recipe(folder: Path, old: str, new: str) -> None:
    """Raise if two resolved recipes differ.

    Args:
        old: The recipe in the folder, as TOML.
        new: The recipe to train by, as TOML.

    Raises:
        SettingError: They differ; lists the keys.
    """
    if old == new:
        return
    old_values, new_values = (flat(parse_toml(each)) for each in (old, new))
    keys = [key for key in {**old_values, **new_values} if old_values.get(key) != new_values.get(key)]
    raise SettingError(
        f"{folder}: holds a model of another recipe, which differs in {', '.join(keys)}; name another folder, "
        "or remove this one"
    )


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted keys to the values of nested tables."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found
