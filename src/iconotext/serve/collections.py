"""Routes for collections: upload or open one, its progress, the review of its pictures, export, removal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from fastapi import Depends, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, Response, StreamingResponse
from starlette.background import BackgroundTask

from iconotext.errors import IconotextError
from iconotext.plain_text import readable, shortened
from iconotext.serve import work
from iconotext.serve.answers import (
    LARGEST,
    CollectionOut,
    Name,
    PathIn,
    ReviewerIn,
    ReviewOut,
    SavedOut,
    UndoneOut,
    VerdictIn,
    collection_out,
    review_out,
)
from iconotext.serve.jobs import Jobs, TheJobs
from iconotext.serve.pool import BusyError
from iconotext.serve.results import LINKED, REVIEW, picture_digest, picture_file
from iconotext.serve.root import below
from iconotext.serve.sources import without_place
from iconotext.serve.store import Collection, Entry, new_id
from iconotext.serve.uploads import received

IMMUTABLE = "private, max-age=31536000, immutable"
"""Cache header of a picture that is asked for with its digest: another picture has another address."""


def collection_or_404(jobs: TheJobs, collection: str) -> Collection:
    """A collection by its id; a 404 answer if there is none."""
    stored = jobs.store.collection(collection)
    if stored is None:
        raise HTTPException(404, "there is no such collection")
    return stored


TheCollection = Annotated[Collection, Depends(collection_or_404)]
"""The collection in the address of a request."""


def document_or_404(jobs: TheJobs, document: int) -> Entry:
    """A linked document by its id; a 404 answer if it does not exist, and 409 if it is not linked."""
    entry = jobs.store.entry(document) if 0 <= document < 2**63 else None  # SQLite has no larger ones
    if entry is None:
        raise HTTPException(404, "there is no such document")
    if entry.state != "done":
        raise HTTPException(409, entry.problem or "it is not linked yet")
    return entry


TheDocument = Annotated[Entry, Depends(document_or_404)]
"""The linked document in the address of a request."""


def all_collections(jobs: TheJobs) -> list[CollectionOut]:
    """All collections, the newest first."""
    return [collection_out(jobs.store, collection) for collection in jobs.store.collections()]


async def drop(jobs: TheJobs, request: Request) -> CollectionOut:
    """Upload files, a folder or a zip; their documents are linked one after the other.

    A file that is refused does not affect the others.
    """
    identifier = new_id()
    folder = jobs.settings.data.absolute() / "dropped" / identifier
    name, saved = await received(request, folder, jobs)
    added = jobs.store.add_collection(name, folder, own=True, identifier=identifier, saved=saved)
    jobs.wake()
    return collection_out(jobs.store, added)


def open_path(jobs: TheJobs, body: PathIn) -> CollectionOut:
    """Open a file or folder below the root of the server. Nothing is written there."""
    place = below(jobs.settings.root, body.path)
    added = jobs.store.add_collection(shortened(readable(place.name or "root"), 80), place, own=False)
    jobs.wake()
    return collection_out(jobs.store, added)


def one(jobs: TheJobs, collection: TheCollection) -> CollectionOut:
    """A collection and its progress."""
    return collection_out(jobs.store, collection)


def remove(jobs: TheJobs, collection: TheCollection) -> None:
    """Remove a collection with its verdicts, and the files that were uploaded."""
    jobs.remove(collection)


def review(jobs: TheJobs, collection: TheCollection, reviewer: Annotated[Name | None, Query()] = None) -> ReviewOut:
    """The pictures of a collection in the order of doubt, with the verdicts about them."""
    return review_out(jobs.store, collection, reviewer)


def say(jobs: TheJobs, collection: TheCollection, body: VerdictIn) -> SavedOut:
    """Store to which sentences a picture belongs. The verdict is on disk when the answer comes."""
    entry = document_or_404(jobs, body.document)
    pictures = {p.number for p in jobs.store.pictures(collection.id) if p.document == entry.id}
    if entry.collection != collection.id or body.picture not in pictures:
        raise HTTPException(404, "there is no such picture in the collection")
    if body.digest not in (None, entry.digest):
        raise HTTPException(409, "its document has changed since it was shown: look at it as it is now")
    if any(sentence >= entry.sentences for sentence in body.sentences):
        raise HTTPException(404, "there is no such sentence in the document")
    saved = jobs.store.add_verdict(entry, body.picture, body.reviewer, sorted(set(body.sentences)))
    jobs.wake()
    jobs.events.send("collection", id=collection.id)
    return SavedOut(verdict=saved)


def undo(jobs: TheJobs, collection: TheCollection, body: ReviewerIn) -> UndoneOut:
    """Undo the last verdict of a reviewer."""
    undone = jobs.store.undo(collection.id, body.reviewer)
    jobs.wake()
    jobs.events.send("collection", id=collection.id)
    return UndoneOut(document=undone and undone.document, picture=undone and undone.picture)


async def corpus(jobs: TheJobs, collection: TheCollection) -> FileResponse:
    """A zip with the judged pictures and a corpus with their links, for ``evaluate`` and ``train``."""
    return await _exported(jobs, collection, work.write_corpus, "corpus.zip", "application/zip")


async def linked(jobs: TheJobs, document: TheDocument) -> Response:
    """A linked document, as ``iconotext link --to json`` gives it."""
    return await run_in_threadpool(_json_file, await current_file(jobs, document, LINKED))


def shown(jobs: TheJobs, document: TheDocument) -> Response:
    """Sentences and pictures of a document, with the likeliest sentences of each picture."""
    return _json_file(jobs.entry_folder(document) / REVIEW)


def picture(
    jobs: TheJobs,
    document: TheDocument,
    picture: int,
    digest: Annotated[str, Query(description="Of the picture, as in a reading view: clients may then cache it.")] = "",
) -> Response:
    """A picture of a document, at most 900 pixels a side."""
    folder = jobs.entry_folder(document)
    file = picture_file(folder, picture) if 0 <= picture <= LARGEST else None
    if file is None:
        raise HTTPException(404, "there is no such picture")
    data = file.read_bytes()
    headers = {"cache-control": IMMUTABLE} if picture_digest(data) == digest else None
    return Response(data, media_type=f"image/{file.suffix.removeprefix('.')}", headers=headers)


async def events(jobs: TheJobs) -> StreamingResponse:
    """All changes, as server-sent events."""
    if jobs.events.full:
        raise HTTPException(503, "too many pages are open", {"retry-after": "60"})
    return StreamingResponse(jobs.events.stream(), media_type="text/event-stream")


async def current_file(jobs: Jobs, entry: Entry, name: str) -> Path:
    """A file of a document that the server shows, with everything learned so far; errors as for ``document_errors``."""
    with document_errors(entry):
        return await jobs.current_file(entry, name)


@contextmanager
def document_errors(entry: Entry) -> Iterator[None]:
    """Turn errors about a document into answers without its path on this machine.

    Raises:
        HTTPException: The document can no longer be read.
    """
    try:
        yield
    except BusyError:
        raise
    except IconotextError as error:
        raise HTTPException(409, without_place(str(error), entry.path)) from None


def _json_file(file: Path) -> Response:
    """Read a JSON file in one step: a file that is sent in pieces might be replaced meanwhile."""
    return Response(file.read_bytes(), media_type="application/json")


async def _exported(
    jobs: Jobs, collection: Collection, write: Callable[..., object], name: str, kind: str, *more: str
) -> FileResponse:
    judged = jobs.judged(collection.id)
    if not judged:
        undecided = "every picture that was judged is undecided: no answer has most votes"
        nobody = "nobody has judged a picture yet"
        raise HTTPException(409, undecided if jobs.store.reviewers(collection.id) else nobody)
    entries = [entry for entry in jobs.store.entries(collection.id) if entry.id in judged]
    items = [(jobs.place(collection, entry), entry.digest or "", judged[entry.id]) for entry in entries]
    return await sent_once(jobs, name, kind, write, items, collection.name, *more)


async def sent_once(
    jobs: Jobs, name: str, kind: str, write: Callable[..., object], items: Sequence[object], about: str, *more: str
) -> FileResponse:
    """Send a file that ``write`` makes in a process (called with items, ``about``, the file, and more), then remove it.

    Raises:
        HTTPException: It cannot be written.
    """
    target = jobs.exports / f"{new_id()}-{name}"
    future = jobs.pool.submit(write, jobs.settings.max_seconds, items, about, str(target), *more)
    try:
        await asyncio.wrap_future(future)
    except IconotextError as error:
        raise HTTPException(409, str(error)) from None
    gone = BackgroundTask(target.unlink, missing_ok=True)
    return FileResponse(target, media_type=kind, filename=name, background=gone)
