"""Learns from verdicts: infers the habit of their collection again, and weighs all stored evidence with it.

Nothing is read, decoded or encoded, and no page is written until somebody opens it.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext import __version__
from iconotext.decide.calibration import Calibration, calibration_of, kind_of, load_calibration
from iconotext.decide.combine import gathered_places
from iconotext.decide.link_windows import Known
from iconotext.decide.promise import Candidate, Promises, make_promises
from iconotext.evidence.gather import Gathered
from iconotext.evidence.habit import PlaceEvidence
from iconotext.evidence.windows import KEPT, Told, habits_of
from iconotext.pipeline import BEST, HABIT_DOCUMENTS, OWN, Linker
from iconotext.plain_text import counted, json_text
from iconotext.serve import work
from iconotext.serve.views import page_of
from iconotext.system.files import open_atomic, write_text
from iconotext.types import Document, Evidence, Image, Sentence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.evidence.habit import Habit, Judged
    from iconotext.serve.work import Answers
    from iconotext.types import LinkedDocument

ARRAYS, ABOUT = "evidence.npz", "evidence.json"
"""Names of the files."""

FORM = 1
"""Version of both files; files of another version count as missing."""

OF_COLLECTION = ("collection", "repository", "book")
"""Keys of ``Document.meta`` that name the collection whose habits it shares."""

TEACHERS: tuple[Evidence, ...] = ("caption", "reference")
"""The kinds of evidence from which habits are inferred."""


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The stored evidence of a document.

    Attributes:
        document: The parts that are needed; without files of pictures.
        places: Where its pictures stand by captions and references; None without layout.
    """

    document: Document
    places: PlaceEvidence | None
    note: str | None
    arrays: Path

    @property
    def known(self) -> Known | None:
        """All evidence, for ``Linker.link_known``; None for a very large document."""
        with np.load(self.arrays, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if "numbers" not in arrays:
            return None
        features: dict[Any, Any] = {}
        for name, matrix in arrays.items():
            kind, _, feature = name.partition(" ")
            if feature and kind != "places":
                features.setdefault(kind, {})[feature] = matrix
        numbers, images = arrays["numbers"], self.document.images
        sound = replace(self.document, images=tuple(images[number] for number in numbers))
        reference, similarity = arrays.get("reference"), arrays.get("similarity")
        gathered = Gathered(sound, features, reference, similarity, numbers, len(images))
        return Known(self.document, gathered, None, self.note)


def keep(known: Known, model: str, digest: str, folder: Path) -> None:
    """Store a document's evidence; for a very large document only where its pictures stand.

    Args:
        digest: Of the document when it was encoded.
    """
    gathered, document = known.gathered, known.document
    arrays: dict[str, NDArray[Any]] = {
        f"{kind} {name}": matrix for kind, columns in gathered.features.items() for name, matrix in columns.items()
    }
    for name in ("reference", "similarity", "numbers"):
        if (matrix := getattr(gathered, name)) is not None:
            arrays[name] = matrix
    if sum(matrix.size for matrix in arrays.values()) > KEPT:
        arrays = {}
    (places,) = gathered_places([gathered], evidence=TEACHERS)
    if places is not None:
        arrays |= {f"places {name}": matrix for name, matrix in places._asdict().items()}
    about = {
        "form": _form(model),
        "digest": digest,
        "id": document.id,
        "source": str(document.source) if document.source else None,
        "title": document.title,
        "language": document.language,
        "meta": {name: document.meta[name] for name in OF_COLLECTION if isinstance(document.meta.get(name), str)},
        "sentences": [[s.text, s.block, s.kind] for s in document.sentences],
        "images": [[i.source, i.alt, i.caption, i.block, i.position, i.problem] for i in document.images],
        "note": known.note,
    }
    (folder / ABOUT).unlink(missing_ok=True)
    with open_atomic(folder / ARRAYS, force=True) as file:
        np.savez(file, allow_pickle=False, **arrays)
    write_text(folder / ABOUT, json_text(about), force=True)  # last: without it the arrays count as missing


def kept(folder: Path, model: str, digest: str) -> Kept | None:
    """The stored evidence; None if there is none, or if it is of another document version, program or model."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["form"] != _form(model) or about["digest"] != digest:
            return None
        with (folder / ARRAYS).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            names = [f"places {name}" for name in PlaceEvidence._fields]
            places = PlaceEvidence(*(file[name] for name in names)) if names[0] in file.files else None
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    document = Document(
        about["id"],
        tuple(Sentence(text, block, kind) for text, block, kind in about["sentences"]),
        tuple(
            Image(source, alt=alt, caption=caption, block=block, position=position, problem=problem)
            for source, alt, caption, block, position, problem in about["images"]
        ),
        source=Path(about["source"]) if about["source"] else None,
        title=about["title"],
        language=about["language"],
        meta=about["meta"],
    )
    return Kept(document, places, about["note"], folder / ARRAYS)


def _form(model: str) -> list[Any]:
    return [FORM, __version__, model]


class Judgeable(NamedTuple):
    """A linked document of a collection.

    Attributes:
        pictures: Numbers of the pictures that can be judged.
        judged: Verdicts about them.
    """

    id: int
    folder: str
    digest: str
    pictures: frozenset[int]
    judged: Judged


@dataclass(frozen=True, slots=True)
class Learned:
    """The result of learning from verdicts.

    Attributes:
        habits: As JSON, for ``work.link``.
        documents: Document id to its number of links, and its pictures as in ``work.Made``; documents without enough
            stored evidence are missing, and must be linked again.
    """

    habits: str
    habit: str | None
    documents: Mapping[int, tuple[int, tuple[work.Seen, ...]]]


def view_by(
    place: work.Place,
    habits: str,
    said: Mapping[str, Answers],
    folder: str,
    leads: Mapping[str, str],
    chosen: Mapping[str, Any],
    documents: Sequence[Judgeable],
) -> str:
    """The reading view of a linked document by other settings, not written to disk. Arguments as for ``work.link``.

    Args:
        chosen: Settings of ``LinkSettings``, by name; with ``max_false``, the promise is about paragraphs.
        documents: All documents of its collection.
    """
    usual = work.linker("reading")
    settings = usual.settings.model_copy(update=dict(chosen))
    document = work.read_place(place)
    known = work.known_of(document)
    update = {} if settings.max_false is None else BEST
    other = Linker(usual.encoder, settings.model_copy(update={"max_false": None, **update}))
    other.relation_model = usual.relation_model  # loaded only once
    answers = said.get(work.digest(document), {})
    linked = other.link_known(known, work.habits_of(habits, {document.id: work.sentences_of(answers)}))
    if settings.max_false is not None:
        linked = promised(documents, habits, settings.max_false).keep(linked)
        if judged := sum(len(each.judged) for each in documents):
            note = f"the promise leaves out {counted(judged, 'picture')} of the collection that people judged"
            linked = replace(linked, notes=(*linked.notes, note))
    linked = work.as_judged(linked, answers)
    return page_of(linked, Path(folder), leads, settings, changed=True)


def learn(documents: Sequence[Judgeable]) -> Learned:
    """Infer the habit of a collection from verdicts, and link its documents with it."""
    model = work.linker("reading").encoder.fingerprint
    known = ((each, kept(Path(each.folder), model, each.digest)) for each in documents)
    there = [(each, found) for each, found in known if found is not None]
    judged = {found.document.id: each.judged for each, found in there if each.judged}
    told = [Told(found.document, None, places=found.places) for _, found in there[:HABIT_DOCUMENTS]]
    habits = habits_of(told, judged)
    text, words = work.habits_text(habits)
    weighed = {}
    for each, found in there:
        if (made := _weighed(each, found, habits)) is not None:
            weighed[each.id] = made
    return Learned(text, words, weighed)


def own_calibration(documents: Sequence[tuple[Kept, Judged]], habits: Mapping[str, Habit]) -> Calibration:
    """Calibration figures from verdicts; each is linked as if there were no verdict about its picture."""
    blind = {name: replace(habit, judged={}) for name, habit in habits.items()}
    best = work.linker("best")

    def linked() -> Iterator[tuple[str, LinkedDocument]]:
        for found, judged in documents:
            if (known := found.known) is not None:
                gold = tuple((sentence, image) for image, said in judged.items() for sentence in said)
                made = best.link_known(known, blind)
                links = tuple(link for link in made.links if link.image in judged)
                yield OWN, replace(made, document=replace(made.document, links=gold), links=links)

    return calibration_of(linked(), best.settings.evidence)


def promised(documents: Sequence[Judgeable], habits: str, max_false: float) -> Promises:
    """Pictures without verdict that have the right paragraph, with a promise over the whole collection.

    The verdicts in this collection replace the calibration figures of other publishers, for each kind of picture with
    enough documents: 1 / ``max_false`` - 1.

    Args:
        max_false: The paragraph is wrong for at most this share of the pictures that pass, in expectation.
    """
    best = work.linker("best")
    model = best.encoder.fingerprint
    there = [(each, found) for each in documents if (found := kept(Path(each.folder), model, each.digest))]
    known = work.habits_of(habits, {found.document.id: each.judged for each, found in there})
    own = own_calibration([(found, each.judged) for each, found in there if each.judged], known)
    needed = math.ceil(1 / max_false - 1e-9) - 1
    enough = {kind: classes for kind, classes in own.items() if len(classes[OWN]) >= needed}
    tested = [
        Candidate(
            found.document.id,
            link.image,
            kind_of(found.document, link.image, best.settings.evidence),
            link.confidence,
            link.paragraph,
        )
        for each, found in there
        if (evidence := found.known) is not None
        for link in best.link_known(evidence, known).links
        if link.image in each.pictures and link.image not in each.judged
    ]
    made = make_promises(tested, {**load_calibration(), **enough}, max_false, "paragraph")
    return replace(made, made=tuple(promise for promise in made.made if promise.claim != "document"))


def _weighed(each: Judgeable, found: Kept, habits: Mapping[str, Habit]) -> tuple[int, tuple[work.Seen, ...]] | None:
    known = found.known
    if known is None:
        return None
    links = work.linker("weighing").link_known(known, habits).links
    count = sum(link.image not in each.judged for link in links) + sum(map(len, each.judged.values()))
    linked = work.linker("candidates").link_known(known, habits)
    likeliest = work.by_image(linked)
    file = Path(each.folder) / work.REVIEW
    shown = json_text(work.review_of(linked, likeliest, each.pictures)) + "\n"
    if not file.is_file() or file.read_text(encoding="utf-8") != shown:
        write_text(file, shown, force=True)
    return count, tuple(work.seen(found.document, number, likeliest) for number in sorted(each.pictures))
