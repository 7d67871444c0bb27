"""Captioned photographs in any of the formats that such sets are published in, recognised by their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from iconotext.corpus.builders.captioned.coco import coco_photos, read_annotations
from iconotext.corpus.builders.captioned.flickr import flickr_photos, is_flickr
from iconotext.corpus.builders.captioned.pascal import pascal_page, pascal_photos, pascal_texts
from iconotext.corpus.builders.captioned.photos import Photo, check_no_corpus, read_photos
from iconotext.corpus.builders.find_images import ImageFolders
from iconotext.corpus.builders.run import Build
from iconotext.errors import CorpusError

CaptionFormat = Literal["jsonl", "flickr", "coco", "pascal"]

EXPECTED = (
    'captions.jsonl with lines {"image": ..., "captions": [...]}; Flickr8k.token.txt, results_20130124.token, '
    "captions.txt or results.csv of Flickr8k and Flickr30k; annotations/captions_*.json of MSCOCO; index.html or "
    "sentence/CLASS/NAME.txt of the Pascal sentences"
)


class Kind(NamedTuple):
    """How the files of captions of a format are known.

    Attributes:
        suffixes: Of one that is named itself.
        patterns: Their names in a folder; as soon as a pattern fits, those of the rest are skipped.
    """

    suffixes: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    looks: Callable[[Path], bool] = lambda file: True


KINDS: dict[CaptionFormat, Kind] = {
    "jsonl": Kind((".jsonl", ".ndjson"), ("captions.jsonl",)),
    "flickr": Kind(
        (".txt", ".csv", ".token", ".tsv"),
        ("*.token.txt", "*.token", "captions.txt", "captions.csv", "results.csv"),
        is_flickr,
    ),
    "coco": Kind((".json",), ("captions_*.json", "*_captions.json", "captions.json")),
    "pascal": Kind((".html", ".htm")),
}

SUFFIXES = (".jsonl", ".json", ".txt", ".csv", ".token")

DEPTH = 3
"""Folders in each other that are looked into for files of captions."""


def caption_photos(
    build: Build, source: Path, format_: CaptionFormat | None = None, images: Path | None = None
) -> Iterator[Photo]:
    """The photographs of a source, one in memory at a time; what is no good is dropped and reported.

    Args:
        images: Folder with the images; None: they are in the source, or in the folders beside a file. Lines of JSON
            name paths from there, the others are found in any folder in it.

    Raises:
        CorpusError: The format is not recognised, a file is missing or broken, or it is a corpus already.
    """
    if images is not None and not images.is_dir():
        raise CorpusError(f"{images}: not a folder; name the one that has the pictures")
    format_ = format_ or recognised(source)
    if format_ == "jsonl":
        file = _one(source, format_)
        check_no_corpus(file)
        return read_photos(file, folder=images, drop=build.report.drop, addresses=True)
    folders = ImageFolders(images or _beside(source))
    match format_:
        case "flickr":
            return flickr_photos(build, _one(source, format_), folders)
        case "pascal":
            return pascal_photos(build, source, folders)
        case "coco":
            return coco_photos(build, read_annotations(build, caption_files(source, format_)), folders)


def _beside(source: Path) -> Path:
    """The folder that has the images where none is named: the source, or what a file of captions lies in."""
    if source.is_dir():
        return source
    folder = source.absolute().parent
    return folder.parent if folder.name == "annotations" else folder


def recognised(source: Path) -> CaptionFormat:
    """The format of a file or folder; ``CorpusError`` where it has none, or several."""
    if not source.exists():
        raise CorpusError(f"{source}: no such file or folder; expected: {EXPECTED}")
    found = [name for name in KINDS if (_is(source, name) if source.is_file() else _has(source, name))]
    if not found:
        raise CorpusError(f"{source}: no captions are recognised; expected: {EXPECTED}")
    if len(found) > 1:
        raise CorpusError(f"{source}: has captions as {' and as '.join(found)}: say which, as format={found[0]}")
    return found[0]


def caption_files(source: Path, format_: CaptionFormat) -> list[Path]:
    """Files of captions of a source: itself, or those in the folder that fit the first pattern that any fits.

    Raises:
        CorpusError: There are none.
    """
    if source.is_file():
        return [source]
    found = _files(source, format_)
    if not found:
        raise CorpusError(f"{source}: no {', '.join(KINDS[format_].patterns)} in it; name the file, or its folder")
    return found


def _one(source: Path, format_: CaptionFormat) -> Path:
    """The only file of captions of a source; ``CorpusError`` where there are several."""
    first, *others = caption_files(source, format_)
    if others:
        names = [str(path.relative_to(source)) for path in (first, others[0])]
        raise CorpusError(f"{source}: has {' and '.join(names)}: name the one that counts as the source")
    return first


def _is(file: Path, format_: CaptionFormat) -> bool:
    """Whether a file looks like captions in a format."""
    return file.suffix.lower() in KINDS[format_].suffixes and KINDS[format_].looks(file)


def _has(folder: Path, format_: CaptionFormat) -> bool:
    """Whether a folder looks like captions in a format."""
    if format_ == "pascal":
        return pascal_page(folder) is not None or any(True for _ in islice(pascal_texts(folder), 1))
    return bool(_files(folder, format_))


def _files(folder: Path, format_: CaptionFormat) -> list[Path]:
    """The files of a folder, and of the folders in it, that fit the first pattern of the format that any fits."""
    there = []
    for place, folders, files in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if depth < DEPTH else []
        there += [Path(place, name) for name in sorted(files) if name.lower().endswith(SUFFIXES)]
    for pattern in KINDS[format_].patterns:
        named = [path for path in there if fnmatch(path.name.lower(), pattern) and "lemma" not in path.name.lower()]
        if found := [path for path in named if KINDS[format_].looks(path)]:
            return found
    return []
