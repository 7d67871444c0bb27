"""Documents with gold links, made from annotations in Label Studio."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.corpus.builders.fetched import saved_image
from iconotext.corpus.builders.folder import images_folder
from iconotext.corpus.builders.run import BuilderSettings
from iconotext.corpus.builders.shards import with_images
from iconotext.corpus.label_studio import annotated_row
from iconotext.corpus.row import Row, UniqueIds
from iconotext.errors import CorpusError
from iconotext.system.strict_json import parse_json

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values


class Settings(BuilderSettings):
    """Make documents with gold links out of what people annotated in Label Studio.

    The tasks are those of `iconotext link --to label-studio`, exported as JSON when they were annotated. A link counts
    if more than half of the annotators of its document gave it. Training and `evaluate` take the corpus.

    **Examples**

    - `iconotext corpus build label-studio --source export.json --output gold.jsonl`
    """

    source: tuple[Path, ...]
    """An export of Label Studio, as JSON; may be given several times."""

    images: Path | None = None
    """Folder that the names of pictures start from (default: that of the export). A picture that is not found there is
    taken from the task, at most 900 pixels long."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """The annotated tasks, in their order; ``CorpusError`` if a file is not an export, or no task is annotated."""
    ids, taken, links, found = UniqueIds(), 0, 0, 0
    for path in settings.source:
        for number, task in enumerate(build.watch(_tasks(path), label="Reading")):
            made = annotated_row(task, f"{path}, task {number + 1}", build.report.drop)
            if made is None:
                continue
            row, pictures = made
            there, copied = _place_images(build, row, pictures, settings.images or path.parent)
            taken += copied
            row.id = ids.take(row.id)
            found, links = found + 1, links + len(row.links or ())
            yield with_images(row.model_dump(exclude_none=True), there)
    if not found:
        raise CorpusError(f"{', '.join(map(str, settings.source))}: nobody has annotated any task")
    build.report.count("gold links", links)
    build.report.count("pictures taken from the tasks", taken)


def _tasks(path: Path) -> list[Any]:
    try:
        tasks = parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise CorpusError(f"{path}: no export of Label Studio as JSON: {error}") from error
    if not isinstance(tasks, list):
        raise CorpusError(f"{path}: no export of Label Studio as JSON: a list of tasks is needed")
    return tasks


def _place_images(build: Build, row: Row, pictures: dict[int, str], home: Path) -> tuple[list[int], int]:
    """Name each picture relative to the corpus.

    Returns:
        The numbers of the available pictures, and how many of them were taken from the task.
    """
    there, taken = [], 0
    for number, name in enumerate(row.images):
        file = home / name
        if file.is_file():
            row.images[number] = build.relative_path(file)
        elif number in pictures:
            copy = saved_image(_bytes(pictures[number], row.id), images_folder(build.output))
            row.images[number] = build.relative_path(copy)
            taken += 1
        else:
            build.report.drop("picture that is not there", f"{row.id}: {name}")
            continue
        there.append(number)
    return there, taken


def _bytes(address: str, document: str) -> bytes:
    try:
        head, _, body = address.partition(",")
        if not head.startswith("data:image/") or not head.endswith(";base64"):
            raise ValueError("no data: address")
        return base64.b64decode(body, validate=True)
    except (ValueError, binascii.Error) as error:
        raise CorpusError(f"document {document!r}: a picture of its task is damaged: {error}") from error
