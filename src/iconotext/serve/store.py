"""The server's database: collections, documents, pictures, verdicts and cookies, in one SQLite file (``Store``).

Every method that changes data returns only when the change is on disk, so that it survives a crash. Verdicts are never
changed: a later one replaces an earlier one, and undoing marks it.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from iconotext.errors import SettingError
from iconotext.plain_text import readable, shortened
from iconotext.serve.sources import File, files_now
from iconotext.system.files import reporting_full_disk

DocumentState = Literal["waiting", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Collection:
    """Files that were uploaded or opened together; its documents share a habit of placing pictures.

    There is no table of work to do: that follows from ``found``, ``round`` and ``learned``, so that nothing has to be
    repaired after a crash.

    Attributes:
        own: Whether the server may delete the files, because they were uploaded.
        made: Time of creation, in seconds since 1970.
        found: Whether its documents are in the database.
        habits: The inferred places of its pictures relative to the text, in JSON; empty before they are inferred.
        habit: The habits in words; None if too little is known.
        problem: Why its documents cannot be found.
        round: Counts up when people's verdicts change the habits; a document with a lower ``round`` is linked again.
        learned: Number of the last verdict that ``habits`` includes; below 0 if documents have changed since.
    """

    id: str
    name: str
    folder: str
    own: bool
    made: float
    found: bool
    habits: str
    habit: str | None
    problem: str | None
    round: int
    learned: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A document of a collection.

    Attributes:
        number: Its number in the collection, from 0.
        name: Unique in the collection.
        images: Number of all its pictures.
        missing: Number of pictures that were not found or cannot be read; pictures on the web do not count.
        digest: Digest of its sentences and pictures; verdicts about a version with another digest do not count.
        round: The ``round`` of its collection when it was linked.
        changed: Pictures whose likeliest sentence changed after people's verdicts, in JSON: number, sentence before,
            sentence now.
    """

    id: int
    collection: str
    number: int
    name: str
    path: str
    state: DocumentState
    problem: str | None
    title: str | None
    sentences: int
    links: int
    missing: int
    digest: str | None
    round: int
    changed: str
    images: int


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a linked document.

    Attributes:
        best: Its most likely sentence; None if none is likely.
        doubt, place_doubt: Entropy over its sentences and over its possible places, in nats; see ``verdicts``.
    """

    document: int
    number: int
    best: int | None
    confidence: float
    doubt: float
    place_doubt: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reviewer's answer for a picture: its sentences, or () for none of them."""

    id: int
    document: int
    picture: int
    reviewer: str
    sentences: tuple[int, ...]
    digest: str


@dataclass(slots=True)
class Saved:
    """The outcome of an upload.

    Attributes:
        labels: Path in the folder to the original name, for files whose names were changed.
        refused: Name and reason of each file that was refused.
    """

    labels: dict[str, str] = field(default_factory=dict)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, name: str, why: str) -> None:
        """Record that a file was refused."""
        self.refused.append((shortened(readable(name), 255), why))


VERSION = 2
"""Version of the tables; a file with another version is refused."""

_TABLES = """
create table if not exists sessions (digest blob primary key, made real not null);
create table if not exists collections (
    id text primary key, name text not null, folder text not null, own integer not null, made real not null,
    found integer not null default 0, habits text not null default '', habit text, problem text,
    round integer not null default 0, learned integer not null default 0
);
create table if not exists documents (
    id integer primary key, collection text not null references collections on delete cascade, number integer not null,
    name text not null, path text not null, state text not null, problem text, title text,
    sentences integer not null default 0, links integer not null default 0,
    missing integer not null default 0, digest text, round integer not null default -1,
    changed text not null default '[]', images integer not null default 0, unique (collection, number)
);
create table if not exists pictures (
    document integer not null references documents on delete cascade, number integer not null,
    best integer, confidence real not null, doubt real not null, place_doubt real not null,
    primary key (document, number)
) without rowid;
create table if not exists verdicts (
    id integer primary key, document integer not null references documents on delete cascade, picture integer not null,
    reviewer text not null, sentences text not null, digest text not null, made real not null,
    undone integer not null default 0
);
create table if not exists sent_names (
    collection text not null references collections on delete cascade, path text not null, name text not null,
    primary key (collection, path)
) without rowid;
create table if not exists refused (
    id integer primary key, collection text not null references collections on delete cascade, name text not null,
    problem text not null
);
create table if not exists followed (
    document integer primary key references documents on delete cascade, files text not null
);
create index if not exists refused_of on refused (collection);
create index if not exists verdicts_of on verdicts (document, picture, reviewer);
"""

LINK_AGAIN = "update documents set round = (select round from collections where id = collection) - 1 where id = ?"


class Store:
    """The database; all threads may use it.

    Args:
        file: The SQLite file, created if missing.

    Raises:
        SettingError: The file has another version.
    """

    def __init__(self, file: Path) -> None:
        self._lock, self._file = threading.RLock(), file
        # One connection for all threads, behind the lock; without an isolation level, ``change`` alone begins and ends.
        self._sql = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._sql.row_factory = sqlite3.Row
        self._sql.create_function("folded", 1, lambda text: (text or "").casefold(), deterministic=True)
        for line in ("journal_mode = wal", "synchronous = full", "foreign_keys = on", "busy_timeout = 5000"):
            self._sql.execute(f"pragma {line}")
        version = self._sql.execute("pragma user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise SettingError(f"{file}: made by another version of iconotext ({version}): name another folder")
        self._sql.executescript(_TABLES + f"pragma user_version = {VERSION};")
        if not self.rows("select 1 from pragma_table_info('documents') where name = 'images'"):  # of version 0.1.0
            self._sql.execute("alter table documents add column images integer not null default 0")
            self._sql.execute(
                "update documents set images = missing + (select count(*) from pictures where document = documents.id)"
            )

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._sql.close()

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all changes in the block, or none.

        Raises:
            FullDiskError: The disk is full; nothing was changed.
        """
        with self._lock, reporting_full_disk(self._file):
            self._sql.execute("begin immediate")
            try:
                yield self._sql
                self._sql.execute("commit")
            except BaseException:
                if self._sql.in_transaction:  # SQLite itself ends it on a full disk, in most cases
                    self._sql.execute("rollback")
                raise

    def rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        """The rows of a query, with values for its placeholders ``?``, or one mapping for its named placeholders."""
        with self._lock:
            parameters = values[0] if values and isinstance(values[0], Mapping) else values
            return self._sql.execute(query, parameters).fetchall()

    # Sessions.

    def add_session(self, digest: bytes) -> None:
        """Store the digest of a cookie."""
        with self.change() as sql:
            sql.execute("insert into sessions values (?, ?)", (digest, time.time()))

    def has_session(self, digest: bytes, seconds: float) -> bool:
        """Whether a cookie was issued within the last ``seconds``."""
        return bool(self.rows("select 1 from sessions where digest = ? and made > ?", digest, time.time() - seconds))

    # Collections and their documents.

    def add_collection(
        self, name: str, folder: Path, *, own: bool, identifier: str | None = None, saved: Saved | None = None
    ) -> Collection:
        """Add a collection, whose documents are found later."""
        collection_id = identifier or new_id()
        with self.change() as sql:
            sql.execute(
                "insert into collections (id, name, folder, own, made) values (?, ?, ?, ?, ?)",
                (collection_id, name, str(folder), own, time.time()),
            )
            if saved is not None:
                names = [(collection_id, *row) for row in saved.labels.items()]
                sql.executemany("insert into sent_names values (?, ?, ?)", names)
                refused = [(collection_id, *row) for row in saved.refused]
                sql.executemany("insert into refused (collection, name, problem) values (?, ?, ?)", refused)
        collection = self.collection(collection_id)
        assert collection is not None
        return collection

    def collections(self) -> list[Collection]:
        """All collections, newest first."""
        return [_collection(row) for row in self.rows("select * from collections order by made desc, id")]

    def collection(self, identifier: str) -> Collection | None:
        """A collection; None if it does not exist."""
        rows = self.rows("select * from collections where id = ?", identifier)
        return _collection(rows[0]) if rows else None

    def saved(self, collection: str) -> Saved:
        """The outcome of the upload of a collection."""
        names = self.rows("select path, name from sent_names where collection = ?", collection)
        refused = self.rows("select name, problem from refused where collection = ? order by id", collection)
        return Saved({row["path"]: row["name"] for row in names}, [(row["name"], row["problem"]) for row in refused])

    def set_documents(
        self, collection: str, documents: Sequence[tuple[str, str]], habits: str, habit: str | None, problem: str | None
    ) -> None:
        """Set a collection's documents (name and path of each) and habits."""
        with self.change() as sql:
            sql.executemany(
                "insert or ignore into documents (collection, number, name, path, state) "
                "values (?, ?, ?, ?, 'waiting')",
                [(collection, number, name, path) for number, (name, path) in enumerate(documents)],
            )
            sql.execute(
                "update collections set found = 1, habits = ?, habit = ?, problem = ? where id = ?",
                (habits, habit, problem, collection),
            )

    def set_learned(
        self,
        began: Collection,
        habits: str,
        habit: str | None,
        learned: int,
        documents: Mapping[int, tuple[int, Sequence[Picture], Sequence[Sequence[int | None]]]],
    ) -> None:
        """Set the habits learned from verdicts up to ``learned``, and the documents that were linked again with them.

        Args:
            began: The collection as it was when learning began. Later changes remain to be handled: a document to be
                linked again, or a new one from which habits are to be learned.
            documents: Document id to its number of links, its pictures, and the changed sentences; all other documents
                are to be linked again.
        """
        with self.change() as sql:
            # A document that came meanwhile has changed ``learned`` (``set_folder``), which then stays.
            sql.execute(
                "update collections set habits = ?, habit = ?, round = round + 1, "
                "learned = case when learned = ? then ? else learned end where id = ?",
                (habits, habit, began.learned, learned, began.id),
            )
            for entry, (links, pictures, changed) in documents.items():
                still = sql.execute(
                    "update documents set links = ?, changed = ?, round = ? + 1 "
                    "where id = ? and collection = ? and round >= ?",
                    (links, json.dumps(changed), began.round, entry, began.id, began.round),
                )
                if still.rowcount:
                    _set_pictures(sql, entry, pictures)

    def link_again(self, entry: int) -> None:
        """Mark a document to be linked again, since its file has changed."""
        with self.change() as sql:
            sql.execute(LINK_AGAIN, (entry,))

    def remove_collection(self, collection: str) -> None:
        """Delete a collection, its documents and verdicts."""
        with self.change() as sql:
            sql.execute("delete from collections where id = ?", (collection,))

    def entries(self, collection: str) -> list[Entry]:
        """The documents of a collection, in order."""
        rows = self.rows("select * from documents where collection = ? order by number", collection)
        return [Entry(**dict(row)) for row in rows]

    def entry(self, identifier: int) -> Entry | None:
        """A document; None if it does not exist."""
        rows = self.rows("select * from documents where id = ?", identifier)
        return Entry(**dict(rows[0])) if rows else None

    def linked_entries(self, paths: Sequence[str]) -> dict[str, int]:
        """Return the id of the newest linked document of each file that has one."""
        query = (
            "select path, max(id) as id from documents where state = 'done' and path in "
            "(select value from json_each(?)) group by path"
        )
        return {row["path"]: row["id"] for row in self.rows(query, json.dumps(paths))}

    def set_linked(
        self,
        entry: int,
        round_: int,
        columns: Mapping[str, Any],
        pictures: Iterable[Picture],
        changed: Sequence[Sequence[int | None]],
    ) -> None:
        """Record that a document was linked: columns as in ``work.LinkResult``, pictures, changed sentences."""
        with self.change() as sql:
            sql.execute(
                "update documents set state = 'done', problem = null, title = :title, sentences = :sentences, "
                "links = :links, missing = :missing, digest = :digest, images = :images, round = :round, "
                "changed = :changed where id = :id",
                {**columns, "round": round_, "changed": json.dumps(changed), "id": entry},
            )
            _set_pictures(sql, entry, pictures)

    def set_failed(self, entry: int, round_: int, problem: str) -> None:
        """Record that a document could not be linked; earlier results stay."""
        with self.change() as sql:
            sql.execute(
                "update documents set state = case when state = 'done' then state else 'failed' end, problem = ?, "
                "round = ? where id = ?",
                (problem, round_, entry),
            )

    def next_entry(self, collection: str, without: Iterable[int]) -> Entry | None:
        """The first document of a collection that is to be linked (again), except those in ``without``."""
        query = (
            "select documents.* from documents join collections on collections.id = collection where collection = ? "
            "and documents.round < collections.round and documents.id not in (select value from json_each(?)) "
            "order by number limit 1"
        )
        rows = self.rows(query, collection, json.dumps(list(without)))
        return Entry(**dict(rows[0])) if rows else None

    def pictures(self, collection: str) -> list[Picture]:
        """The pictures of all linked documents of a collection, in order."""
        query = (
            "select pictures.* from pictures join documents on documents.id = document "
            "where collection = ? order by documents.number, pictures.number"
        )
        return [Picture(**dict(row)) for row in self.rows(query, collection)]

    # The files from which documents were linked, which ``follow`` polls.

    def follow(self, document: int, files: Sequence[File]) -> None:
        """Set the files from which a document was linked."""
        with self.change() as sql:
            sql.execute("insert or replace into followed values (?, ?)", (document, json.dumps(files)))

    def follow_own(self, document: int, path: str) -> None:
        """Follow a document that could not be linked; if it never was, its own file."""
        with self.change() as sql:
            sql.execute("insert or ignore into followed values (?, ?)", (document, json.dumps(files_now([path]))))

    def followed(self, collection: str) -> dict[int, tuple[File, ...]]:
        """The files of each document of a collection, without documents that are to be linked."""
        query = (
            "select followed.* from followed join documents on documents.id = document "
            "join collections on collections.id = collection where collection = ? "
            "and documents.round >= collections.round"
        )
        rows = self.rows(query, collection)
        return {row["document"]: tuple(File(*values) for values in json.loads(row["files"])) for row in rows}

    def files_changed(self, document: int, files: Sequence[File]) -> None:
        """Mark a document to be linked again, with its present files."""
        with self.change() as sql:
            sql.execute("update followed set files = ? where document = ?", (json.dumps(files), document))
            sql.execute(LINK_AGAIN, (document,))

    def set_folder(self, collection: str, documents: Sequence[tuple[str, str]], gone: Sequence[int]) -> bool:
        """Set the documents of a folder: new ones are to be linked, and habits to be inferred again.

        Args:
            documents: Name and path of each.
            gone: Documents to remove, unless there are verdicts about them.

        Returns:
            Whether anything changed.
        """
        changes = 0
        with self.change() as sql:
            rows = sql.execute(
                "select path, name, number from documents where collection = ?", (collection,)
            ).fetchall()
            names = {row["path"]: row["name"] for row in rows}
            number = max((row["number"] for row in rows), default=-1)
            for name, path in documents:
                if path not in names:
                    number += 1
                    sql.execute(
                        "insert into documents (collection, number, name, path, state) values (?, ?, ?, ?, 'waiting')",
                        (collection, number, name, path),
                    )
                elif name != names[path]:
                    sql.execute(
                        "update documents set name = ? where collection = ? and path = ?", (name, collection, path)
                    )
                changes += name != names.get(path)
            for document in gone:
                changes += sql.execute(
                    "delete from documents where id = ? and id not in (select document from verdicts) "
                    "and id not in (select document from alt_texts_said)",
                    (document,),
                ).rowcount
            if changes:
                # Another number each time, so that learning that has begun before does not count for this change.
                sql.execute(
                    "update collections set learned = min(learned, 0) - 1, problem = null where id = ?", (collection,)
                )
        return changes > 0

    # Verdicts.

    def add_verdict(
        self,
        entry: Entry,
        picture: int,
        reviewer: str,
        sentences: Sequence[int],
    ) -> int:
        """Store a verdict, which replaces an earlier one of the same reviewer; returns its number."""
        with self.change() as sql:
            added = sql.execute(
                "insert into verdicts (document, picture, reviewer, sentences, digest, made) values (?, ?, ?, ?, ?, ?)",
                (entry.id, picture, reviewer, json.dumps(list(sentences)), entry.digest or "", time.time()),
            )
            return int(added.lastrowid or 0)

    def undo(self, collection: str, reviewer: str) -> Verdict | None:
        """Undo the last verdict of a reviewer in a collection; None if there is none."""
        with self.change() as sql:
            query = (
                "select verdicts.* from verdicts join documents on documents.id = document "
                "where collection = ? and reviewer = ? and undone = 0 order by verdicts.id desc limit 1"
            )
            row = sql.execute(query, (collection, reviewer)).fetchone()
            if row is None:
                return None
            sql.execute("update verdicts set undone = 1 where id = ?", (row["id"],))
            return _verdict(row)

    def verdicts(self, collection: str) -> list[Verdict]:
        """The last verdict of each reviewer on each picture, for documents that have not changed since."""
        query = (
            "select verdicts.* from verdicts join documents on documents.id = document and documents.digest = "
            "verdicts.digest where collection = ? and undone = 0 order by verdicts.id"
        )
        last = {(row["document"], row["picture"], row["reviewer"]): row for row in self.rows(query, collection)}
        return [_verdict(row) for row in last.values()]

    def reviewers(self, collection: str) -> list[str]:
        """The names of all reviewers with valid answers about a collection, sorted."""
        query = (
            "select distinct reviewer from verdicts join documents on documents.id = document "
            "where collection = ? and undone = 0 order by reviewer"
        )
        return [row["reviewer"] for row in self.rows(query, collection)]

    def verdicts_of(self, entry: int) -> list[Verdict]:
        """The last verdict of each reviewer on each picture of a document, for each version of the document."""
        rows = self.rows("select * from verdicts where document = ? and undone = 0 order by id", entry)
        last = {(row["picture"], row["reviewer"], row["digest"]): row for row in rows}
        return [_verdict(row) for row in last.values()]

    def last_change(self, collection: str, entry: int | None = None) -> int:
        """A number that grows with each verdict and each undo, in a collection or on one of its documents."""
        # An undo adds no row, so the number of undone verdicts is added to the largest id.
        query = (
            "select coalesce(max(verdicts.id), 0) + coalesce(sum(undone), 0) as last from verdicts "
            "join documents on documents.id = document where collection = ? and ? in (document, -1)"
        )
        return int(self.rows(query, collection, -1 if entry is None else entry)[0]["last"])


def new_id() -> str:
    """A random id that cannot be guessed, and can be the name of a folder."""
    return secrets.token_hex(8)


def _set_pictures(sql: sqlite3.Connection, entry: int, pictures: Iterable[Picture]) -> None:
    sql.execute("delete from pictures where document = ?", (entry,))
    sql.executemany(
        "insert into pictures values (?, ?, ?, ?, ?, ?)",
        [(p.document, p.number, p.best, p.confidence, p.doubt, p.place_doubt) for p in pictures],
    )


def _collection(row: sqlite3.Row) -> Collection:
    values = dict(row)
    return Collection(**values | {"own": bool(values["own"]), "found": bool(values["found"])})


def _verdict(row: sqlite3.Row) -> Verdict:
    sentences = tuple(json.loads(row["sentences"]))
    return Verdict(row["id"], row["document"], row["picture"], row["reviewer"], sentences, row["digest"])
