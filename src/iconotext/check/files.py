"""The surroundings of a document: the files of its pictures, and the other documents of its site.

All of it may come from strangers: only plain files are opened, and no more of one is read than a limit.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from iconotext.check.picture import Picture, pixels
from iconotext.errors import ImageError
from iconotext.read import ReadSettings, find_documents
from iconotext.read.address import SITE_MARKERS, Addresses, site_folder
from iconotext.system.files import read_plain

MAX_FILES = 5_000
"""Most files of a site, or of a folder, that are looked at for one document."""

MAX_BYTES = 128 * 2**20
"""Most bytes of the other documents of a site that are searched for names of figures."""

ALIKE = 100
"""Most names of files, around the place of a missing one in their order, that are compared with it."""


class Files:
    """Looks up the files of a document's pictures, each once, and names in the other documents of its site."""

    def __init__(self, path: Path, within: Path, reading: ReadSettings) -> None:
        self._path, self._within, self._reading = path, within.resolve(), reading
        self._addresses = Addresses(path, within, reading)
        self._site = site_folder(path, within, reading)
        self._names: dict[Path, list[str]] = {}

    @cached_property
    def has_root(self) -> bool:
        """Whether the folder is known in which addresses that begin with ``/`` are looked up."""
        return self._reading.root is not None or any((self._site / marker).exists() for marker in SITE_MARKERS)

    def file(self, picture: Picture) -> Path | bytes:
        """Return the file of a picture outside the document, or its content.

        Raises:
            ImageError: None of its addresses leads to a file; the first one's reason.
        """
        problems = [ImageError(picture.problem)] if picture.problem else []
        for source in () if picture.problem else picture.sources:
            try:
                return self._addresses.open(source)
            except ImageError as error:
                problems.append(error)
        raise problems[0] if problems else ImageError("no address")

    def all_of(self, pictures: Iterable[Picture]) -> Iterator[Path]:
        """Yield the files of pictures, of each one all that it names."""
        for source in dict.fromkeys(source for picture in pictures for source in picture.sources):
            with suppress(ImageError):
                file = self._addresses.open(source)
                if isinstance(file, Path):
                    yield file.resolve()

    def size(self, picture: Picture) -> tuple[int, int] | None:
        """Return the width and height of a picture in pixels; None if they are unknown, or for a drawing."""
        if picture.weight is not None:
            return picture.pixels
        if picture.source.lower().endswith((".svg", ".svgz")):
            return None
        try:
            return pixels(self.file(picture))
        except ImageError:
            return None

    def weight(self, picture: Picture) -> int:
        """Return the size of a picture's file in bytes; 0 if there is none."""
        if picture.weight is not None:
            return picture.weight
        try:
            file = self.file(picture)
            return len(file) if isinstance(file, bytes) else file.stat().st_size
        except (ImageError, OSError):
            return 0

    def names_like(self, source: str) -> list[str]:
        """Return names of files in the folder of an address, if documents may have pictures there.

        They are at most ``ALIKE``, those next to the address's own name in alphabetical order.
        """
        wanted = self._path.parent / unquote(source)
        names = self._names_in(wanted.parent)
        start = max(bisect_left(names, wanted.name) - ALIKE // 2, 0)
        return names[start : start + ALIKE]

    def _names_in(self, folder: Path) -> list[str]:
        if folder not in self._names:
            try:
                is_there = folder.resolve().is_relative_to(self._within) and folder.is_dir()
                files = islice(folder.iterdir(), MAX_FILES) if is_there else ()
                self._names[folder] = sorted(file.name for file in files)
            except (OSError, ValueError, RuntimeError):  # no name of a folder, a loop of links, one we may not list
                self._names[folder] = []
        return self._names[folder]

    def is_elsewhere(self, name: str) -> bool:
        """Return whether another document of the site has a figure's identifier, or a number such as 3.2."""
        return bool(site_names(self._site, self._path.suffix).get(name, set()) - {self._path.resolve()})


_NAMES = re.compile(rb"(?:fig|figure|abb)[-:_.][\w:.-]*\w|(?<=[A-Za-z.;])\W{1,3}(\d+(?:[.\-]\d+)+)", re.IGNORECASE)


@lru_cache(2)
def site_names(site: Path, suffix: str) -> dict[str, set[Path]]:
    """Return the identifiers of figures, and numbers with that of a chapter, to the files of one kind with them."""
    names: dict[str, set[Path]] = defaultdict(set)
    left = MAX_BYTES
    for file, _ in islice(find_documents([site], suffixes={suffix.lower()}), MAX_FILES):
        try:
            text = read_plain(file, left)
        except (OSError, ValueError):
            continue
        left -= len(text)
        for match in _NAMES.finditer(text):
            number = match[1] and match[1].replace(b"-", b".")
            names[(number or match[0]).decode(errors="replace")].add(file.resolve())
    return names


def forget_sites() -> None:
    """Forget the names in sites, whose documents may have changed."""
    site_names.cache_clear()
