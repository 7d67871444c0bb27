"""Tables of OBELICS (Laurençon et al. 2023): web pages as lists where pieces of text and addresses of images alternate.

``images`` and ``texts`` are equally long, and at each index one of them has a value. A piece of text has paragraphs
separated by empty lines. ``metadata`` is JSON: a list with an object for each image, null at the indices of texts;
``general_metadata`` is a JSON object, with the address of the page in ``url``. There are no links of images with
sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, StrictStr, ValidationError

from iconotext.corpus.formats.interleaved import Page
from iconotext.corpus.formats.table import table_columns, table_parts
from iconotext.corpus.row import Part, Problem, Record, parse_row, problems_of
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
