"""Data sets of web pages that are published as shards: their documents, with the available images.

``shard_documents`` makes the documents. A worker reads a part of a shard and selects the usable rows; then ids are made
unique over all shards, and images are found in a folder, or fetched into it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from iconotext.corpus.builders.fetched import LEDGER
from iconotext.corpus.builders.find_images import FoundImages
from iconotext.corpus.builders.run import DataSetSettings, FetchSettings
from iconotext.corpus.row import Part, Record, Row, UniqueIds
from iconotext.errors import CorpusError, SettingError
from iconotext.system.strict_json import dump_json

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values

UNREADABLE = "row cannot be read"
DAMAGED = "shard damaged"

PLACE = re.compile("(?:line|page)-[0-9]+")
"""Id of a row whose page has no address: its place in the shard."""


class ShardSettings(FetchSettings, DataSetSettings):
    """Which documents are used."""

    source: Path
    """A shard, or the folder of the shards."""

    only_found: bool = False
    """Leave out images whose file is not there."""

    min_sentences: int = Field(1, ge=0)
    """Sentences of a document."""

    min_images: int = Field(1, ge=0)
    """Images of a document; with --only-found, of those that are there."""


class Picture(NamedTuple):
    """An image as the data set names it.

    Attributes:
        name: Empty if it has none.
        address: Web address; empty if unknown.
        file: Its path beside the shard; None if it is not there.
    """

    name: str
    address: str
    file: Path | None = None


class ShardedSet(NamedTuple):
    """How the shards of a data set are read, by functions that can be sent to another process.

    Attributes:
        suffixes: Suffixes of the names of shards.
        parts: The rows of a shard; ids need not be unique.
        described: Makes the columns of the corpus from a row, except id and images, and the names of the images.
    """

    suffixes: tuple[str, ...]
    about: str
    parts: Callable[[Path], Iterator[Part]]
    described: Callable[[Row], tuple[Values, list[Picture]]]


class Usable(NamedTuple):
    """A row that can be used."""

    name: str
    values: Values
    pictures: list[Picture]


class Dropped(NamedTuple):
    """A row, or the rest of a shard, that is left out, as ``BuildReport.drop`` takes it."""

    rule: str
    item: str
    reason: str = ""


def shard_documents(build: Build, settings: ShardSettings, data_set: ShardedSet) -> Iterator[Values]:
    """Documents of all shards, in the order of their names.

    Raises:
        CorpusError: There are no shards, or no such folder of images.
        SettingError: Images are to be fetched and no folder is named.
    """
    images, found, problems = settings.images, None, dict[str, str]()
    if images is None and settings.fetch:
        raise SettingError("fetch=True needs images=..., the folder that pictures are fetched into")
    shards = [shard for shard in find_shards(settings.source, data_set) if shard.absolute() != build.output.absolute()]
    read = build.mapped(_parts(shards, data_set), partial(_rows, settings, data_set), label="Reading", chunk=1)
    rows: Iterable[Usable | Dropped] = (row for some in read for row in some)
    if images is not None:
        if settings.fetch and not images.exists():
            images.mkdir(parents=True)
        found = FoundImages(images)
        if settings.fetch:
            rows = build.spool(rows)
            named = (picture for row in rows if isinstance(row, Usable) for picture in row.pictures)
            missing = (picture.address for picture in named if picture.address and _find(found, picture) is None)
            problems = build.fetched(missing, images, settings.interval)
            found = FoundImages(images)
    build.report.count("shards", len(shards))
    yield from _documents(build, rows, settings, found, problems)


def find_shards(source: Path, data_set: ShardedSet) -> list[Path]:
    """The shards in a folder, in the order of their names; or the one that is named.

    Raises:
        CorpusError: There are none; the message describes them and their source.
    """
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise CorpusError(f"{source}: no such file or folder; it should be {data_set.about}")
    found = sorted(path for path in source.iterdir() if path.is_file() and path.name.endswith(data_set.suffixes))
    found = [path for path in found if not path.name.startswith(".") and path.name != LEDGER]
    if not found:
        raise CorpusError(
            f"{source}: no file in it ends in {' or '.join(data_set.suffixes)}: it should have {data_set.about}"
        )
    return found


Item = tuple[str, "Part | str"]
"""Name of a shard, and a part of it, or the reason why the rest of it cannot be read."""


def _parts(shards: Iterable[Path], data_set: ShardedSet) -> Iterator[Item]:
    for shard in shards:
        try:
            for part in data_set.parts(shard):
                yield shard.name, part
        except CorpusError as error:
            yield shard.name, str(error).removeprefix(f"{shard}: ")


def _rows(settings: ShardSettings, data_set: ShardedSet, item: Item) -> list[Usable | Dropped]:
    shard, part = item
    rows: list[Usable | Dropped] = []
    try:
        if isinstance(part, str):
            raise CorpusError(part)
        rows.extend(_row(record, settings, data_set, shard) for record in part())
    except CorpusError as error:
        rows.append(Dropped(DAMAGED, shard, str(error)))
    return rows


def _row(record: Record, settings: ShardSettings, data_set: ShardedSet, shard: str) -> Usable | Dropped:
    place, row = f"{shard}, {record.place}", record.row
    if record.problems or row is None:
        problem = record.problems[0]
        return Dropped(UNREADABLE, place, ": ".join(filter(None, (problem.field, problem.message))))
    for name, things, least in (
        ("image", row.images, settings.min_images),
        ("sentence", row.sentences, settings.min_sentences),
    ):
        if len(things) < least:
            return Dropped(f"too few {name}s", place, str(len(things))) if things else Dropped(f"no {name}", place)
    name = f"{shard.partition('.')[0]}-{row.id}" if PLACE.fullmatch(row.id) else row.id
    usable = Usable(name, *data_set.described(row))
    try:
        dump_json([name, usable.values])
    except ValueError as error:  # its meta has half a surrogate pair, or a number that is too large
        return Dropped(UNREADABLE, place, str(error))
    return usable


def _documents(
    build: Build,
    rows: Iterable[Usable | Dropped],
    settings: ShardSettings,
    found: FoundImages | None,
    problems: Mapping[str, str],
) -> Iterator[Values]:
    ids = UniqueIds()
    read = usable = images = there = 0
    for row in rows:
        if isinstance(row, Dropped):
            read += row.rule != DAMAGED
            build.report.drop(*row)
            continue
        files = [_find(found, picture) for picture in row.pictures]
        read, usable, images = read + 1, usable + 1, images + len(files)
        there += sum(file is not None for file in files)
        values = row.values | {
            "images": [
                build.relative_path(file) if file is not None else picture.address or picture.name
                for file, picture in zip(files, row.pictures, strict=True)
            ]
        }
        if settings.only_found:
            values = only_there(build, values, files, problems)
            if (left := len(values["images"])) < settings.min_images:
                build.report.drop("too few pictures there", row.name, f"{left} of {len(files)}")
                continue
        yield values | {"id": ids.take(row.name)}
    build.report.count("documents in them", read)
    build.report.count("documents with sentences and images", usable)
    build.report.count("their images", images)
    if found is not None or there:
        build.report.count("their images with a file", there)


def only_there(build: Build, values: Values, files: Sequence[Path | None], problems: Mapping[str, str]) -> Values:
    """The columns of a document without the images that have no file, which are dropped.

    Args:
        problems: Reasons why images have no file, by the document's name for them, if known.
    """
    for source, file in zip(values["images"], files, strict=True):
        if file is None:
            build.report.drop("picture not there", source, problems.get(source, "not found"))
    return with_images(values, [i for i, file in enumerate(files) if file is not None])


def with_images(values: Values, kept: list[int]) -> Values:
    """The columns of a document with only some of its images, in their order."""
    number = {old: new for new, old in enumerate(kept)}
    changed: Values = {}
    for name in ("images", "positions", "alts", "captions"):
        if values.get(name) is not None:
            changed[name] = [values[name][i] for i in kept]
    if values.get("links") is not None:
        changed["links"] = [(sentence, number[image]) for sentence, image in values["links"] if image in number]
    return values | changed | {"meta": _kept_meta(values.get("meta") or {}, kept)}


def _kept_meta(meta: dict[str, Any], kept: list[int]) -> dict[str, Any]:
    """The entries of ``meta`` about the remaining images."""
    result = dict(meta)
    if isinstance(infos := result.get("image_info"), list):
        result["image_info"] = [infos[i] for i in kept]
    if isinstance(shard := result.get("mmc4"), dict) and isinstance(matrix := shard.get("similarity_matrix"), list):
        result["mmc4"] = shard | {"similarity_matrix": [matrix[i] for i in kept]}
    if isinstance(page := result.get("obelics"), dict) and isinstance(known := page.get("images"), list):
        result["obelics"] = page | {"images": [known[i] for i in kept]}
    return result


def _find(found: FoundImages | None, picture: Picture) -> Path | None:
    """The file of a picture: beside its shard, else by its name there, else by a digest of its address."""
    if picture.file is not None or found is None:
        return picture.file
    return found.named(picture.name) or (found.at(picture.address) if picture.address else None)
