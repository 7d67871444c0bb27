"""Documents out of any set of photographs with captions, by the rules of Hessel 2019 (supplement §1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from iconotext.corpus.builders.captioned.documents import CaptionSettings, deal, stored_documents
from iconotext.corpus.builders.captioned.photo_store import SPLIT_OF_CODE, PhotoStore, Stored
from iconotext.corpus.builders.captioned.photos import NO_IMAGE
from iconotext.corpus.builders.captioned.sources import CaptionFormat, caption_photos
from iconotext.corpus.builders.captioned.splits import validation_as_test
from iconotext.corpus.builders.captioned.usable_photos import usable_photos
from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.image_files import named_by_address
from iconotext.corpus.row import SPLITS, Split
from iconotext.corpus.split import Shares, share_out
from iconotext.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.types import FloatMatrix

RULES: dict[Literal["mscoco", "dii", "dii-stress"], dict[str, Any]] = {
    "mscoco": {},
    "dii": {"distractor_images": 0, "distractor_captions": 0, "topical": True},
    "dii-stress": {"distractor_images": 0, "distractor_captions": 45, "topical": True},
}
"""Settings that differ from the default, for documents like those of a data set of the paper."""

Look = Callable[[Sequence[Path]], Iterator["FloatMatrix"]]
"""What says how pictures look: (pictures, d) for all of them, some after the other."""


class CaptionsSettings(CaptionSettings):
    """Where captions come from, how photographs are divided, and how documents are made."""

    format: CaptionFormat | Literal["auto"] = "auto"
    """Of the source; ``auto``: as its files look."""

    images: Path | None = None
    """Folder with the pictures; none: in the source, or beside it."""

    validation: float = Field(0, ge=0)
    """Share of the photographs without a split for validation."""

    test: float = Field(0, ge=0)
    """The same for test."""

    test_on_validation: bool = False
    """Whether the photographs for validation are for test, and those for training free to be shared out."""

    verify: bool = True
    """Whether each picture is read to its end to see whether it can be; else it only has to be there."""


def captions_rows(
    build: Build, source: Path, settings: CaptionsSettings, *, look: Look | None = None
) -> Iterator[Values]:
    """Documents out of the photographs of a source.

    Args:
        build: The run.
        source: A file of captions, or a folder with one.
        settings: How.
        look: Needed for topical documents only.

    Raises:
        CorpusError: The source is in no known format or broken, none of its pictures is there, or it has too little
            for a document.
        SettingError: Shares, or ``test_on_validation``, do not fit the splits that the source has; topical documents
            are asked for without ``look``.
    """
    shares = Shares(settings.validation, settings.test)
    if settings.test_on_validation and not settings.validation:
        raise SettingError("test_on_validation=True leaves none to validate on: say how many, as validation=0.1")
    if settings.topical and look is None:
        raise SettingError("topical documents need something that says how pictures look")
    format_ = None if settings.format == "auto" else settings.format
    photos = caption_photos(build, source, format_, settings.images)
    stored, usable = usable_photos(build, photos, verify=settings.verify)
    report = build.report
    missing = report.dropped[NO_IMAGE]
    if missing and not len(stored):
        where = "images=... names their folder" if settings.images is None else f"is {settings.images} their folder?"
        raise CorpusError(f"{source}: none of the pictures of {missing:,} captioned photographs is there: {where}")
    report.count("photographs that are there and have captions", len(stored))
    report.count("photographs that are used", len(usable))
    report.count("captions of them", int(stored.captions[usable].sum()))
    members = _divided(stored, usable, settings, shares, seed=build.seed)
    for split, some in members.items():
        report.count(f"photographs for {split}", len(some))
    vectors = _vectors(build, stored, usable, look) if settings.topical and look is not None else None
    groups = deal(members, settings, seed=build.seed, vectors=vectors)
    total = sum(settings.shuffles_of(split) * (len(some) // settings.size) for split, some in members.items())
    yield from stored_documents(build, stored, members, groups, settings, total=total)


def _divided(
    stored: Stored, usable: NDArray[np.int64], settings: CaptionsSettings, shares: Shares, *, seed: int
) -> dict[Split, NDArray[np.int64]]:
    """The photographs of each split, in their order."""
    splits = [SPLIT_OF_CODE[code] for code in stored.splits[usable]]
    if settings.test_on_validation:
        splits = validation_as_test(splits)
    if settings.validation or settings.test:
        splits = [*share_out(splits, shares, seed=seed)]
    codes = np.fromiter((SPLIT_OF_CODE.index(split or "train") for split in splits), np.uint8, len(splits))
    members = {split: usable[codes == SPLIT_OF_CODE.index(split)] for split in SPLITS}
    return {split: some for split, some in members.items() if len(some)}


def _vectors(build: Build, stored: Stored, usable: NDArray[np.int64], look: Look) -> FloatMatrix:
    """(photographs, d) how the pictures look; rows of those that are not used say nothing.

    Raises:
        CorpusError: An image is an address.
    """
    store = PhotoStore(stored.folder)
    files = []
    for i in usable.tolist():
        image = store[i].image
        if named_by_address(image):
            raise CorpusError(f"image {image}: is an address, and topical documents need pictures to look at")
        files.append(build.folder / image)
    path = stored.folder / "vectors"
    dim = size = done = 0
    with path.open("wb") as file:  # a map would be quicker to fill, but on a full disk the system ends who fills it
        for some in look(files):
            dim = some.shape[1]
            size = dim * np.dtype(np.float32).itemsize
            for place, row in zip(usable[done : done + len(some)].tolist(), some, strict=True):
                file.seek(place * size)
                file.write(np.ascontiguousarray(row, np.float32).tobytes())
            done += len(some)
        file.truncate(len(stored) * size)
    return np.memmap(path, np.float32, "r", shape=(len(stored), dim)) if dim else np.zeros((len(stored), 0), np.float32)
