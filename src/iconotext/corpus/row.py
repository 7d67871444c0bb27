"""A row of a corpus: one document in the form common to all formats, and the checks of all its columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from iconotext.errors import CorpusError
from iconotext.read.sentences import detect_language
from iconotext.system.strict_json import dump_json
from iconotext.types import Document, Image, Kind, Sentence

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
        meta: Any other data. ``title``, ``language`` (by default that of the text) and ``sentence_kind`` (per sentence,
            a key of ``SENTENCE_KINDS``) are used.
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


IMAGE_TEXTS = {"captions": "caption", "alts": "alt"}
"""Columns with a text or None for each image, and the fields of ``Image`` that they keep; no others are kept, except
``source`` and ``position``. A new one needs a row here, a column of ``Row`` and a field of ``Image``."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A violation of a corpus's format.

    Attributes:
        place: Place in the file: ``line 3``, ``row 3``, ``train, document 3``.
        field: The field, with indices: ``links.0.1``; None for the whole place.
    """

    place: str
    field: str | None
    message: str

    def __str__(self) -> str:
        where = self.place if self.field is None else f"{self.place}, field {self.field}"
        return f"{where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Record:
    """The contents of one place of a file: a row, or problems, or both; a row with problems must not be used.

    Attributes:
        place: As in ``Problem``.
        row: None if it cannot be made.
        files: For each image its bytes inside the row, None if it has none there; () if no image has.
        number: Number of the row with these bytes, from 0.
    """

    place: str
    row: Row | None
    problems: tuple[Problem, ...] = ()
    files: tuple[bytes | None, ...] = field(default=(), repr=False)
    number: int = 0

    def usable_row(self, file: Path | None = None) -> Row:
        """Return the row; ``CorpusError``, with the name of the file, if it has problems."""
        if self.problems or self.row is None:
            raise CorpusError(str(self.problems[0]) if file is None else f"{file}, {self.problems[0]}")
        return self.row


Part = Callable[[], Iterator[Record]]
"""Reads some consecutive rows of a corpus. It can be sent to another process, and called repeatedly."""


def parse_row(value: object, place: str) -> Record:
    """Check the columns of a document: their types, their lengths, the range of every index."""
    try:
        row = Row.model_validate(value)
    except ValidationError as error:
        return Record(place, None, problems_of(error, place))
    problems = [Problem(place, name, message) for name, message in (*_not_text(row), *_misfits(row))]
    return Record(place, row, tuple(problems))


def parse_json_row(line: bytes, place: str) -> Record | None:
    """Parse a line of JSON and check it like ``parse_row``, in a third of the time.

    Returns None if the JSON or its types may be wrong: then ``parse_row`` names the problem.
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
    """Return the problems that pydantic reports for a value."""
    return tuple(
        Problem(place, ".".join(map(str, details["loc"])) or None, details["msg"])
        for details in error.errors(include_url=False, include_context=False, include_input=False)
    )


def _misfits(row: Row) -> Iterator[tuple[str, str]]:
    """Yield field and message of all well-typed values that do not fit the rest of the row."""
    n, m = len(row.sentences), len(row.images)
    for name, needed in {"blocks": n, **dict.fromkeys(("positions", *IMAGE_TEXTS), m)}.items():
        value = getattr(row, name)
        if value is not None and len(value) != needed:
            yield name, f"{name} has {len(value)} entries where {needed} are needed"
    for sentence, image in row.links or ():
        if sentence >= n or image >= m:
            yield "links", f"links has [{sentence}, {image}] in a document of {n} sentences and {m} images"
    for position in row.positions or ():
        if position > n:
            yield "positions", f"positions has {position} in a document of {n} sentences"
    if row.meta:
        yield from _odd_meta(row.meta, n)


def _odd_meta(meta: dict[str, Any], n: int) -> Iterator[tuple[str, str]]:
    """Yield field and message of wrong entries of ``meta``, in a row of n sentences."""
    kinds = meta.get("sentence_kind")
    if kinds is not None and not (
        isinstance(kinds, list) and len(kinds) == n and all(isinstance(k, str) for k in kinds)
    ):
        yield "meta.sentence_kind", f"sentence_kind must be a list of {n} texts, one for each sentence"
    for name in ("title", "language"):
        if not isinstance(meta.get(name, ""), str | None):
            yield f"meta.{name}", f"{name} must be a text"


def _not_text(row: Row) -> Iterator[tuple[str, str]]:
    """Yield texts that UTF-8 cannot encode: JSON allows half a surrogate pair, on which later steps would fail."""
    columns = {"id": [row.id], **{name: getattr(row, name) or [] for name in ("sentences", "images", *IMAGE_TEXTS)}}
    for name, texts in columns.items():
        try:
            "".join(text or "" for text in texts).encode()
        except UnicodeEncodeError as error:
            character = ascii(error.object[error.start])
            yield name, f"{name} has {character}, half a surrogate pair, which is not a character"


def json_of(row: Row, value: object) -> str:
    """Return a value of a row as JSON; ``CorpusError``, with the row's id, if JSON cannot represent it."""
    try:
        return dump_json(value)
    except ValueError as error:
        raise CorpusError(f"document {row.id!r}: cannot be written as JSON: {error}") from error


class UniqueIds:
    """Makes ids unique, in the same way every time a file is read."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}  # with the next number to try for this name

    def take(self, name: str) -> str:
        """Return the name, with ``#2``, ``#3``, ... appended if it is taken."""
        number = self._taken.get(name)
        if number is None:
            self._taken[name] = 2
            return name
        while (candidate := f"{name}#{number}") in self._taken:
            number += 1
        self._taken[name] = number + 1
        self._taken[candidate] = 2
        return candidate


SENTENCE_KINDS: dict[str, Kind] = {
    "p": "paragraph",
    "h": "heading",
    "li": "item",
    "q": "quote",
    "td": "cell",
    "c": "caption",
}
"""Values of ``meta.sentence_kind``; others count as a paragraph. ``h1`` to ``h6`` also give the level of a heading."""

KIND_CODES = {kind: code for code, kind in SENTENCE_KINDS.items()}
LEVELS = frozenset(f"h{level}" for level in range(1, 7))


class FindsImages(Protocol):
    """Locates the images that a corpus refers to."""

    def find(self, source: str) -> tuple[Path | bytes | None, str | None]:
        """Return (image, None); (None, reason) if it should exist and does not; (None, None) if it needs no file."""


def document_of(row: Row, image_files: FindsImages, files: Sequence[bytes | None] = ()) -> Document:
    """Return the document of a row; a missing image gets a ``problem``. ``files`` are as in ``Record``."""
    meta = dict(row.meta)
    if row.relations is not None:
        meta["relations"] = row.relations
    return Document(
        id=row.id,
        sentences=tuple(_sentences(row)),
        images=tuple(_images(row, image_files, files)),
        title=meta.get("title"),
        language=meta.get("language") or detect_language("\n".join(row.sentences)),
        links=None if row.links is None else tuple(row.links),
        split=row.split,
        meta=meta,
    )


def _sentences(row: Row) -> Iterator[Sentence]:
    kinds = row.meta.get("sentence_kind") or ["p"] * len(row.sentences)
    blocks: list[int | None] = [*row.blocks] if row.blocks is not None else [None] * len(row.sentences)
    for text, block, kind in zip(row.sentences, blocks, kinds, strict=True):
        sentence_kind, level = _kind(kind)
        yield Sentence(text, block, sentence_kind, level=level)


def _kind(code: str) -> tuple[Kind, int | None]:
    if code in LEVELS:
        return "heading", int(code[1])
    return SENTENCE_KINDS.get(code, "paragraph"), None


def _images(row: Row, image_files: FindsImages, files: Sequence[bytes | None]) -> Iterator[Image]:
    texts = {name: values for column, name in IMAGE_TEXTS.items() if (values := getattr(row, column))}
    for number, source in enumerate(row.images):
        inside = files[number] if files else None
        file, problem = (inside, None) if inside is not None else image_files.find(source)
        yield Image(
            source=source,
            file=file,
            position=row.positions[number] if row.positions is not None else None,
            problem=problem,
            **{name: values[number] for name, values in texts.items()},
        )


def row_of(document: Document, folder: Path) -> Row:
    """Return the row of a document; ``CorpusError``, with document and field, if it does not fit the format.

    Its images must be files, or have no file at all.
    """
    values: dict[str, Any] = {
        "id": document.id,
        "split": document.split,
        "sentences": [sentence.text for sentence in document.sentences],
        "images": [written_source(image, folder) for image in document.images],
        "links": None if document.links is None else list(document.links),
        "blocks": _complete([sentence.block for sentence in document.sentences]),
        "positions": _complete([image.position for image in document.images]),
        **{column: _any([getattr(i, name) for i in document.images]) for column, name in IMAGE_TEXTS.items()},
        "relations": document.meta.get("relations"),
        "meta": _meta(document),
    }
    return parse_row(values, f"document {document.id!r}").usable_row()


def written_source(image: Image, folder: Path) -> str:
    """Return the name of an image in a corpus file in ``folder``: the path to its file, else its ``source``.

    Raises ``CorpusError`` if the picture came from inside its document, or from the network, and has no file.
    """
    if isinstance(image.file, bytes):
        raise CorpusError(
            f"picture {image.source}: came inside its document; a corpus names files, so save it to one first"
        )
    if image.file is None:
        return image.source
    if not os.path.isabs(image.source) and os.path.normpath(folder / image.source) == os.path.normpath(image.file):
        return image.source
    try:
        relative = os.path.relpath(_real(image.file.parent.absolute()), _real(folder.absolute()))
        return Path(relative, image.file.name).as_posix()
    except ValueError:  # on another drive (Windows)
        return image.file.resolve().as_posix()


@lru_cache(maxsize=1024)
def _real(folder: Path) -> Path:
    """Resolve symbolic links of a folder, since ".." after a link leads elsewhere."""
    return folder.resolve()


def _meta(document: Document) -> dict[str, Any]:
    meta = {name: value for name, value in document.meta.items() if name != "relations"}
    if document.title is not None:
        meta["title"] = document.title
    text = "\n".join(sentence.text for sentence in document.sentences)
    if document.language != "en" or detect_language(text) != "en":  # else it is told from the text
        meta["language"] = document.language
    kinds = [(sentence.kind, sentence.level) for sentence in document.sentences]
    kind_codes = meta.get("sentence_kind") or ["p"] * len(kinds)
    # Codes that mean the same stay, so that a row does not change when it is read and written again.
    if kinds != [_kind(code) for code in kind_codes]:
        meta["sentence_kind"] = [f"{KIND_CODES[kind]}{level or ''}" for kind, level in kinds]
    return meta


def _complete(values: list[int | None]) -> list[int] | None:
    """Return the values if none is None, since a column has a number for each; else None."""
    numbers = [value for value in values if value is not None]
    return numbers if numbers and len(numbers) == len(values) else None


def _any(values: list[str | None]) -> list[str | None] | None:
    return values if any(value is not None for value in values) else None
