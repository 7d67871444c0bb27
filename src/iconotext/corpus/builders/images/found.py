"""Pictures in a folder, found by the name or the web address that a data set gives them."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from iconotext.errors import CorpusError

DIGESTS = ("sha256", "sha1", "md5")
"""Of an address in UTF-8, as hexadecimal digits: names that people give to what they fetch."""

SIDE_FILES = frozenset(
    {".json", ".jsonl", ".txt", ".md", ".csv", ".tsv", ".html", ".tmp", ".zip", ".gz", ".tar", ".py"}
)
"""What lies beside pictures and is none."""


class FoundImages:
    """The files of a folder and the folders in it.

    Args:
        folder: Hidden files, and links to other folders, are passed over.

    Raises:
        CorpusError: There is no such folder.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise CorpusError(f"{folder}: not a folder; name the one that has the pictures")
        self._by_name: dict[str, Path] = {}
        self._by_small: dict[str, Path] = {}
        self._by_stem: dict[str, Path] = {}
        for place, folders, files in os.walk(folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                if not name.startswith(".") and PurePosixPath(name).suffix.casefold() not in SIDE_FILES:
                    self.add(Path(place, name))

    def add(self, path: Path) -> None:
        """One more file; of two with the same name the first counts."""
        self._by_name.setdefault(path.name, path)
        self._by_small.setdefault(path.name.casefold(), path)
        self._by_stem.setdefault(path.stem.casefold(), path)

    def named(self, name: str) -> Path | None:
        """The file of a name: exactly it, else in capitals or small letters, else with another suffix."""
        name = PurePosixPath(name.replace("\\", "/")).name
        small = name.casefold()
        return (
            self._by_name.get(name)
            or self._by_small.get(small)
            or self._by_stem.get(small)
            or self._by_stem.get(PurePosixPath(small).stem)
        )

    def at(self, address: str, *, by_name: bool) -> Path | None:
        """The file of a web address: named by a digest of it, else like the file at its end.

        Args:
            address: The address.
            by_name: Whether no other address ends with the same name, see ``distinct_names``.
        """
        for digest in DIGESTS:
            found = self._by_stem.get(hashlib.new(digest, address.encode(), usedforsecurity=False).hexdigest())
            if found is not None:
                return found
        name = address_name(address)
        return self.named(name) if by_name and name else None


def address_name(address: str) -> str:
    """The name at the end of an address, without what stands behind ``?``; empty where there is none."""
    try:
        return PurePosixPath(unquote(urlsplit(address).path)).name
    except ValueError:
        return ""


def distinct_names(addresses: Iterable[str]) -> frozenset[str]:
    """Addresses whose file can be known by its name: no other address ends with it, whatever the suffix."""
    with_stem: dict[str, set[str]] = defaultdict(set)
    for address in addresses:
        name = address_name(address).casefold()
        for key in {name, PurePosixPath(name).stem}:
            with_stem[key].add(address)
    alone = {address for same in with_stem.values() if len(same) == 1 for address in same}
    shared = {address for same in with_stem.values() if len(same) > 1 for address in same}
    return frozenset(alone - shared)
