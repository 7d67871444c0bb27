"""Label Studio: write links as tasks for people to correct (``task``), and build a corpus of the annotated tasks.

A task has the text of a document and its pictures. A sentence and a picture are regions, a link is a relation between
them. Label Studio and iconotext count characters in the same way.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from xml.sax.saxutils import quoteattr

from pydantic import BaseModel, Field, StrictStr, ValidationError

from iconotext.corpus.builders.fetched import saved_image
from iconotext.corpus.builders.folder import images_folder
from iconotext.corpus.builders.run import BuilderSettings
from iconotext.corpus.builders.web_pages import with_images
from iconotext.corpus.image_files import ImageFiles
from iconotext.corpus.row import Row, UniqueIds, document_of, parse_row, problems_of, row_of
from iconotext.errors import CorpusError
from iconotext.plain_text import json_text
from iconotext.relations import RELATIONS
from iconotext.report.as_json import plain_number
from iconotext.report.embedded import Embedded, embed
from iconotext.report.explanation import shown_relations
from iconotext.report.flow import Span, document_text, sentences_within
from iconotext.system.strict_json import parse_json
from iconotext.types import Link, LinkedDocument

if TYPE_CHECKING:
    from iconotext.corpus.builders.run import Build, Values


KEY = "iconotext"  # key of the document in the data of a task


def labelling_config() -> str:
    """Return the labelling interface of a project for these tasks, as XML."""
    relations = "\n".join(f"    <Relation value={quoteattr(relation.name)}/>" for relation in RELATIONS)
    return f"""<View>
  <Header value="Mark a sentence, mark a picture, and draw a relation between the two where the sentence is about it."/>
  <Labels name="sentence" toName="text">
    <Label value="Sentence"/>
  </Labels>
  <Text name="text" value="$text"/>
  <RectangleLabels name="picture" toName="pictures">
    <Label value="Picture"/>
  </RectangleLabels>
  <Image name="pictures" valueList="$pictures"/>
  <Relations>
{relations}
  </Relations>
</View>
"""


def tasks_json(documents: Iterable[LinkedDocument], folder: Path) -> Iterator[str]:
    """Yield a JSON list of tasks for import into Label Studio."""
    separator = "[\n"
    for linked in documents:
        yield separator + json_text(task(linked, folder))
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def task(linked: LinkedDocument, folder: Path, annotated: Sequence[Link] | None = None) -> dict[str, Any]:
    """Return a document as a task, with its links as a prediction.

    Pictures are included with a longer side of at most 900 pixels; those that cannot be decoded are left out.

    Args:
        folder: Folder of the file of tasks; names of pictures are relative to it.
        annotated: Links that people chose, as an annotation beside the prediction; None for no annotation.
    """
    document = linked.document
    images = tuple(replace(i, file=i.file if isinstance(i.file, Path) else None) for i in document.images)
    row = row_of(replace(document, images=images, links=None), folder)
    text, spans = document_text(document_of(row, ImageFiles(folder, files=False)))  # the same as when it is read again
    pictures = {n: data for n, data in embed(document.images, range(len(document.images))).items() if data.uri}
    links = [link for link in linked.links if link.image in pictures]
    score = sum(link.confidence for link in links) / len(links) if links else 0.0
    prediction = {
        "model_version": linked.model,
        "score": plain_number(score),
        "result": _result(links, text, spans, pictures),
    }
    values = {
        "data": {
            "text": text,
            "pictures": [data.uri for data in pictures.values()],
            KEY: {"row": row.model_dump(mode="json", exclude_none=True), "pictures": list(pictures)},
        },
        "predictions": [prediction],
    }
    if annotated is not None:
        task_links = [link for link in annotated if link.image in pictures]
        values["annotations"] = [{"result": _result(task_links, text, spans, pictures)}]
    return values


def _result(
    links: Sequence[Link], text: str, spans: list[Span], pictures: Mapping[int, Embedded]
) -> list[dict[str, Any]]:
    regions = [_sentence(text, spans, number, links) for number in sorted({link.sentence for link in links})]
    regions += [
        {
            "id": f"picture-{number}",
            "from_name": "picture",
            "to_name": "pictures",
            "type": "rectanglelabels",
            "item_index": place,
            "original_width": picture.width,
            "original_height": picture.height,
            "image_rotation": 0,
            "value": {"x": 0, "y": 0, "width": 100, "height": 100, "rotation": 0, "rectanglelabels": ["Picture"]},
        }
        for place, (number, picture) in enumerate(pictures.items())
    ]
    by_pair = shown_relations(links)
    relations = [
        {
            "from_id": f"sentence-{link.sentence}",
            "to_id": f"picture-{link.image}",
            "type": "relation",
            "direction": "right",
            "labels": [relation.name for relation, _ in by_pair[link.sentence, link.image]],
        }
        for link in links
    ]
    return [*regions, *relations]


def _sentence(text: str, spans: list[tuple[int, int]], number: int, links: Sequence[Link]) -> dict[str, Any]:
    start, end = spans[number]
    return {
        "id": f"sentence-{number}",
        "from_name": "sentence",
        "to_name": "text",
        "type": "labels",
        "score": plain_number(max(link.confidence for link in links if link.sentence == number)),
        "value": {"start": start, "end": end, "text": text[start:end], "labels": ["Sentence"]},
    }


class _Value(BaseModel):
    start: Annotated[int, Field(ge=0)] | None = None
    end: Annotated[int, Field(ge=0)] | None = None


class _Result(BaseModel):
    id: StrictStr | None = None
    type: StrictStr | None = None
    to_name: StrictStr | None = None
    item_index: Annotated[int, Field(ge=0)] = 0
    from_id: StrictStr | None = None
    to_id: StrictStr | None = None
    value: _Value | None = None


class _Annotation(BaseModel):
    result: list[_Result]
    was_cancelled: bool | None = False


class _StoredDocument(BaseModel):
    row: dict[str, Any]
    pictures: list[Annotated[int, Field(ge=0)]]


class _Data(BaseModel):
    text: StrictStr
    pictures: list[StrictStr]
    iconotext: _StoredDocument


class Task(BaseModel):
    """A task of an export; other keys are ignored."""

    data: _Data
    annotations: list[_Annotation] = []


MISFIT = "relation that does not join a sentence with a picture"

Drop = Callable[[str, str, str], None]


def annotated_row(value: object, place: str, drop: Drop) -> tuple[Row, dict[int, str]] | None:
    """Return the document of an exported task, with the links that most annotators chose; None if nobody annotated it.

    Args:
        drop: Called for each item that is left out: rule, item, reason.

    Returns:
        The row of a corpus, and image number to the picture that the task shows, as a ``data:`` address.
    """
    try:
        task = Task.model_validate(value)
    except ValidationError as error:
        problem = problems_of(error, place)[0]
        raise CorpusError(f"{problem}; a task that `iconotext link --to label-studio` wrote is needed") from error
    row, numbers = parse_row(task.data.iconotext.row, place).usable_row(), task.data.iconotext.pictures
    if len(numbers) != len(task.data.pictures) or any(number >= len(row.images) for number in numbers):
        raise CorpusError(f"{place}, field data.iconotext.pictures: does not fit the pictures of the task")
    annotations = [annotation for annotation in task.annotations if not annotation.was_cancelled]
    if not annotations:
        drop("task without annotations", row.id, "")
        return None
    document = document_of(row, ImageFiles(Path(), files=False))
    text, spans = document_text(document)
    if text != task.data.text:
        raise CorpusError(f"{place}, field data.text: it is not that of its sentences")
    votes = Counter(
        link for annotation in annotations for link in _links(annotation, spans, numbers, partial(drop, MISFIT, row.id))
    )
    row.links = sorted(link for link, count in votes.items() if 2 * count > len(annotations))
    for link in sorted(votes.keys() - set(row.links)):
        drop("link that not most annotators gave", row.id, f"sentence {link[0]}, picture {link[1]}")
    return row, dict(zip(numbers, task.data.pictures, strict=True))


def _links(
    annotation: _Annotation, spans: list[Span], numbers: list[int], drop: Callable[[str], None]
) -> set[tuple[int, int]]:
    """Return the links of one annotator; ``drop`` is called for relations that are not links."""
    regions = {result.id: result for result in annotation.result if result.id is not None and result.type != "relation"}
    links: set[tuple[int, int]] = set()
    for relation in annotation.result:
        if relation.type != "relation":
            continue
        ends = [regions.get(name) for name in (relation.from_id, relation.to_id) if name is not None]
        texts = [end for end in ends if end is not None and end.to_name == "text"]
        pictures = [end for end in ends if end is not None and end.to_name == "pictures"]
        sentences: set[int] = set()
        if texts and (at := texts[0].value) and at.start is not None and at.end is not None:
            sentences = sentences_within(spans, at.start, at.end)
        image = numbers[pictures[0].item_index] if pictures and pictures[0].item_index < len(numbers) else None
        if not sentences or image is None:
            drop(f"{relation.from_id} → {relation.to_id}")
        else:
            links |= {(sentence, image) for sentence in sentences}
    return links


class Settings(BuilderSettings):
    """Make documents with gold links out of what people annotated in Label Studio.

    The tasks are those of `iconotext link --to label-studio`, exported as JSON when they were annotated. A link counts
    if more than half of the annotators of its document gave it. Training and `evaluate` take the corpus.

    **Examples**

    - `iconotext corpus build label-studio --source export.json --output gold.jsonl`
    """

    source: tuple[Path, ...]
    """An export of Label Studio, as JSON; may be given several times."""

    images: Path | None = None
    """Folder that the names of pictures start from (default: that of the export). A picture that is not found there is
    taken from the task, at most 900 pixels long."""


def documents(build: Build, settings: Settings) -> Iterator[Values]:
    """Yield the annotated tasks; ``CorpusError`` if a file is not an export, or no task is annotated."""
    ids, total_copied, links, tasks_read = UniqueIds(), 0, 0, 0
    for path in settings.source:
        for number, task in enumerate(build.watch(_tasks(path), label="Reading")):
            annotated = annotated_row(task, f"{path}, task {number + 1}", build.report.drop)
            if annotated is None:
                continue
            row, pictures = annotated
            numbers, copied = _place_images(build, row, pictures, settings.images or path.parent)
            total_copied += copied
            row.id = ids.take(row.id)
            tasks_read, links = tasks_read + 1, links + len(row.links or ())
            yield with_images(row.model_dump(exclude_none=True), numbers)
    if not tasks_read:
        raise CorpusError(f"{', '.join(map(str, settings.source))}: nobody has annotated any task")
    build.report.count("gold links", links)
    build.report.count("pictures taken from the tasks", total_copied)


def _tasks(path: Path) -> list[Any]:
    try:
        tasks = parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise CorpusError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise CorpusError(f"{path}: no export of Label Studio as JSON: {error}") from error
    if not isinstance(tasks, list):
        raise CorpusError(f"{path}: no export of Label Studio as JSON: a list of tasks is needed")
    return tasks


def _place_images(build: Build, row: Row, pictures: dict[int, str], home: Path) -> tuple[list[int], int]:
    """Name each picture relative to the corpus.

    Returns the numbers of the available pictures, and how many of them were taken from the task.
    """
    numbers, copied = [], 0
    for number, name in enumerate(row.images):
        file = home / name
        if file.is_file():
            row.images[number] = build.relative_path(file)
        elif number in pictures:
            copy = saved_image(_bytes(pictures[number], row.id), images_folder(build.output))
            row.images[number] = build.relative_path(copy)
            copied += 1
        else:
            build.report.drop("picture that is not there", f"{row.id}: {name}")
            continue
        numbers.append(number)
    return numbers, copied


def _bytes(address: str, document: str) -> bytes:
    try:
        head, _, body = address.partition(",")
        if not head.startswith("data:image/") or not head.endswith(";base64"):
            raise ValueError("no data: address")
        return base64.b64decode(body, validate=True)
    except ValueError as error:
        raise CorpusError(f"document {document!r}: a picture of its task is damaged: {error}") from error
