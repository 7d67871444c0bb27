"""The format of the code released with Hessel 2019: ``docs.json``, with a table of image features beside it.

``docs.json`` is one object with the keys train, val and test. Each has a list of documents
``[images, sentences, metadata]``. An image is ``[id, label]``, where the label is the number of its sentence; a
sentence is ``[text, label]``, where the label is the number of its image. A label is -1 for none, null if the corpus
has no labels. The paper's data sets have labels of images only; metadata is the name of a document, or anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StrictInt, StrictStr, TypeAdapter, ValidationError

from iconotext.corpus.formats.json_lines import blocks
from iconotext.corpus.formats.json_stream import lists, open_json
from iconotext.corpus.row import Part, Problem, Record, Split, parse_row, problems_of
from iconotext.errors import CorpusError

DOCUMENTS_FILE = "docs.json"

FORMAT = 'the released format, {"train": [...], "val": [...], "test": [...]}'

TOGETHER = 100  # number of documents in a part

SPLIT_OF_KEY: dict[str, Split] = {"train": "train", "val": "validation", "test": "test"}

NAMELESS = ("", "na")
"""Metadata that is not a name; MSCOCO has "na" throughout."""

Label = Annotated[StrictInt, Field(ge=-1)] | None
_DOCUMENT: TypeAdapter[tuple[list[tuple[StrictStr | StrictInt, Label]], list[tuple[StrictStr, Label]], Any]] = (
    TypeAdapter(tuple[list[tuple[StrictStr | StrictInt, Label]], list[tuple[StrictStr, Label]], Any])
)
_PARTS = ("images", "sentences", "metadata")


def documents_file(path: Path) -> Path:
    """Return the file of documents: the path itself if it ends in ``.json``, else the file in that folder."""
    return path if path.suffix.lower() == ".json" and not path.is_dir() else path / DOCUMENTS_FILE


def released_parts(path: Path) -> Iterator[Part]:
    """Return the documents in the order of the file, in parts.

    If the metadata is a text, it is the document's id; else the id is made of split and number, and the metadata is
    stored as ``meta["metadata"]``.
    """
    return (partial(iter, batch) for batch in blocks(_records(documents_file(path)), TOGETHER))


def _records(file: Path) -> Iterator[Record]:
    for key, index, value in _elements(file):
        if key not in SPLIT_OF_KEY:
            raise CorpusError(f"{file}, field {key}: not a split; the released format has train, val and test")
        yield _record(value, f"{key}, document {index}", SPLIT_OF_KEY[key], index)


def count_released(path: Path) -> int:
    """Return the number of documents."""
    return sum(1 for _ in _elements(documents_file(path)))


def _elements(file: Path) -> Iterator[tuple[str, int, Any]]:
    with open_json(file, FORMAT) as stream:
        for key, values in lists(stream):
            yield from ((key, index, value) for index, value in enumerate(values))


def _record(value: object, place: str, split: Split, index: int) -> Record:
    try:
        images, sentences, metadata = _DOCUMENT.validate_python(value)
    except ValidationError as error:
        return Record(place, None, tuple(_with_field_name(problem) for problem in problems_of(error, place)))
    n, m = len(sentences), len(images)
    wrong = [
        Problem(place, f"{part}.{i}.1", f"label {label} in a document of {n} sentences and {m} images")
        for part, labelled, limit in (("images", images, n), ("sentences", sentences, m))
        for i, (_, label) in enumerate(labelled)
        if label is not None and label >= limit
    ]
    if wrong:
        return Record(place, None, tuple(wrong))
    has_name = isinstance(metadata, str) and metadata not in NAMELESS
    values = {
        "id": metadata if has_name else f"{split}-{index}",
        "split": split,
        "sentences": [text for text, _ in sentences],
        "images": [str(source) for source, _ in images],
        "links": _links([label for _, label in sentences], [label for _, label in images]),
        "meta": {} if has_name or metadata in (None, *NAMELESS) else {"metadata": metadata},
    }
    return parse_row(values, place)


def _links(of_sentences: list[int | None], of_images: list[int | None]) -> list[tuple[int, int]] | None:
    """Return the links named by either end; None if no label is given. A label of -1 names none."""
    if all(label is None for label in (*of_sentences, *of_images)):
        return None
    links = {(sentence, image) for image, sentence in enumerate(of_images) if sentence is not None and sentence >= 0}
    links |= {(sentence, image) for sentence, image in enumerate(of_sentences) if image is not None and image >= 0}
    return sorted(links)


def _with_field_name(problem: Problem) -> Problem:
    if problem.field is None:
        return problem
    first, dot, rest = problem.field.partition(".")
    return Problem(problem.place, _PARTS[int(first)] + dot + rest, problem.message)
