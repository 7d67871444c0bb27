"""Routes for alternative texts: what is wrong, drafts of a vision model, people's decisions, and the changed files."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Annotated, Any, Literal

from fastapi import HTTPException, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from pydantic import AfterValidator, Field

from iconotext.alt_text.captioned import judged
from iconotext.alt_text.captioner import Captioner, NoReply, Reply
from iconotext.alt_text.drafts import MAX_TEXT
from iconotext.alt_text.prompt import Messages, messages
from iconotext.errors import IconotextError
from iconotext.plain_text import readable
from iconotext.serve import alt_text_work
from iconotext.serve.alt_text_work import Decision, Texts
from iconotext.serve.answers import LARGEST, Described
from iconotext.serve.collections import TheCollection, TheDocument, collection_or_404, sent_once
from iconotext.serve.jobs import Jobs, TheJobs
from iconotext.serve.pages import page
from iconotext.serve.results import ALT_TEXT, picture_file
from iconotext.serve.sources import without_place
from iconotext.serve.store import Collection, Entry
from iconotext.system.threads import in_background
from iconotext.types import Image


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
    confidence: float | None = Field(description="Probability that it belongs to the picture.")


class ToDescribeOut(Described):
    """A picture with all information for writing its alternative text."""

    picture: int
    key: str = Field(description="Identifies the picture as long as its address and contents are the same.")
    source: str
    where: str | None
    problem: str | None = Field(description="Why the picture cannot be seen.")
    alt: str | None = Field(description="Its present alternative text.")
    caption: str | None
    missing: bool = Field(description="Whether it has no alternative text, and is no decoration.")
    decorative: bool = Field(False, description="Whether the file says that it is decoration.")
    findings: list[FindingOut]
    sentences: list[QuoteOut] = Field(description="The sentences about it, in the order of the text.")
    said: Literal["nothing", "text", "as it is", "written"]
    text: str | None = Field(description="The text that somebody gave it; an empty one for decoration.")


class DescribedOut(Described):
    """The pictures of a document and their alternative texts."""

    document: int
    name: str
    title: str | None
    language: str
    unchecked: str | None = Field(description="Why nothing was checked, and nothing can be written.")
    captioner: str | None = Field(description="The vision model that may be asked for drafts.")
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


class AskIn(Described):
    """A picture of which the vision model is asked for a draft."""

    key: str = Field(min_length=1, max_length=40)


class SayIn(AskIn):
    """An alternative text for a picture."""

    text: Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_plain)] | None = Field(
        description="An empty one marks the picture as decoration; null leaves it as it is."
    )


class DraftOut(Described):
    """A reply of the vision model."""

    text: str | None = Field(description="The reply; null if there is none.")
    problem: str | None = Field(description="Why there is no reply, or why it is no draft; null if it is one.")


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
    problems: list[str] = Field(description="For each other text its picture and the reason.")


def alt_text_page(
    jobs: TheJobs, collection: TheCollection, document: Annotated[int | None, Query(ge=0, le=LARGEST)] = None
) -> str:
    """The pictures of a document, and their alternative texts."""
    title = f"Alternative texts: {collection.name}"
    values = {"collection": collection, "document": document, "asks": jobs.captioner is not None}
    return page("alt-text.html", jobs.settings, here="/", title=title, **values)


def counted(jobs: TheJobs, collection: TheCollection) -> ToDoOut:
    """The number of pictures that need attention, for each document."""
    counts, documents = jobs.alt_texts.counts(collection.id), []
    for entry in (entry for entry in jobs.store.entries(collection.id) if entry.state == "done"):
        count = counts[entry.id]
        if count.accepted:  # some of the texts may be in the file by now, or their pictures gone
            accepted = _accepted(_pictures(jobs, entry), jobs.alt_texts.decisions(entry.id))
            count = count._replace(accepted=len(accepted))
        documents.append(CountedOut(document=entry.id, name=entry.name, title=entry.title, **count._asdict()))
    return ToDoOut(writes=_may_write(jobs, collection), documents=documents)


def described(jobs: TheJobs, document: TheDocument) -> DescribedOut:
    """The pictures of a document: problems of their alternative texts, the sentences about them, and decisions."""
    stored, decisions = _pictures(jobs, document), jobs.alt_texts.decisions(document.id)
    return DescribedOut(
        document=document.id,
        name=document.name,
        title=document.title,
        language=stored["language"],
        unchecked=stored["unchecked"],
        captioner=jobs.captioner and jobs.captioner.name,
        accepted=len(_accepted(stored, decisions)),
        elsewhere=stored["elsewhere"],
        pictures=[
            ToDescribeOut(**row, said=_state(row, decision), text=decision and decision.text)
            for row in stored["pictures"]
            for decision in [decisions.get(row["key"])]
        ],
    )


def say(jobs: TheJobs, document: TheDocument, body: SayIn) -> AcceptedOut:
    """Accept an alternative text, or leave the picture as it is. The decision is on disk when the answer comes."""
    stored = _pictures(jobs, document)
    if stored["unchecked"] is not None:
        raise HTTPException(409, stored["unchecked"])
    _number(stored, body.key)
    saved = jobs.alt_texts.decide(document.id, body.key, body.text)
    jobs.events.send("collection", id=document.collection)
    return AcceptedOut(said=saved)


async def draft(jobs: TheJobs, document: TheDocument, body: AskIn) -> DraftOut:
    """Ask the vision model for a draft: the picture and the text about it are sent to its server.

    Nothing is accepted or written. The captioner stores replies, so the same question is not sent twice.
    """
    assert jobs.captioner is not None  # else there is no such route
    stored = _pictures(jobs, document)
    number = _number(stored, body.key)
    file = picture_file(jobs.entry_folder(document), number)
    if file is None:
        raise HTTPException(409, "the picture cannot be shown")
    uri = f"data:image/{file.suffix[1:]};base64,{base64.b64encode(file.read_bytes()).decode()}"
    prompt = messages(stored["questions"][number], stored["language"], uri)
    async with jobs.captioner_slots:
        future: Future[Reply | NoReply] = Future()
        in_background(_ask, jobs.captioner, prompt, future)  # a pool would wait for it when the server ends
        try:
            reply = await asyncio.wrap_future(future)
        except IconotextError as error:
            raise HTTPException(502, str(error)) from None
    if isinstance(reply, NoReply):
        return DraftOut(text=None, problem=reply.reason)
    images = [Image(row["source"], alt=row["alt"], caption=row["caption"]) for row in stored["pictures"]]
    text, problem = judged({number: reply}, images, stored["texts"], stored["language"])[number]
    return DraftOut(text=text, problem=problem)


def _ask(captioner: Captioner, prompt: Messages, future: Future[Reply | NoReply]) -> None:
    if not future.set_running_or_notify_cancel():  # the client has left; from now on, it cannot be cancelled
        return
    try:
        future.set_result(captioner.ask(prompt))
    except Exception as error:
        future.set_exception(error)


def undo(jobs: TheJobs, collection: TheCollection) -> TakenBackOut:
    """Undo the last decision, unless it is in the file."""
    undone = jobs.alt_texts.undo(collection.id)
    jobs.events.send("collection", id=collection.id)
    return TakenBackOut(document=undone and undone.document, key=undone and undone.key)


async def write(jobs: TheJobs, document: TheDocument) -> WrittenOut:
    """Write the accepted texts of a document into its file, in one step; the file is not changed otherwise."""
    if not _may_write(jobs, collection_or_404(jobs, document.collection)):
        raise HTTPException(
            403, "this server writes into no files: take the changed ones, or let it write when it starts"
        )
    stored = _pictures(jobs, document)
    accepted = _accepted(stored, jobs.alt_texts.decisions(document.id))
    if not accepted:
        raise HTTPException(409, "no text was accepted that is not in the file yet")
    texts = _texts(jobs, document, stored, accepted)
    future = jobs.pool.submit(alt_text_work.write, jobs.settings.max_seconds, texts)
    try:
        problems = await asyncio.wrap_future(future)
    except IconotextError as error:
        jobs.store.link_again(document.id)
        jobs.wake()
        raise HTTPException(409, without_place(str(error), document.path)) from None
    jobs.alt_texts.set_written(decision for number, decision in accepted.items() if number not in problems)
    jobs.store.link_again(document.id)
    jobs.wake()
    lines = [f"Picture {number + 1}: {problem}" for number, problem in problems.items()]
    return WrittenOut(written=len(accepted) - len(problems), problems=lines)


async def files(jobs: TheJobs, collection: TheCollection) -> FileResponse:
    """A zip of the documents that have accepted texts, with the texts in them."""
    items = await run_in_threadpool(_all_texts, jobs, collection)
    if not items:
        raise HTTPException(409, "no text was accepted yet")
    return await sent_once(jobs, "changed.zip", "application/zip", alt_text_work.pack, items, collection.folder)


def _may_write(jobs: Jobs, collection: Collection) -> bool:
    return jobs.settings.write and not collection.own


def _pictures(jobs: Jobs, entry: Entry) -> dict[str, Any]:
    """The result of ``alt_text_work.to_describe`` for a document, stored when it was linked."""
    try:
        stored: dict[str, Any] = json.loads((jobs.entry_folder(entry) / ALT_TEXT).read_bytes())
    except FileNotFoundError:
        raise HTTPException(409, "it was linked by an older version: open it again") from None
    return stored


def _number(stored: Mapping[str, Any], key: str) -> int:
    """The number of the picture with a key."""
    for row in stored["pictures"]:
        if row["key"] == key:
            return int(row["picture"])
    raise HTTPException(404, "there is no such picture in the document any more")


def _state(row: Mapping[str, Any], decision: Decision | None) -> Literal["nothing", "text", "as it is", "written"]:
    if decision is None:
        return "nothing"
    if decision.text is None:
        return "as it is"
    same = decision.text == row["alt"] if decision.text else row.get("decorative")
    return "written" if decision.written or same else "text"


def _accepted(stored: Mapping[str, Any], decisions: Mapping[str, Decision]) -> dict[int, Decision]:
    """The texts that are not in a file yet, by number of the picture."""
    return {
        row["picture"]: decision
        for row in stored["pictures"]
        if (decision := decisions.get(row["key"])) is not None and _state(row, decision) == "text"
    }


def _all_texts(jobs: Jobs, collection: Collection) -> list[Texts]:
    items = []
    for entry in jobs.store.entries(collection.id):
        decisions = jobs.alt_texts.decisions(entry.id) if entry.state == "done" else {}
        if decisions and (accepted := _accepted(stored := _pictures(jobs, entry), decisions)):
            items.append(_texts(jobs, entry, stored, accepted))
    return items


def _texts(jobs: Jobs, entry: Entry, stored: Mapping[str, Any], accepted: Mapping[int, Decision]) -> Texts:
    collection = collection_or_404(jobs, entry.collection)
    alts = {number: decision.text for number, decision in accepted.items() if decision.text is not None}
    return Texts(jobs.place(collection, entry), stored["sha256"], alts)
