"""Routes that other programs call: documents in, the JSON output of a command out; nothing is stored.

All documents among the files of a request are answered; the other files serve as their pictures. Programs that want to
fetch an answer later open a collection instead, which reports its progress.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_origin

from fastapi import HTTPException, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from iconotext import __version__
from iconotext.check.rules import CheckSettings, Finding
from iconotext.decide.settings import OF_CONTEXTS, LinkSettings
from iconotext.errors import IconotextError
from iconotext.excerpts import CONTEXT_WORDS
from iconotext.extras import require
from iconotext.place.settings import PlaceSettings
from iconotext.read import ReadSettings
from iconotext.recipe.toml import AnySettings, make_settings
from iconotext.report.as_json import FailedOut
from iconotext.report.chunks import ChunkSettings
from iconotext.serve import request_work
from iconotext.serve.answers import Described
from iconotext.serve.jobs import Jobs, TheJobs
from iconotext.serve.pool import BusyError
from iconotext.serve.request_work import Upload
from iconotext.serve.store import new_id
from iconotext.serve.uploads import received
from iconotext.system.processes import GoneError, LateError

CLIENT_LEFT = 499
"""HTTP status for a client that has disconnected, as in other servers."""

READING = ("language", "min_side", "captions", "epub")
"""Settings of reading that a request may choose. The others give access to files, models or the network of this
machine, or are its limits."""

LINKING = (*OF_CONTEXTS, "explain")
CUTTING = ("words", "tokens", "once", "full")  # a tokenizer may be a file of this machine
CHECKING = tuple(CheckSettings.model_fields)


class Health(Described):
    """A sign that the server is running, with the calls that processes work on, and those that wait for one."""

    status: Literal["ok"]
    version: str
    busy: int
    waiting: int


class CheckOut(Described):
    """What is wrong with pictures."""

    findings: list[Finding]
    failed: list[FailedOut] = Field(description="Documents that could not be checked.")


def _parts(values: object) -> object:
    """Split ``a,b`` into two values, as on the command line."""
    return [part for value in values for part in str(value).split(",")] if isinstance(values, list) else values


def _query(name: str, offered: dict[type[BaseModel], Sequence[str]], **more: Any) -> Any:
    """A model of a route's parameters: fields of settings, with their descriptions, and others."""
    fields: dict[str, Any] = {}
    for kind, names in offered.items():
        for field_name in names:
            field = kind.model_fields[field_name]
            is_list = get_origin(field.annotation) is tuple
            type_ = Annotated[field.annotation, BeforeValidator(_parts)] if is_list else field.annotation
            fields[field_name] = type_, field
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields, **more)


if TYPE_CHECKING:  # a type checker cannot use classes that are made at run time
    LinkIn = BaseModel
    ContextIn = BaseModel
    ChunksIn = BaseModel
    CheckIn = BaseModel
    PlaceIn = BaseModel
else:
    # No folder of a model: a request must not name files of this machine.
    _related = Literal["default", "none"], LinkSettings.model_fields["relations"]
    _excerpts = {ReadSettings: READING, LinkSettings: OF_CONTEXTS}
    LinkIn = _query("LinkIn", {ReadSettings: READING, LinkSettings: LINKING}, relations=_related)
    ContextIn = _query("ContextIn", _excerpts, relations=_related, words=(int, Field(CONTEXT_WORDS, ge=1, le=100_000)))
    ChunksIn = _query("ChunksIn", _excerpts | {ChunkSettings: CUTTING}, relations=_related)
    CheckIn = _query("CheckIn", {CheckSettings: CHECKING})
    _text = (
        str,
        Field(
            min_length=1,
            description="Name of the uploaded text in which pictures are placed; they are taken from the other files.",
        ),
    )
    _places = {ReadSettings: READING, PlaceSettings: tuple(PlaceSettings.model_fields)}
    PlaceIn = _query("PlaceIn", _places, text=_text)


def health(jobs: TheJobs) -> Health:
    """Whether the server is running, and how busy it is; needs no key."""
    return Health(status="ok", version=__version__, busy=jobs.pool.busy, waiting=jobs.pool.waiting)


async def link(jobs: TheJobs, request: Request, options: Annotated[LinkIn, Query()]) -> Response:
    """The documents with their links, as ``iconotext link --to json`` gives them."""
    return await _answer(jobs, request, options, request_work.links)


async def context(jobs: TheJobs, request: Request, options: Annotated[ContextIn, Query()]) -> Response:
    """The statements about each picture, as ``iconotext context --json`` gives them."""
    return await _answer(jobs, request, options, request_work.contexts, _of(options, "words"))


async def chunks(jobs: TheJobs, request: Request, options: Annotated[ChunksIn, Query()]) -> Response:
    """The documents in chunks, each picture with its sentences, as ``iconotext chunks --json`` gives them."""
    return await _answer(jobs, request, options, request_work.chunks, _cutting(options))


async def check(jobs: TheJobs, request: Request, options: Annotated[CheckIn, Query()]) -> Response:
    """What is wrong with pictures, as ``iconotext check`` finds it."""
    return await _answer(jobs, request, options, request_work.checked, _settings(CheckSettings, options))


async def place(jobs: TheJobs, request: Request, options: Annotated[PlaceIn, Query()]) -> Response:
    """A text with pictures of the other files, each at its sentence, as ``iconotext place --json`` gives it."""
    more = _of(options, "text"), _settings(PlaceSettings, options)
    # The parameters say how pictures are placed, not how the documents that they come from are linked.
    return await _answer(jobs, request, options, request_work.place, *more, linking=LinkSettings())


def _of(options: BaseModel, name: str) -> Any:
    return getattr(options, name)  # the type checker does not know the fields of a model that is made


def _cutting(options: BaseModel) -> ChunkSettings:
    settings = _settings(ChunkSettings, options)
    try:
        settings.check()
    except IconotextError as error:
        raise HTTPException(400, str(error)) from None
    return settings


def _settings(kind: type[AnySettings], options: BaseModel) -> AnySettings:
    try:
        settings = make_settings(kind, options.model_dump(include=set(kind.model_fields), exclude_unset=True))
        if isinstance(settings, LinkSettings | PlaceSettings) and "ocr" in settings.evidence:
            require("ocr", purpose="the evidence ocr")
    except IconotextError as error:
        raise HTTPException(400, str(error)) from None
    return settings


async def _answer(
    jobs: Jobs,
    request: Request,
    options: BaseModel,
    function: Callable[..., bytes],
    *more: object,
    linking: LinkSettings | None = None,
) -> Response:
    """Run a function in a process on the files of a request; they are removed afterwards."""
    reading, linking = _settings(ReadSettings, options), linking or _settings(LinkSettings, options)
    jobs.pool.check()  # before megabytes are uploaded in vain
    folder = jobs.requests / new_id()
    try:
        _, saved = await received(request, folder, jobs)
        upload = Upload(str(folder), reading, linking, tuple(saved.refused))
        reply = await _unless_left(request, jobs, jobs.pool.submit(function, jobs.settings.max_seconds, upload, *more))
    except BusyError:  # the application answers it; below it would be a 400
        raise
    except GoneError as error:
        raise HTTPException(504 if isinstance(error, LateError) else 500, str(error)) from None
    except IconotextError as error:
        raise HTTPException(400, str(error)) from None
    finally:
        await run_in_threadpool(shutil.rmtree, folder, ignore_errors=True)
    if reply is None:
        return Response(status_code=CLIENT_LEFT)
    return Response(reply, media_type="application/json")


async def _unless_left(request: Request, jobs: Jobs, future: Future[bytes]) -> bytes | None:
    """The result; None if the client disconnects before, which ends the process: a document may take ten minutes."""
    result = asyncio.wrap_future(future)
    left = asyncio.ensure_future(_leaving(request))
    try:
        await asyncio.wait((result, left), return_when=asyncio.FIRST_COMPLETED)
        return await result if result.done() else None
    finally:
        left.cancel()
        if not result.done():
            result.cancel()
            jobs.pool.drop(future)


async def _leaving(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
