"""The photographs of a source that a build can use, on disk: millions of them, of which a few are ever in memory."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, compress
from pathlib import Path
from typing import overload

from iconotext.corpus.builders.captioned.photos import Photo
from iconotext.corpus.builders.image_checks import image_problem
from iconotext.corpus.builders.run import Build
from iconotext.corpus.builders.spool import Spool
from iconotext.corpus.image_files import named_by_address
from iconotext.corpus.row import Split


class PhotoStore(Sequence[Photo]):
    """The usable ones among the photographs of a source, their images as the corpus names them.

    Dropped and reported are those whose image an earlier one has, and those whose image cannot be read.

    Args:
        build: Its folder keeps them.
        photos: Read once.
        verify: Whether each image is read to its end; else they are taken to be good. Addresses are not looked at.

    Attributes:
        read: How many photographs there were.
        splits: Of the usable ones.
        captions: How many captions each of them has.
    """

    def __init__(self, build: Build, photos: Iterable[Photo], *, verify: bool) -> None:
        splits: list[Split | None] = []
        captions = array("q")
        repeats = bytearray()
        taken: set[str] = set()

        def records() -> Iterator[list[str]]:
            for photo in build.watch(photos, label="Reading captions"):
                splits.append(photo.split)
                captions.append(len(photo.captions))
                image = _named(build, photo)
                repeats.append(image in taken)
                taken.add(image)
                yield [image, *photo.captions]

        self._records = build.spool("photos", records())
        good = bytearray(_usable(build, self._records, repeats, verify=verify))
        self.read = len(self._records)
        self.splits = list(compress(splits, good))
        self.captions = array("q", compress(captions, good))
        self._places = array("q", compress(range(self.read), good))

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Photo: ...

    @overload
    def __getitem__(self, index: slice) -> list[Photo]: ...

    def __getitem__(self, index: int | slice) -> Photo | list[Photo]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        image, *captions = self._records[self._places[index]]
        return Photo(image, tuple(captions))


class Captions(Sequence[str]):
    """All captions of some of the photographs of a store, in their order.

    Args:
        photos: The store.
        members: Numbers of the photographs.
    """

    def __init__(self, photos: PhotoStore, members: Sequence[int]) -> None:
        self._photos = photos
        self._members = members
        self._ends = array("q", accumulate(photos.captions[i] for i in members))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        place = bisect_right(self._ends, index)
        start = self._ends[place - 1] if place else 0
        return self._photos[self._members[place]].captions[index - start]


def _named(build: Build, photo: Photo) -> str:
    """The image of a photograph as the corpus names it."""
    return photo.image if named_by_address(photo.image) else build.relative_path(photo.file)


def _usable(build: Build, records: Spool, repeats: Sequence[int], *, verify: bool) -> Iterator[bool]:
    """Whether each photograph can be used; what is dropped is reported."""

    def files() -> Iterator[Path | None]:
        for (image, *_), repeat in zip(records, repeats, strict=True):
            yield None if repeat or named_by_address(image) else build.folder / image

    total = len(records)
    looked = build.looked_at(files(), _problem, total=total, label="Reading images") if verify else [None] * total
    for (image, *_), repeat, problem in zip(records, repeats, looked, strict=True):
        if repeat:
            build.report.drop("photographs that come twice", image)
        elif problem is not None:
            build.report.drop("unreadable images", image, problem)
        yield not repeat and problem is None


def _problem(path: str | None) -> str | None:
    return None if path is None else image_problem(path)
