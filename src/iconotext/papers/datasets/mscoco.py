"""The MSCOCO documents of Hessel 2019 (supplement §1), out of the original annotations and images."""

from __future__ import annotations

import random
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from iconotext.corpus.builders.captioned.coco import COCO, coco_photos, load_annotations
from iconotext.corpus.builders.captioned.coco_table import CaptionTable
from iconotext.corpus.builders.captioned.documents import DocumentShape, Group, stored_documents
from iconotext.corpus.builders.captioned.photo_store import Stored
from iconotext.corpus.builders.captioned.photos import NO_IMAGE
from iconotext.corpus.builders.captioned.usable_photos import usable_photos
from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.builders.images.folders import ImageFolders
from iconotext.corpus.published_sizes import PUBLISHED
from iconotext.corpus.row import SPLITS, Split
from iconotext.errors import CorpusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRAIN_2014 = "captions_train2014.json"

FILES = (TRAIN_2014, "captions_train2017.json", "captions_val2014.json", "captions_val2017.json")
"""Annotations that count, in the order in which they are read; the editions divide the same photographs differently."""

IMAGES_2014 = 82_783
"""Images that the published captions_train2014.json lists."""

SIZES: dict[Split, int] = {"train": 4_968, "validation": 1_655, "test": 1_655}
"""Documents of each split, a training document in all its versions counted once."""

PUBLISHED_SIZES = PUBLISHED["MSCOCO"]

VERSIONS: dict[Split, int] = dict(zip(SPLITS, PUBLISHED_SIZES.documents, strict=True))
"""Documents of each split as Table 1 has them, in thousands."""


class MscocoSettings(DocumentShape):
    """How the documents are made."""

    photographs: Literal["published", "all", "train2014"] = "published"
    """Which photographs are used. ``published``: the 82,783 of captions_train2014.json, if that is the published file,
    since they give the paper's number of documents, else all that are found."""

    verify: bool = True
    """Whether each picture is read to its end to see whether it can be; else it only has to be there."""


def mscoco_rows(
    build: Build, source: Path, settings: MscocoSettings, *, images: Path | None = None
) -> Iterator[Values]:
    """Documents of ten images and ten sentences, five of them linked, from a folder of MSCOCO.

    Half of the photographs, drawn at random, are true images, the other half are without their captions. Groups of five
    of each make a document; a fifth of the groups is for validation and a fifth for test.

    Args:
        build: The run.
        source: The folder: annotation files in it or in ``annotations/``, pictures in it or in any folder in it.
        settings: How.
        images: Where the pictures are, if not in the source.

    Raises:
        CorpusError: Annotations or pictures are missing, or an annotation file is broken.
    """
    files = annotation_files(source)
    pictures = ImageFolders(images or source)
    report = build.report
    with CaptionTable(build.work / "annotations.sqlite") as table:
        load_annotations(build, files, table)
        only = _only(build, source, files, table, settings)
        report.count("annotation files", len(files))
        report.count("images in them", table.count_images())
        listed = table.count_images(source=only)
        report.count("images that are used if they are there", listed, IMAGES_2014)
        stored, usable = usable_photos(build, coco_photos(build, table, pictures, source=only), verify=settings.verify)
        repeated = table.repeated_captions
    missing = report.dropped[NO_IMAGE]
    report.count("images that are not there", missing)
    report.count("images that are there and can be read", len(usable))
    report.count("captions of them", int(stored.captions[usable].sum()))
    report.count("captions that two annotation files have", repeated)
    if listed and missing == listed:
        here = source if source.name else source.absolute()
        above = f"source={here.parent} or " if images is None and here.name == "annotations" else ""
        raise CorpusError(
            f"{images or source}: none of {listed:,} images is there: give {above}images=..., the folder that has "
            "them, or unpack train2014.zip and val2014.zip, or those of 2017, beside the annotations; get them from "
            f"{COCO}"
        )
    yield from _documents(build, stored, usable, settings)


def _documents(build: Build, stored: Stored, usable: NDArray[np.int64], settings: MscocoSettings) -> Iterator[Values]:
    """Draw true and fake images, put them into groups, and those into splits; and tell the numbers."""
    report = build.report
    order = array("q", usable)
    random.Random(f"mscoco {build.seed}").shuffle(order)
    half = len(order) // 2
    count = half // settings.pairs
    if settings.distractor_images:
        count = min(count, half // settings.distractor_images)
    if not count:
        raise CorpusError(
            f"{len(usable)} images are there and can be read, a document needs {settings.size}: "
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
    numbers = np.frombuffer(order, np.int64)
    members: dict[Split, NDArray[np.int64]] = {}
    ends = np.cumsum([0, *sizes.values()])
    for split, (start, end) in zip(sizes, pairwise(ends), strict=True):
        true = numbers[start * settings.pairs : end * settings.pairs]
        fake = numbers[half:][start * settings.distractor_images : end * settings.distractor_images]
        if end > start:
            members[split] = np.sort(np.concatenate([true, fake]))
    groups = _groups(order, half, sizes, settings, build.seed)
    made: Counter[Split] = Counter()
    for values in stored_documents(build, stored, members, groups, settings, total=count):
        made[values["split"]] += 1
        yield values
    for split in sizes:
        report.count(f"documents for {split}", made[split], VERSIONS[split], rounding=PUBLISHED_SIZES.rounding)
    report.count("unique images", count * settings.size, PUBLISHED_SIZES.images, rounding=1000)
    pairs = settings.size * (settings.pairs + settings.distractor_captions)
    report.count(
        "links among 100 pairs of a sentence and an image", round(100 * settings.pairs / pairs), PUBLISHED_SIZES.density
    )


def _groups(
    order: Sequence[int], half: int, sizes: Mapping[Split, int], settings: MscocoSettings, seed: int
) -> Iterator[Group]:
    """Pairs of a group of true images, which come first in the order, and one of fake images."""
    true, fake = settings.pairs, settings.distractor_images
    group = 0
    for split, size in sizes.items():
        for number in range(size):
            photos = (
                *order[group * true : (group + 1) * true],
                *order[half + group * fake : half + (group + 1) * fake],
            )
            yield Group(split, seed, number, photos, divided=True)
            group += 1


def annotation_files(source: Path) -> list[Path]:
    """The files of captions of a folder, in it or in ``annotations`` in it, in the order of ``FILES``.

    Raises:
        CorpusError: There are none, or it is no folder.
    """
    if source.is_file():
        raise CorpusError(
            f"{source}: a file; name the folder that has annotations/ and the pictures, or one with annotations and "
            "images=..., the folder of the pictures"
        )
    found = [
        next((path for path in (source / "annotations" / name, source / name) if path.is_file()), None)
        for name in FILES
    ]
    files = [path for path in found if path is not None]
    if not files:
        raise CorpusError(
            f"{source}: no annotations/{TRAIN_2014}, nor another of {', '.join(FILES[1:])}: unpack "
            f"annotations_trainval2014.zip there; get it from {COCO}"
        )
    return files


def _only(
    build: Build, source: Path, files: Sequence[Path], table: CaptionTable, settings: MscocoSettings
) -> int | None:
    """The number of the file whose images are used, None for all; and a note that says why.

    Raises:
        CorpusError: The file is asked for and not there.
    """
    there = files[0].name == TRAIN_2014
    if settings.photographs == "train2014":
        if not there:
            raise CorpusError(f"{source}: photographs=train2014 needs annotations/{TRAIN_2014}; get it from {COCO}")
        build.report.note(f"photographs=train2014: the images of {TRAIN_2014} are used")
        return 0
    if settings.photographs == "all":
        build.report.note("photographs=all: all images of all annotation files are used")
        return None
    listed = table.count_images(source=0) if there else 0
    if listed == IMAGES_2014:
        build.report.note(
            f"photographs=published: {TRAIN_2014} lists {listed:,} images, as published, and these are used: half of "
            "them in groups of five are the paper's 8,278 = 4,968 + 1,655 + 1,655 documents, while those of all "
            "annotation files that the supplement names would be 12,328"
        )
        return 0
    what = f"lists {listed:,} images, not {IMAGES_2014:,} as published" if there else "is not there"
    build.report.note(f"photographs=published: {TRAIN_2014} {what}; all images of all annotation files are used")
    return None
