"""What a file is called within its repository, so that two machines call it the same."""

from __future__ import annotations

from pathlib import Path


def repository_root() -> Path:
    """The working folder, or the nearest one above it that is a Git repository."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def repository_path(path: str, root: Path) -> str | None:
    """The path of a file from ``root`` on, with ``/``; None where it lies elsewhere."""
    whole = Path(path).absolute()
    try:
        return whole.relative_to(root).as_posix()
    except ValueError:
        resolved, base = whole.resolve(), root.resolve()
        return resolved.relative_to(base).as_posix() if resolved.is_relative_to(base) else None
