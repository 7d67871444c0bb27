"""What the processes of the pool do: find and read documents, learn where their pictures stand, link, write results."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.errors import DocumentError, IconotextError
from iconotext.links.habit import Habit
from iconotext.pipeline import Linker
from iconotext.plain_text import json_text
from iconotext.read import Failure, ReadSettings, find_documents, read_documents, unique_names
from iconotext.read.format import FORMATS
from iconotext.serve.doubt import CANDIDATES, doubts
from iconotext.types import Document, Link, LinkedDocument
from iconotext.write import write_bytes, write_text

if TYPE_CHECKING:
    from iconotext.links.habit import Judged

KEPT = 16
"""Documents that a process keeps as they were read, for when somebody corrects a link."""

PAGE, LINKED, REVIEW = "page.html", "linked.json", "review.json"
"""Files that a linked document leaves in its folder, beside its pictures: the reading view, its JSON (as ``iconotext
link --to json``), and what the review shows."""


class Place(NamedTuple):
    """Where a document is.

    Attributes:
        path: Its file.
        name: Its id.
        within: The folder that it and its pictures must lie in.
    """

    path: str
    name: str
    within: str


@dataclass(frozen=True, slots=True)
class Found:
    """The documents of a folder.

    Attributes:
        documents: Name and path of each.
        habits: Where their pictures stand, as JSON.
        habit: The same in words; None where too little is known.
    """

    documents: tuple[tuple[str, str], ...]
    habits: str
    habit: str | None


@dataclass(frozen=True, slots=True)
class Made:
    """What linking left of a document.

    Attributes:
        known: Its ``title``, ``digest``, and how many ``sentences`` and ``links``.
        pictures: Number, likeliest sentence, confidence and both doubts of each picture that can be linked.
    """

    known: dict[str, Any]
    pictures: tuple[tuple[int, int | None, float, float, float], ...]


_linkers: dict[str, Linker] = {}


def prepare(model: str) -> None:
    """Load the model, once for the life of the process."""
    _linkers["reading"] = linker = Linker.load(model)
    every = {"select": "top-k", "k": CANDIDATES, "min_confidence": 0.0, "relations": "none"}
    _linkers["candidates"] = Linker(linker.encoder, linker.settings.model_copy(update=every))


def find(start: str, within: str, most: int) -> Found:
    """The documents of a file or folder, and where their pictures stand.

    Args:
        start: The file or folder.
        within: The folder that all must lie in; what a link leads out of it to is left out.
        most: How many there may be.

    Raises:
        DocumentError: There is none, or there are too many.
    """
    root = Path(within).resolve()
    inside = []
    for path, _ in find_documents([start]):
        if path.resolve().is_relative_to(root):
            inside.append(path)
        if len(inside) > most:
            raise DocumentError(f"more than {most:,} documents: open a part of it")
    if not inside:
        raise DocumentError(f"no document in it: what is read is {FORMATS}")
    names = unique_names([path.relative_to(start) if path != Path(start) else path for path in inside])
    found = tuple((name, str(path)) for name, path in zip(names, inside, strict=True))
    return Found(found, *learn([Place(path, name, within) for name, path in found], {}))


def learn(places: list[Place], judged: Mapping[str, Judged]) -> tuple[str, str | None]:
    """Where the pictures of some documents stand, as JSON and in words.

    Args:
        places: The documents.
        judged: By name what people said of their pictures.
    """
    habits = _linkers["reading"].habits(_each(places), judged)
    told = {name: {key: count.tolist() for key, count in habit.counts.items()} for name, habit in habits.items()}
    said = {name: {str(image): list(s) for image, s in images.items()} for name, images in judged.items()}
    words = sorted({summary for habit in habits.values() if (summary := habit.summary())})
    return json_text({"counts": told, "judged": said}), "; ".join(words) or None


def habits_of(text: str) -> dict[str, Habit]:
    """What ``learn`` gave as JSON."""
    known = json.loads(text)
    judged = {name: {int(image): tuple(s) for image, s in said.items()} for name, said in known["judged"].items()}
    return {
        name: Habit({key: np.array(count) for key, count in counts.items()}, judged=judged)
        for name, counts in known["counts"].items()
    }


def link(place: Place, habits: str, judged: Judged, folder: str, addresses: tuple[str, str]) -> Made:
    """Link a document, and write what the server shows of it.

    Args:
        place: The document.
        habits: Of ``learn``.
        judged: What people said of its pictures: shown in place of what was found.
        folder: Where to write it.
        addresses: Of the list of all documents, and of the review.
    """
    from iconotext.report.as_json import json_object
    from iconotext.report.embedded import embed
    from iconotext.report.flow import title
    from iconotext.report.reading_page import reading_page, shown_images

    document = read_place(place)
    known = habits_of(habits)
    linked = as_judged(_linkers["reading"].link(document, known), judged)
    likeliest = by_image(_linkers["candidates"].link(document, known))
    home, pictures = Path(folder), []
    shown = embed(linked.document.images, shown_images(linked.document))
    for number, picture in shown.items():
        if picture.uri is not None:
            kind, _, data = picture.uri.removeprefix("data:image/").partition(";base64,")
            write_bytes(home / f"{number}.{kind}", base64.b64decode(data), force=True)
            own = likeliest.get(number, [])
            best = own[0].sentence if own else None
            sure = own[0].confidence if own else 0.0
            pictures.append((number, best, sure, *doubts(linked.document, number, own)))
    page = reading_page(linked, index=addresses[0], review=addresses[1], embedded=shown)
    write_text(home / PAGE, page, force=True)
    write_text(home / LINKED, json_text(json_object(linked)) + "\n", force=True)
    write_text(home / REVIEW, json_text(_review(linked, likeliest)) + "\n", force=True)
    counts = {"sentences": len(document.sentences), "links": len(linked.links)}
    return Made({"title": title(document), "digest": digest(document), **counts}, tuple(pictures))


def digest(document: Document) -> str:
    """Of what people judge: another text, or other pictures, make another one."""
    said = [[s.text for s in document.sentences], [image.source for image in document.images]]
    return hashlib.sha256(json_text(said).encode()).hexdigest()


def as_judged(linked: LinkedDocument, judged: Judged) -> LinkedDocument:
    """The links as people said, where they did, and as they were found elsewhere."""
    if not judged:
        return linked
    found = {(link.sentence, link.image): link for link in linked.links}
    kept = [link for link in linked.links if link.image not in judged]
    for image, sentences in judged.items():
        for sentence in sentences:
            link = found.get((sentence, image)) or Link(sentence, image, 1.0, 1.0, {})
            kept.append(replace(link, score=1.0, confidence=1.0, paragraph=None if link.paragraph is None else 1.0))
    count = f"{len(judged)} of {len(linked.document.images)} pictures are linked as a reviewer said"
    ordered = sorted(kept, key=lambda link: (-link.score, link.image, link.sentence))
    return replace(linked, links=tuple(ordered), notes=(*linked.notes, count))


def by_image(linked: LinkedDocument) -> dict[int, list[Link]]:
    """The links of each picture, the surest first."""
    found: dict[int, list[Link]] = {}
    for link in sorted(linked.links, key=lambda link: (-link.confidence, link.sentence)):
        found.setdefault(link.image, []).append(link)
    return found


def _review(linked: LinkedDocument, likeliest: Mapping[int, list[Link]]) -> dict[str, Any]:
    document = linked.document
    return {
        "language": document.language,
        "sentences": [[s.text, s.block, s.kind] for s in document.sentences],
        "pictures": {
            str(number): {
                "caption": image.caption,
                "alt": image.alt,
                "position": image.position,
                "candidates": [[link.sentence, round(link.confidence, 4)] for link in likeliest.get(number, [])],
            }
            for number, image in enumerate(document.images)
            if image.problem is None
        },
    }


def _each(places: list[Place]) -> Iterator[Document | Failure]:
    for place in places:
        try:
            yield read_place(place)
        except IconotextError as error:
            yield Failure(Path(place.path), error)


def read_place(place: Place) -> Document:
    """The document at a place, as it is now.

    Raises:
        DocumentError: It cannot be read, or lies elsewhere by now.
    """
    path = Path(place.path)
    try:
        known = path.stat()
    except OSError as error:
        raise DocumentError(f"{path.name}: cannot be read: {error.strerror}") from error
    if not path.resolve().is_relative_to(Path(place.within).resolve()):
        raise DocumentError(f"{path.name}: a link that leads out of the folder")
    return _read(place, known.st_mtime_ns, known.st_size)


@lru_cache(KEPT)
def _read(place: Place, _changed: int, _size: int) -> Document:
    settings = ReadSettings()
    (document,) = read_documents(Path(place.path), settings, within=Path(place.within), identifier=place.name)
    return document
