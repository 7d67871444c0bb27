"""The place of the feature cache, and its maximum size."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from iconotext.errors import SettingError

SIZE = "ICONOTEXT_CACHE_SIZE"
"""Environment variable with the maximum size of the file."""

LIMIT = "2GB"

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


def cache_folder() -> Path:
    """The folder of this user's caches: $ICONOTEXT_CACHE, else the system's usual place."""
    if own := os.environ.get("ICONOTEXT_CACHE"):
        return Path(own)
    if cache_home := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache_home) / "iconotext"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "iconotext" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "iconotext"
    return Path.home() / ".cache" / "iconotext"


def cache_file() -> Path:
    """The file of this user's feature cache."""
    return cache_folder() / "features-2.sqlite"  # with the version of the tables


def cache_limit() -> int:
    """Maximum size of the file in bytes.

    Raises:
        SettingError: ``ICONOTEXT_CACHE_SIZE`` is not a size.
    """
    return size_in_bytes(os.environ.get(SIZE) or LIMIT, SIZE)


def size_in_bytes(text: str, name: str) -> int:
    """Bytes of a size such as 500MB.

    Raises:
        SettingError: Not a size; the message begins with ``name``, the name of the setting.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _UNITS:
        raise SettingError(f"{name} {text}: give a size such as 500MB, 2GB or 0")
    return int(float(found[1]) * _UNITS[found[2]])
