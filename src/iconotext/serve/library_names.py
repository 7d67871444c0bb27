"""What the files of a library are called where nobody needs to know in which folders of this machine they lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath


class LibraryNames:
    """Names of files, by what was added to the library: of ``/home/ada/photos``, they begin with ``photos``.

    Args:
        roots: The files and folders that were added, absolute; none lies in another.
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
        """The names of what was added."""
        return sorted(self._roots)

    def name(self, place: str) -> str:
        """The name of a file, of an image in one (``a.docx#image-3``), or an address of the web as it is."""
        if "://" in place[:12]:
            return place
        for root in (place, place.rpartition("#")[0], *_above(place)):
            if root in self._names:
                return self._names[root] + place.removeprefix(root)
        return "/".join(PurePath(place).parts[-2:])  # a picture that a document shows from elsewhere

    def folder(self, name: str) -> str | None:
        """The folder of a name; None where nothing of it was added. No disk is asked."""
        wanted = name.strip().strip("/")
        known = next((each for each in (wanted, *_above(wanted)) if each in self._roots), None)
        return None if known is None else self._roots[known] + wanted.removeprefix(known)


def _ends(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The last part of a path, the last two, ..., all."""
    return (parts[-count:] for count in range(1, len(parts) + 1))


def _above(path: str) -> Iterator[str]:
    """The folders around a file, the nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
