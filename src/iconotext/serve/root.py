"""The folder below which a server opens files: resolve a path in it (``below``), and list a folder (``shelf``)."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from fastapi import HTTPException
from pathspec import GitIgnoreSpec

from iconotext.library.files import file_kind
from iconotext.plain_text import counted, data_size, readable
from iconotext.read.find import BUILT, LEFT_OUT, find_documents
from iconotext.read.format import lacks_extra
from iconotext.serve.listing import Pagination
from iconotext.serve.sources import NOT_UTF_8, is_inside, is_utf_8

ENTRIES = 50
"""Maximum number of folders and documents on a page."""

COUNTED = 1000
"""Maximum number of files that are counted in a folder, with all folders in it."""

OUTSIDE = "a link that leads out of the root: not followed"


@dataclass(frozen=True, slots=True)
class Inside:
    """A folder or a document in a listed folder; ``about`` says what is in it, or why it cannot be opened."""

    name: str
    path: str
    folder: bool
    about: str
    opens: bool


@dataclass(frozen=True, slots=True)
class Shelf:
    """A page of the contents of a folder at a path below the root; ``others`` names other files, in words."""

    path: str
    inside: list[Inside]
    pages: Pagination
    others: str

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
    names = {entry.name for entry in entries}
    other_counts: Counter[str] = Counter()
    visible = []
    for entry in entries:
        kind = file_kind(Path(entry.name))
        if kind == "document" or entry.is_symlink() or entry.is_dir():
            visible.append(entry)
        else:
            other_counts[kind if kind == "picture" else f"{Path(entry.name).suffix.lower() or 'other'} file"] += 1
    pages = Pagination.of(len(visible), number, ENTRIES)
    inside = [_inside(Path(entry.path), home, names) for entry in visible[pages.first : pages.first + pages.most]]
    words = ", ".join(counted(count, kind) for kind, count in sorted(other_counts.items()))
    return Shelf(folder.relative_to(home).as_posix().removeprefix("."), inside, pages, words)


def _inside(place: Path, home: Path, beside: set[str]) -> Inside:
    path = place.relative_to(home).as_posix()
    problem = _problem(place, path, home)
    is_folder = problem is None and place.is_dir()
    if problem is not None:
        about, opens = problem, False
    elif is_folder:
        documents, about = _contents(place, home)
        about, opens = about + _left_out(place, home, beside), documents > 0
    else:
        about, opens = data_size(place.stat().st_size), True
    return Inside(readable(place.name), path if is_utf_8(path) else readable(path), is_folder, about, opens)


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


def _left_out(folder: Path, home: Path, beside: set[str]) -> str:
    """The words about a folder that is left out where the folder around it is opened; "" for others."""
    if folder.is_symlink():
        real = folder.resolve()
        target = real.relative_to(home).as_posix() if real != home else "the root"
        return f"; a link to {target}, left out where the folder around it is opened"
    is_built = beside & {*BUILT.get(folder.name, ())}
    if is_built or GitIgnoreSpec.from_lines(LEFT_OUT).match_file(f"{folder.name}/"):
        return "; left out where the folder around it is opened"
    return ""


def _contents(folder: Path, home: Path) -> tuple[int, str]:
    """Number of documents in a folder, with all folders in it, and words about them."""
    counts: Counter[str] = Counter()
    files = islice(find_documents([folder], suffixes=_Every()), COUNTED + 1)
    number = 0
    for number, (file, _) in enumerate(files, 1):  # noqa: B007  # the last one counts
        if not file.is_symlink() or is_inside(file, home):
            counts[file_kind(file) or "other"] += 1
    words = f"{counted(counts['document'], 'document')}, {counted(counts['picture'], 'picture')}"
    return counts["document"], f"{words} among its first {COUNTED:,} files" if number > COUNTED else words


class _Every:
    """Contains every suffix, so that pictures are found as documents are."""

    def __contains__(self, suffix: object) -> bool:
        return True
