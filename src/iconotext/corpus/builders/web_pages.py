"""Web pages that are published as shards: Multimodal C4 (Zhu et al. 2023) and OBELICS (Laurençon et al. 2023).

A worker reads a part of a shard and selects the usable rows; then ids are made unique over all shards, and images are
found in a folder, or fetched into it. The links of Multimodal C4 are the data set's own, an assignment of images to
sentences by CLIP similarities, and not gold links; OBELICS has images in reading order, without links.
``documents`` makes the documents of either data set.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from pydantic import Field

from iconotext.corpus.builders.fetched import LEDGER
from iconotext.corpus.builders.settings import DataSetSettings, FetchSettings
from iconotext.corpus.found_images import FoundImages
from iconotext.corpus.row import IMAGE_TEXTS, Part, Record, Row, UniqueIds
from iconotext.corpus.store import FORMATS, FormatName
from iconotext.errors import CorpusError, SettingError
from iconotext.system.strict_json import dump_json

if TYPE_CHECKING:
    from iconotext.corpus.builders.build import Build, Values

UNREADABLE = "row cannot be read"
DAMAGED = "shard damaged"

PLACE = re.compile("(?:line|page)-[0-9]+")  # id of a row whose page has no address: its place in the shard


class Picture(NamedTuple):
    """An image as the data set names it: its name and web address, empty if unknown, and its file beside the shard."""

    name: str
    address: str
    file: Path | None = None


class WebSettings(FetchSettings, DataSetSettings, ABC):
    """Which documents are used.

    Attributes:
        data_set: The format of the shards.
        about: What the source should be, for messages.
    """

    data_set: ClassVar[FormatName]
    about: ClassVar[str]

    source: Path
    """A shard, or the folder of the shards."""

    only_found: bool = False
    """Leave out images whose file is not there."""

    min_sentences: int = Field(1, ge=0)
    """Sentences of a document."""

    min_images: int = Field(1, ge=0)
    """Images of a document; with --only-found, of those that are there."""

    @abstractmethod
    def described(self, row: Row) -> tuple[Values, list[Picture]]:
        """Return the columns of the corpus from a row, except id and images, and the names of its images."""


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


def documents(build: Build, settings: WebSettings) -> Iterator[Values]:
    """Yield the documents of all shards, in the order of their names."""
    images, pictures, problems = settings.images, None, dict[str, str]()
    if images is None and settings.fetch:
        raise SettingError("fetch=True needs images=..., the folder that pictures are fetched into")
    shards = [shard for shard in _shards(settings) if shard.absolute() != build.output.absolute()]
    read = build.mapped(_parts(shards, settings), partial(_rows, settings), label="Reading", chunk=1)
    rows: Iterable[Usable | Dropped] = (row for batch in read for row in batch)
    if images is not None:
        if settings.fetch and not images.exists():
            images.mkdir(parents=True)
        pictures = FoundImages(images)
        if settings.fetch:
            rows = build.spool(rows)
            named = (picture for row in rows if isinstance(row, Usable) for picture in row.pictures)
            missing = (picture.address for picture in named if picture.address and _find(pictures, picture) is None)
            problems = build.fetched(missing, images, settings.interval)
            pictures = FoundImages(images)  # once more, with those that were fetched
    build.report.count("shards", len(shards))
    yield from _documents(build, rows, settings, pictures, problems)


def _shards(settings: WebSettings) -> list[Path]:
    """Return the shards in a folder, in the order of their names; or the one that is named."""
    source, suffixes = settings.source, FORMATS[settings.data_set].suffixes
    if source.is_file():
        return [source]
    if not source.is_dir():
        raise CorpusError(f"{source}: no such file or folder; it should be {settings.about}")
    files = sorted(path for path in source.iterdir() if path.is_file() and path.name.endswith(suffixes))
    files = [path for path in files if not path.name.startswith(".") and path.name != LEDGER]
    if not files:
        raise CorpusError(f"{source}: no file in it ends in {' or '.join(suffixes)}: it should have {settings.about}")
    return files


Item = tuple[str, "Part | str"]  # name of a shard, and a part of it, or the reason why the rest of it cannot be read


def _parts(shards: Iterable[Path], settings: WebSettings) -> Iterator[Item]:
    for shard in shards:
        try:
            for part in FORMATS[settings.data_set].parts(shard):
                yield shard.name, part
        except CorpusError as error:
            yield shard.name, str(error).removeprefix(f"{shard}: ")


def _rows(settings: WebSettings, item: Item) -> list[Usable | Dropped]:
    shard, part = item
    rows: list[Usable | Dropped] = []
    try:
        if isinstance(part, str):
            raise CorpusError(part)
        rows.extend(_row(record, settings, shard) for record in part())
    except CorpusError as error:
        rows.append(Dropped(DAMAGED, shard, str(error)))
    return rows


def _row(record: Record, settings: WebSettings, shard: str) -> Usable | Dropped:
    place, row = f"{shard}, {record.place}", record.row
    if record.problems or row is None:
        problem = record.problems[0]
        return Dropped(UNREADABLE, place, ": ".join(filter(None, (problem.field, problem.message))))
    for name, items, least in (
        ("image", row.images, settings.min_images),
        ("sentence", row.sentences, settings.min_sentences),
    ):
        if len(items) < least:
            return Dropped(f"too few {name}s", place, str(len(items))) if items else Dropped(f"no {name}", place)
    name = f"{shard.partition('.')[0]}-{row.id}" if PLACE.fullmatch(row.id) else row.id
    usable = Usable(name, *settings.described(row))
    try:
        dump_json([name, usable.values])
    except ValueError as error:  # its meta has half a surrogate pair, or a number that is too large
        return Dropped(UNREADABLE, place, str(error))
    return usable


def _documents(
    build: Build,
    rows: Iterable[Usable | Dropped],
    settings: WebSettings,
    pictures: FoundImages | None,
    problems: Mapping[str, str],
) -> Iterator[Values]:
    ids = UniqueIds()
    read = usable = images = present = 0
    for row in rows:
        if isinstance(row, Dropped):
            read += row.rule != DAMAGED
            build.report.drop(*row)
            continue
        files = [_find(pictures, picture) for picture in row.pictures]
        read, usable, images = read + 1, usable + 1, images + len(files)
        present += sum(file is not None for file in files)
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
    if pictures is not None or present:
        build.report.count("their images with a file", present)


def only_there(build: Build, values: Values, files: Sequence[Path | None], problems: Mapping[str, str]) -> Values:
    """Return the columns of a document without the images that have no file, which are dropped.

    Args:
        problems: Reasons why images have no file, by the document's name for them, if known.
    """
    for source, file in zip(values["images"], files, strict=True):
        if file is None:
            build.report.drop("picture not there", source, problems.get(source, "not found"))
    return with_images(values, [i for i, file in enumerate(files) if file is not None])


def with_images(values: Values, staying: list[int]) -> Values:
    """Return the columns of a document with only some of its images, in their order."""
    number = {old: new for new, old in enumerate(staying)}
    changed: Values = {}
    for name in ("images", "positions", *IMAGE_TEXTS):
        if values.get(name) is not None:
            changed[name] = [values[name][i] for i in staying]
    if values.get("links") is not None:
        changed["links"] = [(sentence, number[image]) for sentence, image in values["links"] if image in number]
    return values | changed | {"meta": _meta_of_images(values.get("meta") or {}, staying)}


def _meta_of_images(meta: dict[str, Any], staying: list[int]) -> dict[str, Any]:
    """Return the entries of ``meta`` about the remaining images."""
    result = dict(meta)
    if isinstance(infos := result.get("image_info"), list):
        result["image_info"] = [infos[i] for i in staying]
    if isinstance(shard := result.get("mmc4"), dict) and isinstance(matrix := shard.get("similarity_matrix"), list):
        result["mmc4"] = shard | {"similarity_matrix": [matrix[i] for i in staying]}
    if isinstance(page := result.get("obelics"), dict) and isinstance(entries := page.get("images"), list):
        result["obelics"] = page | {"images": [entries[i] for i in staying]}
    return result


def _find(pictures: FoundImages | None, picture: Picture) -> Path | None:
    """Return the file of a picture: beside its shard, else by its name there, else by a digest of its address."""
    if picture.file is not None or pictures is None:
        return picture.file
    return pictures.named(picture.name) or (pictures.at(picture.address) if picture.address else None)


class Mmc4Settings(WebSettings):
    """Make a corpus out of shards of Multimodal C4 (Zhu et al. 2023).

    Shards are docs_no_face_shard_0_v3.jsonl and so on, also as .jsonl.zip, .jsonl.gz or .jsonl.zst; they are read in
    the order of their names. Links are the data set's own guess, an image to a sentence. Pictures are found in --images
    under the names that the shards give them, or by SHA-256, SHA-1 or MD5 of their addresses; an image without a file
    is named by its address.

    **Examples**

    - `iconotext corpus build mmc4 --source shards/ --output mmc4.parquet`
    - `iconotext corpus build mmc4 -s shards/ -o mmc4.jsonl --images pictures/ --fetch --only-found`
    - `iconotext corpus build mmc4 -s shard_0.jsonl.zip -o mmc4.jsonl --min-similarity 0.25`
    """

    data_set = "mmc4"
    about = (
        "shards of Multimodal C4, docs_no_face_shard_0_v3.jsonl or .jsonl.zip and so on, from the data set "
        "jmhessel/mmc4-ff or jmhessel/mmc4-core-ff on the Hugging Face hub (see github.com/allenai/mmc4)"
    )

    min_similarity: float | None = Field(None, ge=-1, le=1)
    """Leave out links of images whose matched_sim is below."""

    similarities: bool = True
    """Keep the matrix of similarities of all images and sentences in meta: it is most of a document."""

    @cached_property
    def _folder(self) -> Path:
        return self.source if self.source.is_dir() else self.source.parent

    def described(self, row: Row) -> tuple[Values, list[Picture]]:
        """See ``WebSettings``."""
        infos, shard, links = row.meta["image_info"], row.meta["mmc4"], row.links
        if links is not None and self.min_similarity is not None:
            links = [(s, i) for s, i in links if _similarity(infos[i]) >= self.min_similarity]
        if not self.similarities:
            shard = {name: value for name, value in shard.items() if name != "similarity_matrix"}
        values = {"sentences": row.sentences, "links": links, "meta": {"mmc4": shard, "image_info": infos}}
        return values, [_picture(self._folder, *pair) for pair in zip(row.images, infos, strict=True)]


def _picture(folder: Path, image: str, info: dict[str, Any]) -> Picture:
    """Return the name of an image; the data set's own script downloads it into ``SHARD_images`` beside a shard."""
    address, name = info.get("raw_url"), info["image_name"]
    web = address if isinstance(address, str) and address.startswith(("http://", "https://")) else ""
    inside = image != name and ".." not in PurePosixPath(image).parts
    beside = folder / image if inside and os.path.isfile(folder / image) else None
    return Picture(PurePosixPath(name).name, web, beside)


def _similarity(info: dict[str, Any]) -> float:
    """Return the similarity of an image with the sentence matched to it; -1 if unknown."""
    similarity = info.get("matched_sim")
    return float(similarity) if isinstance(similarity, int | float) else -1.0


class ObelicsSettings(WebSettings):
    """Make a corpus out of shards of OBELICS (Laurençon et al. 2023).

    Shards are train-00000-of-01335.parquet and so on; they are read in the order of their names. Paragraphs are split
    into sentences and images keep their places among them; nobody says which belong together. Pictures are found in
    --images by SHA-256, SHA-1 or MD5 of their addresses; an image without a file is named by its address.

    **Examples**

    - `iconotext corpus build obelics --source data/ --output obelics.parquet`
    - `iconotext corpus build obelics -s data/ -o obelics.jsonl --images pictures/ --fetch --only-found`
    - `iconotext corpus build obelics -s data/ -o obelics.jsonl --min-images 2 --min-sentences 10`
    """

    data_set = "obelics"
    about = (
        "shards of OBELICS, train-00000-of-01335.parquet and so on, from the folder data of the data set "
        "HuggingFaceM4/OBELICS on the Hugging Face hub"
    )

    def described(self, row: Row) -> tuple[Values, list[Picture]]:
        """See ``WebSettings``."""
        columns = row.model_dump(exclude={"id", "images"}, exclude_none=True)
        return columns, [Picture("", address) for address in row.images]
