"""Conversion of a corpus: to another format, or to shards.

``table_path``, ``region_path`` and ``own_features`` locate files of features for training and linking.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path, PureWindowsPath
from tempfile import mkdtemp
from typing import Any

from iconotext.corpus.formats.table import RELATION, schema_of, values_of
from iconotext.corpus.found_images import named_by_address
from iconotext.corpus.row import row_of
from iconotext.corpus.store import corpus_folder, format_of, read_corpus, repeated_id, write_corpus
from iconotext.encoders.stored_model import RECIPE, init_folder, is_model_folder
from iconotext.errors import CorpusError, FeatureError, OutputError, SettingError
from iconotext.extras import require
from iconotext.features.region_files import is_region_file
from iconotext.recipe import load_recipe
from iconotext.system.files import check_overwrite, open_atomic, reporting_full_disk, write_error
from iconotext.system.processes import Watch, unwatched
from iconotext.types import Document, Image


def region_path(name: str, corpus: Path) -> Path | None:
    """Return the file of regions that a recipe names, at this path or beside the corpus; None if there is none."""
    return next((place for place in _places(name, corpus) if is_region_file(place) and place.exists()), None)


def table_path(name: str, corpus: Path) -> Path:
    """Return the recipe's table of features, here or beside the corpus; ``FeatureError`` if in neither place."""
    for place in _places(name, corpus):
        if place.is_file():
            return place
    raise FeatureError(f"{name}: the recipe's table of image features is neither here nor beside {corpus}")


def own_features(model: str, corpus: Path) -> str | None:
    """Return the table of features, or file of regions, for a trained model that reads images from such a file.

    A file beside the corpus is preferred to the one that the model was trained on. None for a model that reads
    pictures, and if there is no such file.
    """
    folder = init_folder(model)
    if not is_model_folder(folder):
        return None
    recipe = load_recipe(folder / RECIPE)
    name = recipe.features.image
    if not name.endswith(".npy") and not (recipe.regions and is_region_file(Path(name))):
        return None
    places = (corpus_folder(corpus) / Path(name).name, Path(name))
    return next((str(place) for place in places if place.exists()), None)


def _places(name: str, corpus: Path) -> tuple[Path, Path]:
    return Path(name), corpus_folder(corpus) / name


@dataclass(frozen=True)
class Converted:
    """The result of a conversion.

    Attributes:
        inside: Number of images inside rows, or in a tar beside the source; the result has only their names.
    """

    documents: int
    inside: int


def convert_corpus(source: Path, target: Path, *, force: bool = False, watch: Watch = unwatched) -> Converted:
    """Write a corpus in the format that the name of the target says; paths of images are rewritten.

    Raises:
        CorpusError: The source is damaged.
        OutputError: The target exists already, or cannot be written.
    """
    format_of(source)  # check it before anything is written
    check_overwrite(target, force)
    inside = 0

    def without_bytes(document: Document) -> Document:
        nonlocal inside
        inside += sum(isinstance(image.file, bytes) for image in document.images)
        images = (replace(e, file=None) if isinstance(e.file, bytes) else e for e in document.images)
        return replace(document, images=tuple(images))

    documents = watch(read_corpus(source), total=0, label="Converting")
    written = write_corpus(map(without_bytes, documents), target, force=force)
    return Converted(written, inside)


SHARD_DOCUMENTS = 1000  # default number of documents in a shard

BATCH_BYTES = 64 * 2**20  # bytes of pictures that are in memory before they are written

BATCH_ROWS = 256  # rows that are in memory before they are written


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


def write_shards(documents: Iterable[Document], folder: Path, *, size: int = SHARD_DOCUMENTS) -> WrittenShards:
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
    totals = WrittenShards()
    with reporting_full_disk(folder):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            work = Path(mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
            (shards := work / "shards").mkdir()  # with usual permissions, unlike a temporary folder
        except OSError as error:
            raise write_error(folder, error) from error
        try:
            rows = _rows(documents, totals)
            for first in rows:
                _write(chain([first], islice(rows, size - 1)), shards / f"{totals.shards:05}.parquet")
                totals.shards += 1
            if not totals.shards:
                raise CorpusError(f"{folder}: there are no documents to write")
            if folder.exists():
                folder.rmdir()
            os.rename(shards, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return totals


def _write(rows: Iterable[tuple[dict[str, Any], int]], path: Path) -> None:
    """Write rows, each with the bytes of its pictures, in batches that fit into memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, boolean = pa.string(), pa.bool_()
    relation = pa.struct(list(zip(RELATION, (text, boolean), strict=True)))  # the library does not support maps
    schema = schema_of(pa.struct([("bytes", pa.binary()), ("path", text)]), pa.list_(relation))
    with open_atomic(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        batch: list[dict[str, Any]] = []
        batch_bytes = 0
        for values, size in rows:
            batch.append(values)
            batch_bytes += size
            if batch_bytes > BATCH_BYTES or len(batch) == BATCH_ROWS:
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
                batch, batch_bytes = [], 0
        if batch:
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _rows(documents: Iterable[Document], totals: WrittenShards) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the columns of each document, and the bytes of its pictures; counts documents and pictures."""
    places: dict[str, str] = {}  # of documents, by id
    changed_names: dict[str, str] = {}
    for number, document in enumerate(documents, 1):
        place = f"document {number}"
        if (first := places.setdefault(document.id, place)) != place:
            raise CorpusError(str(repeated_id(place, document.id, first)))
        names = [_name(image.source, changed_names) for image in document.images]
        renamed = (replace(image, source=name, file=None) for image, name in zip(document.images, names, strict=True))
        row = row_of(replace(document, images=tuple(renamed)), Path())
        pictures = [_bytes_of(image) for image in document.images]
        totals.documents += 1
        totals.pictures += sum(data is not None for data in pictures)
        totals.missing += sum(data is None for data in pictures)
        images = [{"bytes": data, "path": name} for data, name in zip(pictures, names, strict=True)]
        relations = None
        if row.relations is not None:
            relations = [dict(zip(RELATION, pair, strict=True)) for pair in row.relations.items()]
        values = values_of(row) | {"images": images, "relations": relations}
        yield values, sum(len(data or b"") for data in pictures)


def _bytes_of(image: Image) -> bytes | None:
    try:
        return image.file.read_bytes() if isinstance(image.file, Path) else image.file
    except OSError:  # counted as missing
        return None


def _name(source: str, names: dict[str, str]) -> str:
    """Return the name of a picture in its row; a name that would lead out is changed to one in the folder.

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
