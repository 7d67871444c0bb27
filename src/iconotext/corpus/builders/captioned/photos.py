"""Photographs with captions: the lines of JSON that we keep them in, and those that a build can use, on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, StrictStr, ValidationError

from iconotext.corpus.builders.find_images import image_problem
from iconotext.corpus.builders.run import Build
from iconotext.corpus.formats.json_lines import json_lines
from iconotext.corpus.image_files import named_by_address
from iconotext.corpus.row import Problem, Split, problems_of
from iconotext.errors import CorpusError

Drop = Callable[[str, str, str], None]
"""Gets everything that is left out: rule, item, reason. ``BuildReport.drop`` is one."""

BAD_LINES = "lines that are not a captioned photograph"
NO_IMAGE = "images that are not there"
NO_CAPTION = "images without a caption"
BAD_CAPTIONS = "captions without words"

NOT_FOUND = "not found"


@dataclass(frozen=True, slots=True)
class Photo:
    """A photograph with captions.

    Attributes:
        image: The path of the image, or an address that stands for it.
        captions: What people wrote about it, at least one; white space collapsed.
        split: None where it belongs to none yet; then it is for training.
    """

    image: str
    captions: tuple[str, ...]
    split: Split | None = None

    @property
    def file(self) -> Path:
        """The image, where it is no address."""
        return Path(self.image)


class _Line(BaseModel):
    """A line of a file of captions; other keys are skipped."""

    image: Annotated[StrictStr, Field(min_length=1)]
    captions: Annotated[list[StrictStr], Field(min_length=1)]
    split: Split | None = None


def read_photos(
    path: Path, *, folder: Path | None = None, drop: Drop | None = None, addresses: bool = False
) -> Iterator[Photo]:
    """Photographs of a file of JSON lines, ``{"image": ..., "captions": [...], "split": ...}``, one at a time.

    Args:
        folder: Where paths of images start; None: where the file lies.
        drop: Gets lines and captions that are no good, which are left out; None: they are errors, and so is an
            image that comes twice.
        addresses: Whether an image may be an address, which is not looked for, instead of a file that is there.

    Raises:
        CorpusError: The file cannot be read; or, without ``drop``, names file, line and field that are no good.
    """
    line_of: dict[str, int] = {}
    start = path.parent if folder is None else folder
    for number, value, problem in json_lines(path):
        photo, problems = (None, [problem]) if problem else _photo(value, start, f"line {number}", addresses)
        if drop is not None:
            for each in problems:
                _report(drop, path, each, photo)
        elif photo is not None and line_of.setdefault(photo.image, number) != number:
            message = f"{value['image']} is also in line {line_of[photo.image]}"
            problems.append(Problem(f"line {number}", "image", message))
        if drop is None and problems:
            raise CorpusError(f"{path}, {problems[0]}")
        if photo is not None:
            yield photo


def check_no_corpus(path: Path) -> None:
    """Raise ``CorpusError`` where a file of JSON lines is a corpus and not one of photographs, or cannot be read."""
    _, first, _ = next(json_lines(path), (0, None, None))
    if isinstance(first, dict) and {"sentences", "images"} <= first.keys():
        raise CorpusError(
            f'{path}: is a corpus, not a file of captions with lines {{"image": ..., "captions": [...]}}; '
            "`iconotext corpus build pairs` makes a document of each picture of a corpus and its caption"
        )


def _report(drop: Drop, path: Path, problem: Problem, photo: Photo | None) -> None:
    """Report what is no good in a line; with a photograph, one of its captions only."""
    rule = BAD_LINES if photo is None else BAD_CAPTIONS
    if problem.field == "image" and problem.message.startswith(NOT_FOUND):
        rule = NO_IMAGE
    what = problem.message if problem.field is None else f"{problem.field}: {problem.message}"
    drop(rule, f"{path.name}, {problem.place}", what)


def _photo(value: Any, folder: Path, place: str, addresses: bool) -> tuple[Photo | None, list[Problem]]:
    """What a line holds, and all that is wrong with it; a photograph may come with captions that are no good."""
    try:
        line = _Line.model_validate(value)
    except ValidationError as error:
        return None, list(problems_of(error, place))
    image = str(folder / line.image)
    if not os.path.isfile(folder / line.image):
        if not (addresses and named_by_address(line.image)):
            return None, [Problem(place, "image", f"{NOT_FOUND}: {image}")]
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
    """A caption with its white space collapsed; None where it has no words, or is no text that UTF-8 can hold."""
    if not isinstance(text, str):
        return None
    words = " ".join(text.split())
    return words if words and is_text(words) else None


def is_text(text: str) -> bool:
    """Whether UTF-8 can hold a text: JSON lets half a surrogate pair through, and file names may hold one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def usable_photos(build: Build, photos: Iterable[Photo], *, verify: bool) -> tuple[Sequence[Photo], int]:
    """The usable photographs of a source, their images as the corpus names them; and how many there were in all.

    Dropped and reported are those whose image an earlier one has, and those whose image cannot be read.

    Args:
        verify: Whether each image is read to its end; else they are taken to be good. Addresses are not looked at.
    """
    taken: set[str] = set()
    read = 0

    def different() -> Iterator[Photo]:
        nonlocal read
        for photo in build.watch(photos, label="Reading captions"):
            image = photo.image if named_by_address(photo.image) else build.relative_path(photo.file)
            read += 1
            if image in taken:
                build.report.drop("photographs that come twice", image)
            else:
                taken.add(image)
                yield replace(photo, image=image)

    found = build.spool(different())
    return build.spool(_readable(build, found)) if verify else found, read


def captions_of(build: Build, photos: Sequence[Photo], members: Iterable[int]) -> Sequence[str]:
    """All captions of some of the photographs, in their order, on disk."""
    return build.spool(text for number in members for text in photos[number].captions)


def _readable(build: Build, photos: Sequence[Photo]) -> Iterator[Photo]:
    """The photographs whose image can be read to its end; others are dropped and reported."""
    files = (None if named_by_address(photo.image) else build.folder / photo.image for photo in photos)
    looked = build.looked_at(files, _problem, total=len(photos), label="Reading images")
    for photo, problem in zip(photos, looked, strict=True):
        if problem is None:
            yield photo
        else:
            build.report.drop("unreadable images", photo.image, problem)


def _problem(path: str | None) -> str | None:
    return None if path is None else image_problem(path)
