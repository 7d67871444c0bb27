"""The list of documents: the store filters it, sorts it and cuts it into pages, however many documents there are.

A page costs as many queries for ten documents as for ten thousand.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from iconotext.serve.answers import State, state_of
from iconotext.serve.page import Numbered
from iconotext.serve.schemas import LARGEST
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


SAID: dict[State, str] = {
    "finding": "looking for documents …",
    "linking": "linking …",
    "learning": "learning from corrections …",
    "done": "",
    "failed": "cannot be linked",
}
"""How far a collection is, in words."""


class Asked(BaseModel):
    """The part of the list that an address asks for.

    Attributes:
        q: Words in the title or the name of a document, or in the name of its collection.
        collection: Only this collection, with all of its documents.
    """

    q: str = Field("", max_length=200)
    sort: Literal["new", "name", "open", "problems"] = "new"
    page: int = Field(1, ge=1, le=LARGEST)
    collection: str = Field("", max_length=80)


@dataclass(frozen=True, slots=True)
class Listed:
    """A collection on the list.

    Attributes:
        row: Its columns and sums, see ``_COLLECTION``.
        documents: Rows of the documents on the page, see ``_DOCUMENTS``.
        matching: Number of its documents that match.
        refused: Name of each file of the drop that was not taken, and why; the first ``LINES``.
        refusals: Number of the files that were not taken.
    """

    row: sqlite3.Row
    state: State
    documents: list[sqlite3.Row]
    matching: int
    refused: list[tuple[str, str]]
    refusals: int


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of the list.

    Attributes:
        pages: Counts collections, or the documents of the one that was asked for.
        all: Number of collections, matching or not.
    """

    asked: Asked
    collections: list[Listed]
    pages: Numbered
    all: int


_SAID = (
    "(select count(distinct document || ' ' || picture) from verdicts join documents as said on said.id = document "
    "and said.digest = verdicts.digest where undone = 0 and said.{} = {})"
)
_SEEN = "(select count(*) from pictures join documents as seen on seen.id = document where seen.{} = {})"

OF_DOCUMENT = {
    "pictures": _SEEN.format("id", "documents.id"),
    "judged": _SAID.format("id", "documents.id"),
    "problems": "(documents.missing + (documents.problem is not null))",
    "shown": "coalesce(documents.title, documents.name)",
}
OF_COLLECTION = {
    "pictures": _SEEN.format("collection", "collections.id"),
    "judged": _SAID.format("collection", "collections.id"),
    "problems": "(select coalesce(sum(missing + (problem is not null)), 0) from documents where "
    "collection = collections.id) + (collections.problem is not null) + "
    "(select count(*) from refused where collection = collections.id)",
    "shown": "case when 1 = (select count(*) from documents where collection = collections.id) then (select "
    "coalesce(title, name) from documents where collection = collections.id) else collections.name end",
}
"""Name to expression; ``shown`` is the name by which somebody knows it: of a collection of one document its title."""

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

_NUMBER = f"""
select (select count(*) from collections) as "all", count(distinct collections.id) as collections,
    count(documents.id) as documents
from collections left join documents on documents.collection = collections.id
where (:one = '' or collections.id = :one) and {_MATCHES}
"""
_IDS = """
select id from collections where (:one = '' or id = :one) and (
    :q = '' or instr(folded(name), :q) or id in (
        select collection from documents where instr(folded(documents.name), :q) or instr(folded(title), :q)))
order by {order}, made desc, id limit :most offset :first
"""
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
_DOCUMENTS = f"""
select documents.*, matching, {", ".join(f"{value} as {name}" for name, value in OF_DOCUMENT.items())} from (
    select documents.id, row_number() over (partition by collection order by {{order}}, number) as place,
    count(*) over (partition by collection) as matching
    from documents join collections on collections.id = collection
    where collection in (select value from json_each(:ids)) and {_MATCHES}
) as placed join documents on documents.id = placed.id
where place > :first and place <= :first + :most order by collection, place
"""


def listing(store: Store, asked: Asked) -> Listing:
    """The collections on a page of the list, with their first documents, or a page of the documents of one."""
    given = {"q": asked.q.strip().casefold(), "one": asked.collection}
    (number,) = store.rows(_NUMBER, given)
    if asked.collection:
        pages = Numbered.of(number["documents"], asked.page, DOCUMENTS)
        collections = {"first": 0, "most": 1}
        documents = {"first": pages.first, "most": pages.most}
    else:
        pages = Numbered.of(number["collections"], asked.page, COLLECTIONS)
        collections = {"first": pages.first, "most": pages.most}
        documents = {"first": 0, "most": LINES}
    order = _ORDERS[asked.sort]
    query = _IDS.format(order=order.format(new="made desc", **OF_COLLECTION))
    ids = [row["id"] for row in store.rows(query, given | collections)]
    wanted = {"ids": json.dumps(ids)}
    rows = {row["id"]: row for row in store.rows(_COLLECTION, wanted)}
    lines: dict[str, list[sqlite3.Row]] = {}
    query = _DOCUMENTS.format(order=order.format(new="number", **OF_DOCUMENT))
    for row in store.rows(query, given | wanted | documents):
        lines.setdefault(row["collection"], []).append(row)
    return Listing(asked, [_listed(rows[id_], lines.get(id_, [])) for id_ in ids if id_ in rows], pages, number["all"])


def _listed(row: sqlite3.Row, lines: list[sqlite3.Row]) -> Listed:
    rounds = {row["first_round"], row["last_round"]} - {None}  # without documents there are none
    current = row["last_change"] == row["learned"] and rounds <= {row["round"]}
    state = state_of(row["problem"], found=bool(row["found"]), waiting=(row["first_round"] or 0) < 0, current=current)
    refused = [(name, problem) for name, problem in json.loads(row["refused"])]
    return Listed(row, state, lines, lines[0]["matching"] if lines else 0, refused, row["refusals"])
