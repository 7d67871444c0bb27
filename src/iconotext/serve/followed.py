"""The table of the files from which each document was linked, which ``follow`` polls."""

from __future__ import annotations

import json
from collections.abc import Sequence

from iconotext.serve.sources import File, files_now
from iconotext.serve.store import LINK_AGAIN, Store

TABLE = """
create table if not exists followed (
    document integer primary key references documents on delete cascade, files text not null
)
"""


class Followed:
    """The table of followed files; all threads may use it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        with store.change() as sql:
            sql.execute(TABLE)

    def set_files(self, document: int, files: Sequence[File]) -> None:
        """Set the files from which a document was linked."""
        with self._store.change() as sql:
            sql.execute("insert or replace into followed values (?, ?)", (document, json.dumps(files)))

    def set_failed(self, document: int, path: str) -> None:
        """Record that a document could not be linked; if it never was, follow its own file from now on."""
        with self._store.change() as sql:
            sql.execute("insert or ignore into followed values (?, ?)", (document, json.dumps(files_now([path]))))

    def all(self, collection: str) -> dict[int, tuple[File, ...]]:
        """The files of each document of a collection, without documents that are to be linked."""
        query = (
            "select followed.* from followed join documents on documents.id = document "
            "join collections on collections.id = collection where collection = ? "
            "and documents.round >= collections.round"
        )
        rows = self._store.rows(query, collection)
        return {row["document"]: tuple(File(*values) for values in json.loads(row["files"])) for row in rows}

    def link_again(self, document: int, files: Sequence[File]) -> None:
        """Mark a document to be linked again, with its present files."""
        with self._store.change() as sql:
            sql.execute("update followed set files = ? where document = ?", (json.dumps(files), document))
            sql.execute(LINK_AGAIN, (document,))

    def set_documents(self, collection: str, documents: Sequence[tuple[str, str]], gone: Sequence[int]) -> bool:
        """Set the documents of a folder: new ones are to be linked, and habits to be inferred again.

        Args:
            documents: Name and path of each.
            gone: Documents to remove, unless there are verdicts about them.

        Returns:
            Whether anything changed.
        """
        changes = 0
        with self._store.change() as sql:
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
