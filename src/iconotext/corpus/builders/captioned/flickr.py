"""Captions in the formats that Flickr8k and Flickr30k come in.

``Flickr8k.token.txt`` and ``results_20130124.token`` have lines ``image.jpg#0``, a tabulator, and the caption. Newer
copies have a header: ``image,caption`` (``captions.txt``), ``image_name,comment_number,comment``, or
``image_name| comment_number| comment`` (``results.csv``). Lists beside them, ``Flickr_8k.trainImages.txt`` and those of
``devImages`` and ``testImages``, say the splits.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from iconotext.corpus.builders.captioned.annotations import Annotations, Captioned, found_photos
from iconotext.corpus.builders.captioned.photos import BAD_CAPTIONS, BAD_LINES, Photo, clean, is_text
from iconotext.corpus.builders.find_images import ImageFolders
from iconotext.corpus.builders.run import Build
from iconotext.corpus.row import Split
from iconotext.errors import CorpusError

TOKEN = re.compile(r"(?P<image>.*\S)\s*#(?P<number>[0-9]{1,9})\s*\t(?P<caption>.*)")
PIPES = re.compile(
    r"(?P<image>[^|]*[^|\s])\s*\|\s*(?P<number>[0-9]{1,9})\s*\|?(?P<caption>.*)"
)  # one line lacks the second |

NUMBER = re.compile(r"[0-9]{1,9}")

HEADERS = ("image,caption", "image_name,comment_number,comment", "image_name|comment_number|comment")

LISTS: dict[str, Split] = {
    "flickr_8k.trainimages.txt": "train",
    "flickr_8k.devimages.txt": "validation",
    "flickr_8k.testimages.txt": "test",
}

UNLISTED = "images that are in none of the lists of splits"


def flickr_photos(build: Build, file: Path, images: ImageFolders) -> Iterator[Photo]:
    """Photographs of a file of captions, by the names of their images; what is no good is dropped and reported.

    Where lists of splits lie beside the file, what is in none of them is dropped.
    """
    annotations = Annotations()
    for line, image, number, text in build.watch(_captions(build, file), label=f"Reading {file.name}"):
        caption = clean(text)
        if not is_text(image):
            build.report.drop(BAD_LINES, f"{file.name}, line {line}", "not UTF-8 text")
        elif caption is None:
            build.report.drop(BAD_CAPTIONS, f"{file.name}, line {line}")
        else:
            annotations.add_image(image, image)
            annotations.add_caption(image, number, caption)
    yield from found_photos(build, _with_splits(build, annotations, _listed(file)), images)
    if repeated := annotations.repeated_captions:
        build.report.note(f"{file.name}: {repeated:,} lines repeat the number of a caption; the first counts")


def _with_splits(build: Build, annotations: Annotations, splits: dict[str, Split]) -> Iterator[Captioned]:
    """Images with the splits that lists say; where there are lists, what is in none of them is dropped."""
    for each in annotations.captioned():
        split = splits.get(each.name)
        if splits and split is None:
            build.report.drop(UNLISTED, each.name)
        else:
            yield replace(each, split=split)


def is_flickr(file: Path) -> bool:
    """Whether a file of text is one of captions in one of these formats."""
    try:
        with file.open(encoding="utf-8-sig", errors="surrogateescape") as lines:
            first = lines.readline(10_000).rstrip("\n")
    except OSError:
        return False
    return _header(first) is not None or TOKEN.fullmatch(first) is not None


def _header(line: str) -> str | None:
    """The header that a line is, without its blanks."""
    bare = "".join(line.split()).casefold()
    return bare if bare in HEADERS else None


def _captions(build: Build, file: Path) -> Iterator[tuple[int, str, int | None, str]]:
    """Number of the line, image, number where there is one, and caption."""
    try:
        with file.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
            first = lines.readline().rstrip("\r\n")
            header = _header(first)
            if header is None and not TOKEN.fullmatch(first):
                raise CorpusError(
                    f"{file}: no captions of Flickr8k or Flickr30k: lines of image.jpg#0, a tab and a caption are "
                    f"needed, or a first line {', or '.join(HEADERS)}"
                )
            if header is None:
                lines.seek(0)
            if header is not None and "," in header:
                yield from _with_commas(build, file, lines, header.count(","))
                return
            pattern = TOKEN if header is None else PIPES
            for number, line in enumerate(lines, start=1 if header is None else 2):
                if not line.strip():
                    continue
                found = pattern.fullmatch(line.rstrip("\r\n"))
                if found is None:
                    build.report.drop(BAD_LINES, f"{file.name}, line {number}")
                else:
                    yield number, found["image"].strip(), int(found["number"]), found["caption"]
    except OSError as error:
        raise CorpusError(f"{file}: cannot be read: {error.strerror or error}") from error


def _with_commas(
    build: Build, file: Path, lines: Iterable[str], commas: int
) -> Iterator[tuple[int, str, int | None, str]]:
    """Lines with commas between their fields; in some copies those of a caption are not in quotation marks."""
    for line, text in enumerate(lines, start=2):
        if not text.strip():
            continue
        try:
            row = next(csv.reader([text]))  # each line alone: one quotation mark too many spoils no other
        except csv.Error as error:
            build.report.drop(BAD_LINES, f"{file.name}, line {line}", str(error))
            continue
        image, number = row[0].strip(), row[1].strip() if commas > 1 and len(row) > commas else "0"
        if len(row) <= commas or not image or not NUMBER.fullmatch(number):
            build.report.drop(BAD_LINES, f"{file.name}, line {line}")
        else:
            yield line, image, int(number) if commas > 1 else None, ",".join(row[commas:])


def _listed(file: Path) -> dict[str, Split]:
    """The split of each image that a list beside the file names."""
    found: dict[str, Split] = {}
    for path in sorted(file.parent.iterdir()):
        split = LISTS.get(path.name.casefold())
        if split is not None:
            for line in path.read_text("utf-8-sig", errors="surrogateescape").splitlines():
                if line.strip():
                    found.setdefault(line.strip(), split)
    return found
