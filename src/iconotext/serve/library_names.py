"""Names for the files of a library that do not tell in which folders of this machine they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath


class LibraryNames:
    """Names of files, relative to what was added to the library: for ``/home/ada/photos`` they begin with ``photos``.

    Args:
        roots: The files and folders that were added, absolute; none is inside another.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        parts = {root: PurePath(root).parts[1:] for root in roots}
        ends = Counter(end for each in parts.values() for end in _ends(each))
        self._names = {
            root: "/".join(next((end for end in _ends(each) if ends[end] == 1), each)) for root, each in parts.items()
        }
        self._roots = {name: root for root, name in self._names.items()}

    @property
    def roots(self) -> list[str]:
        """The names of the added files and folders."""
        return sorted(self._roots)

    def name(self, place: str) -> str:
        """The name of a file, or of an image in a file (``a.docx#image-3``); addresses on the web are unchanged."""
        if "://" in place[:12]:
            return place
        for root in (place, place.rpartition("#")[0], *_above(place)):
            if root in self._names:
                return self._names[root] + place.removeprefix(root)
        return "/".join(PurePath(place).parts[-2:])  # a picture of a document that is elsewhere

    def folder(self, name: str) -> str | None:
        """The folder with a name; None if nothing in it was added. Does not access the disk."""
        wanted = name.strip().strip("/")
        known = next((each for each in (wanted, *_above(wanted)) if each in self._roots), None)
        return None if known is None else self._roots[known] + wanted.removeprefix(known)


def _ends(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The last part of a path, the last two, ..., all."""
    return (parts[-count:] for count in range(1, len(parts) + 1))


def _above(path: str) -> Iterator[str]:
    """The parent folders of a file, nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
