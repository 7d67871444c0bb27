"""Functions that the pool's processes run on documents: find, read, link, learn from verdicts, write results, corpora.

They use the linkers of their process, which share one model.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.corpus.formats.json_lines import write_jsonl
from iconotext.corpus.row import row_of
from iconotext.errors import DocumentError, IconotextError
from iconotext.evidence.gather import EncodedText
from iconotext.evidence.habit import Habit
from iconotext.evidence.layout import PLACES
from iconotext.linker import HABIT_DOCUMENTS, Linker
from iconotext.plain_text import counted, json_text
from iconotext.read import Failure
from iconotext.read.address import REMOTE
from iconotext.read.format import formats_in_words
from iconotext.run import habits_of as inferred_habits
from iconotext.serve.alt_text_work import keys_to_describe, to_describe
from iconotext.serve.results import (
    ALT_TEXT,
    LINKED,
    PAGE,
    REVIEW,
    STAMP,
    StoredEvidence,
    addressed,
    embed_in,
    store_evidence,
    stored_evidence,
)
from iconotext.serve.sources import File, Place, digest, documents_in, read_files, read_place
from iconotext.serve.verdicts import CANDIDATES, Answer, doubts
from iconotext.system.files import open_atomic, write_bytes, write_text
from iconotext.types import Document, Image, Link, LinkedDocument

if TYPE_CHECKING:
    from iconotext.evidence.gather import DocumentEvidence
    from iconotext.evidence.habit import Judged

Answers = Mapping[int, Answer]
"""Number of a picture to the answer of most reviewers."""

PictureRow = tuple[int, int | None, float, float, float]
"""Number, most likely sentence, confidence and both doubts of a picture: see ``store.Picture``."""


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """Name and path of each document in a folder, their habits as JSON, and in words (None if too little is known)."""

    documents: tuple[tuple[str, str], ...]
    habits: str
    habit: str | None


class Task(NamedTuple):
    """A document to link, with everything that its links and its files depend on.

    Attributes:
        habits: The habits of its collection, from ``habits_text``.
        verdicts: Digest of a version of the document to verdicts about its pictures, shown instead of inferred links.
        folder: The folder of its results.
        leads: Name to address of the pages to which the reading view links, besides the list of all documents.
        stamp: See ``results.STAMP``.
    """

    place: Place
    habits: str
    verdicts: Mapping[str, Answers]
    folder: str
    leads: Mapping[str, str]
    stamp: str

    def answers(self, document: Document) -> Answers:
        """The verdicts about this version of the document."""
        return self.verdicts.get(digest(document), {})

    def habits_with_answers(self, document: Document) -> dict[str, Habit]:
        """The habits, with the verdicts about this version of the document."""
        judged = {image: answer.sentences for image, answer in self.answers(document).items()}
        return habits_of(self.habits, {document.id: judged})

    def linked(self, reader: Linker, evidence: DocumentEvidence) -> LinkedDocument:
        """The document as a linker links it, with the verdicts instead of inferred links."""
        document = evidence.document
        inferred = reader.link_evidence(evidence, self.habits_with_answers(document))
        return as_judged(inferred, self.answers(document))


@dataclass(frozen=True, slots=True)
class LinkResult:
    """The results of linking a document.

    Attributes:
        columns: Its ``title``, ``digest``, and number of ``sentences``, ``links``, ``images``, and ``missing`` images.
        pictures: Pictures that can be linked.
        keys_to_describe: Keys of pictures whose alternative text is missing or has a problem; see ``alt_text_work``.
        files: Its file, and those of its pictures.
    """

    columns: dict[str, Any]
    pictures: tuple[PictureRow, ...]
    keys_to_describe: tuple[str, ...]
    files: tuple[File, ...]


_linkers: dict[str, Linker] = {}


def prepare(model: str) -> None:
    """Load the model, once for each process. If it was named by its path, answers have only the name of its folder."""
    _linkers["reading"] = linker = Linker.load(model)
    if os.path.isabs(model):
        linker.encoder = replace(linker.encoder, name=Path(model).name)
    # For the review: as many sentences of each picture as it offers, however unlikely. Relations are for pages only.
    all_candidates = {"k": CANDIDATES, "min_confidence": 0.0}
    for name, chosen in {"weighing": {}, "candidates": all_candidates}.items():
        settings = linker.settings.model_copy(update={**chosen, "relations": "none"})
        _linkers[name] = Linker(linker.encoder, settings)


def linker(name: str) -> Linker:
    """A linker of this process: ``reading`` for pages; without relations ``weighing`` and ``candidates``."""
    return _linkers[name]


def find(start: str, within: str, most: int, labels: Mapping[str, str] = MappingProxyType({})) -> FoundDocuments:
    """Find the documents of a file or folder, and infer where their pictures stand; arguments as ``documents_in``.

    Raises:
        DocumentError: There are none, or too many.
    """
    documents = documents_in(start, within, most, labels)
    if not documents:
        raise DocumentError(f"no document in it: what is read is {formats_in_words()}")
    places = [Place(path, name, within) for name, path in documents]
    return FoundDocuments(documents, *habits_text(linker("reading").habits(_read_each(places))))


def _read_each(places: list[Place]) -> Iterator[Document | Failure]:
    for place in places:
        try:
            yield read_place(place)
        except IconotextError as error:
            yield Failure(Path(place.path), error)


def habits_text(habits: Mapping[str, Habit]) -> tuple[str, str | None]:
    """The habits of collections, as JSON and in words."""
    counts = {name: {key: count.tolist() for key, count in habit.counts.items()} for name, habit in habits.items()}
    words = sorted({summary for habit in habits.values() if (summary := habit.summary)})
    silent = {name: habit.silent for name, habit in habits.items()}
    return json_text({"counts": counts, "silent": silent}), "; ".join(words) or None


def habits_of(text: str, judged: Mapping[str, Judged] = MappingProxyType({})) -> dict[str, Habit]:
    """The habits from the JSON of ``habits_text``.

    Args:
        judged: Document id to verdicts about its present pictures (numbers differ between versions of a file).
    """
    inferred = json.loads(text)
    silent = inferred.get("silent", {})  # missing in the folders of older versions
    return {
        name: Habit(
            # Those of older versions lack the last places, of pictures that open a section.
            {key: np.pad(count, (0, len(PLACES) - len(count))) for key, count in counts.items()},
            judged=judged,
            silent=silent.get(name, 0.0),
        )
        for name, counts in inferred["counts"].items()
    }


def link(task: Task) -> LinkResult:
    """Link a document, store its evidence, and write the files that the server shows."""
    from iconotext.images import is_harmless
    from iconotext.report.flow import title
    from iconotext.report.reading_page import shown_images

    reading, home, reader = read_files(task.place), Path(task.folder), linker("reading")
    document, version = reading.document, digest(reading.document)
    evidence = reader.gather(document)
    store_evidence(evidence, reader.encoder.fingerprint, version, home)
    embedded = embed_in(home, evidence.document, shown_images(evidence.document))
    linked = task.linked(reader, evidence)
    _write_view(linked, task)
    described = to_describe(linked, task.place, reading.sha256, embedded)
    write_text(home / ALT_TEXT, json_text(described) + "\n", force=True)
    visible = [number for number, picture in embedded.items() if picture.uri is not None]
    pictures = write_review(evidence, task.habits_with_answers(document), visible, home)
    missing = [
        image
        for image in evidence.document.images
        if image.problem and not is_harmless(image.problem) and not REMOTE.match(image.source)
    ]
    columns = {
        "title": title(document),
        "digest": version,
        "images": len(document.images),
        "sentences": len(document.sentences),
        "links": len(linked.links),
        "missing": len(missing) + len(embedded) - len(visible),
    }
    return LinkResult(columns, pictures, keys_to_describe(described), reading.files)


def view(task: Task) -> str:
    """Write the reading view and the JSON of a document, linked again; return the document's present digest."""
    document, reader = read_place(task.place), linker("reading")
    _write_view(task.linked(reader, reader.gather(document)), task)
    return digest(document)


def _write_view(linked: LinkedDocument, task: Task) -> None:
    """Write the reading view of a linked document, its JSON, and their stamp."""
    from iconotext.report.as_json import json_object
    from iconotext.report.reading_page import reading_page

    home = Path(task.folder)
    page = reading_page(
        linked,
        index="/",
        leads=task.leads,
        embedded=addressed(home, linked.document),
        correct=f"{task.leads['Review']}&picture=",
    )
    data = json_object(linked) | {"source": task.place.relative}  # without the folders of this machine
    (home / STAMP).unlink(missing_ok=True)  # first: if the server is killed now, both files are made again
    write_text(home / PAGE, page, force=True)
    write_text(home / LINKED, json_text(data) + "\n", force=True)
    write_text(home / STAMP, task.stamp, force=True)


def as_judged(linked: LinkedDocument, answers: Answers) -> LinkedDocument:
    """Replace the links of judged pictures with those that people chose."""
    if not answers:
        return linked
    inferred = {(link.sentence, link.image): link for link in linked.links}
    links = [link for link in linked.links if link.image not in answers]
    for image, answer in answers.items():
        for sentence in answer.sentences:
            link = inferred.get((sentence, image)) or Link(sentence, image, 1.0, 1.0, 1.0, {})
            links.append(replace(link, score=1.0, confidence=1.0, paragraph_confidence=1.0))
    chosen = {image: answer.reviewers for image, answer in answers.items()}
    names = ", ".join(sorted({name for reviewers in chosen.values() for name in reviewers}))
    note = f"{len(chosen)} of {counted(len(linked.document.images), 'picture')} linked as chosen by {names}"
    ordered = sorted(links, key=lambda link: (-link.score, link.image, link.sentence))
    return replace(linked, links=tuple(ordered), notes=(*linked.notes, note), chosen=chosen)


def write_review(
    evidence: DocumentEvidence, habits: Mapping[str, Habit], pictures: Collection[int], home: Path
) -> tuple[PictureRow, ...]:
    """Write the data of a document for the review page, unless its file has them; return its pictures.

    Args:
        pictures: Numbers of the pictures that can be judged.
        home: The folder of the document's results.
    """
    from iconotext.report.flow import title

    linked = linker("candidates").link_evidence(evidence, habits)
    document = linked.document
    likeliest: dict[int, list[Link]] = {number: [] for number in sorted(pictures)}
    for candidate in sorted(linked.links, key=lambda link: (-link.confidence, link.sentence)):
        if candidate.image in likeliest:
            likeliest[candidate.image].append(candidate)
    review = {
        "title": title(document),
        "digest": digest(document),
        "language": document.language,
        "sentences": [[s.text, s.block, s.kind] for s in document.sentences],
        "pictures": {
            str(number): {
                "caption": document.images[number].caption,
                "alt": document.images[number].alt,
                "position": document.images[number].position,
                "candidates": [[candidate.sentence, round(candidate.confidence, 2)] for candidate in candidates],
            }
            for number, candidates in likeliest.items()
        },
    }
    file, text = home / REVIEW, json_text(review) + "\n"
    if not file.is_file() or file.read_text(encoding="utf-8") != text:
        write_text(file, text, force=True)
    rows: list[PictureRow] = []
    for number, candidates in likeliest.items():
        best, confidence = (candidates[0].sentence, candidates[0].confidence) if candidates else (None, 0.0)
        rows.append((number, best, confidence, *doubts(document, number, candidates)))
    return tuple(rows)


class Judgeable(NamedTuple):
    """A linked document of a collection: its results, the pictures that can be judged, and the verdicts about them."""

    id: int
    folder: str
    digest: str
    pictures: frozenset[int]
    judged: Judged


@dataclass(frozen=True, slots=True)
class Learned:
    """The result of learning from verdicts.

    Attributes:
        habits: As JSON, for ``link``.
        documents: Document id to its number of links, and its pictures as in ``LinkResult``; documents without
            enough stored evidence are missing, and must be linked again.
    """

    habits: str
    habit: str | None
    documents: Mapping[int, tuple[int, tuple[PictureRow, ...]]]


def learn(documents: Sequence[Judgeable], before: str) -> Learned:
    """Infer the habit of a collection from verdicts, and link its documents with it, from stored evidence.

    Nothing is read, decoded or encoded, and no page is written until somebody opens it.

    Args:
        before: The habits so far, from ``habits_text``; how far captions count is taken from there.
    """
    pairs = _with_evidence(documents)
    judged = {stored.document.id: d.judged for d, stored in pairs if d.judged}
    texts = [EncodedText(stored.document, places=stored.places) for _, stored in pairs[:HABIT_DOCUMENTS]]
    silent = {name: habit.silent for name, habit in habits_of(before).items()} if before else {}
    habits = inferred_habits(texts, judged, silent)
    text, words = habits_text(habits)
    linked = {d.id: result for d, stored in pairs if (result := _linked(d, stored, habits)) is not None}
    return Learned(text, words, linked)


def _with_evidence(documents: Sequence[Judgeable]) -> list[tuple[Judgeable, StoredEvidence]]:
    model = linker("reading").encoder.fingerprint
    return [(d, stored) for d in documents if (stored := stored_evidence(Path(d.folder), model, d.digest)) is not None]


def _linked(
    document: Judgeable, stored: StoredEvidence, habits: Mapping[str, Habit]
) -> tuple[int, tuple[PictureRow, ...]] | None:
    evidence = stored.evidence
    if evidence is None:
        return None
    links = linker("weighing").link_evidence(evidence, habits).links
    count = sum(link.image not in document.judged for link in links) + sum(map(len, document.judged.values()))
    return count, write_review(evidence, habits, document.pictures, Path(document.folder))


CORPUS = "corpus.jsonl"


def write_corpus(items: Sequence[tuple[Place, str, Judged]], name: str, target: str) -> int:
    """Write a zip with ``corpus.jsonl`` and its pictures.

    A document has only those of its pictures that people have judged, so that its links are complete.

    Args:
        items: Each document with its digest when it was judged, and the verdicts.
        name: Name of the collection, with which ids begin.

    Raises:
        DocumentError: A document has changed.
    """
    with tempfile.TemporaryDirectory(prefix="iconotext-") as temporary:
        folder = Path(temporary)
        judgements = ((_read(place, sha256), judged) for place, sha256, judged in items)
        documents = (_judged(*judgement, folder, str(number), name) for number, judgement in enumerate(judgements))
        count = write_jsonl((row_of(document, folder) for document in documents), folder / CORPUS, force=False)
        with open_atomic(Path(target)) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
            packed.write(folder / CORPUS, CORPUS)
            for picture in sorted((folder / "pictures").rglob("*")):
                if picture.is_file():
                    packed.write(picture, picture.relative_to(folder).as_posix())
    return count


def _read(place: Place, sha256: str) -> Document:
    document = read_place(place)
    if digest(document) != sha256:
        raise DocumentError(f"{place.name}: it has changed since it was reviewed: open it again")
    return document


def _judged(document: Document, judged: Judged, folder: Path, number: str, name: str) -> Document:
    """The document with only the judged pictures, each as a file in the folder, and their links."""
    images: list[Image] = []
    links: list[tuple[int, int]] = []
    for image, sentences in sorted(judged.items()):
        links += [(sentence, len(images)) for sentence in sentences]
        images.append(_saved(document.images[image], folder, f"pictures/{number}-{image}"))
    meta: Mapping[str, object] = {**document.meta, "collection": name}
    return replace(
        document, id=f"{name}/{document.id}", images=tuple(images), links=tuple(sorted(links)), source=None, meta=meta
    )


def _saved(image: Image, folder: Path, name: str) -> Image:
    if image.file is None:
        raise DocumentError(f"{image.source}: the picture is not there any more")
    suffix = image.file.suffix if isinstance(image.file, Path) else ""
    data = image.file if isinstance(image.file, bytes) else image.file.read_bytes()
    write_bytes(folder / f"{name}{suffix}", data)
    return replace(image, source=f"{name}{suffix}", file=folder / f"{name}{suffix}")
