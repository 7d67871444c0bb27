"""One run of a builder as the builder sees it: ``BuilderSettings``, and ``Build`` with the operations that it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict

from iconotext.corpus.builders.fetched import fetch_images
from iconotext.corpus.builders.report import BuildReport
from iconotext.corpus.split import Shares, share_out
from iconotext.errors import ImageError
from iconotext.images import decode
from iconotext.system.processes import Watch, in_order, unwatched
from iconotext.system.spool import Spool

if TYPE_CHECKING:
    from iconotext.corpus.stats import PublishedSizes

Item = TypeVar("Item")
Result = TypeVar("Result")

Values = dict[str, Any]  # a document as the columns of a corpus file, see ``corpus.row``; unknown columns are left out

CHUNK = 64  # number of items that go to a worker together

FOLDERS = 1024  # number of folders whose path from the corpus is cached


class BuilderSettings(BaseModel):
    """Settings of a builder, from which its command is made.

    Every field is an option with the field's docstring as its help; the docstring of the class is that of the command.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    source: Path | tuple[Path, ...]
    """What is read."""

    def sources(self) -> list[Path]:
        """Return the files and folders that are read and must exist."""
        return [self.source] if isinstance(self.source, Path) else list(self.source)


@dataclass(slots=True)
class Build:
    """One run of a builder, with the operations that builders need.

    Attributes:
        work: A folder for temporary files.
        force: Whether existing files may be replaced.
        opened: Files that are closed when the build ends.
        published: The paper's sizes of the whole, with which those of the corpus are compared in the end. Set by a
            builder.
    """

    output: Path
    work: Path
    workers: int
    report: BuildReport
    watcher: Watch = unwatched
    force: bool = False
    published: PublishedSizes | None = None
    opened: ExitStack = field(default_factory=ExitStack)

    @property
    def folder(self) -> Path:
        """The folder of the corpus; paths of images are written relative to it."""
        return self.output.parent

    def watch(self, items: Iterable[Item], *, total: int = 0, label: str) -> Iterator[Item]:
        """Pass items on, and show progress."""
        yield from self.watcher(items, total=total, label=label)

    def mapped(
        self, items: Iterable[Item], work: Callable[[Item], Result], *, total: int = 0, label: str, chunk: int = CHUNK
    ) -> Iterator[Result]:
        """Yield the result of work on each item, in their order, on all cores.

        Args:
            work: A function that can be sent to another process: one of a module, or ``functools.partial`` of one.
            total: Number of items, for a progress bar; 0 if unknown.
            chunk: Number of items that are sent together; small if an item takes long.
        """
        iterator = iter(items)
        chunks = iter(lambda: list(islice(iterator, chunk)), [])
        batches = in_order(chunks, partial(_all, work), self.workers)
        yield from self.watch((result for _, results in batches for result in results), total=total, label=label)

    def checked(
        self, files: Iterable[Path | None], look: Callable[[str | None], Result], *, total: int = 0, label: str
    ) -> Iterator[Result]:
        """Yield the result of ``look`` for each image file, on all cores."""
        paths = (None if file is None else str(file) for file in files)
        yield from self.mapped(paths, look, total=total, label=label)

    def fetched(self, addresses: Iterable[str], folder: Path, interval: float) -> dict[str, str]:
        """Fetch the images that are not in a folder yet into it; returns the problems by address."""
        unique, new = dict.fromkeys(addresses), 0
        problems: dict[str, str] = {}
        for picture in self.watch(fetch_images(unique, folder, interval=interval), total=len(unique), label="Fetching"):
            if picture.problem is not None:
                problems[picture.address] = picture.problem
            new += picture.new and picture.problem is None
        self.report.count("pictures fetched now", new)
        return problems

    def spool(self, values: Iterable[Item]) -> Spool[Item]:
        """Write values to a file, from which they can be read while the build runs."""
        return self.opened.enter_context(Spool(values, folder=self.work))

    def with_random_splits(self, documents: Iterable[Values], shares: Shares, *, seed: int) -> Iterator[Values]:
        """Assign random splits (train, validation, test) to documents, after the last document has come."""
        waiting = self.spool(documents)
        splits = share_out([None] * len(waiting), shares, seed=seed)
        for split, values in zip(splits, waiting, strict=True):
            yield values | {"split": split}

    def relative_path(self, path: Path) -> str:
        """Return the corpus's name for a file: its path relative to the folder of the corpus, with ``/``."""
        return f"{_relative_folder(path.absolute().parent, self.folder.absolute())}{path.name}"


@lru_cache(FOLDERS)
def _relative_folder(path: Path, start: Path) -> str:
    """Return the path from one absolute folder to another, with a ``/`` at its end; empty if they are the same."""
    try:
        folder = Path(os.path.relpath(path.resolve(), start.resolve()))
    except ValueError:  # another drive of a Windows machine
        folder = path.resolve()
    return "" if folder == Path() else f"{folder.as_posix().removesuffix('/')}/"


def _all(work: Callable[[Item], Result], items: list[Item]) -> list[Result]:
    return [work(item) for item in items]


MISSING = "not found"


def image_problem(path: str | None) -> str | None:
    """Return why an image cannot be used: it is missing, is not a picture, or cannot be decoded to its last line."""
    if path is None:
        return MISSING
    try:
        decode(Path(path), at_least=1)
    except ImageError as error:
        return str(error).removeprefix(f"{path}: ")
    return None
