"""One document of a corpus as every format brings it to us, and all that can be wrong with it."""

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
    """One document of a corpus, the columns of JSONL and Parquet. Make one with ``parse_row``, which checks more.

    Attributes:
        id: Unique in the corpus.
        split: Part of the corpus; None where it has no parts.
        sentences: Texts in reading order.
        images: Paths relative to the corpus file, or ids of rows in a table of features beside it.
        links: [sentence, image] pairs; None where nobody knows them.
        blocks: Per sentence, the paragraph or list item it stands in.
        positions: Per image, the number of sentences before it.
        captions: Per image, text or None.
        alts: Per image, text or None.
        relations: Coherence relations of a text–image pair.
        meta: Anything else. ``title``, ``language`` and ``sentence_kind`` (per sentence, a key of ``SENTENCE_KINDS``)
            are understood.
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
    """Something that breaks the format of a corpus.

    Attributes:
        place: Where in the file: ``line 3``, ``row 3``, ``train, document 3``.
        field: Which field, with indices: ``links.0.1``; None where it is the place as a whole.
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
    """What a format found at one place of a file: a row, or problems, or both.

    Attributes:
        place: As in ``Problem``.
        row: None where it cannot be made.
        problems: All that are known; a row with problems is no good.
        files: Of each image the bytes that lie in the row, None for one that has none there; () where none has.
        number: Of the row that has those bytes, from 0.
    """

    place: str
    row: Row | None
    problems: tuple[Problem, ...] = ()
    files: tuple[bytes | None, ...] = field(default=(), repr=False)
    number: int = 0


Part = Callable[[], Iterator[Record]]
"""Reads some neighbouring rows of a corpus. It can be sent to another process, and called more than once."""


def parse_row(value: object, place: str) -> Record:
    """Check the columns of a document: their types, their lengths, the range of every index.

    Args:
        value: What a file holds at the place, as Python has it after parsing.
    """
    try:
        row = Row.model_validate(value)
    except ValidationError as error:
        return Record(place, None, problems_of(error, place))
    problems = [Problem(place, name, message) for name, message in (*_not_text(row), *_misfits(row))]
    return Record(place, row, tuple(problems))


def parse_json_row(line: bytes, place: str) -> Record | None:
    """Parse a line of JSON and check its columns as ``parse_row`` does, in a third of the time.

    Returns:
        None where something is wrong with the JSON or with a type, or might be: the careful way finds out what.
    """
    if b"NaN" in line or b"Infinity" in line:  # pydantic would take them for numbers
        return None
    try:
        row: Row = _PARSER.validate_json(line)
    except ValidationError:
        return None
    return Record(place, row, tuple(Problem(place, name, message) for name, message in _misfits(row)))


_PARSER = Row.__pydantic_validator__


def problems_of(error: ValidationError, place: str) -> tuple[Problem, ...]:
    """All that pydantic found wrong with a value."""
    return tuple(
        Problem(place, ".".join(map(str, found["loc"])) or None, found["msg"])
        for found in error.errors(include_url=False, include_context=False, include_input=False)
    )


def _misfits(row: Row) -> Iterator[tuple[str, str]]:
    """Field and message of everything in a row that is well typed and does not fit the rest."""
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
    """What is wrong with the entries of ``meta`` that are understood; n is the number of sentences."""
    kinds = meta.get("sentence_kind")
    if kinds is not None and not (
        isinstance(kinds, list) and len(kinds) == n and all(isinstance(k, str) for k in kinds)
    ):
        yield "meta.sentence_kind", f"sentence_kind must be a list of {n} texts, one for each sentence"
    for name in ("title", "language"):
        if not isinstance(meta.get(name, ""), str | None):
            yield f"meta.{name}", f"{name} must be a text"


def _not_text(row: Row) -> Iterator[tuple[str, str]]:
    """Texts that UTF-8 cannot hold: JSON lets half a surrogate pair through, and much breaks on it later."""
    columns = {"id": [row.id], "sentences": row.sentences, "images": row.images}
    for name, texts in (columns | {"captions": row.captions or [], "alts": row.alts or []}).items():
        try:
            "".join(text or "" for text in texts).encode()
        except UnicodeEncodeError as error:
            what = ascii(error.object[error.start])
            yield name, f"{name} has {what}, half a surrogate pair, which is not a character"


def json_of(row: Row, value: object) -> str:
    """Something that is written for a row, as JSON; ``CorpusError``, with its name, where JSON cannot hold it."""
    try:
        return dump_json(value)
    except ValueError as error:
        raise CorpusError(f"document {row.id!r}: cannot be written as JSON: {error}") from error


class UniqueIds:
    """Gives each document an id of its own, the same ones every time a file is read."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}  # with the number that the next one of the name may try

    def take(self, name: str) -> str:
        """The name, with ``#2``, ``#3``, ... behind it where it is taken."""
        number = self._taken.get(name)
        if number is None:
            self._taken[name] = 2
            return name
        while (found := f"{name}#{number}") in self._taken:
            number += 1
        self._taken[name] = number + 1
        self._taken[found] = 2
        return found
