"""Learning from verdicts: infer the habit of a collection again, and link its documents from stored evidence.

``learn`` does it: nothing is read, decoded or encoded, and no page is written until somebody opens it. ``view_by``
makes the reading view with other settings, and with a promise that is calibrated on the verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from iconotext.decide.calibration import Calibration, calibration_of, kind_of, load_calibration
from iconotext.decide.false_discovery import Candidate, Controlled, control_false_discoveries
from iconotext.evidence.gather import EncodedText
from iconotext.linker import BEST, HABIT_DOCUMENTS, OWN, Linker
from iconotext.plain_text import counted, json_text
from iconotext.run import habits_of
from iconotext.serve import work
from iconotext.serve.results import REVIEW, StoredEvidence, stored_evidence, view
from iconotext.serve.sources import digest, read_place
from iconotext.serve.work import Task, linker
from iconotext.system.files import write_text

if TYPE_CHECKING:
    from iconotext.evidence.habit import Habit, Judged
    from iconotext.types import LinkedDocument


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
        habits: As JSON, for ``work.link``.
        documents: Document id to its number of links, and its pictures as in ``work.LinkResult``; documents without
            enough stored evidence are missing, and must be linked again.
    """

    habits: str
    habit: str | None
    documents: Mapping[int, tuple[int, tuple[work.PictureRow, ...]]]


def view_by(task: Task, chosen: Mapping[str, Any], documents: Sequence[Judgeable]) -> str:
    """The reading view of a linked document with other settings, not written to disk.

    Args:
        chosen: Settings of ``LinkSettings``, by name; with ``max_false``, the promise is about paragraphs.
        documents: All documents of its collection.
    """
    reader = linker("reading")
    settings = reader.settings.model_copy(update=dict(chosen))
    document = read_place(task.place)
    update = {} if settings.max_false is None else BEST
    other = Linker(reader.encoder, settings.model_copy(update={"max_false": None, **update}))
    other.relation_model = reader.relation_model  # loaded only once
    answers = task.verdicts.get(digest(document), {})
    linked = other.link_evidence(work.evidence_of(document), task.habits_with(document, answers))
    if settings.max_false is not None:
        linked = promised(documents, task.habits, settings.max_false).keep(linked)
        if judged := sum(len(each.judged) for each in documents):
            note = f"the promise leaves out {counted(judged, 'picture')} of the collection that people judged"
            linked = replace(linked, notes=(*linked.notes, note))
    return view(work.as_judged(linked, answers), Path(task.folder), task.leads, settings, changed=True)


def learn(documents: Sequence[Judgeable], before: str) -> Learned:
    """Infer the habit of a collection from verdicts, and link its documents with it.

    Args:
        before: The habits so far, from ``work.habits_text``; how far captions count is taken from there.
    """
    known = _with_evidence(documents)
    judged = {stored.document.id: each.judged for each, stored in known if each.judged}
    texts = [EncodedText(stored.document, places=stored.places) for _, stored in known[:HABIT_DOCUMENTS]]
    silent = {name: habit.silent for name, habit in work.habits_of(before).items()} if before else {}
    habits = habits_of(texts, judged, silent)
    text, words = work.habits_text(habits)
    linked = {each.id: result for each, stored in known if (result := _linked(each, stored, habits)) is not None}
    return Learned(text, words, linked)


def _with_evidence(documents: Sequence[Judgeable]) -> list[tuple[Judgeable, StoredEvidence]]:
    model = linker("reading").encoder.fingerprint
    return [
        (each, stored)
        for each in documents
        if (stored := stored_evidence(Path(each.folder), model, each.digest)) is not None
    ]


def _linked(
    each: Judgeable, stored: StoredEvidence, habits: Mapping[str, Habit]
) -> tuple[int, tuple[work.PictureRow, ...]] | None:
    evidence = stored.evidence
    if evidence is None:
        return None
    links = linker("weighing").link_evidence(evidence, habits).links
    count = sum(link.image not in each.judged for link in links) + sum(map(len, each.judged.values()))
    candidates = linker("candidates").link_evidence(evidence, habits)
    likeliest = work.by_image(candidates)
    file = Path(each.folder) / REVIEW
    shown = json_text(work.review_of(candidates, likeliest, each.pictures)) + "\n"
    if not file.is_file() or file.read_text(encoding="utf-8") != shown:
        write_text(file, shown, force=True)
    return count, tuple(work.picture_row(stored.document, number, likeliest) for number in sorted(each.pictures))


def own_calibration(documents: Sequence[tuple[StoredEvidence, Judged]], habits: Mapping[str, Habit]) -> Calibration:
    """Calibration figures from verdicts; each is linked as if there were no verdict about its picture."""
    blind = {name: replace(habit, judged={}) for name, habit in habits.items()}
    best = linker("best")

    def linked() -> Iterator[tuple[str, LinkedDocument]]:
        for stored, judged in documents:
            if (evidence := stored.evidence) is not None:
                gold = tuple((sentence, image) for image, sentences in judged.items() for sentence in sentences)
                result = best.link_evidence(evidence, blind)
                links = tuple(link for link in result.links if link.image in judged)
                yield OWN, replace(result, document=replace(result.document, links=gold), links=links)

    return calibration_of(linked(), best.settings.evidence)


def promised(documents: Sequence[Judgeable], habits: str, max_false: float) -> Controlled:
    """Pictures without verdict that have the right paragraph, with a promise over the whole collection.

    The verdicts in this collection replace the calibration figures of other publishers, for each kind of picture with
    enough documents: 1 / ``max_false`` - 1. Sentences are not promised: pictures are judged in the order of doubt, and
    figures for sentences from such pictures are biased (measured by ``benchmarks/corrections.py``).

    Args:
        max_false: The paragraph is wrong for at most this share of the pictures that pass, in expectation.
    """
    best, known = linker("best"), _with_evidence(documents)
    own_habits = work.habits_of(habits, {stored.document.id: each.judged for each, stored in known})
    own = own_calibration([(stored, each.judged) for each, stored in known if each.judged], own_habits)
    needed = math.ceil(1 / max_false - 1e-9) - 1
    enough = {kind: classes for kind, classes in own.items() if len(classes[OWN]) >= needed}
    tested = [
        Candidate(
            stored.document.id,
            link.image,
            kind_of(stored.document, link.image, best.settings.evidence),
            link.confidence,
            link.paragraph,
        )
        for each, stored in known
        if (evidence := stored.evidence) is not None
        for link in best.link_evidence(evidence, own_habits).links
        if link.image in each.pictures and link.image not in each.judged
    ]
    promises = control_false_discoveries(tested, {**load_calibration(), **enough}, max_false, "paragraph")
    return replace(promises, made=tuple(promise for promise in promises.made if promise.claim != "document"))
