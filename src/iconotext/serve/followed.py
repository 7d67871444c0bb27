"""Which files a linked document was made of, and as they were then: kept in the file of the store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from iconotext.serve.store import LINK_AGAIN, Store

TABLE = """
create table if not exists followed (
    document integer primary key references documents on delete cascade, files text not null
)
"""


class File(NamedTuple):
    """A file as it was at some time.

    Attributes:
        changed: When its content was changed last, in nanoseconds since 1970; None where it was not there.
        moved: When anything of it was, its name included; None likewise. A file that was away has its old content.
    """

    path: str
    changed: int | None
    moved: int | None
    size: int | None


def files_now(paths: Iterable[str]) -> tuple[File, ...]:
    """Files as they are at the moment."""
    return tuple(_now(path) for path in paths)


def _now(path: str) -> File:
    try:
        known = os.stat(path)
    except (OSError, ValueError):
        return File(path, None, None, None)
    return File(path, known.st_mtime_ns, known.st_ctime_ns, known.st_size)


class Followed:
    """The table; any thread may use it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.change() as sql:
            sql.execute(TABLE)

    def set_files(self, document: int, files: Sequence[File]) -> None:
        """What a document was made of."""
        with self._store.change() as sql:
            sql.execute("insert or replace into followed values (?, ?)", (document, json.dumps(files)))

    def set_failed(self, document: int, path: str) -> None:
        """It could not be linked: where it never was, its own file is followed from now on."""
        with self._store.change() as sql:
            sql.execute("insert or ignore into followed values (?, ?)", (document, json.dumps(files_now([path]))))

    def all(self, collection: str) -> dict[int, tuple[File, ...]]:
        """By document of a collection the files that it was made of, but for those that are linked at the moment."""
        query = (
            "select followed.* from followed join documents on documents.id = document "
            "join collections on collections.id = collection where collection = ? "
            "and documents.round >= collections.round"
        )
        rows = self._store.rows(query, collection)
        return {row["document"]: tuple(File(*each) for each in json.loads(row["files"])) for row in rows}

    def link_again(self, document: int, files: Sequence[File]) -> None:
        """A document is to be linked with its files as they are now."""
        with self._store.change() as sql:
            sql.execute("update followed set files = ? where document = ?", (json.dumps(files), document))
            sql.execute(LINK_AGAIN, (document,))

    def set_documents(self, collection: str, found: Sequence[tuple[str, str]], gone: Sequence[int]) -> bool:
        """What a folder holds now: new documents are to be linked, and where pictures stand to be learned again.

        Args:
            found: Name and path of each.
            gone: Documents to forget, unless somebody said something of them.

        Returns:
            Whether anything is different.
        """
        changes = 0
        with self._store.change() as sql:
            rows = sql.execute(
                "select path, name, number from documents where collection = ?", (collection,)
            ).fetchall()
            names = {row["path"]: row["name"] for row in rows}
            number = max((row["number"] for row in rows), default=-1)
            for name, path in found:
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
                sql.execute("update collections set learned = -1, problem = null where id = ?", (collection,))
        return changes > 0
