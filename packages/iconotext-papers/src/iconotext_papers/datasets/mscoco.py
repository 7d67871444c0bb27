"""The MSCOCO documents of Hessel 2019 (supplement §1), out of the original annotations and images."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from iconotext.corpus.builders.captions import DocumentShape, Group, documents_of
from iconotext.corpus.builders.photos import (
    COCO,
    NO_IMAGE,
    Photo,
    captions_of,
    coco_photos,
    read_annotations,
    usable_photos,
)
from iconotext.corpus.found_images import ImageFolders
from iconotext.corpus.row import Split
from iconotext.errors import CorpusError
from iconotext_papers.datasets.downloads import DataSetSettings
from iconotext_papers.published.sizes import PUBLISHED

if TYPE_CHECKING:
    from iconotext.corpus.builders.build import Build, Values
    from iconotext.corpus.builders.photos import Annotations

TRAIN_2014 = "captions_train2014.json"

FILES = (TRAIN_2014, "captions_train2017.json", "captions_val2014.json", "captions_val2017.json")
"""Files of annotations, in the order in which they are read; the editions divide the same photographs differently."""

IMAGES_2014 = 82_783
"""Number of images in the published captions_train2014.json."""

SIZES: dict[Split, int] = {"train": 4_968, "validation": 1_655, "test": 1_655}
"""Number of documents of each split; a training document in several versions counts once."""


class Settings(DocumentShape, DataSetSettings):
    """Make the MSCOCO documents of Hessel 2019 (supplement §1): ten images, ten sentences, five links.

    The source has `annotations/captions_train2014.json` and any others of 2014 and 2017, and the unpacked folders of
    images. Half of the photographs are true images, half are without their captions; a fifth of the documents is for
    validation, a fifth for test; those for training come in five versions, with other captions of the same images.

    **Examples**

    - `iconotext papers build mscoco --source coco/ --output mscoco.jsonl`
    - `iconotext papers build mscoco -s annotations/ --images images/ -o m.parquet`
    - `iconotext papers build mscoco --source coco/ -o all.parquet --photographs all`
    """

    photographs: Literal["published", "all", "train2014"] = "published"
    """Which photographs are used. published: the 82,783 of captions_train2014.json, if that is the published file,
    since they give the paper's number of documents, else all that are found."""

    verify: bool = True
    """Decode each image. Else it only has to be there."""

    seed: int = 0
    """Seed of the random choices."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Documents of MSCOCO, split after split; see ``Settings``."""
    files = annotation_files(settings.source)
    folders = ImageFolders(settings.image_folder)
    annotations = read_annotations(build, files)
    only = _only(build, settings, files, annotations)
    report = build.report
    report.count("annotation files", len(files))
    report.count("images in them", annotations.count_images())
    listed = annotations.count_images(source=only)
    report.count("images that are used if they are there", listed, IMAGES_2014)
    captioned = coco_photos(build, annotations, folders, source=only)
    photos, _ = usable_photos(build, captioned, verify=settings.verify)
    missing = report.dropped[NO_IMAGE]
    report.count("images that are not there", missing)
    report.count("images that are there and can be read", len(photos))
    report.count("captions of them", sum(len(photo.captions) for photo in photos))
    report.count("captions that two annotation files have", annotations.repeated_captions)
    if listed and missing == listed:
        raise _none_there(settings, listed)
    yield from _documents(build, photos, settings)


def annotation_files(source: Path) -> list[Path]:
    """Return the files of captions of a folder, in it or in its folder ``annotations``, in the order of ``FILES``."""
    if source.is_file():
        raise CorpusError(
            f"{source}: a file; name the folder that has annotations/ and the pictures, or one with annotations and "
            "images=..., the folder of the pictures"
        )
    candidates = [
        next((path for path in (source / "annotations" / name, source / name) if path.is_file()), None)
        for name in FILES
    ]
    files = [path for path in candidates if path is not None]
    if not files:
        raise CorpusError(
            f"{source}: no annotations/{TRAIN_2014}, nor another of {', '.join(FILES[1:])}: unpack "
            f"annotations_trainval2014.zip there; get it from {COCO}"
        )
    return files


def _only(build: Build, settings: Settings, files: Sequence[Path], annotations: Annotations) -> int | None:
    """Return the number of the file whose images are used, None for all; the report notes the reason."""
    note = build.report.note
    has_2014 = files[0].name == TRAIN_2014
    if settings.photographs == "train2014":
        if not has_2014:
            raise CorpusError(
                f"{settings.source}: photographs=train2014 needs annotations/{TRAIN_2014}; get it from {COCO}"
            )
        note(f"photographs=train2014: the images of {TRAIN_2014} are used")
        return 0
    if settings.photographs == "all":
        note("photographs=all: all images of all annotation files are used")
        return None
    listed = annotations.count_images(source=0) if has_2014 else 0
    if listed == IMAGES_2014:
        note(
            f"photographs=published: {TRAIN_2014} lists {listed:,} images, as published, and these are used: half of "
            "them in groups of five are the paper's 8,278 = 4,968 + 1,655 + 1,655 documents, while those of all "
            "annotation files that the supplement names would be 12,328"
        )
        return 0
    fault = f"lists {listed:,} images, not {IMAGES_2014:,} as published" if has_2014 else "is not there"
    note(f"photographs=published: {TRAIN_2014} {fault}; all images of all annotation files are used")
    return None


def _none_there(settings: Settings, listed: int) -> CorpusError:
    source = settings.source if settings.source.name else settings.source.absolute()
    above = f"source={source.parent} or " if settings.images is None and source.name == "annotations" else ""
    return CorpusError(
        f"{settings.image_folder}: none of {listed:,} images is there: give {above}images=..., the folder that has "
        "them, or unpack train2014.zip and val2014.zip, or those of 2017, beside the annotations; get them from "
        f"{COCO}"
    )


def _documents(build: Build, photos: Sequence[Photo], settings: Settings) -> Iterator[Values]:
    """Draw true and fake images, divide them into groups, and those into splits; and report the numbers."""
    report = build.report
    order = array("q", range(len(photos)))
    random.Random(f"mscoco {settings.seed}").shuffle(order)
    half = len(order) // 2
    count = half // max(settings.pairs, settings.distractor_images)
    if not count:
        raise CorpusError(
            f"{len(photos)} images are there and can be read, a document needs {settings.size}: "
            "see whether all were unpacked, or ask for smaller documents (pairs, distractor_images)"
        )
    fifth = count // 5
    sizes: dict[Split, int] = {"train": count - 2 * fifth, "validation": fifth, "test": fifth}
    report.count("true images", half)
    report.count("fake images", half)
    report.count("groups of true and fake images", count, sum(SIZES.values()))
    report.count("images left over", len(order) - count * settings.size)
    for split, size in sizes.items():
        report.count(f"documents for {split}, before versions", size, SIZES[split])
    groups = list(_groups(order, half, sizes, settings))
    pools: dict[Split, Sequence[str]] = {}
    for split in sizes:
        members = sorted(i for group in groups if group.split == split for i in group.photos)
        pools[split] = captions_of(build, photos, members)
    build.published = PUBLISHED["MSCOCO"]
    yield from documents_of(photos, build.watch(groups, total=count, label="Making documents"), pools, settings)


def _groups(order: Sequence[int], half: int, sizes: Mapping[Split, int], settings: Settings) -> Iterator[Group]:
    """Pair each group of true images, which come first in the order, with one of fake images."""
    true, fake = settings.pairs, settings.distractor_images
    group = 0
    for split, size in sizes.items():
        for number in range(size):
            photos = (
                *order[group * true : (group + 1) * true],
                *order[half + group * fake : half + (group + 1) * fake],
            )
            yield Group(split, settings.seed, number, photos, divided=True)
            group += 1
