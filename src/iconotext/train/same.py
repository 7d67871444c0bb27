"""A folder holds one model: training goes on in it only with the same recipe."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from iconotext.errors import SettingError


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
    old_values, new_values = (_flat(tomllib.loads(each)) for each in (old, new))
    keys = [key for key in {**old_values, **new_values} if old_values.get(key) != new_values.get(key)]
    raise SettingError(
        f"{folder}: holds a model of another recipe, which differs in {', '.join(keys)}; name another folder, "
        "or remove this one"
    )


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat
