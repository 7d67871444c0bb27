"""Hand the pairs of a study to raters, and take their votes, so that each pair is judged by exactly as many as wanted.

Each rater has an order of pairs and sides of his or her own, drawn from the seed of the study and the name: in half of
the pairs, to the nearest one, A is the image of the first model.

A pair that is shown to a rater is reserved. A reservation without a vote may be given to somebody else after half an
hour, no sooner; until then the same rater finds the same pair again, after a reload or a crash. There are never more
votes and reservations for a pair than raters wanted, whoever asks at the same moment.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from iconotext.errors import SettingError, StudyError
from iconotext.papers.studies.study import ANSWERS, about_study, image_of, transaction

RESERVED = 1800.0
"""Seconds for which a pair that was shown waits for its vote."""

_NAME = re.compile(r"\w[\w .'@+-]{0,99}")

_OPEN = """
SELECT number, held FROM (
    SELECT number, (
        SELECT COUNT(*) FROM votes WHERE pair = number AND (answer IS NOT NULL OR given > :expired)
    ) AS held
    FROM pairs
    WHERE NOT EXISTS (SELECT 1 FROM votes WHERE pair = number AND rater = :rater)
)
WHERE held < :raters
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
        of_rater: Name of each rater to their votes, by name.
    """

    pairs: int
    complete: int
    wanted: int
    votes: int
    of_rater: Mapping[str, int]

    @property
    def finished(self) -> bool:
        """Whether all votes are in: none is taken back from then on, and the result may be seen."""
        return self.complete == self.pairs


def next_pair(study: Path, rater: str, *, now: float | None = None) -> ShownPair | None:
    """The pair that a rater is to judge next: the one already shown to them, else one they have not seen.

    Pairs that others have begun come first, so that few remain unfinished when a study ends early; of those that are
    equally far, the first in this rater's own order.

    Args:
        rater: Name of the rater: up to 100 letters, digits and ``. _ - + @ '`` or spaces; the first a letter or digit.
        now: Seconds since 1970; None asks the clock.

    Returns:
        None where nothing is left for this rater: all pairs are judged, or those that are not wait for others.

    Raises:
        StudyError: There is no such study, or it is damaged.
        SettingError: The name is none.
    """
    rater, now = rater_name(rater), time.time() if now is None else now
    own = "SELECT pair FROM votes WHERE rater = ? AND answer IS NULL ORDER BY given DESC"
    with transaction(study, writing=True) as connection:
        shown = connection.execute(own, (rater,)).fetchone()
        if shown is not None:
            number = shown[0]
            connection.execute("UPDATE votes SET given = ? WHERE pair = ? AND rater = ?", (now, number, rater))
        else:
            about = about_study(connection)
            values = {"rater": rater, "raters": about.raters, "expired": now - RESERVED}
            left = connection.execute(_OPEN, values).fetchall()
            if not left:
                return None
            places, swapped = _drawn(about.seed, rater, _pairs(connection))
            number = max(left, key=lambda each: (each[1], -places[each[0]]))[0]
            connection.execute(_ROOM, values | {"pair": number})
            row = (number, rater, swapped[number], now)
            connection.execute("INSERT INTO votes (pair, rater, swapped, given) VALUES (?, ?, ?, ?)", row)
        text, identical = connection.execute("SELECT text, identical FROM pairs WHERE number = ?", (number,)).fetchone()
        a, b = _shown(connection, number, rater)
    return ShownPair(number, text, image_of(a, study), image_of(b, study), bool(identical))


def shown_images(study: Path, number: int, rater: str) -> tuple[Path, Path]:
    """The files of images A and B, as a pair is shown to a rater.

    Raises:
        StudyError: There is no such study, it is damaged, or the pair is not with this rater.
        SettingError: The name is none.
    """
    with transaction(study) as connection:
        a, b = _shown(connection, number, rater_name(rater))
    return image_of(a, study), image_of(b, study)


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
    rater = rater_name(rater)
    if answer not in ANSWERS:
        raise SettingError(f"answer {answer!r}: there are {', '.join(ANSWERS)}")
    with transaction(study, writing=True) as connection:
        _shown(connection, number, rater)  # is it with this rater?
        own = (number, rater)
        found = connection.execute("SELECT answer FROM votes WHERE pair = ? AND rater = ?", own).fetchone()
        if found[0] is not None:
            if found[0] != answer:
                raise StudyError(f"{rater} has judged pair {number} before: take that back first")
            return
        connection.execute(
            "UPDATE votes SET answer = ?, answered = ? WHERE pair = ? AND rater = ?",
            (answer, time.time() if now is None else now, number, rater),
        )


def undo(study: Path, rater: str, *, now: float | None = None) -> bool:
    """Take back the last vote of a rater, whose next pair is then this one again; False where there is none.

    Raises:
        StudyError: There is no such study, it is damaged, or all its votes are in: the result may have been seen.
        SettingError: The name is none.
    """
    rater = rater_name(rater)
    with transaction(study, writing=True) as connection:
        if progress_of(connection).finished:
            raise StudyError("all votes of this study are in, and none is taken back any more")
        last = "SELECT pair FROM votes WHERE rater = ? AND answer IS NOT NULL ORDER BY answered DESC"
        found = connection.execute(last, (rater,)).fetchone()
        if found is not None:
            connection.execute(
                "UPDATE votes SET answer = NULL, answered = NULL, given = ? WHERE pair = ? AND rater = ?",
                (time.time() if now is None else now, found[0], rater),
            )
    return found is not None


def progress(study: Path) -> Progress:
    """How far a study is; ``StudyError`` where there is none, or it is damaged."""
    with transaction(study) as connection:
        return progress_of(connection)


def progress_of(connection: sqlite3.Connection) -> Progress:
    """The same, within a transaction."""
    raters, pairs = about_study(connection).raters, _pairs(connection)
    counts = dict(connection.execute("SELECT pair, COUNT(answer) FROM votes GROUP BY pair"))
    of_rater = dict(connection.execute("SELECT rater, COUNT(answer) FROM votes GROUP BY rater ORDER BY rater"))
    complete = sum(count >= raters for count in counts.values())
    return Progress(pairs, complete, pairs * raters, sum(counts.values()), of_rater)


def _pairs(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT COUNT(*) FROM pairs").fetchone()[0])


def _drawn(seed: int, rater: str, pairs: int) -> tuple[list[int], list[int]]:
    """By the number of a pair its place in the order of a rater, and whether A is the image of the second model."""
    random = np.random.default_rng([seed, *rater.encode()])
    return random.permutation(pairs).tolist(), random.permutation(np.arange(pairs) % 2).tolist()


def _shown(connection: sqlite3.Connection, number: int, rater: str) -> tuple[str, str]:
    """Images A and B of a pair as a rater sees them; ``StudyError`` where it is not with him or her."""
    row = connection.execute(
        "SELECT first, second, swapped FROM votes JOIN pairs ON pair = number WHERE pair = ? AND rater = ?",
        (number if 0 <= number < 2**63 else -1, rater),  # SQLite knows no larger numbers
    ).fetchone()
    if row is None:
        raise StudyError(
            f"pair {number} is not with {rater}, or was given to somebody else meanwhile; ask for the next pair"
        )
    first, second, swapped = row
    return (second, first) if swapped else (first, second)


def rater_name(name: str) -> str:
    """The name of a rater, as it is kept.

    Raises:
        SettingError: It is none. It may come from anywhere, and stands in files that spreadsheets open.
    """
    name = " ".join(name.split())
    if not _NAME.fullmatch(name):
        raise SettingError(
            f"rater {name[:100]!r}: give up to 100 letters, digits, spaces and . _ - + @ ', "
            "beginning with a letter or a digit"
        )
    return name
