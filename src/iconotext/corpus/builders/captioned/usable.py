"""The photographs of a source that a build can use, on disk: millions of them, of which a few are ever in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from iconotext.corpus.builders.captioned.photos import Photo
from iconotext.corpus.builders.image_checks import image_problem
from iconotext.corpus.builders.run import Build
from iconotext.corpus.image_files import named_by_address


def usable_photos(build: Build, photos: Iterable[Photo], *, verify: bool) -> tuple[Sequence[Photo], int]:
    """The usable photographs of a source, their images as the corpus names them; and how many there were in all.

    Dropped and reported are those whose image an earlier one has, and those whose image cannot be read.

    Args:
        verify: Whether each image is read to its end; else they are taken to be good. Addresses are not looked at.
    """
    taken: set[str] = set()

    def records() -> Iterator[list[Any]]:
        for photo in build.watch(photos, label="Reading captions"):
            image = photo.image if named_by_address(photo.image) else build.relative_path(photo.file)
            yield [image, photo.captions, photo.split, image in taken]
            taken.add(image)

    every = build.spool("photos", records())
    usable = build.spool("usable photos", _usable(build, every, verify=verify), _photo)
    return usable, len(every)


def captions_of(build: Build, photos: Sequence[Photo], members: Iterable[int], name: str) -> Sequence[str]:
    """All captions of some of the photographs, in their order, on disk."""
    return build.spool(f"captions {name}", (text for number in members for text in photos[number].captions))


def _photo(record: list[Any]) -> Photo:
    image, captions, split = record
    return Photo(image, tuple(captions), split)


def _usable(build: Build, records: Sequence[list[Any]], *, verify: bool) -> Iterator[list[Any]]:
    """The photographs that can be used; what is dropped is reported."""

    def files() -> Iterator[Path | None]:
        for image, _, _, repeats in records:
            yield None if repeats or named_by_address(image) else build.folder / image

    total = len(records)
    looked = build.looked_at(files(), _problem, total=total, label="Reading images") if verify else [None] * total
    for (*photo, repeats), problem in zip(records, looked, strict=True):
        if repeats:
            build.report.drop("photographs that come twice", photo[0])
        elif problem is not None:
            build.report.drop("unreadable images", photo[0], problem)
        else:
            yield photo


def _problem(path: str | None) -> str | None:
    return None if path is None else image_problem(path)
