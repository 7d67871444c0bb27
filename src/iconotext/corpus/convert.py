"""Conversion of a corpus: to another format, with its links and the features of its images, or to shards.

``table_path``, ``region_path`` and ``own_features`` locate files of features for training and linking.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path, PureWindowsPath
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Literal

from iconotext.corpus.formats.released import documents_file
from iconotext.corpus.formats.table import RELATION, schema_of, values_of
from iconotext.corpus.found_images import named_by_address
from iconotext.corpus.row import row_of, written_source
from iconotext.corpus.store import (
    FormatName,
    corpus_folder,
    format_of,
    left_out,
    read_corpus,
    read_rows,
    repeated_id,
    target_format,
    write_corpus,
)
from iconotext.encoders.stored_model import RECIPE, init_folder, is_model_folder
from iconotext.errors import CorpusError, FeatureError, OutputError, SettingError
from iconotext.extras import require
from iconotext.features import ImageBackbone, feature_table
from iconotext.features.feature_table import ROWS_FILE, TABLE_FILE
from iconotext.features.region_files import is_region_file
from iconotext.linker import Linker
from iconotext.read import Failure
from iconotext.recipe import load_recipe
from iconotext.report.as_json import plain_number
from iconotext.report.flow import links_by_image
from iconotext.system.files import check_overwrite, open_atomic, reporting_full_disk, write_error
from iconotext.system.processes import Watch, unwatched
from iconotext.types import Document, Image, Link, LinkedDocument

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


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


def instead_of_pictures(corpus: Path) -> str | None:
    """Return the table of features beside a corpus whose images have no files; else None."""
    table = corpus_folder(corpus) / TABLE_FILE
    if not table.is_file():
        return None
    first = next((image for document in read_corpus(corpus) for image in document.images), None)
    return str(table) if first is not None and first.file is None else None


def _places(name: str, corpus: Path) -> tuple[Path, Path]:
    return Path(name), corpus_folder(corpus) / name


def linked_corpus(documents: Iterable[Document], model: str, to: FormatName) -> Iterator[Document]:
    """Replace the links of documents with a model's.

    - ``mmc4``: one sentence for each picture, the most likely (``matched_text_index``, with its score in
      ``matched_sim``), and in ``similarity_matrix`` the score of each picture with each sentence.
    - ``obelics`` stores no links but an order: each picture is put before the paragraph of its most likely sentence; a
      picture without links keeps its position.
    - All others: every link.

    Raises:
        IconotextError: There is no such model, or a document cannot be linked.
    """
    for linked in Linker.load(model).link_all(documents):
        if isinstance(linked, Failure):
            raise linked.error
        yield as_format_has_it(linked, to)


def as_format_has_it(linked: LinkedDocument, to: FormatName) -> Document:
    """Give a linked document the links or the order that ``linked_corpus`` describes for the format."""
    best = {image: links[0] for image, links in links_by_image(linked).items()}
    if to == "mmc4":
        return _for_mmc4(linked, best)
    if to == "obelics":
        return _in_order(linked.document, best)
    return replace(linked.document, links=_sorted(linked.links))


def _sorted(links: Iterable[Link]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((link.sentence, link.image) for link in links))


def _for_mmc4(linked: LinkedDocument, best: dict[int, Link]) -> Document:
    document = linked.document
    stored, infos = document.meta.get("mmc4"), document.meta.get("image_info")
    if not isinstance(infos, list) or len(infos) != len(document.images):
        infos = [{} for _ in document.images]
    matched: list[dict[str, Any]] = [{**info} for info in infos]
    for number, info in enumerate(matched):
        info["matched_sim"] = plain_number(best[number].score) if number in best else None
    matrix = [[plain_number(cell) for cell in row] for row in linked.similarity.T.tolist()]
    shard = {**(stored if isinstance(stored, dict) else {}), "similarity_matrix": matrix}
    return replace(document, links=_sorted(best.values()), meta={**document.meta, "mmc4": shard, "image_info": matched})


def _in_order(document: Document, best: dict[int, Link]) -> Document:
    images = []
    for number, image in enumerate(document.images):
        if number in best:
            position = _paragraph_start(document, best[number].sentence)
        else:
            position = len(document.sentences) if image.position is None else image.position
        images.append(replace(image, position=position))
    order = sorted(range(len(images)), key=lambda number: images[number].position or 0)
    meta = dict(document.meta)
    stored = meta.get("obelics")
    if isinstance(stored, dict) and isinstance(stored.get("images"), list) and len(stored["images"]) == len(order):
        meta["obelics"] = {**stored, "images": [stored["images"][number] for number in order]}
    return replace(document, images=tuple(images[number] for number in order), links=None, meta=meta)


def _paragraph_start(document: Document, sentence: int) -> int:
    """Return the number of the first sentence in a sentence's paragraph."""
    block = document.sentences[sentence].block
    while sentence and block is not None and document.sentences[sentence - 1].block == block:
        sentence -= 1
    return sentence


BATCH = 256  # pictures that are encoded at a time


@dataclass(frozen=True)
class Converted:
    """The result of a conversion.

    Attributes:
        left_out: Fields that the new format cannot store.
        images: Number of images for which features were computed.
        inside: Number of images inside rows, or in a tar beside the source; the result has only their names.
        features: How the table of features beside the file was made; ``missing``: the released code needs one.
    """

    file: Path
    documents: int
    format: FormatName
    left_out: tuple[str, ...]
    images: int
    inside: int
    features: Literal["computed", "copied", "missing", "none"]


def convert_corpus(
    source: Path,
    target: Path,
    *,
    to: FormatName | None = None,
    features: str | None = None,
    links: str | None = None,
    force: bool = False,
    watch: Watch = unwatched,
) -> Converted:
    """Write a corpus in another format, and copy the features of its images that are beside it.

    Args:
        target: The file to write, or the folder for the released format.
        to: The format; None to choose by the name of the target.
        links: Model that links the documents first: see ``linked_corpus``. None keeps the existing links.
        features: Image backbone with which to compute ``features.npy`` and ``id2row.json`` beside the target.

    Raises:
        CorpusError: The source is damaged, or features are wanted and a picture has no file or cannot be read.
        FeatureError: There is no such backbone.
        OutputError: A file exists already, or cannot be written.
    """
    from iconotext.features.model_folder import IMAGE_BACKBONES, find_model

    format_of(source)  # check it before anything is written
    kind = to or target_format(target)
    file = documents_file(target) if kind == "released" else target
    home, folder = corpus_folder(source), file.parent
    check_overwrite(file, force)
    is_copied = features is None and folder.resolve() != home.resolve() and _has_rows(source, home, watch)
    if features is not None:
        find_model(features, IMAGE_BACKBONES)
        for name in (TABLE_FILE, ROWS_FILE):
            check_overwrite(folder / name, force)
    elif is_copied:
        feature_table.check_copy(home, folder, force=force)
    documents = read_corpus(source) if links is None else linked_corpus(read_corpus(source), links, kind)
    conversion = _Conversion(folder, kind, needs_files=features is not None)
    written = write_corpus(
        map(conversion.pass_on, watch(documents, total=0, label="Converting")), target, force=force, to=kind
    )
    table: Literal["computed", "copied", "missing", "none"] = "none"
    if features is not None:
        _compute_features(folder / TABLE_FILE, conversion.files, features, force=force, watch=watch)
        table = "computed"
    elif is_copied:
        renamed = {old: new for old, new in conversion.names.items() if old != new}
        feature_table.copy_feature_table(home, folder, renamed=renamed, force=force)
        table = "copied"
    elif kind == "released" and not (folder / TABLE_FILE).is_file():
        table = "missing"
    return Converted(
        file, written, kind, tuple(sorted(conversion.lost)), len(conversion.files), conversion.inside, table
    )


@dataclass
class _Conversion:
    """Passes documents on to a writer, and notes their images, and fields that the new format cannot store."""

    folder: Path
    kind: FormatName
    needs_files: bool
    lost: set[str] = field(default_factory=set)
    inside: int = 0
    names: dict[str, str] = field(default_factory=dict)  # of images: name in the source to name in the target
    files: dict[str, Path] = field(default_factory=dict)  # of images: name in the target to file

    def pass_on(self, document: Document) -> Document:
        """Return a document to write: without the bytes of images, of which only the names are written."""
        self.lost |= left_out(document, self.kind)
        embedded = [image.source for image in document.images if isinstance(image.file, bytes)]
        if embedded and self.needs_files:
            raise CorpusError(f"picture {embedded[0]}: features need files, and it lies in its row or in a tar")
        self.inside += len(embedded)
        images = [replace(e, file=None) if isinstance(e.file, bytes) else e for e in document.images]
        for image in images:
            name = self.names[image.source] = written_source(image, self.folder)
            if isinstance(image.file, Path):
                self.files[name] = image.file
        return replace(document, images=tuple(images))


def pooled_features(
    encoder: ImageBackbone, files: list[Path], watch: Watch, label: str = "Features"
) -> Iterator[FloatMatrix]:
    """Yield (pictures, dim) features, ``BATCH`` pictures at a time; ``CorpusError`` if a picture cannot be read."""
    starts = range(0, len(files), BATCH)
    for start in watch(starts, total=len(starts), label=label):
        batch = files[start : start + BATCH]
        features = encoder.encode(batch)
        for file, problem in zip(batch, features.problems, strict=True):
            if problem is not None:
                raise CorpusError(f"{file}: {problem}; repair it or take it out: features need every picture")
        yield features.pooled


def _has_rows(source: Path, folder: Path, watch: Watch) -> bool:
    """Return whether any image of a corpus has a row in the folder's table, which may belong to another data set."""
    file = folder / ROWS_FILE
    if not file.is_file():
        return False
    names = feature_table.read_rows(file)
    rows = watch(read_rows(source), total=0, label="Looking for images with features")
    return any(image in names for row in rows for image in row.images)


def _compute_features(path: Path, files: dict[str, Path], backbone: str, *, force: bool, watch: Watch) -> None:
    from iconotext.features import FeatureCache, cached_image, load_image_backbone

    encoder = cached_image(load_image_backbone(backbone), FeatureCache())
    chunks = pooled_features(encoder, list(files.values()), watch)
    feature_table.write_feature_table(path, list(files), chunks, dim=encoder.dim, force=force)


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
