"""Shards: find them with the tars beside them, and read their documents with pictures.

``corpus.convert`` writes shards.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, Field

from iconotext.corpus.formats.mmc4 import images_folder
from iconotext.corpus.formats.released import DOCUMENTS_FILE
from iconotext.corpus.formats.webdataset import Tar, sample_records
from iconotext.corpus.found_images import FoundImages
from iconotext.corpus.image_files import ShardPictures
from iconotext.corpus.row import Record, Row, document_of
from iconotext.corpus.store import FORMATS, format_of, read_corpus, read_records, read_rows, with_repeated_ids
from iconotext.errors import CorpusError
from iconotext.system.object_store import (
    Entry,
    address_of,
    entries,
    entry,
    is_folder,
    is_remote,
    joined,
    local_files,
    split_address,
)
from iconotext.system.threads import in_threads
from iconotext.types import Document, Image, Member

SUFFIXES = tuple(suffix for name in ("parquet", "jsonl", "webdataset") for suffix in FORMATS[name].suffixes)
"""File name suffixes of shards."""

EXAMPLES = 20  # number of problems that ``Counts`` lists; all of them are counted

FETCHING = 8
"""Documents of a shard in a store whose pictures are fetched at the same time."""

_INDEX = re.compile(r"\.\d+")
_NUMBER = re.compile(r"\d[\d,.]*")


class ShardSettings(BaseModel):
    """Which documents of shards are read, and where their pictures are looked for."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    sample: float = Field(1.0, gt=0, le=1)
    """Take this share of the documents. A digest of their ids chooses: always the same ones, and a smaller share takes
    some of those of a larger one."""

    images: Path | None = None
    """Folder of pictures that shards only name. They are found by name or by a digest of their address."""

    allow_outside: bool = False
    """Let documents name files anywhere on this machine."""


@dataclass(frozen=True, slots=True)
class Shard:
    """An input shard.

    Attributes:
        beside: Tars of the same name, with its pictures.
    """

    file: Entry
    beside: tuple[Entry, ...] = ()


def find_shards(addresses: Iterable[str]) -> list[Shard]:
    """The named shards and those in named folders, each once; those of a folder sorted by address.

    A tar with the same name as another shard holds the pictures of that shard: ``00000.tar`` beside ``00000.parquet``.

    Raises:
        CorpusError: There is no shard at an address.
        StoreError: A store does not answer.
    """
    files: dict[str, Entry] = {}
    for address in addresses:
        single = entry(address)
        if single is not None:
            files.setdefault(single.address, single)
            continue
        start = len(joined(address, ""))
        inside = {file.address: file for file in entries(address) if _is_shard(file.address[start:].replace("\\", "/"))}
        if not inside:
            raise CorpusError(
                f"{address}: no shard is there; their names end in {', '.join(SUFFIXES)}. `iconotext "
                "corpus build` makes a corpus of documents, and `iconotext corpus convert` shards of that"
            )
        files |= inside
    texts = {_stem(address) for address in files if not address.endswith(".tar")}
    shards = []
    for address, file in files.items():
        if not address.endswith(".tar"):
            shards.append(Shard(file, tuple(filter(None, [entry(_stem(address) + ".tar")]))))
        elif _stem(address) not in texts:
            shards.append(Shard(file))
    return shards


def _is_shard(name: str) -> bool:
    """Whether a file has the name of a shard; programs begin names of files that they put beside tables with "_"."""
    return name.endswith(SUFFIXES) and not any(part.startswith("_") for part in name.split("/"))


def _stem(name: str) -> str:
    suffix = next((suffix for suffix in sorted(SUFFIXES, key=len, reverse=True) if name.endswith(suffix)), None)
    return name.removesuffix(suffix if suffix is not None else PurePosixPath(name).suffix)


class Counts:
    """Counts of the rows, documents and images of a shard.

    Attributes:
        problem: Why the shard could not be read to its end.
        broken: The first broken tar or row, which was skipped.
    """

    def __init__(self) -> None:
        self.documents = Counter[str]()
        self.images = Counter[str]()
        self.reasons = Counter[str]()
        self.examples: list[str] = []
        self.problem: str | None = None
        self.broken: str | None = None

    def note(self, reason: str, example: str, number: int = 1) -> None:
        """Count a problem, and store it as an example if there are few examples."""
        self.reasons[reason] += number
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)

    def picture(self, document: str, image: Image, problem: str | None) -> None:
        """Count a picture of a document by its problem: usable without one, else missing or unreadable."""
        self.images["read"] += 1
        if problem is None:
            self.images["usable"] += 1
            return
        kind = "missing" if image.file is None else "unreadable"
        self.images[kind] += 1
        self.note(f"picture: {reason_of(problem)}", f"{document}, {image.source}: {problem}")

    def read(self, records: Iterable[Record], sample: float) -> Iterator[tuple[Record, Row]]:
        """Yield the rows that can be used and are in the sample, a share of all; count the others."""
        for record in records:
            self.documents["read"] += 1
            if record.problems or record.row is None:
                problem = record.problems[0]
                self.documents["broken row"] += 1
                field = "" if problem.field is None else f", field {_INDEX.sub('', problem.field)}"
                self.broken = self.broken or str(problem)
                self.note(f"row{field}: {reason_of(problem.message)}", str(problem))
            elif sample < 1 and share_of(record.row.id) >= sample:
                self.documents["not in the sample"] += 1
            else:
                yield record, record.row


def reason_of(problem: str) -> str:
    """A problem without names and numbers, so that similar problems are counted together."""
    return _NUMBER.sub("N", problem.partition(":")[0])[:100]


def shard_documents(
    shard: Shard,
    paths: Sequence[Path],
    counts: Counts,
    settings: ShardSettings | None = None,
    picture_folder: FoundImages | None = None,
) -> Iterator[Document]:
    """Yield the documents of a shard; if reading fails, those before the failure.

    Args:
        paths: Its file and the tars beside it, on this machine.
        counts: Counts rows and pictures, and takes the problem that ends the reading.
        settings: Which documents and pictures are used.
        picture_folder: The folder of pictures that the settings name.
    """
    settings = settings or ShardSettings()
    file, remote, folder = paths[0], is_remote(shard.file.address), split_address(shard.file.address)[0]
    try:
        tars = []
        for path, beside in zip(paths[1:], shard.beside, strict=True):
            try:
                tars.append(Tar(path, beside.address))
            except CorpusError as error:
                counts.broken = str(error).replace(str(path), beside.address)
                counts.note("tar of pictures: cannot be read", counts.broken)
        if file.suffix.lower() == ".tar":
            archive = Tar(file, shard.file.address)  # listed once, for its documents and its pictures
            tars, records, files = [archive], with_repeated_ids(sample_records(archive)), True
        else:
            kind = format_of(file)
            if remote and kind == "mmc4" and is_folder(joined(folder, images_folder(file).name)):
                # Names of pictures lead into this folder if it exists; each picture is fetched when it is needed.
                images_folder(file).mkdir()
            records, files = read_records(file), FORMATS[kind].files
        for tar in tars:
            for reason, number in tar.refused.items():
                counts.note(f"member of a tar: {reason}", tar.path.name, number)
        pictures = ShardPictures(
            file.parent,
            tars,
            remote=folder if remote else None,
            picture_folder=picture_folder,
            outside=settings.allow_outside,
            files=files,
        )
        rows = counts.read(records, settings.sample)
        yield from _with_pictures(rows, pictures, shard.file.address, threads=FETCHING if remote else None)
        counts.problem = next((tar.problem for tar in tars if tar.problem is not None), None)
    except CorpusError as error:
        counts.problem = str(error).replace(str(file), shard.file.address)


def share_of(name: str) -> float:
    """Pseudo-random number from 0 to 1 from a document's id; a sample takes documents below its share."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def _with_pictures(
    records: Iterable[tuple[Record, Row]], pictures: ShardPictures, address: str, *, threads: int | None
) -> Iterator[Document]:
    def document(record_and_row: tuple[Record, Row]) -> Document:
        record, row = record_and_row
        built = document_of(row, pictures, record.files)
        images = list(built.images)
        for n, image in enumerate(images):
            # In a tar, pictures are members; the pages of a TIFF, which also come with their row, have no place.
            if record.files and record.files[n] is not None and not address.endswith(".tar"):
                images[n] = replace(image, member=Member(address, record.number, n))
            elif isinstance(image.file, bytes):
                images[n] = replace(image, member=pictures.member(image.source))
        return replace(built, images=tuple(images))

    if threads is None:
        yield from map(document, records)
        return
    with closing(in_threads(document, records, threads=threads, ahead=threads)) as documents:
        yield from documents


def corpus_files(path: Path) -> tuple[Path, ...]:
    """The shards in a folder, here or in a store; ``(path,)`` for anything else.

    Raises:
        CorpusError: The folder has no shards.
        StoreError: The store does not answer.
    """
    folder = path.is_dir() and not (path / DOCUMENTS_FILE).is_file()
    if not folder and not is_remote(address_of(path)):
        return (path,)
    return tuple(Path(shard.file.address) for shard in find_shards([address_of(path)]))


def rows_of(file: Path) -> Iterator[Row]:
    """Rows of a corpus, or of a shard of a store, as ``read_rows`` reads them."""
    address = address_of(file)
    with local_files(address) as (path,):
        try:
            yield from read_rows(path)
        except CorpusError as error:
            raise CorpusError(str(error).replace(str(path), address)) from error


def documents_of(file: Path, *, split: str | None = None, inside: bool = False) -> Iterator[Document]:
    """Documents of a corpus, or of a shard of a store, as ``read_corpus`` reads them.

    Args:
        split: Only the documents of this split.
        inside: Whether pictures outside its folder count as missing; always so for a store.

    Raises:
        CorpusError: The corpus breaks the format, or cannot be read.
        StoreError: The store does not answer.
    """
    address = address_of(file)
    if not is_remote(address):
        yield from read_corpus(file, split=split, inside=inside)
        return
    ((shard,), counts) = find_shards([address]), Counts()
    with local_files(*(part.address for part in (shard.file, *shard.beside))) as paths:
        for document in shard_documents(shard, paths, counts):
            _refuse(address, counts)
            if split is None or document.split == split:
                yield document
    _refuse(address, counts)


def _refuse(address: str, counts: Counts) -> None:
    """Raise errors that a run over shards would only record: broken rows, or a shard that ends too early."""
    if counts.problem is not None or counts.broken is not None:
        raise CorpusError(f"{address}: {counts.problem or counts.broken}")
