"""Functions that the pool's processes run on documents: find and read them, infer habits, link, write results.

``find`` lists the documents of a collection, ``link`` links one and writes its files, ``view`` writes its pages again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.errors import DocumentError, IconotextError
from iconotext.evidence.habit import Habit
from iconotext.linker import BEST, Linker
from iconotext.plain_text import counted, json_text
from iconotext.read import Failure, find_documents, unique_names
from iconotext.read.address import REMOTE
from iconotext.read.format import formats_in_words
from iconotext.serve.alt_text_work import ALT_TEXT, to_describe, wanted
from iconotext.serve.doubt import CANDIDATES, doubts
from iconotext.serve.followed import File
from iconotext.serve.views import embed_in, read_files, write_view
from iconotext.system.files import write_text
from iconotext.types import Document, Link, LinkedDocument

if TYPE_CHECKING:
    from iconotext.evidence.gather import DocumentEvidence
    from iconotext.evidence.habit import Judged
    from iconotext.serve.answers import Answer

    Answers = Mapping[int, Answer]

REVIEW = "review.json"
"""File in a document's folder with the data of the review page."""

Seen = tuple[int, int | None, float, float, float]
"""Number, most likely sentence, confidence and both doubts of a picture: see ``store.Picture``."""


class Place(NamedTuple):
    """The place of a document.

    Attributes:
        within: The folder that must contain the document and its pictures.
    """

    path: str
    name: str
    within: str


@dataclass(frozen=True, slots=True)
class Found:
    """The documents in a folder, with their habits.

    Attributes:
        documents: Name and path of each.
        habit: The habits in words; None if too little is known.
    """

    documents: tuple[tuple[str, str], ...]
    habits: str
    habit: str | None


@dataclass(frozen=True, slots=True)
class Made:
    """The results of linking a document.

    Attributes:
        known: Its ``title``, ``digest``, and number of ``sentences``, ``links``, ``images``, and ``missing`` images.
        pictures: Pictures that can be linked.
        wanted: Keys of pictures whose alternative text is missing or has a problem; see ``alt_text_work``.
        files: Its file, and those of its pictures.
    """

    known: dict[str, Any]
    pictures: tuple[Seen, ...]
    wanted: tuple[str, ...]
    files: tuple[File, ...]


_linkers: dict[str, Linker] = {}


def prepare(model: str) -> None:
    """Load the model, once for each process."""
    _linkers["reading"] = linker = Linker.load(model)
    every = {"select": "top-k", "k": CANDIDATES, "min_confidence": 0.0, "relations": "none"}
    _linkers["candidates"] = Linker(linker.encoder, linker.settings.model_copy(update=every))
    _linkers["best"] = Linker(linker.encoder, linker.settings.model_copy(update={**BEST, "relations": "none"}))
    _linkers["weighing"] = Linker(linker.encoder, linker.settings.model_copy(update={"relations": "none"}))


def linker(name: str) -> Linker:
    """A linker of this process: ``reading`` for pages; without relations ``weighing``, ``best``, ``candidates``."""
    return _linkers[name]


def find(start: str, within: str, most: int, labels: Mapping[str, str] = MappingProxyType({})) -> Found:
    """Find the documents of a file or folder, and infer where their pictures stand.

    Args:
        within: The folder that must contain all files; links that lead out of it are not followed.
        most: Maximum number of documents.
        labels: Names of files that were sent, see ``store.Saved``.

    Raises:
        DocumentError: There are none, or too many.
    """
    found = documents_in(start, within, most, labels)
    if not found:
        raise DocumentError(f"no document in it: what is read is {formats_in_words()}")
    places = [Place(path, name, within) for name, path in found]
    return Found(found, *habits_text(_linkers["reading"].habits(_each(places))))


def documents_in(
    start: str, within: str, most: int, labels: Mapping[str, str] = MappingProxyType({})
) -> tuple[tuple[str, str], ...]:
    """Name and path of the documents of a file or folder; see ``find``; ``DocumentError`` if there are too many."""
    root = Path(within).resolve()
    inside = []
    for path, _ in find_documents([start]):
        if path.resolve().is_relative_to(root):
            inside.append(path)
        if len(inside) > most:
            raise DocumentError(f"more than {most:,} documents: open a part of it")
    named = [path.relative_to(start) if path != Path(start) else path for path in inside]
    names = unique_names([Path(labels.get(path.as_posix(), path)) for path in named])
    return tuple((name, str(path)) for name, path in zip(names, inside, strict=True))


def habits_text(habits: Mapping[str, Habit]) -> tuple[str, str | None]:
    """The habits of collections, as JSON and in words."""
    told = {name: {key: count.tolist() for key, count in habit.counts.items()} for name, habit in habits.items()}
    words = sorted({summary for habit in habits.values() if (summary := habit.summary)})
    return json_text({"counts": told}), "; ".join(words) or None


def habits_of(text: str, judged: Mapping[str, Judged] = MappingProxyType({})) -> dict[str, Habit]:
    """The habits from the JSON of ``habits_text``.

    Args:
        judged: Document id to verdicts about its present pictures (numbers differ between versions of a file).
    """
    return {
        name: Habit({key: np.array(count) for key, count in counts.items()}, judged=judged)
        for name, counts in json.loads(text)["counts"].items()
    }


def link(
    place: Place, habits: str, said: Mapping[str, Answers], folder: str, leads: Mapping[str, str], stamp: str
) -> Made:
    """Link a document, store its evidence, and write the files that the server shows.

    Args:
        said: Digest of a version of the document to verdicts about its pictures, shown instead of inferred links.
        leads: Name to address of the pages to which the reading view links, besides the list of all documents.
    """
    from iconotext.images import is_harmless
    from iconotext.report.flow import title
    from iconotext.report.reading_page import shown_images
    from iconotext.serve.kept import keep

    read, home = read_files(place), Path(folder)
    document, now = read.document, digest(read.document)
    known = _linkers["reading"].gather(document)
    keep(known, _linkers["reading"].encoder.fingerprint, now, home)
    shown = embed_in(home, known.document, shown_images(known.document))
    answers = said.get(now, {})
    usual = habits_of(habits, {document.id: sentences_of(answers)})
    reading = as_judged(_linkers["reading"].link_evidence(known, usual), answers)
    write_view(reading, source_of(place), home, leads, stamp, _linkers["reading"].settings)
    described = to_describe(reading, place, read.sha256, shown)
    write_text(home / ALT_TEXT, json_text(described) + "\n", force=True)
    linked = _linkers["candidates"].link_evidence(known, usual)
    likeliest = by_image(linked)
    good = [number for number, picture in shown.items() if picture.uri is not None]
    write_text(home / REVIEW, json_text(review_of(linked, likeliest, good)) + "\n", force=True)
    bad = [
        image
        for image in known.document.images
        if image.problem and not is_harmless(image.problem) and not REMOTE.match(image.source)
    ]
    counts = {
        "images": len(document.images),
        "sentences": len(document.sentences),
        "links": len(reading.links),
        "missing": len(bad) + len(shown) - len(good),
    }
    pictures = tuple(seen(linked.document, number, likeliest) for number in good)
    about = {"title": title(document), "digest": now, **counts}
    return Made(about, pictures, wanted(described), read.files)


def view(
    place: Place, habits: str, said: Mapping[str, Answers], folder: str, leads: Mapping[str, str], stamp: str
) -> str:
    """Write the reading view and the JSON of a document, linked again; arguments as for ``link``.

    Returns:
        The present digest of the document.
    """
    document, home, usual = read_place(place), Path(folder), _linkers["reading"]
    known, now = evidence_of(document), digest(document)
    answers = said.get(now, {})
    linked = as_judged(usual.link_evidence(known, habits_of(habits, {document.id: sentences_of(answers)})), answers)
    write_view(linked, source_of(place), home, leads, stamp, usual.settings)
    return now


def source_of(place: Place) -> str:
    """The path of a document relative to the folder that must contain it."""
    return Path(os.path.relpath(os.path.realpath(place.path), os.path.realpath(place.within))).as_posix()


_last: list[tuple[Document, DocumentEvidence]] = []


def evidence_of(document: Document) -> DocumentEvidence:
    """The evidence of a document; cached for the last document, which is often linked again with other settings."""
    if not _last or _last[0][0] is not document:
        _last[:] = [(document, _linkers["reading"].gather(document))]
    return _last[0][1]


def seen(document: Document, number: int, likeliest: Mapping[int, list[Link]]) -> Seen:
    """The values by which the review orders a picture."""
    own = likeliest.get(number, [])
    best, sure = (own[0].sentence, own[0].confidence) if own else (None, 0.0)
    return number, best, sure, *doubts(document, number, own)


def digest(document: Document) -> str:
    """Digest of the text and the pictures of a document, about which people give verdicts."""
    said = [[s.text for s in document.sentences], [image.source for image in document.images]]
    return hashlib.sha256(json_text(said).encode()).hexdigest()


def sentences_of(answers: Answers) -> Judged:
    """The sentences that people chose for each picture, without their names."""
    return {image: answer.sentences for image, answer in answers.items()}


def as_judged(linked: LinkedDocument, answers: Answers) -> LinkedDocument:
    """Replace the links of judged pictures with those that people chose."""
    if not answers:
        return linked
    found = {(link.sentence, link.image): link for link in linked.links}
    kept = [link for link in linked.links if link.image not in answers]
    for image, answer in answers.items():
        for sentence in answer.sentences:
            link = found.get((sentence, image)) or Link(sentence, image, 1.0, 1.0, {})
            kept.append(replace(link, score=1.0, confidence=1.0, paragraph=None if link.paragraph is None else 1.0))
    chosen = {image: answer.reviewers for image, answer in answers.items()}
    names = ", ".join(sorted({name for reviewers in chosen.values() for name in reviewers}))
    note = f"{len(chosen)} of {counted(len(linked.document.images), 'picture')} linked as chosen by {names}"
    ordered = sorted(kept, key=lambda link: (-link.score, link.image, link.sentence))
    return replace(linked, links=tuple(ordered), notes=(*linked.notes, note), chosen=chosen)


def by_image(linked: LinkedDocument) -> dict[int, list[Link]]:
    """The links of each picture, by descending confidence."""
    found: dict[int, list[Link]] = {}
    for link in sorted(linked.links, key=lambda link: (-link.confidence, link.sentence)):
        found.setdefault(link.image, []).append(link)
    return found


def review_of(linked: LinkedDocument, likeliest: Mapping[int, list[Link]], pictures: Collection[int]) -> dict[str, Any]:
    """The data of a document for the review page."""
    from iconotext.report.flow import title

    document = linked.document
    return {
        "title": title(document),
        "digest": digest(document),
        "language": document.language,
        "sentences": [[s.text, s.block, s.kind] for s in document.sentences],
        "pictures": {
            str(number): {
                "caption": document.images[number].caption,
                "alt": document.images[number].alt,
                "position": document.images[number].position,
                "candidates": [[link.sentence, round(link.confidence, 2)] for link in likeliest.get(number, [])],
            }
            for number in sorted(pictures)
        },
    }


def _each(places: list[Place]) -> Iterator[Document | Failure]:
    for place in places:
        try:
            yield read_place(place)
        except IconotextError as error:
            yield Failure(Path(place.path), error)


def read_place(place: Place) -> Document:
    """Read the document at a place; ``DocumentError`` if it cannot be read, or is no longer there."""
    return read_files(place).document
