"""Combines the verdicts of several reviewers, and measures how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from iconotext.evaluate.agreement import krippendorff_alpha

if TYPE_CHECKING:
    from iconotext.serve.records import Verdict

Judgement = tuple[int, int]
"""Id of a document, and number of a picture."""


class Answer(NamedTuple):
    """What most reviewers say about a picture: its sentences, and the names of those who chose them."""

    sentences: tuple[int, ...]
    reviewers: tuple[str, ...]


def agreed(verdicts: Iterable[Verdict]) -> dict[Judgement, Answer]:
    """The answer that most reviewers gave for each picture; pictures with a tie are left out."""
    found = {}
    for picture, answers in by_picture(verdicts).items():
        (answer, voices), *others = Counter(answers.values()).most_common(2)
        if not others or others[0][1] < voices:
            found[picture] = Answer(answer, tuple(sorted(name for name, said in answers.items() if said == answer)))
    return found


def by_picture(verdicts: Iterable[Verdict]) -> dict[Judgement, dict[str, tuple[int, ...]]]:
    """For each picture, reviewer to answer."""
    found: dict[Judgement, dict[str, tuple[int, ...]]] = {}
    for verdict in verdicts:
        found.setdefault((verdict.document, verdict.picture), {})[verdict.reviewer] = tuple(sorted(verdict.sentences))
    return found


def agreement(verdicts: Sequence[Verdict]) -> float | None:
    """Krippendorff's alpha over the pictures that at least two reviewers judged.

    An answer is the set of chosen sentences. Sentence numbers mean different sentences in different documents, and
    hardly ever the same one for two pictures; so each picture has its own categories, except "none of them".
    """
    units = [
        [("none",) if not said else (picture, said) for said in answers.values()]
        for picture, answers in by_picture(verdicts).items()
    ]
    return krippendorff_alpha(units)
