"""The photographs of a source that a build can use, on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.corpus.builders.captioned.photo_store import PhotoStore, Stored, store_photos
from iconotext.corpus.builders.captioned.photos import Photo
from iconotext.corpus.builders.frame.build import Build
from iconotext.corpus.builders.images.problem import image_problem
from iconotext.corpus.image_files import named_by_address

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDERS = 1024
"""Folders of pictures whose way from the corpus is remembered."""


def usable_photos(build: Build, photos: Iterable[Photo], *, verify: bool) -> tuple[Stored, NDArray[np.int64]]:
    """Put photographs on disk, their images as the corpus names them; and the numbers of those that can be used.

    Dropped and reported are those whose image an earlier one has, and those whose picture cannot be read.

    Args:
        build: Its folder keeps them.
        photos: Read once.
        verify: Whether each picture is read to its end; else they are taken to be good. Addresses are not looked at.
    """
    stored = store_photos(_named(build, build.watch(photos, label="Reading captions")), build.work / "photos")
    usable = ~stored.repeats
    if stored.repeats.any() or verify:
        for i, (image, problem) in enumerate(_problems(build, stored, verify=verify)):
            if stored.repeats[i]:
                build.report.drop("photographs that come twice", image)
            elif problem is not None:
                usable[i] = False
                build.report.drop("unreadable images", image, problem)
    return stored, np.flatnonzero(usable)


def _named(build: Build, photos: Iterable[Photo]) -> Iterator[Photo]:
    """The photographs with their images as the corpus names them."""
    way = lru_cache(FOLDERS)(build.way)
    for photo in photos:
        if not named_by_address(photo.image):
            yield replace(photo, image=Path(way(photo.file.parent), photo.file.name).as_posix())
        else:
            yield photo


def _problems(build: Build, stored: Stored, *, verify: bool) -> Iterator[tuple[str, str | None]]:
    """The image of each photograph, and why it cannot be used, where that was looked at."""
    store = PhotoStore(stored.folder)
    looked_at = (
        str(build.folder / image)
        for image, repeat in zip(store.images(), stored.repeats, strict=True)
        if verify and not repeat and not named_by_address(image)
    )
    name = f"pictures-{stored.digest}"  # of other photographs than a killed run had, nothing is known yet
    problems = build.mapped(name, looked_at, image_problem, total=len(stored), label="Reading pictures")
    for image, repeat in zip(store.images(), stored.repeats, strict=True):
        known = verify and not repeat and not named_by_address(image)
        yield image, next(problems) if known else None
    next(problems, None)
