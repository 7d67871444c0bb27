"""The image files of a data set: found by name or web address, and checked once, with results stored on disk."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from iconotext.corpus.image_files import named_by_address
from iconotext.errors import CorpusError, ImageError
from iconotext.images import decode
from iconotext.system.strict_json import parse_json

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build


MISSING = "not found"


class Check(NamedTuple):
    """An image file for a worker, and the result; ``stored`` says that it is of an earlier run.

    ``key`` is None if the result is not to be stored.
    """

    path: str | None
    key: int | None
    stored: bool = False
    result: Any = None


def stored_checks(file: IO[bytes]) -> dict[int, Any]:
    """Return the results by key in a file that is open for reading and appending: a line ``[key, result]`` for each."""
    file.seek(0)
    results: dict[int, Any] = {}
    for line in file:
        with suppress(ValueError):  # a line that a kill cut off
            key, result = parse_json(line.decode())
            results[key] = result
    file.write(b"\n")  # ends a line that a kill cut off
    return results


def check_of(file: Path | None, stored: Mapping[int, Any]) -> Check:
    """Return an image file, with its stored result."""
    if file is None:
        return Check(None, None)
    path = str(file)
    try:
        status = file.stat()
    except OSError:
        return Check(path, None)
    # With size and time, so that a file that has changed since is decoded again.
    identity = f"{file.absolute()} {status.st_size} {status.st_mtime_ns}".encode("utf-8", "surrogateescape")
    key = int.from_bytes(hashlib.blake2b(identity, digest_size=8).digest())
    return Check(path, key, key in stored, stored.get(key))


def look_at(look: Callable[[str | None], Any], check: Check) -> Check:
    """Compute the result of a check, unless it is stored; runs in a worker."""
    return check if check.stored else check._replace(result=look(check.path))


def image_problem(path: str | None) -> str | None:
    """Return why an image cannot be used: it is missing, is not a picture, or cannot be decoded to its last line."""
    if path is None:
        return MISSING
    try:
        decode(Path(path), at_least=1)
    except ImageError as error:
        return str(error).removeprefix(f"{path}: ")
    return None


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


class NamedImages:
    """The images that a data set names, each located below a folder and checked once.

    Args:
        spellings: Names that the file of an image may have, the likeliest first.
        verify: Decode each image to its last line, on all cores; else the file only has to exist.

    Attributes:
        there: Number of images with a file.
        problems: Why an image cannot be used, by name.
    """

    def __init__(
        self,
        build: Build,
        folder: Path,
        names: Iterable[str],
        spellings: Callable[[str], Iterable[str]],
        *,
        verify: bool,
    ) -> None:
        folders = ImageFolders(folder)
        self._files = {name: folders.find(spellings(name)) for name in names}
        self._build = build
        self.there = sum(file is not None for file in self._files.values())
        total = len(self._files)
        if verify:
            looked = build.checked(self._files.values(), image_problem, total=total, label="Looking at images")
            pairs = zip(self._files, looked, strict=True)
            self.problems = {name: problem for name, problem in pairs if problem is not None}
        else:
            self.problems = {name: MISSING for name, file in self._files.items() if file is None}

    def path(self, name: str) -> str:
        """Return the corpus's name for the file of an available image."""
        file = self._files[name]
        if file is None:
            raise ValueError(f"{name} is not there")
        return self._build.relative_path(file)
