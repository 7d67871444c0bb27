"""Paths of files relative to their repository, so that they are the same on every machine."""

from __future__ import annotations

import os.path
from pathlib import Path


def repository_root() -> Path:
    """The working folder, or its nearest parent that is a Git repository."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def repository_path(path: str, root: Path) -> str | None:
    """The path of a file relative to ``root``, with ``/``; None if it is elsewhere."""
    for clean in (os.path.abspath, os.path.realpath):  # the second one follows links
        whole, base = Path(clean(path)), Path(clean(root))
        if whole.is_relative_to(base):
            return whole.relative_to(base).as_posix()
    return None
