"""The pages of the server and the addresses for programs: one table (``ROUTES``), from which ``app`` is built.

A new page or address is a function in one of the modules imported here, and a row. The beginning of the function's
docstring describes it in ``docs/serve-api.md`` and in ``/openapi.json``. The guard takes from the table where files may
be sent (``files``), and what needs no access rights (``open``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, JSONResponse, Response

from iconotext.excerpts import Chunk, SlimChunk
from iconotext.place.output import PlacedOut
from iconotext.report.as_json import FailedOut, LinkedOut
from iconotext.report.context import Context
from iconotext.serve import alt_text, collections, pages, search, stateless
from iconotext.serve.answers import Problem

ALWAYS = (400, 401, 403, 408, 413, 421, 422, 507)
"""Statuses with which the guard, the check of bodies and a full disk may refuse any request."""

_SEVERAL = {"type": "array", "minItems": 1, "items": {"type": "string", "format": "binary"}}
_FORM = {"type": "object", "required": ["files"], "properties": {"files": _SEVERAL}}
FILES = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FORM}}}}
"""How files are sent: each as ``files``; the name of one may be a path, such as ``docs/pictures/a.png``."""


@dataclass(frozen=True)
class Route:
    """An address of the server.

    Attributes:
        function: Answers its requests.
        tag: Its section in ``/openapi.json``; "" for a page, which is not described there.
        option: The option of ``iconotext serve`` without which it does not exist; "" for all that always exist.
        errors: Statuses with which it may refuse a request, besides ``ALWAYS``.
        sends: Media types of the file that it sends; without them it sends JSON.
        status: Status of its answer.
        files: Whether files are sent to it, which may be as large as ``--max-upload``.
        open: Whether it needs no access rights.
        model: Type of its answer, where the function returns JSON that was made elsewhere.
    """

    method: Literal["GET", "POST", "DELETE"]
    address: str
    function: Callable[..., Any]
    tag: str = ""
    option: Literal["", "--library", "--captioner"] = ""
    errors: Sequence[int] = ()
    sends: Sequence[str] = ()
    status: int = 200
    files: bool = False
    open: bool = False
    model: Any = None

    @property
    def request(self) -> tuple[str]:
        """Method and address; a tuple, since the tables of the guides show its entries as code."""
        return (f"{self.method} {self.address}",)

    @property
    def summary(self) -> str:
        """The first paragraph of the function's docstring."""
        return " ".join((self.function.__doc__ or "").split("\n\n")[0].replace("``", "`").split())

    def add_to(self, app: FastAPI) -> None:
        """Add the route to an application."""
        options: dict[str, Any] = {"methods": [self.method], "status_code": self.status}
        if not self.tag:
            app.add_api_route(
                self.address, self.function, include_in_schema=False, response_class=HTMLResponse, **options
            )
            return
        responses: dict[int | str, dict[str, Any]] = {}
        if self.open:
            options["openapi_extra"] = {"security": [{}]}
        else:
            responses = {code: {"model": Problem} for code in (*ALWAYS, *self.errors)}
        if self.files:
            options["openapi_extra"] = FILES
        if self.sends:
            options["response_class"] = Response
            responses[200] = {"content": {kind: {} for kind in self.sends}}
        if self.model is not None:
            options["response_model"], options["response_class"] = self.model, JSONResponse
        app.add_api_route(self.address, self.function, tags=[self.tag], responses=responses, **options)


PAGES = (
    Route("GET", "/", pages.all_documents),
    Route("GET", "/root", pages.folder),
    Route("GET", "/documents/{document}", pages.reading_view),
    Route("GET", "/collections/{collection}/review", pages.review),
    Route("GET", "/collections/{collection}/alt-text", alt_text.alt_text_page),
    Route("GET", "/search", search.search_page, option="--library"),
    Route("GET", "/static/{name}", pages.static),
    Route("GET", "/v1/events", collections.events),
)
"""Routes of the pages in a browser, and of the files that these load."""


_COLLECTION = "/v1/collections/{collection}"
_DOCUMENT = "/v1/documents/{document}"
_PICTURES = search.PICTURES
JSON, ZIP, PICTURE = ["application/json"], ["application/zip"], ["image/jpeg", "image/png"]
_STATE = (404, 409)  # what the address names is missing, or not in the right state
_FILE = (404, 409, 503)  # a process makes the answer
_WORK = (415, 500, 503, 504)  # a process works on the files of the request

CALLS = (
    Route("GET", "/v1/health", stateless.health, "server", open=True),
    Route("POST", "/v1/link", stateless.link, "programs", errors=_WORK, files=True, model=list[LinkedOut | FailedOut]),
    Route("POST", "/v1/context", stateless.context, "programs", errors=_WORK, files=True, model=list[Context]),
    Route("POST", "/v1/chunks", stateless.chunks, "programs", errors=_WORK, files=True, model=list[Chunk | SlimChunk]),
    Route("POST", "/v1/place", stateless.place, "programs", errors=_WORK, files=True, model=PlacedOut),
    Route("POST", "/v1/check", stateless.check, "programs", errors=_WORK, files=True, model=stateless.CheckOut),
    Route("GET", "/v1/collections", collections.all_collections, "collections"),
    Route("POST", "/v1/collections", collections.drop, "collections", errors=[415], status=201, files=True),
    Route("POST", "/v1/collections/path", collections.open_path, "collections", errors=[404], status=201),
    Route("GET", _COLLECTION, collections.one, "collections", errors=[404]),
    Route("DELETE", _COLLECTION, collections.remove, "collections", errors=[404], status=204),
    Route("GET", f"{_COLLECTION}/review", collections.review, "collections", errors=[404]),
    Route("POST", f"{_COLLECTION}/verdicts", collections.say, "collections", errors=_STATE, status=201),
    Route("POST", f"{_COLLECTION}/undo", collections.undo, "collections", errors=[404]),
    Route("GET", f"{_COLLECTION}/corpus", collections.corpus, "collections", errors=_FILE, sends=ZIP),
    Route("GET", _DOCUMENT, collections.linked, "collections", errors=_FILE, sends=JSON),
    Route("GET", f"{_DOCUMENT}/review", collections.shown, "collections", errors=_STATE, sends=JSON),
    Route("GET", f"{_DOCUMENT}/pictures/{{picture}}", collections.picture, "collections", errors=_STATE, sends=PICTURE),
    Route("GET", f"{_COLLECTION}/alt-text", alt_text.counted, "alternative texts", errors=[404]),
    Route("GET", f"{_COLLECTION}/alt-text/files", alt_text.files, "alternative texts", errors=_FILE, sends=ZIP),
    Route("POST", f"{_COLLECTION}/alt-text/undo", alt_text.undo, "alternative texts", errors=[404]),
    Route("GET", f"{_DOCUMENT}/alt-text", alt_text.described, "alternative texts", errors=_STATE),
    Route("POST", f"{_DOCUMENT}/alt-text", alt_text.say, "alternative texts", errors=_STATE, status=201),
    Route("POST", f"{_DOCUMENT}/alt-text/write", alt_text.write, "alternative texts", errors=_FILE),
    Route(
        "POST", f"{_DOCUMENT}/alt-text/draft", alt_text.draft, "alternative texts", "--captioner", errors=(*_STATE, 502)
    ),
    Route("POST", "/v1/search", search.search, "search", "--library", errors=_FILE),
    Route("POST", _PICTURES, search.send_example, "search", "--library", errors=[415, 503], status=201, files=True),
    Route("GET", f"{_PICTURES}/{{picture}}", search.picture, "search", "--library", errors=_FILE, sends=PICTURE),
)
"""Routes for programs and for the scripts of the pages."""

ROUTES = (*PAGES, *CALLS)
