"""Routes for collections: upload or open one, its progress, the review of its pictures, export, removal.

Other modules share ``received`` (uploads), ``done`` and ``sent_once`` (work in a process), and ``problems`` (errors).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.background import BackgroundTask
from starlette.datastructures import UploadFile

from iconotext.corpus.label_studio import labelling_config
from iconotext.errors import IconotextError
from iconotext.plain_text import readable, shortened
from iconotext.read.format import suffix_format
from iconotext.serve import export
from iconotext.serve.answers import collection_out, known_collection, known_entry, review_out
from iconotext.serve.guard import too_large
from iconotext.serve.jobs import Jobs, TheJobs, without_place
from iconotext.serve.pool import BusyError
from iconotext.serve.root import below
from iconotext.serve.schemas import (
    CollectionOut,
    Name,
    PathIn,
    Problem,
    ReviewerIn,
    ReviewOut,
    SavedOut,
    UndoneOut,
    VerdictIn,
)
from iconotext.serve.store import AnsweredError, Collection, Entry, Saved, new_id
from iconotext.serve.uploads import form_name, save_files
from iconotext.serve.views import LINKED, picture_digest, picture_file
from iconotext.serve.work import REVIEW

T = TypeVar("T")

KEPT = "private, max-age=31536000, immutable"
"""Cache header of a picture that is asked for with its digest: another picture has another address."""

_SEVERAL = {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}}
_FORM = {"type": "object", "required": ["files"], "properties": {"files": _SEVERAL}}
FILES = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}
"""How files are sent: each as ``files``; the name of one may be a path, such as ``docs/pictures/a.png``."""


def problems(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Descriptions of the error answers of a route: those of the guard, of an invalid body, and others."""
    return {code: {"model": Problem} for code in (400, 401, 403, 408, 413, 421, 422, 507, *codes)}


def sends(kinds: Sequence[str], *codes: int) -> dict[str, Any]:
    """Description of a route that sends a file of one of some media types: see ``problems``."""
    responses = problems(*codes) | {200: {"content": {kind: {} for kind in kinds}}}
    return {"response_class": Response, "responses": responses}


async def received(request: Request, folder: Path, jobs: Jobs) -> tuple[str, Saved]:
    """Save the files of a request in a new folder; returns a name for them, and the outcome of the upload.

    Raises:
        HTTPException: There are no files, too many or too large ones, or all of them are refused.
    """
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise HTTPException(415, "send files as multipart/form-data, each as files=@NAME")
    async with request.form(max_files=jobs.settings.max_files, max_fields=8) as form:
        sent = [each for each in form.getlist("files") if isinstance(each, UploadFile)]
        if not sent:
            raise HTTPException(400, "no files came: send each as files=@NAME")
        if sum(each.size or 0 for each in sent) > jobs.settings.max_upload:
            raise HTTPException(413, too_large(jobs.settings).strip())
        files = [(form_name(each.filename or ""), each.file) for each in sent]
        try:
            async with jobs.saving:
                saved = await run_in_threadpool(save_files, files, folder, jobs.settings)
        except IconotextError as error:
            raise HTTPException(400, str(error).replace(f"{folder}/", "")) from None
        refused = {name for name, _ in saved.refused}
        names = [name for name, _ in files]
        return _name([name for name in names if shortened(readable(name), 255) not in refused] or names), saved


router = APIRouter(prefix="/v1", tags=["collections"])


@router.get("/collections", responses=problems())
def all_collections(jobs: TheJobs) -> list[CollectionOut]:
    """All collections, the newest first."""
    return [collection_out(jobs.store, each) for each in jobs.store.collections()]


@router.post("/collections", status_code=201, openapi_extra=FILES, responses=problems(400, 413, 415))
async def drop(jobs: TheJobs, request: Request) -> CollectionOut:
    """Upload files, a folder or a zip; their documents are linked one after the other.

    A file that is refused does not affect the others.
    """
    identifier = new_id()
    folder = jobs.settings.data.absolute() / "dropped" / identifier
    name, saved = await received(request, folder, jobs)
    made = jobs.store.add_collection(name, folder, own=True, identifier=identifier, saved=saved)
    jobs.wake()
    return collection_out(jobs.store, made)


@router.post("/collections/path", status_code=201, responses=problems(400, 404, 413))
def open_path(jobs: TheJobs, body: PathIn) -> CollectionOut:
    """Open a file or folder below the root of the server. Nothing is written there."""
    place = below(jobs.settings.root, body.path)
    made = jobs.store.add_collection(shortened(readable(place.name or "root"), 80), place, own=False)
    jobs.wake()
    return collection_out(jobs.store, made)


@router.get("/collections/{collection}", responses=problems(404))
def one(jobs: TheJobs, collection: str) -> CollectionOut:
    """A collection and its progress."""
    return collection_out(jobs.store, known_collection(jobs.store, collection))


@router.delete("/collections/{collection}", status_code=204, responses=problems(404))
def remove(jobs: TheJobs, collection: str) -> None:
    """Remove a collection with its verdicts, and the files that were uploaded."""
    jobs.remove(known_collection(jobs.store, collection))


@router.get("/collections/{collection}/review", responses=problems(404))
def review(jobs: TheJobs, collection: str, reviewer: Annotated[Name | None, Query()] = None) -> ReviewOut:
    """The pictures of a collection in the order of doubt, with the verdicts about them."""
    return review_out(jobs.store, known_collection(jobs.store, collection), reviewer)


@router.post("/collections/{collection}/verdicts", status_code=201, responses=problems(404, 409, 413))
def say(jobs: TheJobs, collection: str, body: VerdictIn) -> SavedOut:
    """Store to which sentences a picture belongs. The verdict is on disk when the answer comes."""
    known = known_collection(jobs.store, collection)
    entry = known_entry(jobs.store, body.document)
    pictures = {p.number for p in jobs.store.pictures(known.id) if p.document == entry.id}
    if entry.collection != known.id or body.picture not in pictures:
        raise HTTPException(404, "there is no such picture in the collection")
    if body.digest not in (None, entry.digest):
        raise HTTPException(409, "its document has changed since it was shown: look at it as it is now")
    if any(sentence >= entry.sentences for sentence in body.sentences):
        raise HTTPException(404, "there is no such sentence in the document")
    try:
        saved = jobs.store.add_verdict(entry, body.picture, body.reviewer, sorted(set(body.sentences)), body.replaces)
    except AnsweredError as error:
        raise HTTPException(409, str(error)) from None
    jobs.wake()
    jobs.events.tell("collection", id=known.id)
    return SavedOut(verdict=saved)


@router.post("/collections/{collection}/undo", responses=problems(404, 413))
def undo(jobs: TheJobs, collection: str, body: ReviewerIn) -> UndoneOut:
    """Undo the last verdict of a reviewer."""
    known = known_collection(jobs.store, collection)
    undone = jobs.store.undo(known.id, body.reviewer)
    jobs.wake()
    jobs.events.tell("collection", id=known.id)
    return UndoneOut(document=undone and undone.document, picture=undone and undone.picture)


@router.get("/collections/{collection}/corpus", **sends(["application/zip"], 404, 409, 503))
async def corpus(jobs: TheJobs, collection: str) -> FileResponse:
    """A zip with the judged pictures and a corpus with their links, for ``evaluate`` and ``train``."""
    known = known_collection(jobs.store, collection)
    return await _exported(jobs, known, export.write_corpus, "corpus.zip", "application/zip")


@router.get("/collections/{collection}/label-studio", **sends(["application/json"], 404, 409, 503))
async def label_studio(jobs: TheJobs, collection: str) -> FileResponse:
    """The judged pictures as tasks of Label Studio: verdicts as annotations, inferred links as predictions."""
    known = known_collection(jobs.store, collection)
    return await _exported(jobs, known, export.write_tasks, "label-studio.json", "application/json", known.habits)


@router.get("/label-studio/interface", response_class=Response, responses=problems())
def interface() -> Response:
    """The labelling interface of a project of Label Studio for these tasks, as XML."""
    named = {"content-disposition": 'attachment; filename="label-studio.xml"'}
    return Response(labelling_config(), media_type="application/xml", headers=named)


@router.get("/documents/{document}", response_class=JSONResponse, responses=problems(404, 409, 503))
async def linked(jobs: TheJobs, document: int) -> Response:
    """A linked document, as ``iconotext link --to json`` gives it."""
    return await run_in_threadpool(_whole, await made(jobs, known_entry(jobs.store, document), LINKED))


@router.get("/documents/{document}/review", response_class=JSONResponse, responses=problems(404, 409))
def shown(jobs: TheJobs, document: int) -> Response:
    """Sentences and pictures of a document, with the likeliest sentences of each picture."""
    return _whole(jobs.entry_folder(known_entry(jobs.store, document)) / REVIEW)


@router.get("/documents/{document}/pictures/{picture}", **sends(["image/jpeg", "image/png"], 404, 409))
def picture(
    jobs: TheJobs,
    document: int,
    picture: int,
    digest: Annotated[str, Query(description="Of the picture, as in a reading view: it may then be kept.")] = "",
) -> Response:
    """A picture of a document, at most 900 pixels a side."""
    folder = jobs.entry_folder(known_entry(jobs.store, document))
    file = picture_file(folder, picture) if 0 <= picture < 2**31 else None
    if file is None:
        raise HTTPException(404, "there is no such picture")
    data = file.read_bytes()
    kept = {"cache-control": KEPT} if picture_digest(data) == digest else None
    return Response(data, media_type=f"image/{file.suffix.removeprefix('.')}", headers=kept)


@router.get("/events", response_class=StreamingResponse, responses=problems(503), include_in_schema=False)
async def events(jobs: TheJobs) -> StreamingResponse:
    """All changes, as server-sent events."""
    if jobs.events.full:
        raise HTTPException(503, "too many pages are open", {"retry-after": "60"})
    return StreamingResponse(jobs.events.stream(), media_type="text/event-stream")


async def made(jobs: Jobs, entry: Entry, name: str) -> Path:
    """A file of a document that the server shows, with everything learned so far; errors as for ``refused_kindly``."""
    with refused_kindly(entry):
        return await jobs.made(entry, name)


@contextmanager
def refused_kindly(entry: Entry) -> Iterator[None]:
    """Turn errors about a document into answers without its path on this machine.

    Raises:
        HTTPException: The document can no longer be read.
    """
    try:
        yield
    except BusyError:
        raise
    except IconotextError as error:
        raise HTTPException(409, without_place(str(error), entry)) from None


def _whole(file: Path) -> Response:
    """Read a JSON file in one step: a file that is sent in pieces might be replaced meanwhile."""
    return Response(file.read_bytes(), media_type="application/json")


async def _exported(
    jobs: Jobs, collection: Collection, write: Callable[..., object], name: str, kind: str, *more: str
) -> FileResponse:
    judged = jobs.judged(collection.id)
    if not judged:
        said = "every picture that was judged is undecided: as many say one as another"
        raise HTTPException(409, said if jobs.store.reviewers(collection.id) else "nobody has judged a picture yet")
    entries = [entry for entry in jobs.store.entries(collection.id) if entry.id in judged]
    items = [(jobs.place(collection, entry), entry.digest or "", judged[entry.id]) for entry in entries]
    return await sent_once(jobs, name, kind, write, items, collection.name, *more)


async def done(jobs: Jobs, function: Callable[..., T], *arguments: object) -> T:
    """The result of a call in a process; errors become HTTP answers."""
    future = jobs.pool.submit(function, jobs.settings.max_seconds, *arguments)
    try:
        return await asyncio.wrap_future(future)
    except IconotextError as error:
        raise HTTPException(409, str(error)) from None


async def sent_once(
    jobs: Jobs, name: str, kind: str, write: Callable[..., object], items: Sequence[object], about: str, *more: str
) -> FileResponse:
    """Send a file that ``write`` makes in a process (called with items, ``about``, the file, and more), then remove it.

    Raises:
        HTTPException: It cannot be written.
    """
    target = jobs.exports / f"{new_id()}-{name}"
    await done(jobs, write, items, about, str(target), *more)
    gone = BackgroundTask(target.unlink, missing_ok=True)
    return FileResponse(target, media_type=kind, filename=name, background=gone)


def _name(files: Sequence[str]) -> str:
    paths = [name.replace("\\", "/").strip("/") for name in files]
    names = map(PurePosixPath, paths)
    documents = [str(name) for name in names if name.suffix.lower() == ".zip" or suffix_format(name)] or paths
    more = f" and {len(documents) - 1:,} more" if len(documents) > 1 and "/" not in documents[0] else ""
    return shortened(readable(documents[0].split("/")[0]), 80 - len(more)) + more
