"""Hand the pairs of a study to raters, and take their votes, so that each pair is judged by exactly as many as wanted.

A pair that is shown to a rater is reserved. A reservation without a vote may be given to somebody else after half an
hour, no sooner; until then the same rater finds the same pair again, after a reload or a crash. There are never more
votes and reservations for a pair than raters wanted, whoever asks at the same moment.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from iconotext.errors import SettingError, StudyError
from iconotext.papers.studies.study import ANSWERS, about_study, image_of, transaction

RESERVED = 1800.0
"""Seconds for which a pair that was shown waits for its vote."""

_NAME = re.compile(r"\w[\w .@+-]{0,99}")

_NEXT = """
SELECT number FROM (
    SELECT number, (
        SELECT COUNT(*) FROM votes WHERE pair = number AND (answer IS NOT NULL OR given > :expired)
    ) AS held
    FROM pairs
    WHERE NOT EXISTS (SELECT 1 FROM votes WHERE pair = number AND rater = :rater)
)
WHERE held < :raters ORDER BY held DESC, number LIMIT 1
"""
_ROOM = """
DELETE FROM votes WHERE pair = :pair AND answer IS NULL AND given <= :expired
    AND (SELECT COUNT(*) FROM votes WHERE pair = :pair) >= :raters
"""


@dataclass(frozen=True, slots=True)
class ShownPair:
    """What a rater is to judge. Nothing in it tells which model found which image.

    Attributes:
        number: Of the pair, for ``vote``.
        text: What the images are to fit.
        a: File of image A.
        b: File of image B.
        identical: Whether both are the same picture; to be said on the page.
    """

    number: int
    text: str
    a: Path
    b: Path
    identical: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a study is.

    Attributes:
        pairs: In all.
        complete: Pairs with all their votes.
        wanted: Votes in all.
        votes: That are there.
        reserved: Pairs that somebody is looking at, or has left without a vote.
        of_rater: Name of each rater to their votes, by name.
    """

    pairs: int
    complete: int
    wanted: int
    votes: int
    reserved: int
    of_rater: Mapping[str, int]


def next_pair(study: Path, rater: str, *, reserved: float = RESERVED, now: float | None = None) -> ShownPair | None:
    """The pair that a rater is to judge next: the one already shown to them, else one they have not seen.

    Pairs that others have begun come first, so that few remain unfinished when a study ends early.

    Args:
        rater: Name of the rater: up to 100 letters, digits and ``. _ - + @`` or spaces; the first a letter or digit.
        reserved: Seconds for which a pair that was shown to somebody else waits for their vote.
        now: Seconds since 1970; None asks the clock.

    Returns:
        None where nothing is left for this rater: all pairs are judged, or those that are not wait for others. What
        is missing then ``progress`` tells.

    Raises:
        StudyError: There is no such study, or it is damaged.
        SettingError: The name is none.
    """
    rater, now = _rater(rater), time.time() if now is None else now
    with transaction(study, writing=True) as connection:
        shown = connection.execute("SELECT pair FROM votes WHERE rater = ? AND answer IS NULL", (rater,)).fetchone()
        if shown is not None:
            number = shown[0]
            connection.execute("UPDATE votes SET given = ? WHERE pair = ? AND rater = ?", (now, number, rater))
        else:
            values = {"rater": rater, "raters": about_study(connection).raters, "expired": now - reserved}
            found = connection.execute(_NEXT, values).fetchone()
            if found is None:
                return None
            number = found[0]
            connection.execute(_ROOM, values | {"pair": number})
            connection.execute("INSERT INTO votes (pair, rater, given) VALUES (?, ?, ?)", (number, rater, now))
        text, first, second, swapped, identical = connection.execute(
            "SELECT text, first, second, swapped, identical FROM pairs WHERE number = ?", (number,)
        ).fetchone()
    a, b = (second, first) if swapped else (first, second)
    return ShownPair(number, text, image_of(a, study), image_of(b, study), bool(identical))


def vote(study: Path, number: int, rater: str, answer: str, *, now: float | None = None) -> None:
    """Keep the answer of a rater. The same answer again, from a form that was sent twice, changes nothing.

    Args:
        number: Of a pair that ``next_pair`` gave to this rater.
        answer: One of ``ANSWERS``.

    Raises:
        StudyError: There is no such study, or it is damaged; the pair is not with this rater, or not any more; the
            rater has given another answer before.
        SettingError: The answer or the name is none.
    """
    rater = _rater(rater)
    if answer not in ANSWERS:
        raise SettingError(f"answer {answer!r}: there are {', '.join(ANSWERS)}")
    with transaction(study, writing=True) as connection:
        own = (number if 0 <= number < 2**63 else -1, rater)  # SQLite knows no larger numbers
        found = connection.execute("SELECT answer FROM votes WHERE pair = ? AND rater = ?", own).fetchone()
        if found is None:
            raise StudyError(
                f"pair {number} is not with {rater}, or was given to somebody else meanwhile; ask for the next pair"
            )
        if found[0] is not None:
            if found[0] != answer:
                raise StudyError(f"{rater} has judged pair {number} before, and a vote is not changed afterwards")
            return
        connection.execute(
            "UPDATE votes SET answer = ?, answered = ? WHERE pair = ? AND rater = ?",
            (answer, time.time() if now is None else now, number, rater),
        )


def progress(study: Path) -> Progress:
    """How far a study is; ``StudyError`` where there is none, or it is damaged."""
    with transaction(study) as connection:
        raters = about_study(connection).raters
        pairs = connection.execute("SELECT COUNT(*) FROM pairs").fetchone()[0]
        counts = dict(connection.execute("SELECT pair, COUNT(answer) FROM votes GROUP BY pair"))
        reserved = connection.execute("SELECT COUNT(DISTINCT pair) FROM votes WHERE answer IS NULL").fetchone()[0]
        of_rater = dict(connection.execute("SELECT rater, COUNT(answer) FROM votes GROUP BY rater ORDER BY rater"))
    complete = sum(count >= raters for count in counts.values())
    return Progress(pairs, complete, pairs * raters, sum(counts.values()), reserved, of_rater)


def _rater(name: str) -> str:
    """The name of a rater, as it is kept.

    Raises:
        SettingError: It is none. It may come from anywhere, and stands in files that spreadsheets open.
    """
    name = " ".join(name.split())
    if not _NAME.fullmatch(name):
        raise SettingError(
            f"rater {name[:100]!r}: give up to 100 letters, digits, spaces and . _ - + @, "
            "beginning with a letter or a digit"
        )
    return name
