"""A row of a corpus: one document in the form common to all formats, with the checks of everything in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from iconotext.errors import CorpusError
from iconotext.strict_json import dump_json

Split = Literal["train", "validation", "test"]

SPLITS: tuple[Split, ...] = ("train", "validation", "test")

Index = Annotated[StrictInt, Field(ge=0)]


class Row(BaseModel):
    """One document of a corpus, with the columns of JSONL and Parquet. Use ``parse_row``, which checks more.

    Attributes:
        id: Unique in the corpus.
        split: Part of the corpus; None if it has no parts.
        sentences: Texts in reading order.
        images: Paths relative to the corpus file, or ids of rows in a table of features beside it.
        links: [sentence, image] pairs; None if unknown.
        blocks: Per sentence, the number of its paragraph or list item.
        positions: Per image, the number of sentences before it.
        captions: Per image, text or None.
        alts: Per image, text or None.
        relations: Coherence relations of a text-image pair.
        meta: Anything else. ``title``, ``language`` and ``sentence_kind`` (per sentence, a key of ``SENTENCE_KINDS``)
            are used.
    """

    model_config = ConfigDict(extra="forbid")

    id: Annotated[StrictStr, Field(min_length=1)]
    split: Split | None = None
    sentences: list[StrictStr]
    images: list[StrictStr]
    links: list[tuple[Index, Index]] | None = None
    blocks: list[Index] | None = None
    positions: list[Index] | None = None
    captions: list[StrictStr | None] | None = None
    alts: list[StrictStr | None] | None = None
    relations: dict[str, bool | None] | None = None
    meta: dict[str, Any] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """A violation of a corpus's format.

    Attributes:
        place: Where in the file: ``line 3``, ``row 3``, ``train, document 3``.
        field: Which field, with indices: ``links.0.1``; None for the whole place.
    """

    place: str
    field: str | None
    message: str

    def __str__(self) -> str:
        return (
            f"{self.place}: {self.message}"
            if self.field is None
            else f"{self.place}, field {self.field}: {self.message}"
        )


@dataclass(frozen=True, slots=True)
class Record:
    """The contents of one place of a file: a row, or problems, or both.

    Attributes:
        place: As in ``Problem``.
        row: None if it cannot be made.
        problems: All that are known; a row with problems must not be used.
        files: For each image its bytes inside the row, None if it has none there; () if no image has.
        number: Of the row with these bytes, from 0.
    """

    place: str
    row: Row | None
    problems: tuple[Problem, ...] = ()
    files: tuple[bytes | None, ...] = field(default=(), repr=False)
    number: int = 0


Part = Callable[[], Iterator[Record]]
"""Reads some consecutive rows of a corpus. It can be sent to another process, and called repeatedly."""


def parse_row(value: object, place: str) -> Record:
    """Check the columns of a document: their types, their lengths, the range of every index.

    Args:
        value: The parsed contents of a place.
    """
    try:
        row = Row.model_validate(value)
    except ValidationError as error:
        return Record(place, None, problems_of(error, place))
    problems = [Problem(place, name, message) for name, message in (*_not_text(row), *_misfits(row))]
    return Record(place, row, tuple(problems))


def parse_json_row(line: bytes, place: str) -> Record | None:
    """Parse a line of JSON and check it like ``parse_row``, in a third of the time.

    Returns:
        None if anything in the JSON or its types may be wrong: then ``parse_row`` finds out what.
    """
    if b"NaN" in line or b"Infinity" in line:  # pydantic would accept them as numbers
        return None
    try:
        row: Row = _PARSER.validate_json(line)
    except ValidationError:
        return None
    return Record(place, row, tuple(Problem(place, name, message) for name, message in _misfits(row)))


_PARSER = Row.__pydantic_validator__


def problems_of(error: ValidationError, place: str) -> tuple[Problem, ...]:
    """All problems that pydantic found in a value."""
    return tuple(
        Problem(place, ".".join(map(str, found["loc"])) or None, found["msg"])
        for found in error.errors(include_url=False, include_context=False, include_input=False)
    )


def _misfits(row: Row) -> Iterator[tuple[str, str]]:
    """Field and message of all well-typed values that do not fit the rest of the row."""
    n, m = len(row.sentences), len(row.images)
    for name, value, wanted in (
        ("blocks", row.blocks, n),
        ("positions", row.positions, m),
        ("captions", row.captions, m),
        ("alts", row.alts, m),
    ):
        if value is not None and len(value) != wanted:
            yield name, f"{name} has {len(value)} entries where {wanted} are needed"
    for sentence, image in row.links or ():
        if sentence >= n or image >= m:
            yield "links", f"links has [{sentence}, {image}] in a document of {n} sentences and {m} images"
    if row.positions and max(row.positions) > n:
        for position in row.positions:
            if position > n:
                yield "positions", f"positions has {position} in a document of {n} sentences"
    if row.meta:
        yield from _odd_meta(row.meta, n)


def _odd_meta(meta: dict[str, Any], n: int) -> Iterator[tuple[str, str]]:
    """Field and message of wrong entries of ``meta``; ``n`` is the number of sentences."""
    kinds = meta.get("sentence_kind")
    if kinds is not None and not (
        isinstance(kinds, list) and len(kinds) == n and all(isinstance(k, str) for k in kinds)
    ):
        yield "meta.sentence_kind", f"sentence_kind must be a list of {n} texts, one for each sentence"
    for name in ("title", "language"):
        if not isinstance(meta.get(name, ""), str | None):
            yield f"meta.{name}", f"{name} must be a text"


def _not_text(row: Row) -> Iterator[tuple[str, str]]:
    """Texts that UTF-8 cannot encode: JSON allows half a surrogate pair, and later steps would fail on it."""
    columns = {"id": [row.id], "sentences": row.sentences, "images": row.images}
    for name, texts in (columns | {"captions": row.captions or [], "alts": row.alts or []}).items():
        try:
            "".join(text or "" for text in texts).encode()
        except UnicodeEncodeError as error:
            what = ascii(error.object[error.start])
            yield name, f"{name} has {what}, half a surrogate pair, which is not a character"


def json_of(row: Row, value: object) -> str:
    """A value of a row as JSON; ``CorpusError``, with the row's id, if JSON cannot hold it."""
    try:
        return dump_json(value)
    except ValueError as error:
        raise CorpusError(f"document {row.id!r}: cannot be written as JSON: {error}") from error


class UniqueIds:
    """Makes ids unique, in the same way every time a file is read."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}  # with the next number to try for this name

    def take(self, name: str) -> str:
        """The name, with ``#2``, ``#3``, ... appended if it is taken."""
        number = self._taken.get(name)
        if number is None:
            self._taken[name] = 2
            return name
        while (found := f"{name}#{number}") in self._taken:
            number += 1
        self._taken[name] = number + 1
        self._taken[found] = 2
        return found
