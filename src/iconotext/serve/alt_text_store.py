"""What people said about alternative texts, in the store's file, so that accepted texts survive a crash."""

from __future__ import annotations

import time
from collections.abc import Iterable
from sqlite3 import Row
from typing import NamedTuple

from iconotext.serve.store import Store

TABLES = """
create table if not exists alt_texts_wanted (
    document integer not null references documents on delete cascade, key text not null, primary key (document, key)
) without rowid;
create table if not exists alt_texts_said (
    id integer primary key, document integer not null references documents on delete cascade, key text not null,
    text text, made real not null, undone integer not null default 0, written integer not null default 0
);
create index if not exists alt_texts_said_of on alt_texts_said (document, key);
"""


class Said(NamedTuple):
    """A person's decision about a picture's alternative text.

    Attributes:
        key: Of the picture; see ``alt_text_work``.
    """

    id: int
    document: int
    key: str
    text: str | None
    written: bool


class Counts(NamedTuple):
    """The progress of a document.

    Attributes:
        accepted: Number of accepted texts that are not in the file yet.
    """

    wanted: int
    said: int
    accepted: int


class AltTexts:
    """The tables; can be used from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.change() as sql:
            for line in TABLES.split(";"):
                sql.execute(line)

    def set_wanted(self, document: int, keys: Iterable[str]) -> None:
        """Set the pictures of a document that need attention."""
        with self._store.change() as sql:
            sql.execute("delete from alt_texts_wanted where document = ?", (document,))
            sql.executemany("insert into alt_texts_wanted values (?, ?)", [(document, key) for key in keys])

    def say(self, document: int, key: str, text: str | None) -> int:
        """Store a text, or None to leave the picture as it is; it is on disk when this returns."""
        with self._store.change() as sql:
            row = sql.execute(
                "insert into alt_texts_said (document, key, text, made) values (?, ?, ?, ?)",
                (document, key, text, time.time()),
            )
            return int(row.lastrowid or 0)

    def undo(self, collection: str) -> Said | None:
        """Undo the last decision in a collection that is not in its file yet; None if there is none."""
        query = (
            "select alt_texts_said.* from alt_texts_said join documents on documents.id = document "
            "where collection = ? and undone = 0 and written = 0 order by alt_texts_said.id desc limit 1"
        )
        with self._store.change() as sql:
            row = sql.execute(query, (collection,)).fetchone()
            if row is None:
                return None
            sql.execute("update alt_texts_said set undone = 1 where id = ?", (row["id"],))
            return _said(row)

    def said(self, document: int) -> dict[str, Said]:
        """Picture to the last decision about it."""
        rows = self._store.rows("select * from alt_texts_said where document = ? and undone = 0 order by id", document)
        return {row["key"]: _said(row) for row in rows}

    def set_written(self, said: Iterable[Said]) -> None:
        """Mark texts as written into the file: they, and decisions before them, can no longer be undone."""
        with self._store.change() as sql:
            sql.executemany(
                "update alt_texts_said set written = 1 where document = ? and key = ? and id <= ?",
                [(each.document, each.key, each.id) for each in said],
            )

    def counts(self, collection: str) -> dict[int, Counts]:
        """Document to its progress, for a collection."""
        of = "select t.* from {} t join documents on documents.id = t.document where collection = ? {} order by {}"
        wanted = self._store.rows(of.format("alt_texts_wanted", "", "t.key"), collection)
        rows = self._store.rows(of.format("alt_texts_said", "and undone = 0", "t.id"), collection)
        said = {(row["document"], row["key"]): _said(row) for row in rows}
        found: dict[int, Counts] = {}
        for row in wanted:
            before = found.get(row["document"], Counts(0, 0, 0))
            done = (row["document"], row["key"]) in said
            found[row["document"]] = before._replace(wanted=before.wanted + 1, said=before.said + done)
        for one in said.values():
            before = found.get(one.document, Counts(0, 0, 0))
            new = one.text is not None and not one.written
            found[one.document] = before._replace(accepted=before.accepted + new)
        return found


def _said(row: Row) -> Said:
    return Said(row["id"], row["document"], row["key"], row["text"], bool(row["written"]))
