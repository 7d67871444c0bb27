"""What a correction changes: the habit of its collection is inferred anew, and all that is kept weighed with it.

Nothing is read, decoded or encoded, and no page is written: that waits until somebody asks for the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from iconotext.links.windows import Told, habits_of
from iconotext.pipeline import HABIT_DOCUMENTS
from iconotext.plain_text import json_text
from iconotext.serve import work
from iconotext.serve.kept import Kept, kept
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.links.habit import Habit, Judged


class Judgeable(NamedTuple):
    """A linked document of a collection.

    Attributes:
        id: Its entry.
        folder: Where its evidence is kept.
        digest: Of what is kept.
        pictures: Numbers of those that can be judged.
        judged: What people said of them.
    """

    id: int
    folder: str
    digest: str
    pictures: frozenset[int]
    judged: Judged


@dataclass(frozen=True, slots=True)
class Learned:
    """What answers changed.

    Attributes:
        habits: As JSON, for ``work.link``.
        habit: In words.
        documents: By the id of each document how many links it has now, and its pictures as in ``work.Made``; one of
            which too little is kept is not there, and has to be linked again.
    """

    habits: str
    habit: str | None
    documents: Mapping[int, tuple[int, tuple[work.Seen, ...]]]


def learn(documents: Sequence[Judgeable]) -> Learned:
    """The habit of a collection with what people said, and the links of its documents by that."""
    model = work.linker("reading").encoder.fingerprint
    known = ((each, kept(Path(each.folder), model, each.digest)) for each in documents)
    there = [(each, found) for each, found in known if found is not None]
    judged = {found.document.id: each.judged for each, found in there if each.judged}
    told = [Told(found.document, None, places=found.places) for _, found in there[:HABIT_DOCUMENTS]]
    habits = habits_of(told, judged)
    text, words = work.habits_text(habits, judged)
    weighed = {}
    for each, found in there:
        if (made := _weighed(each, found, habits)) is not None:
            weighed[each.id] = made
    return Learned(text, words, weighed)


def _weighed(each: Judgeable, found: Kept, habits: Mapping[str, Habit]) -> tuple[int, tuple[work.Seen, ...]] | None:
    known = found.known
    if known is None:
        return None
    links = work.as_judged(work.linker("weighing").link_known(known, habits), each.judged).links
    linked = work.linker("candidates").link_known(known, habits)
    likeliest = work.by_image(linked)
    file = Path(each.folder) / work.REVIEW
    shown = json_text(work.review_of(linked, likeliest, each.pictures)) + "\n"
    if not file.is_file() or file.read_text(encoding="utf-8") != shown:
        write_text(file, shown, force=True)
    return len(links), tuple(work.seen(found.document, number, likeliest) for number in sorted(each.pictures))
