"""What the files of a library are called where nobody needs to know in which folders of this machine they lie."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath


class LibraryNames:
    """Names of files, by what was added to the library: of ``/home/ada/photos``, they begin with ``photos``.

    Args:
        roots: The files and folders that were added, absolute.
    """

    def __init__(self, roots: Sequence[str]) -> None:
        self._names = {root: _shortest(root, roots) for root in sorted(roots, key=len, reverse=True)}

    @property
    def roots(self) -> list[str]:
        """The names of what was added."""
        return sorted(self._names.values())

    def name(self, place: str) -> str:
        """The name of a file, of an image in one (``a.docx#image-3``), or an address of the web as it is."""
        if "://" in place[:12]:
            return place
        for root, name in self._names.items():
            rest = place.removeprefix(root)
            if place.startswith(root) and rest[:1] in ("", "/", "#"):
                return name + rest
        return "/".join(PurePath(place).parts[-2:])  # a picture that a document shows from elsewhere

    def folder(self, name: str) -> str | None:
        """The folder of a name; None where nothing of it was added. No disk is asked."""
        wanted = name.strip().strip("/")
        for root, known in sorted(self._names.items(), key=lambda item: -len(item[1])):
            if wanted == known or wanted.startswith(f"{known}/"):
                return root + wanted.removeprefix(known)
        return None


def _shortest(root: str, roots: Sequence[str]) -> str:
    """The last parts of a path, as few as tell it from the others."""
    for count in range(1, len(PurePath(root).parts)):
        tail = PurePath(root).parts[-count:]
        if sum(PurePath(other).parts[-count:] == tail for other in roots) == 1:
            return "/".join(tail)
    return root.strip("/")
