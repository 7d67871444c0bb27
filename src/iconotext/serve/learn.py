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
from iconotext.decide.promise import Candidate, Promises, make_promises
from iconotext.evidence.gather import EncodedText
from iconotext.linker import BEST, HABIT_DOCUMENTS, OWN, Linker
from iconotext.plain_text import counted, json_text
from iconotext.run import habits_of
from iconotext.serve import work
from iconotext.serve.kept import Kept, kept
from iconotext.serve.views import page_of
from iconotext.system.files import write_text

if TYPE_CHECKING:
    from iconotext.evidence.habit import Habit, Judged
    from iconotext.serve.work import Answers
    from iconotext.types import LinkedDocument


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
    """The reading view of a linked document with other settings, not written to disk. Arguments as for ``work.link``.

    Args:
        chosen: Settings of ``LinkSettings``, by name; with ``max_false``, the promise is about paragraphs.
        documents: All documents of its collection.
    """
    usual = work.linker("reading")
    settings = usual.settings.model_copy(update=dict(chosen))
    document = work.read_place(place)
    known = work.evidence_of(document)
    update = {} if settings.max_false is None else BEST
    other = Linker(usual.encoder, settings.model_copy(update={"max_false": None, **update}))
    other.relation_model = usual.relation_model  # loaded only once
    answers = said.get(work.digest(document), {})
    linked = other.link_evidence(known, work.habits_of(habits, {document.id: work.sentences_of(answers)}))
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
    texts = [EncodedText(found.document, places=found.places) for _, found in there[:HABIT_DOCUMENTS]]
    habits = habits_of(texts, judged)
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
            if (known := found.evidence) is not None:
                gold = tuple((sentence, image) for image, said in judged.items() for sentence in said)
                made = best.link_evidence(known, blind)
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
        if (evidence := found.evidence) is not None
        for link in best.link_evidence(evidence, known).links
        if link.image in each.pictures and link.image not in each.judged
    ]
    made = make_promises(tested, {**load_calibration(), **enough}, max_false, "paragraph")
    return replace(made, made=tuple(promise for promise in made.made if promise.claim != "document"))


def _weighed(each: Judgeable, found: Kept, habits: Mapping[str, Habit]) -> tuple[int, tuple[work.Seen, ...]] | None:
    known = found.evidence
    if known is None:
        return None
    links = work.linker("weighing").link_evidence(known, habits).links
    count = sum(link.image not in each.judged for link in links) + sum(map(len, each.judged.values()))
    linked = work.linker("candidates").link_evidence(known, habits)
    likeliest = work.by_image(linked)
    file = Path(each.folder) / work.REVIEW
    shown = json_text(work.review_of(linked, likeliest, each.pictures)) + "\n"
    if not file.is_file() or file.read_text(encoding="utf-8") != shown:
        write_text(file, shown, force=True)
    return count, tuple(work.seen(found.document, number, likeliest) for number in sorted(each.pictures))
