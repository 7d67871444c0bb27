"""Photographs with captions: our files of JSON lines, the annotations of MSCOCO, and the checks of the images."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, Field, StrictStr, ValidationError

from iconotext.corpus.builders.build import MISSING, Build, image_problem
from iconotext.corpus.formats.json_lines import first_value, json_lines
from iconotext.corpus.formats.json_stream import source_entries
from iconotext.corpus.found_images import ImageFolders, named_by_address
from iconotext.corpus.row import Problem, Split, problems_of
from iconotext.errors import CorpusError

Drop = Callable[[str, str, str], None]
"""Called for every item that is left out: rule, item, reason. ``BuildReport.drop`` is such a function."""

BAD_LINES = "lines that are not a captioned photograph"
NO_IMAGE = "images that are not there"
NO_CAPTION = "images without a caption"
BAD_CAPTIONS = "captions without words"


@dataclass(frozen=True, slots=True)
class Photo:
    """A photograph with captions.

    Attributes:
        image: The path of the image, or an address that stands for it.
        captions: People's descriptions of it, at least one; white space collapsed.
        split: None if it has no split yet; then it is for training.
    """

    image: str
    captions: tuple[str, ...]
    split: Split | None = None

    @property
    def file(self) -> Path:
        """The image as a path, if it is not an address."""
        return Path(self.image)


class _Line(BaseModel):
    image: Annotated[StrictStr, Field(min_length=1)]
    captions: Annotated[list[StrictStr], Field(min_length=1)]
    split: Split | None = None


def read_photos(
    path: Path, *, folder: Path | None = None, drop: Drop | None = None, addresses: bool = False
) -> Iterator[Photo]:
    """Read photographs from JSON lines, ``{"image": ..., "captions": [...], "split": ...}``, one at a time.

    Args:
        folder: Folder to which paths of images are relative; None: that of the file.
        drop: Called for invalid lines and captions, which are left out; None: they are errors, and so is an image that
            occurs twice.
        addresses: Whether an image may be an address, which is not looked up, instead of an existing file.
    """
    line_of: dict[str, int] = {}
    start = path.parent if folder is None else folder
    for number, value, problem in json_lines(path):
        photo, problems = (None, [problem]) if problem else _photo(value, start, f"line {number}", addresses)
        if drop is not None:
            for fault in problems:
                _report(drop, path, fault, photo)
        elif photo is not None and line_of.setdefault(photo.image, number) != number:
            message = f"{value['image']} is also in line {line_of[photo.image]}"
            problems.append(Problem(f"line {number}", "image", message))
        if drop is None and problems:
            raise CorpusError(f"{path}, {problems[0]}")
        if photo is not None:
            yield photo


def check_no_corpus(path: Path) -> None:
    """Raise ``CorpusError`` if a file of JSON lines is a corpus and not a file of photographs, or cannot be read."""
    first = first_value(path)
    if isinstance(first, dict) and {"sentences", "images"} <= first.keys():
        raise CorpusError(
            f'{path}: is a corpus, not a file of captions with lines {{"image": ..., "captions": [...]}}; '
            "`iconotext corpus build pairs` makes a document of each picture of a corpus and its caption"
        )


def _report(drop: Drop, path: Path, problem: Problem, photo: Photo | None) -> None:
    """Report the problem of a line; with a photograph, the problem of one of its captions only."""
    rule = BAD_LINES if photo is None else BAD_CAPTIONS
    if problem.field == "image" and problem.message.startswith(MISSING):
        rule = NO_IMAGE
    message = problem.message if problem.field is None else f"{problem.field}: {problem.message}"
    drop(rule, f"{path.name}, {problem.place}", message)


def _photo(value: Any, folder: Path, place: str, addresses: bool) -> tuple[Photo | None, list[Problem]]:
    """Return the photograph in a line, and all problems; a photograph may come with invalid captions."""
    try:
        line = _Line.model_validate(value)
    except ValidationError as error:
        return None, list(problems_of(error, place))
    image = str(folder / line.image)
    if not os.path.isfile(folder / line.image):
        if not (addresses and named_by_address(line.image)):
            return None, [Problem(place, "image", f"{MISSING}: {image}")]
        image = line.image
    if not is_text(image):
        return None, [Problem(place, "image", "half a surrogate pair, which is not a character")]
    problems, captions = [], []
    for i, text in enumerate(line.captions):
        caption = clean(text)
        if caption is None:
            problems.append(Problem(place, f"captions.{i}", "no words in it"))
        else:
            captions.append(caption)
    if not captions:
        return None, problems
    return Photo(image, tuple(captions), line.split), problems


def clean(text: object) -> str | None:
    """Return a caption with its white space collapsed; None if it has no words, or cannot be encoded as UTF-8."""
    if not isinstance(text, str):
        return None
    words = " ".join(text.split())
    return words if words and is_text(words) else None


def is_text(text: str) -> bool:
    """Return whether UTF-8 can encode a text: JSON and file names can contain half a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def usable_photos(build: Build, photos: Iterable[Photo], *, verify: bool) -> tuple[Sequence[Photo], int]:
    """Return the usable photographs of a source, with the corpus's names of their images; and the number of all.

    Photographs whose image an earlier one has, and those whose image cannot be decoded (with ``verify``), are dropped
    and reported. Addresses are not looked up.
    """
    images: set[str] = set()
    read = 0

    def different() -> Iterator[Photo]:
        nonlocal read
        for photo in build.watch(photos, label="Reading captions"):
            image = photo.image if named_by_address(photo.image) else build.relative_path(photo.file)
            read += 1
            if image in images:
                build.report.drop("photographs that come twice", image)
            else:
                images.add(image)
                yield replace(photo, image=image)

    different_photos = build.spool(different())
    return build.spool(_readable(build, different_photos)) if verify else different_photos, read


def captions_of(build: Build, photos: Sequence[Photo], members: Iterable[int]) -> Sequence[str]:
    """Return all captions of some of the photographs, in their order, on disk."""
    return build.spool(text for number in members for text in photos[number].captions)


def _readable(build: Build, photos: Sequence[Photo]) -> Iterator[Photo]:
    """Yield the photographs whose image can be decoded to its end; others are dropped and reported."""
    files = (None if named_by_address(photo.image) else build.folder / photo.image for photo in photos)
    looked = build.checked(files, _problem, total=len(photos), label="Reading images")
    for photo, problem in zip(photos, looked, strict=True):
        if problem is None:
            yield photo
        else:
            build.report.drop("unreadable images", photo.image, problem)


def _problem(path: str | None) -> str | None:
    return None if path is None else image_problem(path)


Key = int | str  # a source's identifier of an image


@dataclass(frozen=True, slots=True)
class Captioned:
    """An image and its captions, in the order of their numbers, captions without a number last; may have none."""

    key: Key
    name: str
    split: Split | None
    captions: tuple[str, ...]


class Annotations:
    """Collects images and captions in any order, and returns them by image, in the order of their keys.

    If an image occurs again, or a caption with the same number of the same image, the first one counts. All texts are
    in memory: those of MSCOCO take some 150 MB.
    """

    def __init__(self) -> None:
        self.repeated_captions = 0
        self._images: dict[Key, tuple[str, Split | None, int]] = {}
        self._captions: defaultdict[Key, list[tuple[int | None, str]]] = defaultdict(list)

    def add_image(self, key: Key, name: str, split: Split | None = None, *, source: int = 0) -> None:
        """Add an image; ``source`` is the number of the file that lists it."""
        self._images.setdefault(key, (name, split, source))

    def add_caption(self, key: Key, number: int | None, text: str) -> None:
        """Add a caption of an image; ``number`` is its number among the captions of the image, None if unknown."""
        self._captions[key].append((number, text))

    def count_images(self, *, source: int | None = None) -> int:
        """Return the number of images; with ``source``, of images that this file lists and no file before it."""
        return sum(source in (None, image_source) for _, _, image_source in self._images.values())

    def unlisted(self) -> Iterator[tuple[Key, int | None]]:
        """Yield image and number of the captions whose image is not listed."""
        for key, captions in self._captions.items():
            if key not in self._images:
                yield from ((key, number) for number, _ in captions)

    def captioned(self, *, source: int | None = None) -> Iterator[Captioned]:
        """Yield images with their captions, by ascending key, numbers before texts; ``source`` is as above."""
        for key in sorted(self._images, key=lambda key: (isinstance(key, str), key)):
            name, split, image_source = self._images[key]
            if source in (None, image_source):
                yield Captioned(key, name, split, tuple(self._texts(key)))

    def _texts(self, key: Key) -> Iterator[str]:
        last: int | None = None
        captions = self._captions.get(key, [])
        for number, text in sorted(captions, key=lambda caption: (caption[0] is None, caption[0] or 0)):
            if number is not None and number == last:
                self.repeated_captions += 1
            else:
                yield text
            last = number


COCO = "https://cocodataset.org/#download"

PARTS = ("images", "annotations")

ABOUT = f'a file of captions of MSCOCO, {{"images": [...], "annotations": [...]}}, from {COCO}'

BAD_ENTRIES = "entries that are not images or captions"

SPLIT_OF_NAME: dict[str, Split] = {"train": "train", "val": "validation", "test": "test"}


def read_annotations(build: Build, files: Sequence[Path]) -> Annotations:
    """Read images and captions from annotation files; the number of a file is the ``source`` of its images.

    The split of an image follows from the name of the first file that lists it (train, val, test). Invalid images and
    captions, and captions without words, are dropped and reported.
    """
    annotations = Annotations()
    for source, file in enumerate(files):
        split = next((split for word, split in SPLIT_OF_NAME.items() if word in file.name.casefold()), None)
        for part, index, value in build.watch(source_entries(file, PARTS, ABOUT), label=f"Reading {file.name}"):
            entry = value if isinstance(value, dict) else {}
            if part == "images":
                reasons = _add_image(annotations, entry, split, source)
            else:
                reasons = _add_caption(annotations, entry)
            if reasons is not None:
                build.report.drop(reasons[0], f"{file.name}, {part}.{index}", reasons[1])
    return annotations


def _add_image(
    annotations: Annotations, entry: dict[str, Any], split: Split | None, source: int
) -> tuple[str, str] | None:
    """Add an entry of ``images``; return rule and reason if it is dropped."""
    key, name = _key(entry, "id"), entry.get("file_name")
    if key is None or not isinstance(name, str) or not name or not is_text(name):
        return BAD_ENTRIES, "an image needs id and file_name"
    annotations.add_image(key, name, split, source=source)
    return None


def _add_caption(annotations: Annotations, entry: dict[str, Any]) -> tuple[str, str] | None:
    """Add an entry of ``annotations``; return rule and reason if it is dropped."""
    key, number = _key(entry, "image_id"), _key(entry, "id")
    if key is None or "caption" not in entry:
        return BAD_ENTRIES, "a caption needs image_id and caption"
    text = clean(entry["caption"])
    if text is None:
        return BAD_CAPTIONS, ""
    annotations.add_caption(key, number if isinstance(number, int) else None, text)
    return None


def coco_photos(
    build: Build, annotations: Annotations, images: ImageFolders, *, source: int | None = None
) -> Iterator[Photo]:
    """Yield photographs of MSCOCO, by ascending id; those without a caption or an image are dropped and reported.

    Args:
        images: The folders with the images: by the name in the annotations, else by the other names that MSCOCO has for
            the same photograph in its editions of 2014 and 2017.
    """
    for key, number in annotations.unlisted():
        build.report.drop("captions of images that are not listed", f"image {key}, caption {number}")
    for photo in annotations.captioned(source=source):
        if not photo.captions:
            build.report.drop(NO_CAPTION, photo.name)
        elif (file := images.find(_names(photo))) is None or not is_text(str(file)):
            build.report.drop(NO_IMAGE, photo.name)
        else:
            yield Photo(str(file), photo.captions, photo.split)


def _names(photo: Captioned) -> Iterator[str]:
    yield photo.name
    if isinstance(photo.key, int):
        for before in ("", "COCO_train2014_", "COCO_val2014_"):
            yield f"{before}{photo.key:012}.jpg"


def _key(entry: dict[str, Any], name: str) -> Key | None:
    """Return the value of an entry under a name, if it can be an identifier."""
    key = entry.get(name)
    if isinstance(key, bool) or not isinstance(key, int | str):
        return None
    if isinstance(key, int):
        return key if -(2**63) <= key < 2**63 else None
    return key if key and is_text(key) else None


CaptionFormat = Literal["jsonl", "coco"]

EXPECTED = 'captions.jsonl with lines {"image": ..., "captions": [...]}, or annotations/captions_*.json as of MSCOCO'


class Kind(NamedTuple):
    """The suffixes of a caption file, and patterns of names in a folder, of which the first that matches counts."""

    suffixes: tuple[str, ...]
    patterns: tuple[str, ...]


KINDS: dict[CaptionFormat, Kind] = {
    "jsonl": Kind((".jsonl", ".ndjson"), ("captions.jsonl",)),
    "coco": Kind((".json",), ("captions_*.json", "*_captions.json", "captions.json")),
}

SUFFIXES = (".jsonl", ".json")

DEPTH = 3
"""Depth of folders that are searched for files of captions."""


def caption_photos(
    build: Build, source: Path, format_: CaptionFormat | None = None, images: Path | None = None
) -> Iterator[Photo]:
    """Yield the photographs of a source, one in memory at a time; invalid ones are dropped and reported.

    Args:
        images: Folder with the images; None: they are in the source, or in the folders beside a file. JSON lines name
            paths relative to it, the other formats names in any folder in it.
    """
    if images is not None and not images.is_dir():
        raise CorpusError(f"{images}: not a folder; name the one that has the pictures")
    format_ = format_ or recognised(source)
    if format_ == "jsonl":
        file = _single_file(source, format_)
        check_no_corpus(file)
        return read_photos(file, folder=images, drop=build.report.drop, addresses=True)
    folders = ImageFolders(images or _beside(source))
    return coco_photos(build, read_annotations(build, caption_files(source, format_)), folders)


def _beside(source: Path) -> Path:
    """Return the folder with the images if none is named: the source, or the folder of a caption file."""
    if source.is_dir():
        return source
    folder = source.absolute().parent
    return folder.parent if folder.name == "annotations" else folder


def recognised(source: Path) -> CaptionFormat:
    """Return the format of a file or folder; ``CorpusError`` if it has no known format, or several."""
    if not source.exists():
        raise CorpusError(f"{source}: no such file or folder; expected: {EXPECTED}")
    formats = [
        name
        for name, kind in KINDS.items()
        if (source.suffix.lower() in kind.suffixes if source.is_file() else _files(source, name))
    ]
    if not formats:
        raise CorpusError(f"{source}: no captions are recognised; expected: {EXPECTED}")
    if len(formats) > 1:
        raise CorpusError(f"{source}: has captions as {' and as '.join(formats)}: say which, as format={formats[0]}")
    return formats[0]


def caption_files(source: Path, format_: CaptionFormat) -> list[Path]:
    """Return the caption files of a source: itself, or the files in the folder that match the first pattern."""
    if source.is_file():
        return [source]
    files = _files(source, format_)
    if not files:
        raise CorpusError(f"{source}: no {', '.join(KINDS[format_].patterns)} in it; name the file, or its folder")
    return files


def _single_file(source: Path, format_: CaptionFormat) -> Path:
    first, *others = caption_files(source, format_)
    if others:
        names = [str(path.relative_to(source)) for path in (first, others[0])]
        raise CorpusError(f"{source}: has {' and '.join(names)}: name the one that counts as the source")
    return first


def _files(folder: Path, format_: CaptionFormat) -> list[Path]:
    """Return the files in a folder and its subfolders that match the first matching pattern of the format."""
    paths = []
    for place, folders, files in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if depth < DEPTH else []
        paths += [Path(place, name) for name in sorted(files) if name.lower().endswith(SUFFIXES)]
    for pattern in KINDS[format_].patterns:
        if matches := [path for path in paths if fnmatch(path.name.lower(), pattern)]:
            return matches
    return []
