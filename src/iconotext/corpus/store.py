"""Corpora on disk: read and write documents of every format, one at a time; and the table of formats, ``FORMATS``.

Begin with ``read_corpus`` and ``write_corpus``. ``read_records`` also yields rows with problems.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol

from iconotext.corpus.formats.json_lines import PACKINGS, count_lines, first_value, jsonl_parts, lines_of, write_jsonl
from iconotext.corpus.formats.mmc4 import looks_like_mmc4, mmc4_parts
from iconotext.corpus.formats.obelics import has_obelics_columns, obelics_parts
from iconotext.corpus.formats.released import DOCUMENTS_FILE, count_released, released_parts
from iconotext.corpus.formats.table import count_rows, parquet_parts, table_columns, write_parquet
from iconotext.corpus.formats.webdataset import count_samples, sample_parts, tar_beside
from iconotext.corpus.image_files import ImageFiles, Reach
from iconotext.corpus.row import SPLITS, Part, Problem, Record, Row, UniqueIds, document_of, row_of
from iconotext.errors import CorpusError, OutputError
from iconotext.extras import require
from iconotext.types import Document

RUN = "_run.json"
"""In a folder of links: what `iconotext scale link` made them of."""

FormatName = Literal["jsonl", "parquet", "released", "mmc4", "obelics", "webdataset"]


class Writer(Protocol):
    """Writes rows to a path and returns their number.

    Raises ``CorpusError`` if a row does not fit the format, ``OutputError`` if the file exists or cannot be written.
    """

    def __call__(self, rows: Iterable[Row], path: Path, *, force: bool) -> int:
        """Write the rows atomically."""


@dataclass(frozen=True, slots=True)
class Format:
    """A file format for corpora.

    Attributes:
        suffixes: Suffixes of its files; the released format is also a folder.
        summary: What it is, for the guides.
        images: Where its images are, for the guides.
        parts: Reads a file in parts, which other processes can read; ``CorpusError`` if it cannot be read.
        count: Counts the documents of a file without checking them.
        write: Writes rows in order, one in memory at a time; None if the format is only read.
        files: Whether its images are files, not ids.
        has_ids: Whether documents have ids, so that repeated ids are a mistake; else ``#2``, ``#3``, ... is appended to
            repeated names.
        extra: Name of the extra with the packages that it needs.
    """

    name: FormatName
    suffixes: tuple[str, ...]
    summary: str
    images: str
    parts: Callable[[Path], Iterator[Part]]
    count: Callable[[Path], int]
    write: Writer | None = None
    files: bool = True
    has_ids: bool = True
    extra: str | None = None


JSONL_FILES = (".jsonl", *(f".jsonl{packing}" for packing in PACKINGS))

FORMATS: dict[FormatName, Format] = {
    row.name: row
    for row in (
        Format(
            "jsonl",
            JSONL_FILES,
            "One JSON object a line: the format of iconotext.",
            "files, relative to the corpus",
            jsonl_parts,
            count_lines,
            write_jsonl,
        ),
        Format(
            "parquet",
            (".parquet", ".pq"),
            "A table with the same columns.",
            "files, relative to the corpus, or bytes in the rows",
            parquet_parts,
            count_rows,
            write_parquet,
            extra="parquet",
        ),
        Format(
            "released",
            (".json",),
            "The format of the code released with Hessel 2019: `docs.json`, or a folder with it.",
            "ids, rows of `features.npy`",
            released_parts,
            count_released,
            files=False,
            has_ids=False,
        ),
        Format(
            "mmc4",
            JSONL_FILES,
            "A shard of Multimodal C4, recognised by its first line.",
            "files beside the shard, or in `SHARD_images/`",
            mmc4_parts,
            count_lines,
            has_ids=False,
        ),
        Format(
            "obelics",
            (".parquet", ".pq"),
            "A table of OBELICS, recognised by its columns.",
            "addresses",
            obelics_parts,
            count_rows,
            has_ids=False,
            extra="parquet",
        ),
        Format(
            "webdataset",
            (".tar",),
            "A WebDataset, which is only read.",
            "in the tar, and nowhere else",
            sample_parts,
            count_samples,
        ),
    )
}
"""Formats of corpora. Of two formats with the same suffix, the first is that of a new file with this suffix."""

NEW_FILES = " or ".join(row.suffixes[0] for row in FORMATS.values() if row.write)
"""Suffixes of files that are written, for messages."""


def read_corpus(path: Path | str, *, split: str | None = None, inside: bool = False) -> Iterator[Document]:
    """Read the documents of a corpus in order, one in memory at a time.

    An image may be inside its row (of a table), in a tar (the corpus itself, or a tar of its name beside it), or a
    file, with a path relative to the corpus. A missing image gets a ``problem``, unless its features are beside the
    corpus (``features.npy``, ``id2row.json``).

    Args:
        path: A file ``.jsonl`` (ours, or a shard of mmc4, also packed: ``.zip``, ``.gz``, ``.zst``) or ``.parquet``
            (ours, or a table of OBELICS); a WebDataset ``.tar``; or the released format of Hessel 2019: a folder with
            ``docs.json``, or that file.
        split: Only the documents of this split: train, validation or test. All are checked nevertheless.
        inside: Whether pictures outside the folder of the corpus count as not found. The pictures of a ``.tar`` are
            always taken from the tar itself.

    Raises:
        CorpusError: The file is missing, or breaks the format; the message names file, line and field.
    """
    if split is not None and split not in SPLITS:
        raise CorpusError(f"split {split!r}: there are {', '.join(SPLITS)}")
    path = Path(path)
    images = images_of(path, inside=inside)
    rows = _rows_with_files(path)
    return (document_of(row, images, files) for row, files in rows if split is None or row.split == split)


def images_of(path: Path, *, inside: bool = False) -> ImageFiles:
    """Return an object that locates the images of a corpus outside its rows; ``CorpusError`` if there is no corpus."""
    name = format_of(path)
    reach: Reach = "tar" if name == "webdataset" else "folder" if inside else "anywhere"
    return ImageFiles(corpus_folder(path), files=FORMATS[name].files, tar=tar_beside(path), reach=reach)


def read_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a corpus in order, like ``read_corpus``, without locating images."""
    return (row for row, _ in _rows_with_files(path))


def _rows_with_files(path: Path) -> Iterator[tuple[Row, tuple[bytes | None, ...]]]:
    for record in read_records(path):
        yield record.usable_row(path), record.files


def read_records(path: Path) -> Iterator[Record]:
    """Read the rows and problems of a corpus, with a problem for each repeated id."""
    format_ = FORMATS[format_of(path)]
    records = (record for part in format_.parts(path) for record in part())
    if format_.has_ids:
        yield from with_repeated_ids(records)
        return
    ids = UniqueIds()
    for record in records:
        if record.row is not None:
            record.row.id = ids.take(record.row.id)
        yield record


def with_repeated_ids(records: Iterable[Record]) -> Iterator[Record]:
    """Add a problem to each record with the id of an earlier one."""
    places: dict[str, str] = {}
    for record in records:
        if record.row is not None:
            first = places.setdefault(record.row.id, record.place)
            if first != record.place:
                problem = repeated_id(record.place, record.row.id, first)
                record = replace(record, problems=(*record.problems, problem))
        yield record


def repeated_id(place: str, name: str, first: str) -> Problem:
    """Return the problem that a document has the id of the document at ``first``."""
    return Problem(place, "id", f"{name!r} is also the id of {first}")


def count_documents(path: Path) -> int:
    """Return the number of documents, including bad ones, without checking them."""
    return FORMATS[format_of(path)].count(path)


def write_corpus(documents: Iterable[Document], path: Path | str, *, force: bool = False) -> int:
    """Write a corpus atomically; returns the number of documents.

    Args:
        documents: May be a generator; at most some hundred documents are in memory.
        path: A file ``.jsonl`` or ``.parquet``. Paths of images are written relative to it.

    Raises:
        CorpusError: A document does not fit the format, or two have the same id.
        OutputError: The file exists and ``force`` is not set, it cannot be written, or its name shows no format.
    """
    folder = Path(path).parent
    return write_rows((row_of(document, folder) for document in documents), path, force=force)


def write_rows(rows: Iterable[Row], path: Path | str, *, force: bool = False) -> int:
    """Write rows, like ``write_corpus`` with the same errors; paths of images are not changed."""
    return writer_of(Path(path))(_unique(rows), Path(path), force=force)


def _unique(rows: Iterable[Row]) -> Iterator[Row]:
    ids: set[str] = set()
    for row in rows:
        if row.id in ids:
            raise CorpusError(f"document {row.id!r}: two documents have this id")
        ids.add(row.id)
        yield row


def format_of(path: Path) -> FormatName:
    """Return the format of an existing corpus; ``CorpusError`` if there is nothing to read."""
    if path.is_dir():
        if not (path / DOCUMENTS_FILE).is_file():
            raise CorpusError(f"{path}: {_no_corpus(path)}")
        return "released"
    suffix = path.suffix.lower()
    if suffix in FORMATS["parquet"].suffixes:
        return "obelics" if has_obelics_columns(table_columns(path)) else "parquet"
    if suffix in FORMATS["released"].suffixes:
        return "released"
    if suffix in FORMATS["webdataset"].suffixes:
        return "webdataset"
    with lines_of(path) as lines:
        head = [line.lstrip(b"\xef\xbb\xbf \t") for line in islice((line for line in lines if not line.isspace()), 3)]
    # One or two odd lines may be damage, which is reported with its line.
    if len(head) == 3 and not any(line.startswith(b"{") for line in head):
        raise CorpusError(f"{path}: not a corpus: its first lines are no JSON objects")
    return "mmc4" if looks_like_mmc4(first_value(path)) else "jsonl"


def _no_corpus(folder: Path) -> str:
    """Return what a folder is instead of a corpus, and what to name instead."""
    if (folder / RUN).is_file():
        return "links of `iconotext scale`; name the shards that they were made of"
    return f"a folder without {DOCUMENTS_FILE}; name the corpus file in it"


def writer_of(path: Path) -> Writer:
    """Return the writer of a new corpus, by the suffix of its name.

    Raises:
        OutputError: The name determines no format that is written.
        MissingPackageError: The format is Parquet, and the package that writes it is not installed.
    """
    for row in FORMATS.values():
        if row.write is not None and path.suffix.lower() in row.suffixes:
            if row.extra is not None:
                require(row.extra, purpose=f"{path}: a table of Parquet")
            return row.write
    raise OutputError(f"{path}: a corpus is written as a file {NEW_FILES}")


def corpus_folder(path: Path) -> Path:
    """Return the folder to which paths of images are relative, and which may have a table of features."""
    return path if path.is_dir() else path.parent
