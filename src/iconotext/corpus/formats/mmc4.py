"""Shards of Multimodal C4 (Zhu et al. 2023): JSON lines with sentences, images, and the sentence matched to each image.

The links are the data set's own, an assignment by CLIP similarities, and not an author's.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import AllowInfNan, BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from iconotext.corpus.formats.json_lines import PACKINGS, line_blocks, parse_lines
from iconotext.corpus.found_images import named_by_address
from iconotext.corpus.row import Part, Problem, Record, parse_row, problems_of

KEYS = ("image_info", "text_list")  # keys that show that a line is from a shard of mmc4


class ImageInfo(BaseModel):
    """An image in a shard; other keys are kept unchanged."""

    model_config = ConfigDict(extra="allow")

    image_name: StrictStr
    matched_text_index: Annotated[StrictInt, Field(ge=-1)] | None = None


class ShardLine(BaseModel):
    """A line of a shard; other keys are kept unchanged."""

    model_config = ConfigDict(extra="allow")

    text_list: list[StrictStr]
    image_info: list[ImageInfo]
    similarity_matrix: list[list[Annotated[float, AllowInfNan(False)]]] | None = None
    url: StrictStr | None = None


def looks_like_mmc4(value: object) -> bool:
    """Return whether a line is from a shard of mmc4."""
    return isinstance(value, dict) and all(key in value for key in KEYS)


def mmc4_parts(path: Path) -> Iterator[Part]:
    """Return the lines, in parts of about a megabyte.

    The id is the address of the page. Images are beside the shard, or in the folder ``SHARD_images`` where the data
    set's own download script puts them. ``meta["mmc4"]`` has all other keys of the line, ``meta["image_info"]`` those
    of each image. If an image of a document has a ``matched_text_index``, the links of the document are known, and null
    and -1 mean an image without a link; if none has one, they are unknown.
    """
    folder = _folder(path)
    return (partial(_records, first, lines, folder) for first, lines in line_blocks(path))


def images_folder(path: Path) -> Path:
    """Return the folder beside a shard into which the data set's own download script puts its images."""
    shard = path.stem if path.suffix in PACKINGS else path.name
    return path.with_name(f"{shard.removesuffix('.jsonl')}_images")


def _folder(path: Path) -> str:
    """Return the prefix of the names of a shard's images: the folder into which they were downloaded, if it exists."""
    folder = images_folder(path)
    return f"{folder.name}/" if folder.is_dir() else ""


def _records(first: int, lines: Iterable[bytes], folder: str) -> Iterator[Record]:
    for number, value, problem in parse_lines(first, lines):
        place = f"line {number}"
        yield shard_record(value, place, number, folder) if problem is None else Record(place, None, (problem,))


def shard_record(value: object, place: str, number: int, folder: str = "") -> Record:
    """Return the record of a line; ``folder`` is the prefix of the names of its images."""
    try:
        shard = ShardLine.model_validate(value)
    except ValidationError as error:
        return Record(place, None, problems_of(error, place))
    problems = tuple(Problem(place, field, message) for field, message in _misfits(shard))
    if problems:
        return Record(place, None, problems)
    matched = [image.matched_text_index for image in shard.image_info]
    has_links = any(index is not None for index in matched)
    stored = [image.model_dump(exclude={"matched_text_index"}, exclude_unset=True) for image in shard.image_info]
    values = {
        "id": shard.url or f"line-{number}",
        "sentences": shard.text_list,
        "images": [_path_of(image.image_name, folder) for image in shard.image_info],
        "links": sorted((s, i) for i, s in enumerate(matched) if s is not None and s >= 0) if has_links else None,
        "meta": {"mmc4": shard.model_dump(exclude=set(KEYS), exclude_unset=True), "image_info": stored},
    }
    return parse_row(values, place)


def _misfits(line: ShardLine) -> Iterator[tuple[str, str]]:
    n, m = len(line.text_list), len(line.image_info)
    for i, image in enumerate(line.image_info):
        if image.matched_text_index is not None and image.matched_text_index >= n:
            message = f"sentence {image.matched_text_index} in a document of {n} sentences"
            yield f"image_info.{i}.matched_text_index", message
    matrix = line.similarity_matrix
    if matrix is not None and (len(matrix) != m or any(len(row) != n for row in matrix)):
        yield "similarity_matrix", f"must have a row for each of {m} images and a number for each of {n} sentences"


def _path_of(name: str, folder: str) -> str:
    """Return the path of an image relative to the shard; addresses and absolute paths are unchanged."""
    return name if named_by_address(name) else posixpath.join(folder, name)
