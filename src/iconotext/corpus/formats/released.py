"""The format of the code released with Hessel 2019: ``docs.json``, with a table of image features beside it.

``docs.json`` is one object with the keys train, val and test. Each has a list of documents
``[images, sentences, metadata]``. An image is ``[id, label]``, where the label is the number of its sentence; a
sentence is ``[text, label]``, where the label is the number of its image. A label is -1 for none, null if the corpus
has no labels. The paper's data sets have labels of images only; metadata is the name of a document, or anything.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any

from pydantic import Field, StrictInt, StrictStr, TypeAdapter, ValidationError

from iconotext.corpus.formats.json_lines import blocks
from iconotext.corpus.formats.json_stream import lists, open_json
from iconotext.corpus.row import Part, Problem, Record, Row, Split, json_of, parse_row, problems_of
from iconotext.errors import CorpusError
from iconotext.system.files import check_overwrite, open_atomic

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


def write_released(rows: Iterable[Row], path: Path, *, force: bool) -> int:
    """Write ``docs.json``; returns the number of documents.

    The file has one split after the other; the documents of each are collected in a temporary file, not in memory.
    """
    file = documents_file(path)
    check_overwrite(file, force)
    number = 0
    with ExitStack() as stack:
        waiting: dict[Split, IO[bytes]] = {
            split: stack.enter_context(tempfile.TemporaryFile()) for split in SPLIT_OF_KEY.values()
        }
        for row in rows:
            number += 1
            if row.split is None:
                raise CorpusError(
                    f"document {row.id!r}: has no split, which the released format needs: `corpus split` gives one"
                )
            part = waiting[row.split]
            part.write((",\n" if part.tell() else "").encode() + _written(row).encode())
        with open_atomic(file, force=force) as target:
            for i, (key, split) in enumerate(SPLIT_OF_KEY.items()):
                target.write(f'{"," if i else "{"}\n"{key}": [\n'.encode())
                waiting[split].seek(0)
                shutil.copyfileobj(waiting[split], target, 1 << 20)
                target.write(b"]")
            target.write(b"}\n")
    return number


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


def _written(row: Row) -> str:
    n, m = len(row.sentences), len(row.images)
    if row.links is None:
        of_images: Sequence[int | None] = [None] * m
        of_sentences: Sequence[int | None] = [None] * n
    else:
        labels = labels_of(row.links, n, m)
        if labels is None:
            raise CorpusError(
                f"document {row.id!r}, field links: {len(set(row.links))} that the released format cannot hold, where "
                "an image names one sentence at most and a sentence one image; write .jsonl or .parquet"
            )
        of_images, of_sentences = ([-1 if end is None else end for end in ends] for ends in labels)
    images = [list(pair) for pair in zip(row.images, of_images, strict=True)]
    sentences = [list(pair) for pair in zip(row.sentences, of_sentences, strict=True)]
    return json_of(row, [images, sentences, row.id])


Labels = list[int | None]


def labels_of(links: Collection[tuple[int, int]], n: int, m: int) -> tuple[Labels, Labels] | None:
    """Distribute links over labels, so that each link is named by its sentence or by its image.

    As many links as possible are named by their images, as in the data sets of Hessel 2019.

    Returns:
        For each image its sentence, and for each sentence its image, None for none; None if that is impossible, since
            each can name only one.
    """
    pairs = sorted(set(links))
    named_by: dict[int, int] = {}  # end (sentences have numbers from m on) to its link
    for link, (_, image) in enumerate(pairs):
        named_by.setdefault(image, link)
    ends = [(image, m + sentence) for sentence, image in pairs]
    if not all(_find_end(link, ends, named_by) for link in set(range(len(pairs))) - set(named_by.values())):
        return None
    of_images = [pairs[named_by[end]][0] if end in named_by else None for end in range(m)]
    of_sentences = [pairs[named_by[end]][1] if end in named_by else None for end in range(m, m + n)]
    return of_images, of_sentences


def _find_end(link: int, ends: list[tuple[int, int]], named_by: dict[int, int]) -> bool:
    """Assign a link to one of its ends, if necessary moving other links to their other ends.

    An augmenting path of bipartite matching, by breadth-first search; scipy's is not in the core.
    """
    came: dict[int, tuple[int, int | None]] = {}  # end to the link that wants it, and that link's former end
    queue: list[tuple[int, int | None]] = [(link, None)]
    for wants, left in queue:  # grows during the iteration
        for end in ends[wants]:
            if end in came:
                continue
            came[end] = wants, left
            if end in named_by:
                queue.append((named_by[end], end))
                continue
            step: int | None = end
            while step is not None:
                named_by[step], step = came[step]
            return True
    return False
