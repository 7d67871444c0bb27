"""Where the cache of features lies, and how large it may become."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from iconotext.errors import SettingError

SIZE = "ICONOTEXT_CACHE_SIZE"
"""The variable that says how large the file may become."""

LIMIT = "2GB"

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


def cache_folder() -> Path:
    """Where this user's caches lie: $ICONOTEXT_CACHE, else the system's usual place."""
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
    """This user's cache of features."""
    return cache_folder() / "features-2.sqlite"  # the number is that of the tables


def cache_limit() -> int:
    """Bytes that the file may take.

    Raises:
        SettingError: ``ICONOTEXT_CACHE_SIZE`` is no size.
    """
    return size_in_bytes(os.environ.get(SIZE) or LIMIT, SIZE)


def size_in_bytes(text: str, name: str) -> int:
    """A size such as 500MB.

    Raises:
        SettingError: It is none; the message begins with the name of what was set.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _UNITS:
        raise SettingError(f"{name} {text}: give a size such as 500MB, 2GB or 0")
    return int(float(found[1]) * _UNITS[found[2]])
