"""The schemas of rows that data engines hand over: ``SCHEMAS``, and ``samples_of``, which makes documents of rows."""

from __future__ import annotations

import base64
import binascii
import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from iconotext.corpus.formats.interleaved import Page
from iconotext.corpus.formats.mmc4 import shard_record
from iconotext.corpus.formats.obelics import COLUMNS, obelics_page
from iconotext.corpus.formats.table import table_record, without_files
from iconotext.corpus.formats.webdataset import sample_page
from iconotext.corpus.row import IMAGE_TEXTS, Problem, Record, parse_row
from iconotext.errors import CorpusError
from iconotext.system.strict_json import dump_json

Values = Mapping[str, Any]

PICTURE_TOKEN = re.compile(r"<__dj__image>|<image>")
END_OF_CHUNK = "<|__dj__eoc|>"
"""Marks of Data-Juicer in a text: the place of the next picture, and the end of a part."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A document, and where its parts stand in the row that it was made of.

    Attributes:
        record: The document as a row of a corpus, or its problems.
        row: Number of the row in the batch.
        images: For each picture, its number among the row's own pictures.
        texts: For each sentence, the number of its text among the row's own texts; None if the row has one text.
    """

    record: Record
    row: int
    images: Sequence[int]
    texts: Sequence[int | None]


Read = tuple[Record, Sequence[int] | None, Sequence[int | None] | None]
"""A record, and its ``images`` and ``texts`` as in ``Sample``; None where the row counts them as the record does."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema of rows.

    Attributes:
        columns: The columns by which it is recognised.
        read: Reads the values of a row, given its place for messages.
        reads: Further columns that are read; None for all.
    """

    name: str
    columns: tuple[str, ...]
    summary: str
    read: Callable[[dict[str, Any], str], Read]
    reads: tuple[str, ...] | None = ()


def schema_of(columns: Iterable[str]) -> Schema:
    """Return the schema of rows with these columns.

    Raises:
        CorpusError: It is none of ``SCHEMAS``.
    """
    names = set(columns)
    schema = next((schema for schema in SCHEMAS if names.issuperset(schema.columns)), None)
    if schema is None:
        ways = "; ".join(f"{' and '.join(schema.columns)} ({schema.name})" for schema in SCHEMAS)
        raise CorpusError(f"rows with the columns {', '.join(sorted(names))}: to be linked, rows need {ways}")
    return schema


def samples_of(rows: Iterable[Values], schema: Schema) -> list[Sample]:
    """Return the documents of rows."""
    samples = []
    for number, values in enumerate(rows):
        plain = {name: _plain(value) for name, value in values.items()}
        record, images, texts = schema.read(plain, f"row {number}")
        n, m = (0, 0) if record.row is None else (len(record.row.sentences), len(record.row.images))
        samples.append(
            Sample(record, number, range(m) if images is None else images, range(n) if texts is None else texts)
        )
    return samples


def _plain(value: Any) -> Any:
    """Return a value with lists for arrays, None for a missing number, and bytes for pictures that were decoded."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    if hasattr(value, "getbands") and hasattr(value, "save"):  # a picture of Pillow
        return {"bytes": _encoded(value), "path": getattr(value, "filename", None) or None}
    return value


def _encoded(picture: Any) -> bytes:
    file = io.BytesIO()
    (picture if picture.mode in ("L", "RGB", "RGBA") else picture.convert("RGB")).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _of_corpus(values: dict[str, Any], place: str) -> Read:
    values, files = without_files(_with_bytes(values))
    return replace(table_record({"id": place, **_without_nulls(values)}, place), files=files), None, None


def _of_mmc4(values: dict[str, Any], place: str) -> Read:
    infos = values["image_info"] or []
    if not isinstance(infos, list):
        return _wrong(place, "image_info", "image_info must be a list of objects"), None, None
    files = [_from_base64(info.get("image_base64")) if isinstance(info, dict) else None for info in infos]
    names = [{"image_name": info.get("image_name")} if isinstance(info, dict) else info for info in infos]
    record = shard_record({**_without_nulls(values), "image_info": names}, place, 0)
    return replace(record, files=tuple(files) if any(files) else ()), None, None


def _of_obelics(values: dict[str, Any], place: str) -> Read:
    values, files = without_files(_with_bytes(values))
    record, page = obelics_page(values, place)
    return replace(record, files=files), page.places, page.texts


def _of_text(values: dict[str, Any], place: str) -> Read:
    values, files = without_files(_with_bytes({**values, "images": values["images"] or []}))
    text, names = values["text"], values["images"]
    if not isinstance(text, str) or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return _wrong(place, "text", "text must be a text, and images a list of pictures"), None, None
    parts, page = PICTURE_TOKEN.split(text), Page()
    if len(parts) > 1 and len(parts) != len(names) + 1:
        message = f"the text has {len(parts) - 1} marks for pictures where images has {len(names)}"
        return _wrong(place, "text", message), None, None
    for number, part in enumerate(parts):
        if number:
            page.image(names[number - 1], number - 1)
        page.text(part.replace(END_OF_CHUNK, "\n\n"), 0)
    columns = page.columns(str(values.get("id") or place), {})
    if len(parts) == 1:
        columns |= {"images": names, "positions": None, "alts": None}
    return replace(parse_row(columns, place), files=files), None, [None] * len(page.sentences)


def _of_webdataset(values: dict[str, Any], place: str) -> Read:
    members = {name: value for name, value in values.items() if not name.startswith("__")}
    parts = {name.lstrip("."): name for name, value in members.items() if value is not None}
    record, page = sample_page(_Members(members), str(values["__key__"]), parts, place)
    if record.row is not None and not record.files:
        record = replace(record, files=tuple(_bytes_of(members.get(name)) for name in record.row.images))
    return (record, None, None) if page is None else (record, page.places, page.texts)


class _Members:
    """The members of a sample of a WebDataset as columns of a row, encoded or decoded; see ``webdataset.Members``."""

    def __init__(self, members: Values) -> None:
        self._members = members

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        value = self._members[name]
        if isinstance(value, str):
            return value.encode()
        if (data := _bytes_of(value)) is not None:
            return data
        return dump_json(value).encode()


def _with_bytes(values: dict[str, Any]) -> dict[str, Any]:
    """Return the columns with pictures as text or ``{"bytes", "path"}``; bytes alone get no path."""
    images = values["images"]
    if not isinstance(images, list):
        return values
    return values | {"images": [{"bytes": image} if isinstance(image, bytes) else image for image in images]}


def _without_nulls(values: Values) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _bytes_of(value: Any) -> bytes | None:
    value = value.get("bytes") if isinstance(value, dict) else value
    return value if isinstance(value, bytes) else None


def _from_base64(text: object) -> bytes | None:
    if not isinstance(text, str):
        return None
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return text.encode()  # decoding it as a picture says what is wrong


def _wrong(place: str, field: str, message: str) -> Record:
    return Record(place, None, (Problem(place, field, message),))


SCHEMAS = (
    Schema(
        "webdataset",
        ("__key__",),
        "A sample of a WebDataset, a column for each member: MINT-1T of PDFs (`json` and `tiff`), ours, or `txt` and "
        "pictures.",
        _of_webdataset,
        None,
    ),
    Schema(
        "mmc4",
        ("text_list", "image_info"),
        "Multimodal C4. Pictures may be in `image_base64` of their `image_info`.",
        _of_mmc4,
        ("url",),
    ),
    Schema(
        "iconotext",
        ("sentences", "images"),
        "A corpus of iconotext, also with `captions`, `positions` and so on.",
        _of_corpus,
        ("id", "blocks", "positions", *IMAGE_TEXTS, "meta"),
    ),
    Schema(
        "obelics",
        ("texts", "images"),
        "OBELICS, and MINT-1T of HTML: texts and pictures take turns, with null where the other has a value.",
        _of_obelics,
        COLUMNS,
    ),
    Schema(
        "text",
        ("text", "images"),
        "Data-Juicer, or any text with a list of pictures. `<__dj__image>` or `<image>` in the text are their places.",
        _of_text,
        ("id",),
    ),
)
"""Rows have the first of these schemas whose columns they have."""
