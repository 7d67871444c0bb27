"""Corpora: one document a line of JSON, checked as it is read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, model_validator

from iconotext.errors import CorpusError
from iconotext.types import Document, Image, Kind, Sentence

Index = Annotated[StrictInt, Field(ge=0)]


class Row(BaseModel):
    """One line of a corpus, as the file has it."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[StrictStr, Field(min_length=1)]
    split: Literal["train", "validation", "test"] | None = None
    sentences: list[StrictStr]
    images: list[StrictStr]
    links: list[tuple[Index, Index]] | None = None
    blocks: list[Index] | None = None
    positions: list[Index] | None = None
    captions: list[StrictStr | None] | None = None
    alts: list[StrictStr | None] | None = None
    relations: dict[str, bool | None] | None = None
    meta: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits(self) -> Row:
        n, m = len(self.sentences), len(self.images)
        for name, wanted in (("blocks", n), ("positions", m), ("captions", m), ("alts", m)):
            value = getattr(self, name)
            if value is not None and len(value) != wanted:
                raise ValueError(f"{name} has {len(value)} entries where {wanted} are needed")
        for sentence, image in self.links or ():
            if sentence >= n or image >= m:
                raise ValueError(f"links has [{sentence}, {image}] in a document of {n} sentences and {m} images")
        for position in self.positions or ():
            if position > n:
                raise ValueError(f"positions has {position} in a document of {n} sentences")
        return self


def read_corpus(path: Path | str) -> Iterator[Document]:
    """Documents of a corpus file (``.jsonl``), in its order, one in memory at a time.

    Image paths are taken relative to the file; a picture that is not there gets a ``problem``.

    Raises:
        CorpusError: The file is missing, or a line breaks the format; names file, line and field.
    """
    path = Path(path)
    seen: dict[str, int] = {}
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                document = _document(line, path, number)
                if document.id in seen:
                    raise CorpusError(
                        f"{path}, line {number}, field id: {document.id!r} is also the id of line {seen[document.id]}"
                    )
                seen[document.id] = number
                yield document
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 text; a corpus is JSON lines in UTF-8") from error


def _document(line: str, path: Path, number: int) -> Document:
    try:
        row = Row.model_validate(json.loads(line))
    except json.JSONDecodeError as error:
        raise CorpusError(f"{path}, line {number}: not JSON ({error.msg} at column {error.colno})") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "the line as a whole"
        raise CorpusError(f"{path}, line {number}, field {field}: {first['msg']}") from error
    meta = dict(row.meta)
    if row.relations is not None:
        meta["relations"] = row.relations
    return Document(
        id=row.id,
        sentences=tuple(_sentences(row)),
        images=tuple(_images(row, path.parent)),
        links=None if row.links is None else tuple(row.links),
        split=row.split,
        meta=meta,
    )


SENTENCE_KINDS: dict[str, Kind] = {"p": "paragraph", "h": "heading", "li": "item", "q": "quote", "td": "cell"}


def _sentences(row: Row) -> Iterator[Sentence]:
    kinds = row.meta.get("sentence_kind") or ["p"] * len(row.sentences)
    blocks: list[int | None] = [*row.blocks] if row.blocks is not None else [None] * len(row.sentences)
    for text, block, kind in zip(row.sentences, blocks, kinds, strict=True):
        yield Sentence(text, block, SENTENCE_KINDS.get(kind, "paragraph"))


def _images(row: Row, folder: Path) -> Iterator[Image]:
    for number, source in enumerate(row.images):
        file = folder / source
        there = file.is_file()
        yield Image(
            source=source,
            file=file if there else None,
            alt=row.alts[number] if row.alts else None,
            caption=row.captions[number] if row.captions else None,
            position=row.positions[number] if row.positions is not None else None,
            problem=None if there else f"not found: {file}",
        )
