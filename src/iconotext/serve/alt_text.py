"""Routes for alternative texts: problems and drafts of a collection, people's decisions, and the changed files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, HTMLResponse
from pydantic import AfterValidator, Field

from iconotext.alt_text.drafts import MAX_TEXT
from iconotext.errors import IconotextError
from iconotext.plain_text import readable
from iconotext.serve import alt_text_work
from iconotext.serve.alt_text_work import ALT_TEXT, Counts, Said, Texts
from iconotext.serve.answers import known_collection, known_entry
from iconotext.serve.collections import problems, sends, sent_once
from iconotext.serve.jobs import Jobs, TheJobs, without_place
from iconotext.serve.page import page
from iconotext.serve.schemas import LARGEST, Described
from iconotext.serve.store import Collection, Entry

OLDER = "it was linked by an older version: open it again"


class FindingOut(Described):
    """A rule that a picture breaks."""

    rule: str
    severity: str
    message: str


class ElsewhereOut(FindingOut):
    """A finding about a picture that is not part of the document, as in the menu of a web page."""

    where: str | None
    source: str


class QuoteOut(Described):
    """A sentence of the document."""

    sentence: int
    text: str
    confidence: float | None = Field(description="That it belongs to the picture.")


class ToDescribeOut(Described):
    """A picture with all information for writing its alternative text."""

    picture: int
    key: str = Field(description="Names it as long as its address and what it shows are the same.")
    source: str
    where: str | None
    problem: str | None = Field(description="Why the picture cannot be seen.")
    alt: str | None = Field(description="Its present alternative text.")
    caption: str | None
    missing: bool = Field(description="Whether it has none, and is no decoration.")
    decorative: bool = Field(False, description="Whether the file says that it is decoration.")
    findings: list[FindingOut]
    draft: str | None
    drafted_from: list[QuoteOut]
    sentences: list[QuoteOut] = Field(description="What the text says of it, in the order of the text.")
    said: Literal["nothing", "text", "as it is", "written"]
    text: str | None = Field(description="The text that somebody gave it; an empty one for decoration.")


class DescribedOut(Described):
    """The pictures of a document and their alternative texts."""

    document: int
    name: str
    title: str | None
    language: str
    unchecked: str | None = Field(description="Why nothing was checked, and nothing can be written.")
    accepted: int = Field(description="Texts that are in no file yet.")
    elsewhere: list[ElsewhereOut]
    pictures: list[ToDescribeOut]


class CountedOut(Described):
    """A document, with the number of pictures that need attention."""

    document: int
    name: str
    title: str | None
    wanted: int
    said: int
    accepted: int = Field(description="Texts that were not written yet.")


class ToDoOut(Described):
    """The documents of a collection, with the progress of their alternative texts."""

    writes: bool = Field(description="Whether texts may be written into the files.")
    documents: list[CountedOut]


def _plain(text: str) -> str:
    plain = " ".join(readable(text).split())
    if text and not plain:
        raise ValueError("a text has at least a word, unless it is empty: then the picture is decoration")
    return plain


class SayIn(Described):
    """An alternative text for a picture."""

    key: str = Field(min_length=1, max_length=40)
    text: Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_plain)] | None = Field(
        description="An empty one marks the picture as decoration; null leaves it as it is."
    )


class AcceptedOut(Described):
    """The decision was stored on disk."""

    said: int


class TakenBackOut(Described):
    """The decision that was undone; null if there was none."""

    document: int | None
    key: str | None


class WrittenOut(Described):
    """The number of texts that were written into a file, and the problems of the others."""

    written: int
    problems: list[str] = Field(description="By picture why its text was not.")


router = APIRouter(tags=["alternative texts"])


@router.get("/collections/{collection}/alt-text", response_class=HTMLResponse, include_in_schema=False)
def alt_text_page(
    jobs: TheJobs, collection: str, document: Annotated[int | None, Query(ge=0, le=LARGEST)] = None
) -> str:
    """The page for the alternative texts of a document, with drafts."""
    known = known_collection(jobs.store, collection)
    title = f"Alternative texts: {known.name}"
    return page("alt-text.html", jobs.settings, here="/", title=title, collection=known, document=document)


@router.get("/v1/collections/{collection}/alt-text", responses=problems(404))
def counted(jobs: TheJobs, collection: str) -> ToDoOut:
    """The number of pictures that need attention, for each document."""
    known = known_collection(jobs.store, collection)
    counts, documents = jobs.alt_texts.counts(known.id), []
    for entry in (entry for entry in jobs.store.entries(known.id) if entry.state == "done"):
        count = counts.get(entry.id, Counts(0, 0, 0))
        if count.accepted:  # some of the texts may be in the file by now, or their pictures gone
            count = count._replace(accepted=len(_accepted(_found(jobs, entry), jobs.alt_texts.said(entry.id))))
        documents.append(CountedOut(document=entry.id, name=entry.name, title=entry.title, **count._asdict()))
    return ToDoOut(writes=_may_write(jobs, known), documents=documents)


@router.get("/v1/documents/{document}/alt-text", responses=problems(404, 409))
def described(jobs: TheJobs, document: int) -> DescribedOut:
    """The pictures of a document: problems of their alternative texts, drafts, and decisions."""
    entry = known_entry(jobs.store, document)
    found, said = _found(jobs, entry), jobs.alt_texts.said(entry.id)
    return DescribedOut(
        document=entry.id,
        name=entry.name,
        title=entry.title,
        language=found["language"],
        unchecked=found["unchecked"],
        accepted=len(_accepted(found, said)),
        elsewhere=found["elsewhere"],
        pictures=[
            ToDescribeOut(**row, said=_state(row, one), text=one and one.text)
            for row in found["pictures"]
            for one in [said.get(row["key"])]
        ],
    )


@router.post("/v1/documents/{document}/alt-text", status_code=201, responses=problems(404, 409, 413))
def say(jobs: TheJobs, document: int, body: SayIn) -> AcceptedOut:
    """Accept an alternative text, or leave the picture as it is. The decision is on disk when the answer comes."""
    entry = known_entry(jobs.store, document)
    found = _found(jobs, entry)
    if found["unchecked"] is not None:
        raise HTTPException(409, found["unchecked"])
    if all(row["key"] != body.key for row in found["pictures"]):
        raise HTTPException(404, "there is no such picture in the document any more")
    saved = jobs.alt_texts.say(entry.id, body.key, body.text)
    jobs.events.tell("collection", id=entry.collection)
    return AcceptedOut(said=saved)


@router.post("/v1/collections/{collection}/alt-text/undo", responses=problems(404))
def undo(jobs: TheJobs, collection: str) -> TakenBackOut:
    """Undo the last decision, unless it is in the file."""
    known = known_collection(jobs.store, collection)
    undone = jobs.alt_texts.undo(known.id)
    jobs.events.tell("collection", id=known.id)
    return TakenBackOut(document=undone and undone.document, key=undone and undone.key)


@router.post("/v1/documents/{document}/alt-text/write", responses=problems(403, 404, 409, 503))
async def write(jobs: TheJobs, document: int) -> WrittenOut:
    """Write the accepted texts of a document into its file, in one step; the file is not changed otherwise."""
    entry = known_entry(jobs.store, document)
    known = known_collection(jobs.store, entry.collection)
    if not _may_write(jobs, known):
        raise HTTPException(
            403, "this server writes into no files: take the changed ones, or let it write when it starts"
        )
    found = _found(jobs, entry)
    accepted = _accepted(found, jobs.alt_texts.said(entry.id))
    if not accepted:
        raise HTTPException(409, "no text was accepted that is not in the file yet")
    future = jobs.pool.submit(alt_text_work.write, jobs.settings.max_seconds, _texts(jobs, entry, found, accepted))
    try:
        wrong = await asyncio.wrap_future(future)
    except IconotextError as error:
        jobs.store.link_again(entry.id)
        jobs.wake()
        raise HTTPException(409, without_place(str(error), entry)) from None
    jobs.alt_texts.set_written(one for number, one in accepted.items() if number not in wrong)
    jobs.store.link_again(entry.id)
    jobs.wake()
    told = [f"Picture {number + 1}: {problem}" for number, problem in wrong.items()]
    return WrittenOut(written=len(accepted) - len(wrong), problems=told)


@router.get("/v1/collections/{collection}/alt-text/files", **sends(["application/zip"], 404, 409, 503))
async def files(jobs: TheJobs, collection: str) -> FileResponse:
    """A zip of the documents that have accepted texts, with the texts in them."""
    known = known_collection(jobs.store, collection)
    items = await run_in_threadpool(_all_texts, jobs, known)
    if not items:
        raise HTTPException(409, "no text was accepted yet")
    return await sent_once(jobs, "changed.zip", "application/zip", alt_text_work.pack, items, known.folder)


def _may_write(jobs: Jobs, collection: Collection) -> bool:
    return jobs.settings.write and not collection.own


def _found(jobs: Jobs, entry: Entry) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((jobs.entry_folder(entry) / ALT_TEXT).read_bytes())
    except FileNotFoundError:
        raise HTTPException(409, OLDER) from None
    return found


def _state(row: Mapping[str, Any], said: Said | None) -> Literal["nothing", "text", "as it is", "written"]:
    if said is None:
        return "nothing"
    if said.text is None:
        return "as it is"
    same = said.text == row["alt"] if said.text else row.get("decorative")
    return "written" if said.written or same else "text"


def _accepted(found: Mapping[str, Any], said: Mapping[str, Said]) -> dict[int, Said]:
    """The texts that are not in a file yet, by number of the picture."""
    rows = {row["picture"]: (row, said[row["key"]]) for row in found["pictures"] if row["key"] in said}
    return {number: one for number, (row, one) in rows.items() if _state(row, one) == "text"}


def _all_texts(jobs: Jobs, collection: Collection) -> list[Texts]:
    items = []
    for entry in jobs.store.entries(collection.id):
        said = jobs.alt_texts.said(entry.id) if entry.state == "done" else {}
        if said and (accepted := _accepted(found := _found(jobs, entry), said)):
            items.append(_texts(jobs, entry, found, accepted))
    return items


def _texts(jobs: Jobs, entry: Entry, found: Mapping[str, Any], accepted: Mapping[int, Said]) -> Texts:
    collection = known_collection(jobs.store, entry.collection)
    alts = {number: one.text for number, one in accepted.items() if one.text is not None}
    return Texts(jobs.place(collection, entry), found["sha256"], alts)
