"""Pictures that a data set names: where they are below a folder, and whether they can be used, each looked at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from iconotext.corpus.builders.frame.build import Build
from iconotext.corpus.builders.images.folders import ImageFolders
from iconotext.corpus.builders.images.problem import image_problem

MISSING = "not found"


class NamedImages:
    """The pictures of a folder and of the folders in it, by name.

    Args:
        build: The run that needs them.
        folder: See ``ImageFolders``.
        files: Names that the file of a picture may have, the likeliest first.

    Raises:
        CorpusError: There is no such folder.
    """

    def __init__(self, build: Build, folder: Path, files: Callable[[str], Iterable[str]]) -> None:
        self._build = build
        self._folder = folder
        self._way = build.way(folder)
        self._folders = ImageFolders(folder)
        self._files = files
        self._problems: dict[str, str] = {}

    def check(self, names: Iterable[str], *, verify: bool, total: int = 0) -> int:
        """Look at pictures, which may be asked for afterwards; once per build.

        Args:
            names: Different ones; the same ones in the same order in every run.
            verify: Decode each to its last line, on all cores; else only look whether it is there.
            total: How many, for a progress bar; 0 where nobody knows.

        Returns:
            How many of them are there.
        """
        found = 0
        for name, place, problem in self._verified(names, total) if verify else self._found(names, total):
            found += place is not None
            if problem is not None:
                self._problems[name] = problem
        return found

    def _found(self, names: Iterable[str], total: int) -> Iterator[tuple[str, str | None, str | None]]:
        """Name, place and problem of each, without a look into the files."""
        for name in self._build.watch(names, total=total, label="Pictures"):
            place = self._place(name)
            yield name, place, MISSING if place is None else None

    def _verified(self, names: Iterable[str], total: int) -> Iterator[tuple[str, str | None, str | None]]:
        """Name, place and problem of each."""
        waiting: deque[tuple[str, str | None]] = deque()  # until the result is there

        def places() -> Iterator[str | None]:
            for name in names:
                place = self._place(name)
                waiting.append((name, place))
                yield place

        work = partial(_looked_at, str(self._folder.resolve()))
        for earlier, problem in self._build.mapped("pictures", places(), work, total=total, label="Pictures"):
            name, place = waiting.popleft()
            if earlier != place:  # it came, went or moved after a run that was killed had looked at it
                problem = work(place)[1]
            yield name, place, problem

    def problem(self, name: str) -> str | None:
        """Why a picture cannot be used; None for one that can."""
        return self._problems.get(name)

    def way(self, name: str) -> str:
        """How the corpus names the file of a picture that can be used."""
        place = self._place(name)
        if place is None:
            raise ValueError(f"{name} is not there")
        return PurePosixPath(self._way, place).as_posix()

    def _place(self, name: str) -> str | None:
        """The way from the folder to the file."""
        file = self._folders.find(self._files(name))
        return None if file is None else file.relative_to(self._folder).as_posix()


def _looked_at(folder: str, place: str | None) -> tuple[str | None, str | None]:
    """Which file was looked at, and what is wrong with it."""
    return place, MISSING if place is None else image_problem(str(Path(folder, place)))
