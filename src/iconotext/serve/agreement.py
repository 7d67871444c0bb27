"""What several reviewers say together, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from iconotext.evaluate.agreement import krippendorff_alpha

if TYPE_CHECKING:
    from iconotext.serve.records import Verdict

Judgement = tuple[int, int]
"""Document and number of a picture."""


def agreed(verdicts: Iterable[Verdict]) -> dict[Judgement, tuple[int, ...]]:
    """What most reviewers say of each picture. Where no answer has more voices than every other, there is none."""
    votes: dict[Judgement, Counter[tuple[int, ...]]] = {}
    for verdict in verdicts:
        votes.setdefault((verdict.document, verdict.picture), Counter())[tuple(sorted(verdict.sentences))] += 1
    found = {}
    for picture, count in votes.items():
        (answer, voices), *others = count.most_common(2)
        if not others or others[0][1] < voices:
            found[picture] = answer
    return found


def by_picture(verdicts: Iterable[Verdict]) -> dict[Judgement, dict[str, tuple[int, ...]]]:
    """What each reviewer says of each picture."""
    found: dict[Judgement, dict[str, tuple[int, ...]]] = {}
    for verdict in verdicts:
        found.setdefault((verdict.document, verdict.picture), {})[verdict.reviewer] = tuple(sorted(verdict.sentences))
    return found


def agreement(verdicts: Sequence[Verdict]) -> float | None:
    """Krippendorff's alpha of reviewers over the pictures that two or more of them judged.

    An answer is the sentences that were named. The same number means another sentence in another document, and hardly
    ever the same one of another picture; so all answers of a picture but "none of them" are its own categories.
    """
    units = [
        [("none",) if not said else (picture, said) for said in answers.values()]
        for picture, answers in by_picture(verdicts).items()
    ]
    return krippendorff_alpha(units)
