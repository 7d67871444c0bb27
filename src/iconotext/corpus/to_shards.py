"""Writes a corpus as shards: tables of some hundred documents each, with the pictures inside the rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path, PureWindowsPath
from tempfile import mkdtemp
from typing import Any

from iconotext.corpus.document_row import row_of
from iconotext.corpus.formats.parquet import RELATION, schema_of, values_of
from iconotext.corpus.image_files import named_by_address
from iconotext.corpus.store import repeated_id
from iconotext.errors import CorpusError, OutputError, SettingError
from iconotext.extras import require
from iconotext.types import Document, Image
from iconotext.write import open_atomic, reporting_full_disk, write_error

DOCUMENTS = 1000
"""Default number of documents in a shard."""

BYTES_AT_ONCE = 64 * 2**20
"""Bytes of pictures that are in memory before they are written."""

ROWS_AT_ONCE = 256
"""Rows that are in memory before they are written."""


@dataclass
class WrittenShards:
    """The result of writing shards.

    Attributes:
        pictures: Number of pictures inside the rows.
        missing: Number of pictures that do not exist or cannot be read; rows have only their names.
    """

    shards: int = 0
    documents: int = 0
    pictures: int = 0
    missing: int = 0
    _names: dict[str, str] = field(default_factory=dict, repr=False)
    _ids: dict[str, str] = field(default_factory=dict, repr=False)


def write_shards(documents: Iterable[Document], folder: Path, *, size: int = DOCUMENTS) -> WrittenShards:
    """Write ``00000.parquet``, ``00001.parquet`` and so on, all or none of them.

    A picture is ``{"bytes", "path"}``, as in the Hugging Face library. Its path does not lead out of the corpus's
    folder: ``../../photos/a.jpg`` becomes ``photos/a.jpg``.

    Args:
        documents: May be a generator; the documents of a shard are not in memory together.
        folder: A new or empty folder.
        size: Documents in a shard; the last one may have fewer.

    Raises:
        CorpusError: There are no documents, or two have the same id.
        OutputError: The folder is not empty, or cannot be written.
        SettingError: ``size`` is less than 1.
        MissingPackageError: pyarrow is not installed.
    """
    require("parquet", purpose=f"{folder}: tables of Parquet")
    if size < 1:
        raise SettingError(f"size {size}: a shard has at least one document")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OutputError(f"{folder}: is there already; shards need a new folder, or an empty one")
    done = WrittenShards()
    with reporting_full_disk(folder):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            work = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            (shards := work / "shards").mkdir()  # with usual permissions, unlike a temporary folder
        except OSError as error:
            raise write_error(folder, error) from error
        try:
            rest = iter(documents)
            for first in rest:
                _write(chain([first], islice(rest, size - 1)), shards / f"{done.shards:05}.parquet", done)
                done.shards += 1
            if not done.shards:
                raise CorpusError(f"{folder}: there are no documents to write")
            if folder.exists():
                folder.rmdir()
            os.rename(shards, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return done


def _write(documents: Iterator[Document], path: Path, done: WrittenShards) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, boolean = pa.string(), pa.bool_()
    relation = pa.struct(list(zip(RELATION, (text, boolean), strict=True)))  # the library does not support maps
    schema = schema_of(pa.struct([("bytes", pa.binary()), ("path", text)]), pa.list_(relation))
    with open_atomic(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        some: list[dict[str, Any]] = []
        held = 0
        for document in documents:
            values, size = _row(document, done)
            some.append(values)
            held += size
            if held > BYTES_AT_ONCE or len(some) == ROWS_AT_ONCE:
                writer.write_table(pa.Table.from_pylist(some, schema=schema))
                some, held = [], 0
        if some:
            writer.write_table(pa.Table.from_pylist(some, schema=schema))


def _row(document: Document, done: WrittenShards) -> tuple[dict[str, Any], int]:
    """The columns of a document, and the number of bytes of its pictures."""
    place = f"document {done.documents + 1}"
    if (first := done._ids.setdefault(document.id, place)) != place:
        raise CorpusError(str(repeated_id(place, document.id, first)))
    names = [_name(image.source, done._names) for image in document.images]
    named = (replace(image, source=name, file=None) for image, name in zip(document.images, names, strict=True))
    row = row_of(replace(document, images=tuple(named)), Path())
    pictures = [_bytes_of(image) for image in document.images]
    done.documents += 1
    done.pictures += sum(data is not None for data in pictures)
    done.missing += sum(data is None for data in pictures)
    images = [{"bytes": data, "path": name} for data, name in zip(pictures, names, strict=True)]
    relations = None if row.relations is None else [dict(zip(RELATION, e, strict=True)) for e in row.relations.items()]
    values = values_of(row) | {"images": images, "relations": relations}
    return values, sum(len(data or b"") for data in pictures)


def _bytes_of(image: Image) -> bytes | None:
    try:
        return image.file.read_bytes() if isinstance(image.file, Path) else image.file
    except OSError:  # counted as missing
        return None


def _name(source: str, names: dict[str, str]) -> str:
    """The name of a picture in its row; a name that would lead out is changed to one in the folder.

    Args:
        names: Changed name to original name.
    """
    path = PureWindowsPath(source)  # accepts both kinds of slashes
    if named_by_address(source) or not (path.anchor or ".." in path.parts):
        return source
    inside = "/".join(part for part in path.parts if part not in (path.anchor, "..")) or "picture"
    name, number = inside, 2
    while names.setdefault(name, source) != source:
        name, number = f"{number}/{inside}", number + 1
    return name
