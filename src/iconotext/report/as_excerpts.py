"""Contexts and chunks as rows: JSON, JSON lines, a Parquet table, and a data set with its card."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml

from iconotext.errors import ImageError, OutputError
from iconotext.excerpts import Chunk, ChunkImage, Excerpt, SlimChunk, SlimImage
from iconotext.extras import require
from iconotext.images import decode
from iconotext.images.file import image_decoder
from iconotext.plain_text import counted, encodable, json_list, json_text
from iconotext.report.as_json import plain_number
from iconotext.report.context import Context
from iconotext.system.files import open_atomic, write_text
from iconotext.types import Document, Image

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".jsonl", ".parquet")
BATCH_ROWS = 1_000
"""Rows that are in memory before they are written."""

Excerpts = Context | Chunk | SlimChunk

NOUNS = {Context: "context", Chunk: "chunk", SlimChunk: "chunk"}
"""The word for rows of each class."""

_SLIM = (SlimChunk, SlimImage)
_LISTS: dict[tuple[type, str], type] = {
    (Context, "sentences"): Excerpt,
    (ChunkImage, "sentences"): Excerpt,
    (Chunk, "images"): ChunkImage,
    (SlimChunk, "images"): SlimImage,
}
# The fields that are integers, and those that are shares; all others are texts.
NUMBERS = frozenset(
    "image page sentence chunk first last start end source_start source_end words tokens also_in".split()
)
_SHARES = frozenset(("confidence", "score"))


def row(excerpt: Excerpts, *, portable: bool = False) -> dict[str, Any]:
    """Return a context or chunk as JSON data; numbers have six significant digits, in slim chunks three.

    Slim chunks have only the fields that are known.

    Args:
        portable: Whether to leave out ``file``, which has a meaning only on this machine, and to write relations as a
            list of pairs, since not every version of datasets supports maps.
    """
    plain: dict[str, Any] = _plain(excerpt, portable)
    return plain


def _plain(value: Any, portable: bool) -> Any:
    if is_dataclass(value):
        plain = {f.name: _plain(getattr(value, f.name), portable) for f in fields(value)}
        if isinstance(value, _SLIM):
            plain = {name: _rounded(own) for name, own in plain.items() if own is not None}
        if portable:
            plain.pop("file", None)
        if portable and "relations" in plain:
            relations = plain["relations"] or {}
            plain["relations"] = [{"relation": name, "probability": p} for name, p in relations.items()]
        return plain
    if isinstance(value, tuple):
        return [_plain(item, portable) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item, portable) for name, item in value.items()}
    if isinstance(value, float):
        return plain_number(value)
    return encodable(value) if isinstance(value, str) else value


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


def json_array(excerpts: Iterable[Excerpts]) -> Iterator[str]:
    """Yield pieces of a JSON list of rows."""
    return json_list(map(row, excerpts))


def check_suffix(path: Path) -> None:
    """Check that a file name has a suffix of a known format."""
    if path.suffix.lower() not in SUFFIXES:
        raise OutputError(
            f"cannot tell from {path} what to write: name a file that ends in {' or '.join(SUFFIXES)}, "
            "or a folder, for a data set"
        )


def write_excerpts(excerpts: Iterable[Excerpts], path: Path, kind: type[Excerpts], *, force: bool = False) -> None:
    """Write a row for each context or chunk, as JSON lines or Parquet, by the suffix.

    Args:
        excerpts: May be a generator; ``BATCH_ROWS`` rows are in memory.
        path: A file that ends in ``.jsonl`` or ``.parquet``.
        kind: The class of the rows, since a table needs its columns even without rows.

    Raises:
        OutputError: Another suffix, the file exists and ``force`` is not set, or it cannot be written.
        MissingPackageError: The format is Parquet, and pyarrow is not installed.
    """
    check_suffix(path)
    if path.suffix.lower() == ".jsonl":
        write_text(path, (json_text(row(excerpt)) + "\n" for excerpt in excerpts), force=force)
        return
    require("parquet", purpose="a table of Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(columns(kind))
    with open_atomic(path, force=force) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        rows = map(row, excerpts)
        while batch := list(islice(rows, BATCH_ROWS)):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def columns(kind: type, *, portable: bool = False) -> pa.StructType:
    """Return the columns for the fields of a class; ``portable`` as in ``row``."""
    import pyarrow as pa

    names = [f.name for f in fields(kind) if not (portable and f.name == "file")]
    if kind is SlimImage:
        lists = {"sentences": pa.list_(pa.list_(pa.float64()))}
    else:
        lists = {
            name: pa.list_(columns(inner, portable=portable)) for (of, name), inner in _LISTS.items() if of is kind
        }
    relation = pa.struct([("relation", pa.string()), ("probability", pa.float32())])
    types = {
        "headings": pa.list_(pa.string()),
        "relations": pa.list_(relation) if portable else pa.map_(pa.string(), pa.float32()),
        **dict.fromkeys(NUMBERS, pa.int64()),
        **dict.fromkeys(_SHARES, pa.float32()),
        **lists,
    }
    return pa.struct([(name, types.get(name, pa.string())) for name in names])


TABLE, CARD = Path("data") / "train-00000-of-00001.parquet", "README.md"

BATCH_BYTES = 64 * 2**20
"""Bytes of pictures that are in memory before they are written."""

SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)
"""The hub's classes for numbers of rows."""

_DTYPES = {"int64": "int64", "float": "float32", "double": "float64", "string": "string"}


def check_folder(folder: Path, *, force: bool = False) -> None:
    """Check that a data set can be written."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"cannot write {folder}: it is a file, and a data set is a folder")
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise OutputError(f"{folder} has something in it already; the option force replaces a data set there")


def write_dataset(
    excerpts: Iterable[tuple[Document, Excerpts]],
    folder: Path,
    kind: type[Excerpts],
    *,
    force: bool = False,
) -> None:
    """Write a Parquet table with a row for each context or chunk, and a data set card beside it.

    A context has its picture in ``picture``, a chunk its pictures in ``pictures``, in the order of ``images``: the
    bytes of their files. Types that Pillow cannot open, such as SVG, become PNG; pictures that cannot be decoded are
    null.

    Args:
        excerpts: Each context or chunk, with its document; may be a generator.
        folder: Created if necessary.

    Raises:
        OutputError: There are no rows, so that no data set could be loaded; the folder is not empty; or it cannot be
            written.
        MissingPackageError: pyarrow is not installed.
    """
    require("parquet", purpose="a data set")
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_folder(folder, force=force)
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    first = ("picture", image) if kind is Context else ("pictures", pa.list_(image))
    schema = pa.schema([first, *columns(kind, portable=True)])
    languages: dict[str, str] = {}  # of each document
    rows = size = batch_bytes = 0
    batch: list[dict[str, Any]] = []

    with open_atomic(folder / TABLE, force=force) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:

        def write() -> int:
            table = pa.Table.from_pylist(batch, schema=schema)
            writer.write_table(table)
            batch.clear()
            return int(table.nbytes)

        for document, excerpt in excerpts:
            languages[document.id] = document.language
            batch.append(_with_pictures(document, excerpt))
            rows, batch_bytes = rows + 1, batch_bytes + _size(batch[-1])
            if batch_bytes > BATCH_BYTES:
                size, batch_bytes = size + write(), 0
        if not rows:
            raise OutputError(f"{folder}: nothing to write: there is no {NOUNS[kind]}")
        size += write() if batch else 0
    card = _card(kind, schema, rows=rows, size=size, languages=Counter(languages.values()), documents=len(languages))
    write_text(folder / CARD, card, force=force)


def _with_pictures(document: Document, excerpt: Excerpts) -> dict[str, Any]:
    plain = row(excerpt, portable=True)
    if isinstance(excerpt, Context):
        return {"picture": _picture(document.images[excerpt.image]), **plain}
    return {"pictures": [_picture(document.images[item.image]) for item in excerpt.images], **plain}


def _size(plain: dict[str, Any]) -> int:
    """The size of a row in memory, in bytes: nearly all of it are its pictures."""
    pictures = plain["pictures"] if "pictures" in plain else [plain["picture"]]
    return sum(len(picture["bytes"]) for picture in pictures if picture) + len(plain["text"])


def _picture(image: Image) -> dict[str, Any] | None:
    if image.file is None:
        return None
    name = image.file.name if isinstance(image.file, Path) else PurePosixPath(image.source.partition(",")[0]).name
    try:
        pixels = decode(image.file)
        if image_decoder(image.file) == "plain":
            return {"bytes": image.file if isinstance(image.file, bytes) else image.file.read_bytes(), "path": name}
    except (ImageError, OSError):  # ``problem`` says why, or the file has just changed
        return None
    png = io.BytesIO()
    pixels.save(png, "PNG")
    return {"bytes": png.getvalue(), "path": f"{PurePosixPath(name).stem}.png"}


def _feature(name: str, type_: pa.DataType) -> dict[str, Any]:
    """A column as the head of a data set card describes it."""
    import pyarrow as pa

    if pa.types.is_list(type_):
        inner = _feature("", type_.value_type)
        inner.pop("name")
        return {"name": name, "list": inner.get("struct", inner.get("dtype", inner))}
    if pa.types.is_struct(type_):
        if [field.name for field in type_] == ["bytes", "path"]:
            return {"name": name, "dtype": "image"}
        return {"name": name, "struct": [_feature(field.name, field.type) for field in type_]}
    return {"name": name, "dtype": _DTYPES[str(type_)]}


ABOUT = {
    "context": "Pictures of documents, each with what the text says about it.",
    "chunk": "Documents in chunks for retrieval, each with the pictures that belong to it.",
}


def _card(
    kind: type[Excerpts],
    schema: pa.Schema,
    *,
    rows: int,
    size: int,
    languages: Counter[str],
    documents: int,
) -> str:
    from iconotext import __version__

    head = {
        "language": sorted(languages) or ["en"],
        "size_categories": [next((name for most, name in SIZES if rows < most), "n>10M")],
        "tags": ["image", "text", "iconotext"],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "data/*.parquet"}]}],
        "dataset_info": {
            "features": [_feature(field.name, field.type) for field in schema],
            "splits": [{"name": "train", "num_bytes": size, "num_examples": rows}],
            "dataset_size": size,
        },
    }
    name = NOUNS[kind]
    numbers = ", ".join(f"{language} ({number:,})" for language, number in sorted(languages.items()))
    return f"""---
{yaml.safe_dump(head, sort_keys=False, allow_unicode=True).rstrip()}
---

# Pictures and their text

{ABOUT[name]} {counted(rows, name)} of {counted(documents, "document")}; documents by language: {numbers or "none"}.

    from datasets import load_dataset
    rows = load_dataset("this folder", split="train")

Made by iconotext {__version__}. Which sentences a picture belongs to was inferred, not annotated: every `confidence`
is a probability. `problem` says why a picture took no part; one that could not be decoded is null. Offsets count
characters.

Texts and pictures are those of the documents, unchanged, with what cameras wrote into their files; so are the rights in
them.
"""
