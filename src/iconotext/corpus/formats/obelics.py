"""Tables of OBELICS (Laurençon et al. 2023): web pages as lists where pieces of text and addresses of images alternate.

``images`` and ``texts`` are equally long, and at each index one of them has a value. A piece of text has paragraphs
separated by empty lines. ``metadata`` is JSON: a list with an object for each image, null at the indices of texts;
``general_metadata`` is a JSON object, with the address of the page in ``url``. There are no links of images with
sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, StrictStr, ValidationError

from iconotext.corpus.formats.interleaved import Page
from iconotext.corpus.formats.table import table_columns, table_parts, write_table
from iconotext.corpus.row import Part, Problem, Record, Row, json_of, parse_row, problems_of
from iconotext.errors import CorpusError
from iconotext.system.strict_json import parse_json

COLUMNS = ("images", "metadata", "general_metadata", "texts")

NEXT_DOCUMENT = "END_OF_DOCUMENT_TOKEN_TO_BE_REPLACED"
"""Marker in a text before another document on the same page, at "read more" links."""


def has_obelics_columns(names: Iterable[str]) -> bool:
    """Return whether a table has the columns of OBELICS and is not in our own format."""
    return {"images", "texts"} <= set(names) and "sentences" not in names


def obelics_parts(path: Path) -> Iterator[Part]:
    """Return the rows, in parts of one row group each.

    The id is the address of the page. A paragraph is a block, divided into sentences by the rules of English.
    ``meta["obelics"]`` has the ``general`` metadata, the metadata of each image in ``images``, and in ``ends`` the
    numbers of sentences before which another document begins. Other columns are not read.
    """
    names = table_columns(path)
    for name in ("images", "texts"):
        if name not in names:
            raise CorpusError(f"{path}, field {name}: no such column; OBELICS has the columns {', '.join(COLUMNS)}")
    return table_parts(path, _record, [name for name in COLUMNS if name in names])


def _parsed(text: object) -> object:
    return parse_json(text) if isinstance(text, str) and text else text or None


class Columns(BaseModel):
    """The columns of a row."""

    images: list[StrictStr | None]
    texts: list[StrictStr | None]
    metadata: Annotated[list[Any] | None, BeforeValidator(_parsed)] = None
    general_metadata: Annotated[dict[str, Any] | None, BeforeValidator(_parsed)] = None


def _record(values: dict[str, Any], place: str) -> Record:
    return obelics_page(values, place)[0]


def obelics_page(values: dict[str, Any], place: str) -> tuple[Record, Page]:
    """Return the record of a row, and the page that it was made of, which is empty if the row has problems."""
    page = Page()
    try:
        columns = Columns.model_validate(values)
    except ValidationError as error:
        return Record(place, None, problems_of(error, place)), page
    problems = tuple(Problem(place, field, message) for field, message in _misfits(columns))
    if problems:
        return Record(place, None, problems), page
    metadata, general = columns.metadata or [None] * len(columns.images), columns.general_metadata or {}
    entries, ends = list[dict[str, Any] | None](), list[int]()
    for number, (image, text) in enumerate(zip(columns.images, columns.texts, strict=True)):
        if image is not None:
            entry = metadata[number] if isinstance(metadata[number], dict) else None
            entries.append(entry)
            page.image(image, number, entry.get("alt_text") if entry else None)
        for i, document in enumerate(text.split(NEXT_DOCUMENT) if text is not None else ()):
            # A mark before the first sentence, and one right after another, divide nothing.
            if i and page.sentences and ends[-1:] != [len(page.sentences)]:
                ends.append(len(page.sentences))
            page.text(document, number)
    address = general.get("url")
    stored = {"general": general, "images": entries if any(entries) else None, "ends": ends}
    name = address if isinstance(address, str) and address else f"page-{place.rpartition(' ')[2]}"
    meta = {"obelics": {name: value for name, value in stored.items() if value}}
    return parse_row(page.columns(name, meta), place), page


def write_obelics(rows: Iterable[Row], path: Path, *, force: bool) -> int:
    """Write a table in the format of OBELICS; returns the number of rows.

    The sentences of a block become a paragraph; without blocks each sentence is one. An image is placed at its
    position; without position, before its first linked sentence, or at the end. The values in ``meta`` from
    ``obelics_parts`` are written too.
    """
    import pyarrow as pa

    text, texts = pa.string(), pa.list_(pa.string())
    schema = pa.schema({"images": texts, "metadata": text, "general_metadata": text, "texts": texts})
    return write_table(((row.id, _written(row)) for row in rows), schema, path, force=force)


def _written(row: Row) -> dict[str, Any]:
    stored = row.meta.get("obelics")
    stored = stored if isinstance(stored, dict) else {}
    entries = stored.get("images")
    entries = entries if isinstance(entries, list) and len(entries) == len(row.images) else [None] * len(row.images)
    ends = stored["ends"] if isinstance(stored.get("ends"), list) else []
    positions = row.positions if row.positions is not None else _positions(row)
    cells: list[tuple[str | None, str, dict[str, Any] | None]] = []  # image or None, text, metadata of the image
    position = 0
    for i in sorted(range(len(row.images)), key=lambda i: positions[i]):
        cells.append((None, _text(row, range(position, positions[i]), ends), None))
        position = positions[i]
        entry = {"src": row.images[i]} | ({"alt_text": row.alts[i]} if row.alts and row.alts[i] else {})
        cells.append((row.images[i], "", entry | (entries[i] if isinstance(entries[i], dict) else {})))
    cells.append((None, _text(row, range(position, len(row.sentences)), ends), None))
    cells = [cell for cell in cells if cell[0] is not None or cell[1]]
    general = stored.get("general")
    return {
        "images": [image for image, _, _ in cells],
        "metadata": json_of(row, [entry for _, _, entry in cells]),
        "general_metadata": json_of(row, general if isinstance(general, dict) and general else {"url": row.id}),
        "texts": [text or None for _, text, _ in cells],
    }


def _positions(row: Row) -> list[int]:
    """Return positions of images without one: before the first sentence to which each is linked."""
    first = [len(row.sentences)] * len(row.images)
    for sentence, image in row.links or ():
        first[image] = min(first[image], sentence)
    return first


def _text(row: Row, numbers: range, ends: list[Any]) -> str:
    blocks = row.blocks if row.blocks is not None else list(range(len(row.sentences)))
    marks = {end for end in ends if isinstance(end, int)}
    paragraphs: list[str] = []
    # Another document begins a paragraph, even in the middle of a block.
    for _, group in groupby(numbers, key=lambda i: (blocks[i], sum(end <= i for end in marks))):
        members = list(group)
        if members[0] in marks:
            paragraphs.append(NEXT_DOCUMENT)
        paragraphs.append(" ".join(row.sentences[i] for i in members if row.sentences[i].strip()))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


def _misfits(columns: Columns) -> Iterator[tuple[str, str]]:
    """Yield field and message of all values that do not fit the rest."""
    n, m = len(columns.texts), len(columns.images)
    if n != m:
        yield "texts", f"texts has {n} entries where images has {m}"
        return
    if columns.metadata and len(columns.metadata) != n:
        yield "metadata", f"metadata has {len(columns.metadata)} entries where {n} are needed"
    for i, (image, text) in enumerate(zip(columns.images, columns.texts, strict=True)):
        if image is not None and text is not None:
            yield f"texts.{i}", "there is an image and a text at this place; one of them must be null"
