"""A study: pairs of images for people to choose from, and their votes, in one SQLite file.

``create_study`` writes a study, ``next_pair`` and ``vote`` serve a rater, and ``progress`` counts the votes. Each pair
compares a model, of which a study may have several, with the study's reference model. The file is written whole or not
at all. It has the paths of images, not the images, and is never in memory: every call opens it, does one transaction
and closes it. So a study survives any process that works on it, and may be continued at any time by any number of
processes on one machine. A finished transaction is on the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from iconotext.corpus.image_files import ImageKeys
from iconotext.errors import CorpusError, OutputError, SettingError, StudyError
from iconotext.papers.analyses.top_images import Search, best_images
from iconotext.system.files import write_bytes
from iconotext.system.strict_json import parse_json
from iconotext.types import Image

if TYPE_CHECKING:
    from iconotext.evaluate.pair_vectors import PairVectors

ANSWERS: Mapping[str, str] = MappingProxyType(
    {
        "a": "I prefer image A",
        "b": "I prefer image B",
        "same": "The images are exactly the same, or both fit equally well",
        "neither": "Neither of the images is a good match for this text",
    }
)
"""The possible answers of a rater, with their wording. The paper's third answer is "The images are exactly the same",
and its table counts it as "Both Good"; ours mentions both."""

RATERS = 3
"""Number of people who judge each pair."""

PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""

_APPLICATION, _VERSION = 0x49634855, 2  # mark the file as a study, and say what its tables are
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_VERSION};
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE pairs (
    number INTEGER PRIMARY KEY,  -- from 0
    model TEXT NOT NULL,         -- the model that is asked about
    query TEXT NOT NULL,
    text TEXT NOT NULL,
    relations TEXT NOT NULL,     -- JSON list of names
    first TEXT NOT NULL,         -- its image, relative to the folder of this file
    second TEXT NOT NULL,
    identical INTEGER NOT NULL CHECK (identical IN (0, 1))
);
CREATE TABLE votes (
    pair INTEGER NOT NULL REFERENCES pairs (number),
    rater TEXT NOT NULL,
    swapped INTEGER NOT NULL CHECK (swapped IN (0, 1)),  -- 1: A is the image of the second model
    given REAL NOT NULL,         -- when the pair was reserved, seconds since 1970
    answer TEXT CHECK (answer IN ('a', 'b', 'same', 'neither')),  -- null: not yet
    answered REAL,
    PRIMARY KEY (pair, rater)
);
CREATE INDEX votes_of_rater ON votes (rater);
"""


@dataclass(frozen=True, slots=True)
class Contenders:
    """A text, and the best image of each of two models.

    Attributes:
        model: Name of the compared model, such as a coherence-aware one.
        query: Name of the text, unique among those of this model.
        text: The text that the images should fit.
        first: Picture file of this model.
        second: Picture file of the model with which it is compared.
        relations: Coherence relations for which the pair counts, none or several.
    """

    model: str
    query: str
    text: str
    first: Path
    second: Path
    relations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class About:
    """The models that a study compares.

    Attributes:
        models: Names of the compared models.
        second: Name of the model with which they are compared.
        raters: Number of people who judge each pair.
        seed: Seed of the order of the pairs and of the two sides, which differ between raters.
    """

    models: tuple[str, ...]
    second: str
    raters: int
    seed: int


def create_study(
    path: Path, contenders: Sequence[Contenders], *, second: str, raters: int = RATERS, seed: int = 0
) -> int:
    """Write a study; returns the number of identical pairs.

    If both models found the same picture (the same bytes, whatever its name), the pair stays, marked as identical:
    leaving it out would make the models look more different than they are.

    Args:
        seed: Seed of the order and the sides in which raters see the pairs.
    """
    if raters < 1:
        raise SettingError(f"raters is {raters}, expected at least 1")
    if not contenders:
        raise StudyError("a study needs at least one pair of images")
    if os.path.lexists(path) or os.path.lexists(f"{path}-journal"):
        raise OutputError(
            f"{path} exists already, and a study may hold votes; give another name, or remove it yourself"
        )
    names: set[tuple[str, str]] = set()
    for pair in contenders:
        if (pair.model, pair.query) in names:
            raise StudyError(f"query {pair.query!r}: two queries of {pair.model} have this name")
        names.add((pair.model, pair.query))
        for image in (pair.first, pair.second):
            if not image.is_file():
                raise StudyError(f"query {pair.query!r}: the picture {image} is not there")
    keys = ImageKeys()
    rows, same = [], 0
    for number, pair in enumerate(contenders):
        one, other = (keys.of(Image(image.name, image)) for image in (pair.first, pair.second))
        same += one == other
        paths = [_relative_path(image, path.parent) for image in (pair.first, pair.second)]
        rows.append((number, pair.model, pair.query, pair.text, json.dumps(pair.relations), *paths, int(one == other)))
    models = list(dict.fromkeys(pair.model for pair in contenders))
    about = {"models": json.dumps(models), "second": second, "raters": str(raters), "seed": str(seed)}
    with closing(sqlite3.connect(":memory:")) as connection:  # its bytes are then written whole or not at all
        connection.executescript(_SCHEMA)
        connection.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        connection.executemany("INSERT INTO pairs VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        connection.commit()
        write_bytes(path, connection.serialize())
    return same


@contextmanager
def transaction(path: Path, *, writing: bool = False) -> Iterator[sqlite3.Connection]:
    """Run a block as one transaction on a study: its changes are stored only if it ends without an error."""
    if not path.is_file():
        raise StudyError(f"{path}: there is no such study; create_study, or iconotext analyze study, makes one")
    address = f"{path.absolute().as_uri()}?mode=rw"  # never make an empty file
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:
            if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
                raise StudyError(f"{path}: is not a study of iconotext")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != _VERSION:
                raise StudyError(f"{path}: a study of another version of iconotext ({version}): make it anew")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")  # the default of most builds of SQLite, not of all
            # Immediate: who will write locks before reading, so that two raters never see the same pair as open.
            connection.execute("BEGIN IMMEDIATE" if writing else "BEGIN")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:  # some errors have ended it
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise StudyError(f"{path}: cannot be {'written' if writing else 'read'} as a study: {error}") from error


def about_study(connection: sqlite3.Connection) -> About:
    """Return the models that the study compares."""
    values = dict(connection.execute("SELECT name, value FROM about"))
    try:
        models = tuple(map(str, parse_json(values["models"])))
        return About(models, values["second"], int(values["raters"]), int(values["seed"]))
    except (KeyError, TypeError, ValueError) as error:
        path = connection.execute("PRAGMA database_list").fetchone()[2]
        raise StudyError(f"{path}: damaged, or not a study: its description cannot be read ({error})") from error


def find_studies(places: Sequence[Path]) -> dict[str, Path]:
    """Find the named studies, and those in named folders, each by a short name that does not reveal its contents."""
    study_of: dict[str, Path] = {}
    for place in places:
        studies = [path for path in sorted(place.iterdir()) if _is_study(path)] if place.is_dir() else [place]
        if not studies:
            raise StudyError(f"{place}: no study lies in this folder; iconotext analyze study makes one")
        for study in studies:
            with transaction(study) as connection:
                names = {name for row in connection.execute("SELECT first, second FROM pairs") for name in row}
            missing = [name for name in sorted(names) if not image_of(name, study).is_file()]
            if missing:
                raise StudyError(
                    f"{study}: {len(missing):,} of its {len(names):,} pictures are not there, such as "
                    f"{image_of(missing[0], study)}: seen from it, they must lie where they lay when it was made"
                )
            # The name of the file may tell raters what is compared, and a number would change with what lies beside.
            study_of[hashlib.sha256(os.fsencode(study.resolve())).hexdigest()[:8]] = study
    return study_of


def _is_study(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(72)[68:] == _APPLICATION.to_bytes(4, "big")  # where SQLite keeps it


def image_of(relative_path: str, study: Path) -> Path:
    """Return the file of a picture that a study names."""
    return Path(os.path.normpath(study.absolute().parent / relative_path))


def _relative_path(image: Path, folder: Path) -> str:
    """Return the path from the folder of the study to the picture, so that both may be moved together."""
    try:
        return Path(os.path.relpath(image.absolute().resolve(), folder.absolute().resolve())).as_posix()
    except ValueError:  # another drive of a Windows machine
        return image.resolve().as_posix()


def contenders(first: Search, second: Search, chosen: Mapping[int, tuple[str, ...]]) -> list[Contenders]:
    """Select the best images of two models among all of a corpus."""
    pairs = first.pairs
    queries, images = np.array(list(chosen), np.intp), np.arange(len(pairs.images))
    one, other = (best_images(search.score, queries, images)[0][:, 0].tolist() for search in (first, second))
    return [
        Contenders(first.model, pairs.ids[query], pairs.texts[query], _file(pairs, a), _file(pairs, b), chosen[query])
        for query, a, b in zip(queries.tolist(), one, other, strict=True)
    ]


def _file(pairs: PairVectors, image: int) -> Path:
    file = pairs.images[image].file
    if not isinstance(file, Path):
        raise CorpusError(f"picture {pairs.images[image].source}: is not a file, so it cannot be shown to raters")
    return file


RESERVED = 1800.0
"""Seconds for which a pair that was reserved waits for its vote."""

_NAME = re.compile(r"\w[\w .'@+-]{0,99}")

# The pairs that a rater has not seen, with the number of raters who hold each: by a vote, or by a reservation that has
# not expired.
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
# An expired reservation stays, and its late vote counts, until somebody else needs its place.
_ROOM = """
DELETE FROM votes WHERE pair = :pair AND answer IS NULL AND given <= :expired
    AND (SELECT COUNT(*) FROM votes WHERE pair = :pair) >= :raters
"""


@dataclass(frozen=True, slots=True)
class ShownPair:
    """A pair for a rater to judge. It does not reveal which model found which image.

    Attributes:
        number: Number of the pair, for ``vote``.
        identical: Whether both are the same picture; the page must tell this.
    """

    number: int
    text: str
    a: Path
    b: Path
    identical: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a study.

    Attributes:
        pairs: Number of pairs.
        complete: Number of pairs with all their votes.
        needed: Number of votes that the study needs.
        votes: Number of votes so far.
        of_rater: Number of votes of each rater, by name.
    """

    pairs: int
    complete: int
    needed: int
    votes: int
    of_rater: Mapping[str, int]

    @property
    def finished(self) -> bool:
        """Whether all votes are in: then no vote can be taken back, and the result may be read."""
        return self.complete == self.pairs


def next_pair(study: Path, rater: str, *, now: float | None = None) -> ShownPair | None:
    """The pair that a rater is to judge next: the one already reserved to them, else one they have not seen.

    Pairs that others have begun come first, so that few remain unfinished when a study ends early; of those that are
    equally far, the first in this rater's own order.

    Args:
        rater: Name of the rater: up to 100 letters, digits and ``. _ - + @ '`` or spaces; the first a letter or digit.
        now: Seconds since 1970; None asks the clock.

    Returns:
        None where nothing is left for this rater: all pairs are judged, or those that are not wait for others.
    """
    rater, now = rater_name(rater), time.time() if now is None else now
    query = "SELECT pair FROM votes WHERE rater = ? AND answer IS NULL ORDER BY given DESC"
    with transaction(study, writing=True) as connection:
        reserved = connection.execute(query, (rater,)).fetchone()
        if reserved is not None:
            number = reserved[0]
            connection.execute("UPDATE votes SET given = ? WHERE pair = ? AND rater = ?", (now, number, rater))
        else:
            about = about_study(connection)
            values = {"rater": rater, "raters": about.raters, "expired": now - RESERVED}
            open_pairs = connection.execute(_OPEN, values).fetchall()
            if not open_pairs:
                return None
            places, swapped = _drawn(about.seed, rater, _pairs(connection))
            number = max(open_pairs, key=lambda item: (item[1], -places[item[0]]))[0]
            connection.execute(_ROOM, values | {"pair": number})
            row = (number, rater, swapped[number], now)
            connection.execute("INSERT INTO votes (pair, rater, swapped, given) VALUES (?, ?, ?, ?)", row)
        text, identical = connection.execute("SELECT text, identical FROM pairs WHERE number = ?", (number,)).fetchone()
        a, b = _shown_names(connection, number, rater)
    return ShownPair(number, text, image_of(a, study), image_of(b, study), bool(identical))


def shown_images(study: Path, number: int, rater: str) -> tuple[Path, Path]:
    """The files of images A and B, as a pair is reserved to a rater."""
    with transaction(study) as connection:
        a, b = _shown_names(connection, number, rater_name(rater))
    return image_of(a, study), image_of(b, study)


def vote(study: Path, number: int, rater: str, answer: str, *, now: float | None = None) -> None:
    """Store the answer of a rater. The same answer again, from a form that was sent twice, changes nothing.

    Args:
        number: Number of a pair that ``next_pair`` gave to this rater.
        answer: One of ``ANSWERS``.
    """
    rater = rater_name(rater)
    if answer not in ANSWERS:
        raise SettingError(f"answer {answer!r}: there are {', '.join(ANSWERS)}")
    with transaction(study, writing=True) as connection:
        _shown_names(connection, number, rater)  # an error if the pair is not with this rater
        key = (number, rater)
        stored = connection.execute("SELECT answer FROM votes WHERE pair = ? AND rater = ?", key).fetchone()
        if stored[0] is not None:
            if stored[0] != answer:
                raise StudyError(f"{rater} has judged pair {number} before: take that answer back first")
            return
        connection.execute(
            "UPDATE votes SET answer = ?, answered = ? WHERE pair = ? AND rater = ?",
            (answer, time.time() if now is None else now, number, rater),
        )


def undo(study: Path, rater: str, *, now: float | None = None) -> bool:
    """Take back the last vote of a rater, whose next pair is then this one again; False without a vote."""
    rater = rater_name(rater)
    with transaction(study, writing=True) as connection:
        if progress_of(connection).finished:
            raise StudyError("all votes of this study are in, and none is taken back any more")
        last = "SELECT pair FROM votes WHERE rater = ? AND answer IS NOT NULL ORDER BY answered DESC"
        last_vote = connection.execute(last, (rater,)).fetchone()
        if last_vote is not None:
            connection.execute(
                "UPDATE votes SET answer = NULL, answered = NULL, given = ? WHERE pair = ? AND rater = ?",
                (time.time() if now is None else now, last_vote[0], rater),
            )
    return last_vote is not None


def progress(study: Path) -> Progress:
    """Count the votes of a study; ``StudyError`` if there is none, or it is damaged."""
    with transaction(study) as connection:
        return progress_of(connection)


def progress_of(connection: sqlite3.Connection) -> Progress:
    """Count the votes of a study within a transaction."""
    raters, pairs = about_study(connection).raters, _pairs(connection)
    counts = dict(connection.execute("SELECT pair, COUNT(answer) FROM votes GROUP BY pair"))
    of_rater = dict(connection.execute("SELECT rater, COUNT(answer) FROM votes GROUP BY rater ORDER BY rater"))
    complete = sum(count >= raters for count in counts.values())
    return Progress(pairs, complete, pairs * raters, sum(counts.values()), of_rater)


def _pairs(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT COUNT(*) FROM pairs").fetchone()[0])


def _drawn(seed: int, rater: str, pairs: int) -> tuple[list[int], list[int]]:
    """Return, by the number of a pair, its place in a rater's order, and whether A is the image of the second model."""
    random = np.random.default_rng([seed, *rater.encode()])
    return random.permutation(pairs).tolist(), random.permutation(np.arange(pairs) % 2).tolist()


def _shown_names(connection: sqlite3.Connection, number: int, rater: str) -> tuple[str, str]:
    """Return images A and B of a pair in a rater's order; ``StudyError`` if the pair is not with this rater."""
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
    """Check the name of a rater, and return it in the stored form.

    A name may come from anywhere, and is written to files that spreadsheets open.
    """
    name = " ".join(name.split())
    if not _NAME.fullmatch(name):
        raise SettingError(
            f"rater {name[:100]!r}: give up to 100 letters, digits, spaces and . _ - + @ ', "
            "beginning with a letter or a digit"
        )
    return name
