"""Captions in the format of MSCOCO.

``{"images": [{"id", "file_name"}, ...], "annotations": [{"id", "image_id", "caption"}, ...]}``, with more of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from iconotext.corpus.builders.captioned.annotations import Annotations, Captioned, Key, found_photos
from iconotext.corpus.builders.captioned.photos import BAD_CAPTIONS, Photo, clean, is_text
from iconotext.corpus.builders.find_images import ImageFolders
from iconotext.corpus.builders.run import Build
from iconotext.corpus.formats.json_stream import source_entries
from iconotext.corpus.row import Split

COCO = "https://cocodataset.org/#download"

PARTS = ("images", "annotations")

ABOUT = f'a file of captions of MSCOCO, {{"images": [...], "annotations": [...]}}, from {COCO}'

BAD_ENTRIES = "entries that are not images or captions"

SPLIT_OF_NAME: dict[str, Split] = {"train": "train", "val": "validation", "test": "test"}


def read_annotations(build: Build, files: Sequence[Path]) -> Annotations:
    """Images and captions of annotation files; the number of a file is the ``source`` of its images.

    The split of an image is that which the name of the first file that lists it says (train, val, test), if any. What
    is no image or caption, or has no words, is dropped and reported.

    Raises:
        CorpusError: A file cannot be read, or is not in the format.
    """
    annotations = Annotations()
    for source, file in enumerate(files):
        split = next((split for word, split in SPLIT_OF_NAME.items() if word in file.name.casefold()), None)
        for part, index, value in build.watch(source_entries(file, PARTS, ABOUT), label=f"Reading {file.name}"):
            place = f"{file.name}, {part}.{index}"
            if part == "images":
                key, name = _key(value, "id"), value.get("file_name") if isinstance(value, dict) else None
                if key is None or not isinstance(name, str) or not name or not is_text(name):
                    build.report.drop(BAD_ENTRIES, place, "an image needs id and file_name")
                else:
                    annotations.add_image(key, name, split, source=source)
            else:
                key, number = _key(value, "image_id"), _key(value, "id")
                if key is None or "caption" not in value:
                    build.report.drop(BAD_ENTRIES, place, "a caption needs image_id and caption")
                elif (text := clean(value["caption"])) is None:
                    build.report.drop(BAD_CAPTIONS, place)
                else:
                    annotations.add_caption(key, number if isinstance(number, int) else None, text)
    return annotations


def coco_photos(
    build: Build, annotations: Annotations, images: ImageFolders, *, source: int | None = None
) -> Iterator[Photo]:
    """Photographs of MSCOCO, by rising id; those without a caption or an image are dropped and reported.

    Args:
        images: Where images are looked for: by the name in the annotations, else by the other names that MSCOCO has
            for the same photograph in its editions of 2014 and 2017.
    """
    for key, number in annotations.unlisted():
        build.report.drop("captions of images that are not listed", f"image {key}, caption {number}")
    yield from found_photos(build, annotations.captioned(source=source), images, _names)


def _names(each: Captioned) -> Iterator[str]:
    """Names of the file of an image."""
    yield each.name
    if isinstance(each.key, int):
        for before in ("", "COCO_train2014_", "COCO_val2014_"):
            yield f"{before}{each.key:012}.jpg"


def _key(value: Any, name: str) -> Key | None:
    """What an entry has under a name, if that can be the key of something."""
    key = value.get(name) if isinstance(value, dict) else None
    if isinstance(key, bool) or not isinstance(key, int | str):
        return None
    if isinstance(key, int):
        return key if -(2**63) <= key < 2**63 else None
    return key if key and is_text(key) else None
