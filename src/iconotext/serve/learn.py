"""Learning from verdicts: infer the habit of a collection again, and link its documents from stored evidence.

Nothing is read, decoded or encoded, and no page is written until somebody opens it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from iconotext.evidence.gather import EncodedText
from iconotext.linker import HABIT_DOCUMENTS
from iconotext.run import habits_of
from iconotext.serve import work
from iconotext.serve.results import StoredEvidence, stored_evidence
from iconotext.serve.work import linker

if TYPE_CHECKING:
    from iconotext.evidence.habit import Habit, Judged


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


def learn(documents: Sequence[Judgeable], before: str) -> Learned:
    """Infer the habit of a collection from verdicts, and link its documents with it.

    Args:
        before: The habits so far, from ``work.habits_text``; how far captions count is taken from there.
    """
    pairs = _with_evidence(documents)
    judged = {stored.document.id: d.judged for d, stored in pairs if d.judged}
    texts = [EncodedText(stored.document, places=stored.places) for _, stored in pairs[:HABIT_DOCUMENTS]]
    silent = {name: habit.silent for name, habit in work.habits_of(before).items()} if before else {}
    habits = habits_of(texts, judged, silent)
    text, words = work.habits_text(habits)
    linked = {d.id: result for d, stored in pairs if (result := _linked(d, stored, habits)) is not None}
    return Learned(text, words, linked)


def _with_evidence(documents: Sequence[Judgeable]) -> list[tuple[Judgeable, StoredEvidence]]:
    model = linker("reading").encoder.fingerprint
    return [(d, stored) for d in documents if (stored := stored_evidence(Path(d.folder), model, d.digest)) is not None]


def _linked(
    document: Judgeable, stored: StoredEvidence, habits: Mapping[str, Habit]
) -> tuple[int, tuple[work.PictureRow, ...]] | None:
    evidence = stored.evidence
    if evidence is None:
        return None
    links = linker("weighing").link_evidence(evidence, habits).links
    count = sum(link.image not in document.judged for link in links) + sum(map(len, document.judged.values()))
    return count, work.write_review(evidence, habits, document.pictures, Path(document.folder))
