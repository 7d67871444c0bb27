"""The folder below which a server opens files: resolve a path in it (``below``), and list a folder (``shelf``)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from fastapi import HTTPException

from iconotext.library.files import file_kind
from iconotext.plain_text import data_size, readable
from iconotext.read.format import lacks_extra
from iconotext.serve.listing import Pagination
from iconotext.serve.sources import NOT_UTF_8, is_inside, is_utf_8

ENTRIES = 50
"""Maximum number of folders and documents on a page."""

OUTSIDE = "a link that leads out of the root: not followed"


@dataclass(frozen=True, slots=True)
class Inside:
    """A folder or a document in a listed folder; ``about`` is the size of a document, or why it cannot be opened."""

    name: str
    path: str
    folder: bool
    about: str
    opens: bool


@dataclass(frozen=True, slots=True)
class Shelf:
    """A page of the contents of a folder at a path below the root."""

    path: str
    inside: list[Inside]
    pages: Pagination

    @property
    def way(self) -> list[tuple[str, str]]:
        """Name and path of each folder on the way to it, and of itself."""
        parts = Path(self.path).parts
        return [(part, "/".join(parts[: n + 1])) for n, part in enumerate(parts)]


def below(root: Path | None, path: str) -> Path:
    """The file or folder at a path below the root, in whatever form the path is written.

    Raises:
        HTTPException: It does not exist, or is elsewhere. The answer is the same, so as not to reveal other folders.
    """
    if root is None:
        raise HTTPException(404, "this server opens no paths: start it with a root folder")
    try:
        place = (root / path).resolve(strict=True)
        if place.is_relative_to(root.resolve()):
            return place
    except (OSError, ValueError, RuntimeError):
        pass
    raise HTTPException(404, "there is no such file or folder below the root")


def shelf(root: Path | None, path: str, number: int) -> Shelf:
    """A page of the contents of a folder below the root.

    Raises:
        HTTPException: There is no such folder below the root, or it cannot be listed.
    """
    folder = below(root, path)
    assert root is not None
    home = root.resolve()
    try:
        with os.scandir(folder) as scan:
            # Not ``entry.is_dir``, which fails for a link to itself.
            entries = sorted(scan, key=lambda entry: (not os.path.isdir(entry), entry.name.casefold(), entry.name))
    except OSError as error:
        raise HTTPException(404, f"this folder cannot be listed: {error.strerror}") from None
    visible = [e for e in entries if e.is_symlink() or e.is_dir() or file_kind(Path(e.name)) == "document"]
    pages = Pagination.of(len(visible), number, ENTRIES)
    inside = [_inside(Path(entry.path), home) for entry in visible[pages.first : pages.first + pages.most]]
    return Shelf(folder.relative_to(home).as_posix().removeprefix("."), inside, pages)


def _inside(place: Path, home: Path) -> Inside:
    path = place.relative_to(home).as_posix()
    problem = _problem(place, path, home)
    is_folder = problem is None and place.is_dir()
    about = problem or ("" if is_folder else data_size(place.stat().st_size))
    return Inside(
        readable(place.name), path if is_utf_8(path) else readable(path), is_folder, about, opens=problem is None
    )


def _problem(place: Path, path: str, home: Path) -> str | None:
    """Why a folder or a document cannot be opened; None if it can."""
    if not is_inside(place, home):
        return OUTSIDE
    if not is_utf_8(path):
        return NOT_UTF_8
    if place.is_dir():
        return None
    if not place.exists():
        return "a link to nothing"
    if not place.is_file() or file_kind(place) != "document":
        return "not a document that is read"
    return "is read with iconotext[formats] alone" if lacks_extra(place.suffix.lower()) else None
