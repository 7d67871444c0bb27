"""Data sets of web pages that come as shards: their documents, with the images that are at hand.

A worker reads a part of a shard and keeps what can be used; here ids become unique over all shards, and images are
found in a folder, or fetched into it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from iconotext.corpus.builders.fetched import LEDGER, fetch_images
from iconotext.corpus.builders.find_images import FoundImages
from iconotext.corpus.builders.settings import FetchSettings
from iconotext.corpus.row import Part, Record, Row, UniqueIds
from iconotext.errors import CorpusError, SettingError
from iconotext.strict_json import dump_json

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values

UNREADABLE = "row cannot be read"


class ShardSettings(FetchSettings):
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
    """How a data set names an image.

    Attributes:
        address: On the web; None where it is unknown.
        file: Where it lies beside its shard; None where it does not.
    """

    name: str | None
    address: str | None
    file: str | None = None


@dataclass(frozen=True, slots=True)
class ShardedSet:
    """How the shards of a data set are read, by functions that can be sent to another process.

    Attributes:
        suffixes: That names of shards end in.
        parts: The rows of a shard; ids need not be unique.
        named: Whether the id of a row is that of its page, not only its place in the shard.
        pictures: How each of its images is named.
        columns: The columns of the corpus from a row.
    """

    suffixes: tuple[str, ...]
    about: str
    parts: Callable[[Path], Iterator[Part]]
    named: Callable[[Row], bool]
    pictures: Callable[[Row], list[Picture]]
    columns: Callable[[Row], Values]


def shard_documents(build: Build, settings: ShardSettings, data_set: ShardedSet) -> Iterator[Values]:
    """Documents of all shards, in the order of their names.

    Raises:
        CorpusError: There are no shards, or no such folder of images.
        SettingError: Images are to be fetched and no folder is named.
    """
    images = settings.images
    if images is None and settings.fetch:
        raise SettingError("fetch=True needs images=..., the folder that pictures are fetched into")
    shards = [shard for shard in find_shards(settings.source, data_set) if shard.absolute() != build.output.absolute()]
    work = partial(_usable, settings, data_set)
    results: Iterable[Any] = build.mapped(_parts(shards, data_set), work, label="Reading", chunk=1)
    found = FoundImages(images) if images is not None and (images.exists() or not settings.fetch) else None
    problems: dict[str, str] = {}
    if images is not None and settings.fetch:
        results = build.spool(results)
        problems = _fetch(build, results, images, found, settings.interval)
        found = FoundImages(images)
    counts: Counter[str] = Counter()
    yield from _documents(build, results, settings, found, problems, counts)
    build.report.count("shards", len(shards))
    build.report.count("documents in them", counts["read"])
    build.report.count("documents with sentences and images", counts["usable"])
    build.report.count("their images", counts["images"])
    if found is not None or counts["files"]:
        build.report.count("their images with a file", counts["files"])


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


Item = tuple[str, "Part | str"]
"""Name of a shard, and a part of it, or why it cannot be read on."""


def _parts(shards: Iterable[Path], data_set: ShardedSet) -> Iterator[Item]:
    for shard in shards:
        try:
            for part in data_set.parts(shard):
                yield shard.name, part
        except CorpusError as error:
            yield shard.name, str(error).removeprefix(f"{shard}: ")


def _usable(settings: ShardSettings, data_set: ShardedSet, item: Item) -> dict[str, Any]:
    """What can be used of a part, and what is dropped of it and why."""
    shard, part = item
    rows: list[tuple[str, Values, list[Picture]]] = []
    dropped: list[tuple[str, str, str]] = []
    read = 0
    if isinstance(part, str):
        return {"read": 0, "rows": [], "dropped": [("shard damaged", shard, part)]}
    try:
        for record in part():
            read += 1
            try:
                rows.append(_row(record, settings, data_set, shard))
            except _Dropped as error:
                dropped.append((error.rule, f"{shard}, {record.place}", error.reason))
    except CorpusError as error:
        dropped.append(("shard damaged", shard, str(error)))
    return {"read": read, "rows": rows, "dropped": dropped}


class _Dropped(Exception):
    """A row is left out."""

    def __init__(self, rule: str, reason: str = "") -> None:
        self.rule, self.reason = rule, reason


def _row(
    record: Record, settings: ShardSettings, data_set: ShardedSet, shard: str
) -> tuple[str, Values, list[Picture]]:
    """The name, columns and images of a row; ``_Dropped`` where it cannot be used."""
    row = record.row
    if record.problems or row is None:
        problem = record.problems[0]
        raise _Dropped(UNREADABLE, problem.message if problem.field is None else f"{problem.field}: {problem.message}")
    for name, things, least in (
        ("image", row.images, settings.min_images),
        ("sentence", row.sentences, settings.min_sentences),
    ):
        if len(things) < least:
            raise _Dropped(f"too few {name}s", str(len(things))) if things else _Dropped(f"no {name}")
    name = row.id if data_set.named(row) else f"{shard.partition('.')[0]}-{row.id}"
    usable = (name, data_set.columns(row), data_set.pictures(row))
    try:
        dump_json(usable)
    except ValueError as error:  # its meta has half a surrogate pair, or a number that is too large
        raise _Dropped(UNREADABLE, str(error)) from error
    return usable


def _fetch(
    build: Build, results: Iterable[Any], folder: Path, found: FoundImages | None, interval: float
) -> dict[str, str]:
    """Fetch what is not there; why some could not be fetched."""
    named = (picture for result in results for _, _, pictures in result["rows"] for picture in pictures)
    missing = (picture.address for picture in named if _find(found, picture) is None)
    wanted = dict.fromkeys(address for address in missing if address is not None)
    problems: dict[str, str] = {}
    new = 0
    fetched = fetch_images(wanted, folder, interval=interval)
    for each in build.watch(fetched, total=len(wanted), label="Fetching"):
        if each.file is None:
            problems[each.address] = each.problem or "not fetched"
        new += each.new and each.file is not None
    folder.mkdir(parents=True, exist_ok=True)
    build.report.count("pictures fetched now", new)
    return problems


def _documents(
    build: Build,
    results: Iterable[Any],
    settings: ShardSettings,
    found: FoundImages | None,
    problems: dict[str, str],
    counts: Counter[str],
) -> Iterator[Values]:
    ids = UniqueIds()
    for result in results:
        counts["read"] += result["read"]
        for rule, item, reason in result["dropped"]:
            build.report.drop(rule, item, reason)
        for name, values, pictures in result["rows"]:
            counts["usable"] += 1
            files = [_find(found, picture) for picture in pictures]
            counts["images"] += len(files)
            counts["files"] += sum(file is not None for file in files)
            sources = [
                build.relative_path(file) if file is not None else picture.address or picture.name or ""
                for file, picture in zip(files, pictures, strict=True)
            ]
            if settings.only_found:
                why = [problems.get(picture.address or "", "not found") for picture in pictures]
                there = kept_images(build, files, sources, why)
                if len(there) < settings.min_images:
                    build.report.drop("too few pictures there", name, f"{len(there)} of {len(files)}")
                    continue
                sources = [sources[i] for i in there]
                values = with_images(values, there)
            yield values | {"id": ids.take(name), "images": sources}


def kept_images(build: Build, files: Sequence[Path | None], sources: Sequence[str], why: Sequence[str]) -> list[int]:
    """The numbers of the images of a document that have a file; the others are dropped."""
    for file, source, reason in zip(files, sources, why, strict=True):
        if file is None:
            build.report.drop("picture not there", source, reason)
    return [i for i, file in enumerate(files) if file is not None]


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
