"""Data sets of web pages that come as shards: their documents, with the pictures that are at hand.

A worker reads a part of a shard and keeps what can be used; here ids become unique over all shards, and pictures are
found in a folder, or fetched into it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from iconotext.corpus.builders.frame.build import Build, Values
from iconotext.corpus.builders.frame.journal import kept_results
from iconotext.corpus.builders.images.fetched import LEDGER, fetch_images
from iconotext.corpus.builders.images.found import FoundImages
from iconotext.corpus.row import Part, Record, Row
from iconotext.corpus.unique_id import UniqueIds
from iconotext.errors import CorpusError, SettingError
from iconotext.read.web.polite import Politeness
from iconotext.strict_json import dump_json

STEP = "documents"

UNREADABLE = "row cannot be read"


class ShardSettings(BaseModel):
    """Which documents are used."""

    model_config = ConfigDict(extra="forbid")

    min_sentences: int = Field(1, ge=0)
    """Of a document."""
    min_images: int = Field(1, ge=0)
    """Likewise; with ``only_found``, of those that are there."""


class Picture(NamedTuple):
    """How a data set names an image; a tuple, since it is kept as JSON.

    Attributes:
        name: Of its file; None where it has none.
        address: On the web; None where nobody says.
        file: Where it lies beside its shard; None where it does not.
    """

    name: str | None
    address: str | None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class ShardedSet:
    """How the shards of a data set are read.

    Attributes:
        suffixes: That names of shards end in.
        about: What a shard is and where it comes from.
        parts: The rows of a shard; ids need not be unique.
        named: Whether the id of a row is that of its page, not only its place in the shard.
        pictures: How each of its images is named.
        made: The columns of the corpus from a row.
    """

    suffixes: tuple[str, ...]
    about: str
    parts: Callable[[Path], Iterator[Part]]
    named: Callable[[Row], bool]
    pictures: Callable[[Row], list[Picture]]
    made: Callable[[Row], Values]


def shard_rows(
    build: Build,
    source: Path,
    data_set: ShardedSet,
    settings: ShardSettings,
    *,
    images: Path | None = None,
    fetch: Politeness | None = None,
    only_found: bool = False,
) -> Iterator[Values]:
    """Documents of all shards, in the order of their names.

    Args:
        build: The run.
        source: A shard, or a folder with shards.
        data_set: How they are read; what it has must be functions of modules, or partials of them.
        settings: Which documents are used.
        images: Folder with pictures, named as in the shard or by a digest of their addresses.
        fetch: Fetch those that are missing into it.
        only_found: Leave out images without a file.

    Raises:
        CorpusError: There are no shards, or no such folder of pictures.
        SettingError: Pictures are to be fetched and no folder is named.
    """
    if images is None and fetch is not None:
        raise SettingError("fetch=True needs images=..., the folder that pictures are fetched into")
    shards = [shard for shard in find_shards(source, data_set) if shard.absolute() != build.output.absolute()]
    work = partial(_usable, settings, data_set)
    results = build.mapped(STEP, _items(shards, data_set), work, label="Reading", chunk=1)
    found = FoundImages(images) if images is not None and (images.exists() or fetch is None) else None
    problems: dict[str, str] = {}
    if images is not None and fetch is not None:
        problems, found = _fetched(build, results, images, found, fetch)
        results = kept_results(build.work / f"{STEP}.jsonl")
    yield from _documents(build, results, settings, len(shards), found, problems, only_found=only_found)


def find_shards(source: Path, data_set: ShardedSet) -> list[Path]:
    """The shards in a folder, in the order of their names; or the one that is named.

    Raises:
        CorpusError: There are none; says what they are and where they come from.
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


Item = tuple[str, Part | str]
"""Name of a shard, and a part of it, or why it cannot be read on."""


def _items(shards: Iterable[Path], data_set: ShardedSet) -> Iterator[Item]:
    for shard in shards:
        try:
            for part in data_set.parts(shard):
                yield shard.name, part
        except CorpusError as error:
            yield shard.name, str(error).removeprefix(f"{shard}: ")


def _usable(settings: ShardSettings, data_set: ShardedSet, item: Item) -> dict[str, Any]:
    """What can be used of a part, and what is dropped of it and why."""
    shard, part = item
    rows: list[Any] = []
    dropped: list[tuple[str, str, str]] = []
    read = 0
    if isinstance(part, str):
        return {"read": 0, "rows": [], "dropped": [("shard damaged", shard, part)]}
    try:
        for record in part():
            read += 1
            why = _unusable(record, settings)
            if why is not None:
                dropped.append((why[0], f"{shard}, {record.place}", why[1]))
            elif record.row is not None:
                name = record.row.id if data_set.named(record.row) else f"{shard.partition('.')[0]}-{record.row.id}"
                row = (name, data_set.made(record.row), data_set.pictures(record.row))
                try:
                    dump_json(row)
                except ValueError as error:  # its meta has half a surrogate pair, or a number that is too large
                    dropped.append((UNREADABLE, f"{shard}, {record.place}", str(error)))
                else:
                    rows.append(row)
    except CorpusError as error:
        dropped.append(("shard damaged", shard, str(error)))
    return {"read": read, "rows": rows, "dropped": dropped}


def _unusable(record: Record, settings: ShardSettings) -> tuple[str, str] | None:
    """The rule by which a row is dropped, and what is particular about it."""
    row = record.row
    if record.problems or row is None:
        problem = record.problems[0]
        return UNREADABLE, problem.message if problem.field is None else f"{problem.field}: {problem.message}"
    if len(row.images) < settings.min_images:
        return ("no image", "") if not row.images else ("too few images", str(len(row.images)))
    if len(row.sentences) < settings.min_sentences:
        return ("no sentence", "") if not row.sentences else ("too few sentences", str(len(row.sentences)))
    return None


def _fetched(
    build: Build, results: Iterable[Any], folder: Path, found: FoundImages | None, politeness: Politeness
) -> tuple[dict[str, str], FoundImages]:
    """Fetch what is not there; why some could not be fetched, and all pictures that there are now."""
    wanted: dict[str, None] = {}
    for result in results:
        for _, _, pictures in result["rows"]:
            for picture in (Picture(*each) for each in pictures):
                if picture.address is not None and _find(found, picture) is None:
                    wanted[picture.address] = None
    problems: dict[str, str] = {}
    new = 0
    for fetched in build.watch(
        fetch_images(wanted, folder, politeness=politeness), total=len(wanted), label="Fetching"
    ):
        if fetched.file is None:
            problems[fetched.address] = fetched.problem or "not fetched"
        new += fetched.new and fetched.file is not None
    folder.mkdir(parents=True, exist_ok=True)
    build.report.count("pictures fetched now", new)
    return problems, FoundImages(folder)


def _documents(
    build: Build,
    results: Iterable[Any],
    settings: ShardSettings,
    shards: int,
    found: FoundImages | None,
    problems: dict[str, str],
    *,
    only_found: bool,
) -> Iterator[Values]:
    report, ids = build.report, UniqueIds()
    numbers: Counter[str] = Counter()
    way = lru_cache(maxsize=1024)(build.way)
    for result in results:
        numbers["read"] += result["read"]
        for rule, item, reason in result["dropped"]:
            report.drop(rule, item, reason)
        for name, values, named in result["rows"]:
            numbers["usable"] += 1
            pictures = [Picture(*each) for each in named]
            files = [_find(found, picture) for picture in pictures]
            numbers["images"] += len(files)
            numbers["files"] += sum(file is not None for file in files)
            sources = [
                f"{way(file.parent)}/{file.name}" if file is not None else picture.address or picture.name or ""
                for file, picture in zip(files, pictures, strict=True)
            ]
            if only_found:
                there = [i for i, file in enumerate(files) if file is not None]
                for file, picture, name_there in zip(files, pictures, sources, strict=True):
                    if file is None:
                        report.drop("picture not there", name_there, problems.get(picture.address or "", "not found"))
                if len(there) < settings.min_images:
                    report.drop("too few pictures there", name, f"{len(there)} of {len(files)}")
                    continue
                sources = [sources[i] for i in there]
                values = with_images(values, there)
            yield values | {"id": ids.take(name), "images": sources}
    report.count("shards", shards)
    report.count("documents in them", numbers["read"])
    report.count("documents with sentences and images", numbers["usable"])
    report.count("their images", numbers["images"])
    if found is not None or numbers["files"]:
        report.count("their images with a file", numbers["files"])


def with_images(values: Values, kept: list[int]) -> Values:
    """The columns of a document of which only some images are left, in their order."""
    number = {old: new for new, old in enumerate(kept)}
    changed: Values = {}
    for name in ("positions", "alts", "captions"):
        if values.get(name) is not None:
            changed[name] = [values[name][i] for i in kept]
    if values.get("links") is not None:
        changed["links"] = [(sentence, number[image]) for sentence, image in values["links"] if image in number]
    return values | changed | {"meta": _kept_meta(values.get("meta") or {}, kept)}


def _kept_meta(meta: dict[str, Any], kept: list[int]) -> dict[str, Any]:
    """What ``meta`` says of the images that are left."""
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
        return None if picture.file is None else Path(picture.file)
    file = found.named(picture.name) if picture.name else None
    if file is None and picture.address:
        file = found.at(picture.address, by_name=False)
    return file
