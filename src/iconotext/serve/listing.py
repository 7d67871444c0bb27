"""The list of documents, filtered, sorted and divided into pages by the database (``listing``).

A page costs as many queries for ten documents as for ten thousand.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pydantic import BaseModel, Field

from iconotext.serve.answers import LARGEST, CollectionState, state_of
from iconotext.serve.store import Store

COLLECTIONS, LINES, DOCUMENTS = 25, 10, 100
"""Most collections on a page, most documents of each there, and most documents on a page of one collection."""

SORTS = {
    "new": "the newest first",
    "name": "by name",
    "open": "most pictures to review first",
    "problems": "most problems first",
}
"""The orders of the list, in words."""

STATES: dict[CollectionState, str] = {
    "finding": "looking for documents …",
    "linking": "linking …",
    "learning": "learning from corrections …",
    "done": "",
    "failed": "cannot be linked",
}
"""The states of a collection, in words."""


class Pagination(NamedTuple):
    """A page of a long list: its number from 1, the last page's number, and the entries in all and on a page."""

    number: int
    last: int
    total: int
    most: int

    @classmethod
    def of(cls, total: int, number: int, most: int) -> Pagination:
        """The page with this number, or the last one if there are fewer."""
        last = max(1, -(-total // most))
        return cls(min(number, last), last, total, most)

    @property
    def first(self) -> int:
        """Number of entries on the pages before it."""
        return (self.number - 1) * self.most


class ListQuery(BaseModel):
    """The part of the list that an address asks for: ``q`` in a title or a name, or all documents of a collection."""

    q: str = Field("", max_length=200)
    sort: Literal["new", "name", "open", "problems"] = "new"
    page: int = Field(1, ge=1, le=LARGEST)
    collection: str = Field("", max_length=80)


@dataclass(frozen=True, slots=True)
class ListedCollection:
    """A collection on the list.

    Attributes:
        row: Its columns and sums, see ``_COLLECTION``.
        documents: Rows of the documents on the page, see ``_DOCUMENTS``.
        matching: Number of its documents that match.
        refused: Name and problem of the first ``LINES`` refused files of the upload; the row counts them all.
    """

    row: sqlite3.Row
    state: CollectionState
    documents: list[sqlite3.Row]
    matching: int
    refused: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list; ``pages`` counts collections, or the documents of one; ``all`` counts every collection."""

    query: ListQuery
    collections: list[ListedCollection]
    pages: Pagination
    all: int


_JUDGED = (
    "(select count(distinct document || ' ' || picture) from verdicts join documents as judged on judged.id = document "
    "and judged.digest = verdicts.digest where undone = 0 and judged.{} = {})"
)
_SHOWN = "(select count(*) from pictures join documents as shown on shown.id = document where shown.{} = {})"

OF_DOCUMENT = {
    "pictures": _SHOWN.format("id", "documents.id"),
    "judged": _JUDGED.format("id", "documents.id"),
    "problems": "(documents.missing + (documents.problem is not null))",
    "shown": "coalesce(documents.title, documents.name)",
}
OF_COLLECTION = {
    "pictures": _SHOWN.format("collection", "collections.id"),
    "judged": _JUDGED.format("collection", "collections.id"),
    "problems": "(select coalesce(sum(missing + (problem is not null)), 0) from documents where "
    "collection = collections.id) + (collections.problem is not null) + "
    "(select count(*) from refused where collection = collections.id)",
    "shown": "case when 1 = (select count(*) from documents where collection = collections.id) then (select "
    "coalesce(title, name) from documents where collection = collections.id) else collections.name end",
}
"""Name to SQL expression; ``shown`` is the displayed name: the title of its document, if a collection has only one."""

_ORDERS = {
    "new": "{new}",
    "name": "folded({shown})",
    "open": "{pictures} - {judged} desc",
    "problems": "{problems} desc",
}

_MATCHES = (
    "(:q = '' or instr(folded(collections.name), :q) or instr(folded(documents.name), :q) "
    "or instr(folded(documents.title), :q))"
)

# How many collections there are, and how many collections and documents match.
_COUNTS = f"""
select (select count(*) from collections) as "all", count(distinct collections.id) as collections,
    count(documents.id) as documents
from collections left join documents on documents.collection = collections.id
where (:one = '' or collections.id = :one) and {_MATCHES}
"""
# The ids of the collections on a page, in order.
_IDS = """
select id from collections where (:one = '' or id = :one) and (
    :q = '' or instr(folded(name), :q) or id in (
        select collection from documents where instr(folded(documents.name), :q) or instr(folded(title), :q)))
order by {order}, made desc, id limit :most offset :first
"""
# The columns and sums of the collections with these ids.
_COLLECTION = f"""
select collections.*, {", ".join(f"{value} as {name}" for name, value in OF_COLLECTION.items())}, documents.*,
    (select coalesce(max(verdicts.id), 0) + coalesce(sum(undone), 0) from verdicts join documents on
    documents.id = document where collection = collections.id) as last_change,
    (select json_group_array(json_array(name, problem)) from (
        select name, problem from refused where collection = collections.id order by id limit {LINES})) as refused,
    (select count(*) from refused where collection = collections.id) as refusals
from collections left join (
    select collection, count(*) as documents, sum(state != 'waiting') as done, sum(state = 'failed') as failed,
    sum(missing) as missing, min(round) as first_round, max(round) as last_round from documents
    where collection in (select value from json_each(:ids)) group by collection
) as documents on documents.collection = collections.id where id in (select value from json_each(:ids))
"""
# The matching documents of these collections that are on the page.
_DOCUMENTS = f"""
select documents.*, matching, {", ".join(f"{value} as {name}" for name, value in OF_DOCUMENT.items())} from (
    select documents.id, row_number() over (partition by collection order by {{order}}, number) as place,
    count(*) over (partition by collection) as matching
    from documents join collections on collections.id = collection
    where collection in (select value from json_each(:ids)) and {_MATCHES}
) as placed join documents on documents.id = placed.id
where place > :first and place <= :first + :most order by collection, place
"""


def listing(store: Store, query: ListQuery) -> Listing:
    """The collections on a page of the list, with their first documents, or a page of the documents of one."""
    values = {"q": query.q.strip().casefold(), "one": query.collection}
    (counts,) = store.rows(_COUNTS, values)
    if query.collection:
        pages = Pagination.of(counts["documents"], query.page, DOCUMENTS)
        collections = {"first": 0, "most": 1}
        documents = {"first": pages.first, "most": pages.most}
    else:
        pages = Pagination.of(counts["collections"], query.page, COLLECTIONS)
        collections = {"first": pages.first, "most": pages.most}
        documents = {"first": 0, "most": LINES}
    order = _ORDERS[query.sort]
    sql = _IDS.format(order=order.format(new="made desc", **OF_COLLECTION))
    ids = [row["id"] for row in store.rows(sql, values | collections)]
    shown_ids = {"ids": json.dumps(ids)}
    rows = {row["id"]: row for row in store.rows(_COLLECTION, shown_ids)}
    lines: dict[str, list[sqlite3.Row]] = {}
    sql = _DOCUMENTS.format(order=order.format(new="number", **OF_DOCUMENT))
    for row in store.rows(sql, values | shown_ids | documents):
        lines.setdefault(row["collection"], []).append(row)
    return Listing(query, [_listed(rows[id_], lines.get(id_, [])) for id_ in ids if id_ in rows], pages, counts["all"])


def _listed(row: sqlite3.Row, lines: list[sqlite3.Row]) -> ListedCollection:
    rounds = {row["first_round"], row["last_round"]} - {None}  # without documents there are none
    current = row["last_change"] == row["learned"] and rounds <= {row["round"]}
    state = state_of(row["problem"], exists=bool(row["found"]), waiting=(row["first_round"] or 0) < 0, current=current)
    refused = [(name, problem) for name, problem in json.loads(row["refused"])]
    return ListedCollection(row, state, lines, lines[0]["matching"] if lines else 0, refused)
