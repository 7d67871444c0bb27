"""Image files found in folders: by a name, whatever the suffix or capitals, or by a web address."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from iconotext.errors import CorpusError

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""Beginning of an image's name that is an address (``https:``, ``recipeqa:``) and not a path; letters of drives are
shorter.
"""

DIGESTS = ("sha256", "sha1", "md5")
"""Digests of an address in UTF-8, as hexadecimal digits: usual names of fetched files."""

SIDE_FILES = frozenset(
    {".json", ".jsonl", ".txt", ".md", ".csv", ".tsv", ".html", ".tmp", ".zip", ".gz", ".tar", ".py"}
)
"""Suffixes of files that lie beside images and are not images."""


class ImageFolders:
    """Some folders and all folders in them, without a list of their files in memory.

    Args:
        roots: Hidden folders below them, and links to folders, are skipped.
    """

    def __init__(self, *roots: Path) -> None:
        self._folders = [place for root in roots for place, _ in _walk(root)]

    def find(self, names: Iterable[str]) -> Path | None:
        """Return the first file with one of the names; None if there is none.

        A name is a path below one of the folders, or a bare name. If several folders have it, the first folder counts,
        always the same: a folder before the folders in it, and these in the order of their names.
        """
        for name in names:
            path = PurePosixPath(name.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts or not path.name:
                continue
            for candidate in dict.fromkeys((str(path), path.name)):
                for folder in self._folders:
                    if os.path.isfile(folder / candidate):
                        return folder / candidate
        return None


class FoundImages:
    """The files of a folder and of the folders in it, by name, whatever the suffix or capitals.

    Args:
        folder: Hidden files, and links to other folders, are skipped.
    """

    def __init__(self, folder: Path) -> None:
        self._by_name: dict[str, Path] = {}
        self._by_folded: dict[str, Path] = {}
        self._by_stem: dict[str, Path] = {}
        for place, files in _walk(folder):
            for name in sorted(files):
                path = place / name
                if not name.startswith(".") and path.suffix.casefold() not in SIDE_FILES:
                    self._by_name.setdefault(name, path)
                    self._by_folded.setdefault(name.casefold(), path)
                    self._by_stem.setdefault(path.stem.casefold(), path)

    def named(self, name: str) -> Path | None:
        """Return the file of a name: exactly this name, else with other capitals, else with another suffix."""
        name = PurePosixPath(name.replace("\\", "/")).name
        folded = name.casefold()
        return (
            self._by_name.get(name)
            or self._by_folded.get(folded)
            or self._by_stem.get(folded)
            or self._by_stem.get(PurePosixPath(folded).stem)
        )

    def at(self, address: str, *, by_name: bool = False) -> Path | None:
        """Return the file of a web address: named by a digest of the address, else by the name at its end.

        With ``by_name``, no other address ends with the same name, see ``distinct_names``.
        """
        for digest in DIGESTS:
            file = self._by_stem.get(hashlib.new(digest, address.encode(), usedforsecurity=False).hexdigest())
            if file is not None:
                return file
        name = address_name(address)
        return self.named(name) if by_name and name else None

    def find(self, source: str, *, by_name: bool = False) -> Path | None:
        """Return the file of an image that a corpus names by a web address or by the last part of a path."""
        return self.at(source, by_name=by_name) if named_by_address(source) else self.named(source)


def _walk(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield each folder from a root folder on, with the names of its files; ``CorpusError`` if the root is missing."""
    if not root.is_dir():
        raise CorpusError(f"{root}: not a folder; name the one that has the pictures")
    for place, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield Path(place), files


def address_name(address: str) -> str:
    """Return the name at the end of an address, without the query after ``?``; empty if there is none."""
    try:
        return PurePosixPath(unquote(urlsplit(address).path)).name
    except ValueError:
        return ""


def distinct_names(addresses: Iterable[str]) -> frozenset[str]:
    """Return the addresses that no other address equals in the name at its end, whatever the suffix."""
    with_stem: dict[str, set[str]] = defaultdict(set)
    for address in addresses:
        name = address_name(address).casefold()
        for key in {name, PurePosixPath(name).stem}:
            with_stem[key].add(address)
    alone = {address for same in with_stem.values() if len(same) == 1 for address in same}
    shared = {address for same in with_stem.values() if len(same) > 1 for address in same}
    return frozenset(alone - shared)


def named_by_address(source: str) -> bool:
    """Return whether an image's name is an address, on the web or in another collection, and not a path."""
    return ":" in source and ADDRESS.match(source) is not None
