"""Picture files below some folders, found by their names without a list of them in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from iconotext.errors import CorpusError


class ImageFolders:
    """Some folders and all folders in them.

    Args:
        roots: Hidden folders below them, and links to folders, are passed over.

    Raises:
        CorpusError: There is no such folder.
    """

    def __init__(self, *roots: Path) -> None:
        self._folders: list[Path] = []
        for root in roots:
            if not root.is_dir():
                raise CorpusError(f"{root}: not a folder; name the one that has the pictures")
            for place, folders, _ in os.walk(root):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                self._folders.append(Path(place))

    def find(self, names: Iterable[str]) -> Path | None:
        """The first file of one of the names, ways below one of the folders or bare names; None if there is none.

        Where several folders have it, the first one counts, always the same: a folder before those in it, and these in
        the order of their names.
        """
        for name in names:
            way = PurePosixPath(name.replace("\\", "/"))
            if way.is_absolute() or ".." in way.parts or not way.name:
                continue
            for candidate in dict.fromkeys((str(way), way.name)):
                for folder in self._folders:
                    if os.path.isfile(folder / candidate):
                        return folder / candidate
        return None
