"""Documents out of any set of photographs with captions, by the rules of Hessel 2019 (supplement §1)."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from iconotext.corpus.builders.captioned.documents import CaptionSettings, deal, documents_of
from iconotext.corpus.builders.captioned.photos import NO_IMAGE, Photo, captions_of, usable_photos
from iconotext.corpus.builders.captioned.sources import caption_photos
from iconotext.corpus.builders.settings import BuilderSettings
from iconotext.corpus.convert import pooled_features
from iconotext.corpus.image_files import named_by_address
from iconotext.corpus.row import SPLITS, Split
from iconotext.corpus.split import Shares, share_out
from iconotext.errors import CorpusError, SettingError
from iconotext.features import FeatureCache, cached_image, downloads, load_image_backbone
from iconotext.features.model_folder import IMAGE_BACKBONES, find_model

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values
    from iconotext.types import FloatMatrix

RULES: dict[str, dict[str, Any]] = {
    "mscoco": {},
    "dii": {"distractor_images": 0, "distractor_captions": 0, "topical": True},
    "dii-stress": {"distractor_images": 0, "distractor_captions": 45, "topical": True},
}
"""Settings that differ from the default, for documents like those of a data set of the paper."""


class Settings(CaptionSettings, BuilderSettings):
    """Make documents out of photographs with captions, by the rules of Hessel 2019 (supplement §1).

    In training there are up to five versions of a document, with other captions of the same images; in validation and
    test one, with the first captions. Distractor captions come from other photographs of the same split.

    **Examples**

    - `iconotext corpus build captions --source captions.jsonl -o corpus.jsonl --validation 0.1 --test 0.1`
    - `iconotext corpus build captions --source Flickr8k/ -o benchmark.jsonl --evaluation-shuffles 5`
    - `iconotext corpus build captions --source results_20130124.token --images flickr30k-images -o flickr30k.parquet`
    - `iconotext corpus build captions --source flickr8k/captions.jsonl -o dii.parquet --rule dii`
    """

    source: Path
    """File of captions, or folder with one: JSON lines {"image": ..., "captions": [...]}, Flickr8k, Flickr30k, COCO,
    or Pascal sentences."""

    format: Literal["auto", "jsonl", "flickr", "coco", "pascal"] = "auto"
    """Format of the captions; auto: as the files look."""

    images: Path | None = None
    """Folder with the images, where they are not in the source or beside it."""

    rule: Literal["mscoco", "dii", "dii-stress"] = "mscoco"
    """mscoco: 5 pairs, 5 other images, 5 other captions. dii: 5 pairs of similar images. dii-stress: and 45 other
    captions."""

    validation: float = Field(0, ge=0)
    """Share of the photographs without a split for validation."""

    test: float = Field(0, ge=0)
    """The same for test."""

    test_on_validation: bool = False
    """Test on the photographs meant for validation; --validation then takes a share of those for training."""

    backbone: str = "efficientnet-lite0"
    """Backbone that says which images are similar, for topical documents."""

    download: bool = False
    """Fetch a backbone that is not here from the Hugging Face hub."""

    verify: bool = True
    """Read each image to its end to see whether it can be; else it only has to be there."""

    seed: int = 0
    """Seed of the random choices."""

    @model_validator(mode="before")
    @classmethod
    def _by_rule(cls, given: dict[str, Any]) -> dict[str, Any]:
        return {**RULES.get(given.get("rule", "mscoco"), {}), **given}


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Documents out of the photographs of a source.

    Raises:
        CorpusError: The source is in no known format or broken, none of its images is there, or it has too little for
            a document.
        FeatureError: There is no such backbone.
        SettingError: Shares, or ``test_on_validation``, do not fit the splits that the source has.
    """
    shares = Shares(settings.validation, settings.test)
    if settings.test_on_validation and not settings.validation:
        raise SettingError("test_on_validation=True leaves none to validate on: say how many, as validation=0.1")
    if not settings.download:
        find_model(settings.backbone, IMAGE_BACKBONES)  # rather now than after everything was read
    format_ = None if settings.format == "auto" else settings.format
    found = caption_photos(build, settings.source, format_, settings.images)
    photos, read = usable_photos(build, found, verify=settings.verify)
    _check_there(build, settings, photos, read)
    members = _divided(photos, settings, shares)
    for split, some in members.items():
        build.report.count(f"photographs for {split}", len(some))
    vectors = _vectors(build, photos, settings) if settings.topical else None
    groups = deal(members, settings, seed=settings.seed, vectors=vectors)
    pools = {split: captions_of(build, photos, some) for split, some in members.items()}
    total = sum(settings.shuffles_of(split) * (len(some) // settings.size) for split, some in members.items())
    watched = build.watch(groups, total=total, label="Making documents")
    yield from documents_of(photos, watched, pools, settings)


def _check_there(build: Build, settings: Settings, photos: Sequence[Photo], read: int) -> None:
    """Report how many photographs there are; ``CorpusError`` where none of their images is there."""
    report = build.report
    missing = report.dropped[NO_IMAGE]
    if missing and not read:
        where = "images=... names their folder" if settings.images is None else f"is {settings.images} their folder?"
        raise CorpusError(
            f"{settings.source}: none of the pictures of {missing:,} captioned photographs is there: {where}"
        )
    report.count("photographs that are there and have captions", read)
    report.count("photographs that are used", len(photos))
    report.count("captions of them", sum(len(photo.captions) for photo in photos))


def _divided(photos: Sequence[Photo], settings: Settings, shares: Shares) -> dict[Split, array[int]]:
    """The numbers of the photographs of each split, in their order."""
    splits = [photo.split for photo in photos]
    if settings.test_on_validation:
        splits = validation_as_test(splits)
    if settings.validation or settings.test:
        splits = [*share_out(splits, shares, seed=settings.seed)]
    members: dict[Split, array[int]] = {split: array("q") for split in SPLITS}
    for number, split in enumerate(splits):
        members[split or "train"].append(number)
    return {split: some for split, some in members.items() if some}


def validation_as_test(splits: Collection[Split | None]) -> list[Split | None]:
    """Photographs for validation become those for test, and those for training get free to be shared out.

    For sets of photographs that come with two splits, where models are to be chosen on others than they are judged on.

    Raises:
        SettingError: There are none for validation, or some for test already.
    """
    if "validation" not in splits or "test" in splits:
        why = "has none for validation" if "validation" not in splits else "has photographs for test already"
        raise SettingError(f"test_on_validation=True is for data without a test split, and this {why}: leave it out")
    return ["test" if split == "validation" else None for split in splits]


def _vectors(build: Build, photos: Sequence[Photo], settings: Settings) -> FloatMatrix:
    """(photographs, d) how the images look."""
    files = []
    for photo in photos:
        if named_by_address(photo.image):
            raise CorpusError(f"image {photo.image}: is an address, and topical documents need pictures to look at")
        files.append(build.folder / photo.image)
    with downloads() if settings.download else nullcontext():
        backbone = cached_image(load_image_backbone(settings.backbone), FeatureCache())
    parts = list(pooled_features(backbone, files, build.watcher, "Looking at photographs"))
    return np.concatenate(parts).astype(np.float32) if parts else np.zeros((0, 0), np.float32)
