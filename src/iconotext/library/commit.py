"""Write changes of files to a library: ``commit``, and the ledger that records which files were added.

The ledger tells which files need not be read again. ``commit`` first forgets the files in the ledger, then writes the
library, then records the files. So a run may be killed at any time: the library stays consistent, the next run reads a
few files again without encoding them, and the loss of the ledger loses no data. The process that holds the ledger
(``held_ledger``) may write to the library. The lock is SQLite's, and ends with the process.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import LibraryError, OutputError
from iconotext.library.damage import not_written, note_sums
from iconotext.library.items import Arrival, Item, Place, texts_of
from iconotext.library.models import Models
from iconotext.library.store import LEDGER, Library, torn_versions
from iconotext.report.embedded import embed
from iconotext.types import Image

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


_SCHEMA = """
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY,    -- absolute
    state TEXT NOT NULL,      -- size and time of the file, and of the pictures that a document shows
    settings TEXT NOT NULL,   -- the settings with which it was read
    problem TEXT              -- why it brought in no pictures, or not all; NULL if it brought in all
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """The recorded state of a file.

    Attributes:
        state: Size and time of the file, and of all pictures that a document shows: see ``file_state``.
        settings: Settings with which it was read; with other settings it must be read again.
        problem: Why it brought in no pictures, or not all.
    """

    path: str
    state: str
    settings: str
    problem: str | None = None


class Ledger:
    """The ledger of a library, locked by this process."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, path: str) -> Entry | None:
        """Return the entry of a file; None if it has none."""
        row = self._connection.execute("SELECT * FROM files WHERE path = ?", (path,)).fetchone()
        return None if row is None else Entry(*row)

    def put(self, entries: Iterable[Entry]) -> None:
        """Record files; all of them or none."""
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", map(astuple, entries))

    def forget(self, paths: Iterable[str]) -> None:
        """Forget files; all of them or none."""
        with self._connection:
            self._connection.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in paths])

    def clear(self) -> None:
        """Forget all files."""
        with self._connection:
            self._connection.execute("DELETE FROM files")


@contextmanager
def held_ledger(folder: Path) -> Iterator[Ledger]:
    """Hold the ledger of a library, which is needed to write to the library.

    Raises:
        LibraryError: Another process holds it, or it cannot be written, at the beginning or within the block.
    """
    path = folder / LEDGER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=0, isolation_level="DEFERRED")
    except (OSError, sqlite3.Error) as error:
        raise LibraryError(f"cannot write {path}: {error}") from error
    with closing(connection):
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # from the first write until the connection closes
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute(_SCHEMA)
            connection.commit()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise LibraryError(f"{folder}: another process is adding to it; wait for it, or end it") from error
            raise LibraryError(not_written(path, str(error))) from error
        except sqlite3.DatabaseError as error:
            raise LibraryError(
                f"{path}: damaged ({error}); delete this file; the next run looks at all files again"
            ) from error
        ledger = Ledger(connection)
        _drop_torn(folder, ledger)
        try:
            yield ledger
        except sqlite3.Error as error:  # while working: the disk is full, or gone
            raise LibraryError(not_written(path, str(error))) from error
        finally:
            torn = _drop_torn(folder, ledger)
        if torn:
            raise LibraryError(not_written(folder, "a file was cut short, as where the disk is full"))


def _drop_torn(folder: Path, ledger: Ledger) -> bool:
    """Delete broken versions of the table, clear the ledger if there were any, and record the digests of all files.

    Returns whether there were broken versions, or this failed.
    """
    try:
        torn = torn_versions(folder)
        if torn:
            ledger.clear()
        for version in torn:
            version.unlink()
        note_sums(folder, went_back=bool(torn))
    except (OSError, OutputError, sqlite3.Error):  # the next run tries again
        return True
    return bool(torn)


@dataclass(slots=True)
class Report:
    """Counts and problems of a run.

    Attributes:
        added: Pictures that are new in the library.
        encoded: Pictures that were encoded.
        unchanged: Pictures and documents, as files, that have not changed.
        documents: Documents that were read.
        shards: Shards that were read.
        shards_unchanged: Shards that have not changed.
        removed: Pictures that are no longer in any place.
        left_out: Pictures that cannot be read or are too small, and files in folders that have the suffix of a shard
            but are not shards: place and reason.
        failures: Documents, shards and folders that cannot be read: place and reason.
        reasons: Why rows, documents and pictures of shards could not be used, with counts.
        examples: Some of these problems, with their places.
    """

    added: int = 0
    encoded: int = 0
    unchanged: int = 0
    documents: int = 0
    shards: int = 0
    shards_unchanged: int = 0
    removed: int = 0
    left_out: list[tuple[str, str]] = field(default_factory=list)
    failures: list[tuple[str, str]] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Change:
    """A file that is new, has changed, or is gone.

    Attributes:
        entry: The new entry in the ledger; None for a file that is gone.
        arrivals: The pictures that it brings in.
        unreadable: Addresses in the document of pictures that cannot be read at present; their places stay.
    """

    path: str
    entry: Entry | None = None
    arrivals: list[Arrival] = field(default_factory=list)
    unreadable: frozenset[str] = frozenset()


THUMBNAIL = 420
"""Longer side, in pixels, of the thumbnail that is stored for a picture without a file of its own."""


def commit(
    library: Library,
    ledger: Ledger,
    changes: Sequence[Change],
    report: Report,
    *,
    owners: Set[str],
    models: Models | None = None,
) -> None:
    """Write changes of different files to the library and the ledger.

    Args:
        owners: Owners of the library's pictures at the beginning of the run.
        models: Encode new pictures; None if files are only removed.
    """
    if not changes:
        return
    of_file = {change.path: change for change in changes}
    arrivals = _merged(arrival for change in changes for arrival in change.arrivals)
    ledger.forget(of_file)  # after a kill before `put`, the files are only read again
    stored = library.items(arrivals) | library.items_of_owners(of_file.keys() & owners)
    items, problems = dict(stored), dict[str, str]()
    if models is not None:
        stale = {digest for digest in arrivals.keys() & stored if stored[digest].relation_model != models.relation_name}
        fresh, problems = models.encode(
            [a for digest, a in arrivals.items() if digest in stale or digest not in stored]
        )
        report.encoded += len(fresh)
        # A picture of another model that cannot be encoded at present stays as it is.
        items = {digest: item for digest, item in stored.items() if digest not in stale} | fresh
    for digest, problem in problems.items():
        report.left_out += [(place.image, problem) for place in arrivals[digest].places]
    for digest, item in items.items():
        before = stored[digest].places if digest in stored else ()
        staying = tuple(place for place in before if _stays(place, of_file.get(place.owner)))
        items[digest] = _with_arrival(replace(item, places=staying), arrivals.get(digest), models)
    _write(library, stored, list(items.values()), report, models)
    ledger.put(_entries(changes, problems))


def _merged(arrivals: Iterable[Arrival]) -> dict[str, Arrival]:
    """Join arrivals of the same picture, with all places and the earliest date; a camera's date is the same for all."""
    merged: dict[str, Arrival] = {}
    for arrival in arrivals:
        first = merged.setdefault(arrival.digest, replace(arrival, places=[]))
        first.places += arrival.places
        first.date = min(filter(None, (first.date, arrival.date)), default=None)
        # The bytes if there are any: of a picture that has no file somewhere, a thumbnail is stored.
        first.picture = arrival.picture if isinstance(arrival.picture, bytes) else first.picture
    return merged


def _stays(place: Place, change: Change | None) -> bool:
    return change is None or (place.source or "") in change.unreadable


def _with_arrival(item: Item, arrival: Arrival | None, models: Models | None) -> Item:
    if arrival is None or models is None:
        return replace(item, places=_ordered(item.places))
    return replace(
        item,
        places=_ordered([*item.places, *_related(arrival.places, item, models)]),
        date=min(filter(None, (item.date, arrival.date)), default=None),
        taken=arrival.taken,
        thumbnail=item.thumbnail or _thumbnail(arrival),
    )


def _ordered(places: Iterable[Place]) -> tuple[Place, ...]:
    return tuple(sorted(places, key=lambda place: (place.document or "", place.number or 0, place.file or "")))


def _related(places: Sequence[Place], item: Item, models: Models) -> list[Place]:
    texts = sorted({text for place in places if (text := _english(place))})
    if models.relation_model is None or item.offsets is None or not texts:
        return list(places)
    odds = dict(zip(texts, models.relation_model.text_logits(texts) + item.offsets, strict=True))
    return [
        replace(place, relations=tuple(round(float(x), 4) for x in odds[text])) if (text := _english(place)) else place
        for place in places
    ]


def _english(place: Place) -> str | None:
    return place.text if place.document is not None and place.language == "en" else None


def _thumbnail(arrival: Arrival) -> str | None:
    if not isinstance(arrival.picture, bytes) or any(place.member is not None for place in arrival.places):
        return None
    return embed([Image("", arrival.picture)], [0], longer_side=THUMBNAIL)[0].uri


def _write(
    library: Library, stored: dict[str, Item], new: Sequence[Item], report: Report, models: Models | None
) -> None:
    insert = [item for item in new if item.places and item.digest not in stored]
    update = [item for item in new if item.places and _differs(item, stored.get(item.digest))]
    remove = [item.digest for item in new if not item.places]
    library.insert(_with_text_vectors(insert, stored, models))
    library.update(_with_text_vectors(update, stored, models))
    library.remove(remove)
    report.added += len(insert)
    report.removed += len(remove)


def _differs(item: Item, stored: Item | None) -> bool:
    """Return whether a stored picture must be written again; always if it was encoded again."""
    if stored is None:
        return False
    if item.vector is not stored.vector:
        return True
    names = ("places", "date", "taken", "thumbnail")
    return any(getattr(item, name) != getattr(stored, name) for name in names)


def _with_text_vectors(items: Sequence[Item], stored: dict[str, Item], models: Models | None) -> list[Item]:
    """Add the vectors of the texts about each picture; only texts new to the library are encoded."""
    texts = {item.digest: texts_of(item.places) for item in items}
    vectors: dict[str, FloatMatrix] = {}
    for digest in texts.keys() & stored.keys():
        item = stored[digest]
        vectors |= zip(texts_of(item.places), () if item.text_vectors is None else item.text_vectors, strict=True)
    new_texts = list(dict.fromkeys(text for item_texts in texts.values() for text in item_texts if text not in vectors))
    if new_texts and models is not None:
        vectors |= zip(new_texts, models.encoder.encode_sentences(new_texts), strict=True)
    return [
        replace(
            item, text_vectors=np.stack([vectors[text] for text in texts[item.digest]]) if texts[item.digest] else None
        )
        for item in items
    ]


def _entries(changes: Iterable[Change], problems: dict[str, str]) -> list[Entry]:
    entries = []
    for change in changes:
        if change.entry is not None:
            of_pictures = (problems[arrival.digest] for arrival in change.arrivals if arrival.digest in problems)
            entries.append(replace(change.entry, problem=change.entry.problem or next(of_pictures, None)))
    return entries
