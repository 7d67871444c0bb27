"""Routes for searching a library: the page, the JSON answer, the pictures, and the upload of a picture to search with.

Separate processes do the slow work, so that linking, which may take minutes, does not delay searches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Annotated, Literal, ParamSpec, TypeVar
from urllib.parse import urlencode

from fastapi import HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import Field, ValidationError

from iconotext.errors import IconotextError, ImageError, SettingError
from iconotext.extras import require
from iconotext.library.files import file_kind
from iconotext.library.results_page import card
from iconotext.library.search import Result, firm_results
from iconotext.library.settings import read_settings
from iconotext.plain_text import counted, readable, shortened
from iconotext.recipe.toml import wrong_value
from iconotext.relations import RELATIONS, relation_name, short_name
from iconotext.report.page import breakable
from iconotext.serve import search_work
from iconotext.serve.answers import Described
from iconotext.serve.jobs import Jobs, TheJobs, of_app
from iconotext.serve.pages import page
from iconotext.serve.pool import BusyError, Pool
from iconotext.serve.search_work import MOST, PictureId, SearchIn, Size
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Store, new_id
from iconotext.serve.uploads import received
from iconotext.system.processes import GoneError

P = ParamSpec("P")
T = TypeVar("T")

SECONDS = 60.0
"""Maximum time for a search, or a picture."""

STEP = 24
"""Number of pictures on a page; "more" adds as many."""

PICTURES = "/v1/search/pictures"
"""Path of pictures by id, and for uploading examples."""


class WhyOut(Described):
    """Why a picture matches."""

    picture: bool
    text: bool
    words: list[str]
    around: list[str] = Field(description="Words of the sentence that only the paragraphs around the picture have.")


class SaidOut(Described):
    """A sentence that a document links to a picture."""

    text: str
    confidence: float


class ResultOut(Described):
    """A result of a search, as ``iconotext search --json`` prints it, with its id."""

    id: PictureId
    image: str = Field(description="Its file, relative to the folder that was added to the library.")
    score: float
    document: str | None
    caption: str | None
    relations: dict[str, float]
    similarity: float
    match: Literal["strong", "good", "weak"] | None
    why: WhyOut | None
    alt: str | None
    written: str | None
    sentences: list[SaidOut]
    date: str | None
    places: int
    reading_view: str | None = Field(description="Address of the document's reading view here, if it was opened.")


class SearchOut(Described):
    """The results of a search."""

    results: list[ResultOut]
    good: bool = Field(description="Whether one of them matches well.")
    more: bool = Field(description="Whether there are more.")
    note: str | None = Field(description="The part of the query that was not used, and why.")


class ExampleOut(Described):
    """A picture that was sent to search with."""

    id: PictureId


def check_library(library: Path) -> None:
    """Check that a library can be searched, before the server starts.

    Raises:
        MissingPackageError: The extra is not installed.
        LibraryError: There is no library, or it has another format.
    """
    require("library", purpose="search in the browser")
    read_settings(library)


class Finder:
    """The processes that search a library, and the folder of the pictures that were sent to search with."""

    def __init__(self, settings: ServeSettings, library: Path) -> None:
        self._workers, self.library = settings.workers, library
        self.examples = str(settings.data.absolute() / "examples")
        self.pool = Pool(settings.workers, search_work.prepare, str(library.absolute()))
        self.encoding = asyncio.Semaphore(settings.workers)
        """Limits pictures that are encoded at a time: a page asks for 24, and searches must come in between."""

    async def done(self, function: Callable[P, T], *arguments: P.args, **kwargs: P.kwargs) -> T:
        """The result of a call in a process."""
        return await asyncio.wrap_future(self.pool.submit(function, SECONDS, *arguments, **kwargs))

    def open(self) -> None:
        """Load the models in every process, before the first search."""
        for _ in range(self._workers):
            self.pool.submit(search_work.about, SECONDS)


TheFinder = Annotated[Finder, of_app("finder")]


async def search_page(jobs: TheJobs, finder: TheFinder, request: Request) -> HTMLResponse:
    """The search page; its address contains the query."""
    query, findings, problem, status = _DEFAULT, None, None, 200
    try:
        query = _query_of(request.query_params)
        if query.sentence or query.picture:
            findings = await finder.done(search_work.find, query, finder.examples)
        about = findings.about if findings else await finder.done(search_work.about)
    except IconotextError as error:
        problem, status = str(error), _status(error)
        try:
            about = await finder.done(search_work.about)
        except IconotextError:
            about = search_work.About(finder.library.resolve().name, 0, (), ())
    html = _page(jobs, about, query, findings, problem, request.query_params)
    return HTMLResponse(html, status)


async def search(jobs: TheJobs, finder: TheFinder, body: SearchIn) -> SearchOut:
    """The pictures of the library that fit best, as ``iconotext search --json`` gives them."""
    try:
        findings = await finder.done(search_work.find, body, finder.examples)
    except IconotextError as error:
        raise HTTPException(_status(error), str(error)) from None
    results = [_out(*pair, jobs.store) for pair in zip(findings.results, findings.names, strict=True)]
    return SearchOut(results=results, good=findings.good, more=findings.more, note=findings.note)


async def send_example(jobs: TheJobs, finder: TheFinder, request: Request) -> ExampleOut:
    """Send a picture to search with; a few hundred are stored."""
    folder = jobs.settings.data.absolute() / "dropped" / new_id()
    try:
        await received(request, folder, jobs)
        return ExampleOut(id=await finder.done(search_work.keep_example, str(folder), finder.examples))
    except IconotextError as error:
        raise HTTPException(503 if isinstance(error, BusyError | GoneError) else 400, str(error)) from None
    finally:
        rmtree(folder, ignore_errors=True)


async def picture(finder: TheFinder, picture: PictureId, size: Size = "large") -> Response:
    """A picture of the library, or one that was sent, by its id."""
    try:
        async with finder.encoding:
            kind, data = await finder.done(search_work.picture, picture, size, finder.examples)
    except IconotextError as error:
        raise HTTPException(_status(error), str(error)) from None
    headers = {"cache-control": "private, max-age=86400, immutable"}  # the id names the content
    return Response(data, media_type=f"image/{kind}", headers=headers)


def _status(error: IconotextError) -> int:
    if isinstance(error, BusyError | GoneError):
        return 503
    return 400 if isinstance(error, SettingError) else 404 if isinstance(error, ImageError) else 409


def _query_of(values: Mapping[str, str]) -> SearchIn:
    fields = {name: values[name].strip() or None for name in SearchIn.model_fields if name in values}
    try:
        return SearchIn(**{"top": STEP} | {name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        wrong = error.errors()[0]
        raise SettingError(f"{wrong['loc'][0]}: {shortened(wrong_value(wrong), 300)}") from None


_DEFAULT = SearchIn(top=STEP)
"""The query of a page without parameters."""


def _address(query: SearchIn, **changes: object) -> str:
    """The address of a page; default values are left out."""
    values = query.model_copy(update=changes)
    return f"/search?{urlencode({name: value for name, value in values if value != getattr(_DEFAULT, name)})}"


def _reading_view(result: Result, store: Store) -> str | None:
    """The address of the reading view of a result's document; None if the document was not opened here."""
    entry = store.linked_entries([result.document]).get(result.document) if result.document is not None else None
    return None if entry is None else f"/documents/{entry}#p{result.number}"


def _document_link(result: Result, jobs: Jobs) -> str | None:
    view, root = _reading_view(result, jobs.store), jobs.settings.root
    if view is not None or result.document is None or root is None or file_kind(Path(result.document)) != "document":
        return view  # a shard cannot be opened as a document
    try:
        return f"/?{urlencode({'path': Path(result.document).relative_to(root.resolve()).as_posix()})}"
    except ValueError:
        return None


def _out(result: Result, names: tuple[str, str | None], store: Store) -> ResultOut:
    fields = result.as_json() | {"image": names[0], "document": names[1]}
    return ResultOut(id=result.digest, reading_view=_reading_view(result, store), **fields)


def _page(
    jobs: Jobs,
    about: search_work.About,
    query: SearchIn,
    findings: search_work.Findings | None,
    problem: str | None,
    parameters: Mapping[str, str],
) -> str:
    cards, chosen = [], query.relation
    with suppress(SettingError):
        chosen = query.relation and relation_name(query.relation, about.relations)
    if findings is not None:
        cards = [
            card(
                result,
                findings.query,
                picture={"uri": f"{PICTURES}/{result.digest}?size=small", "width": 0, "height": 0},
                large=f"{PICTURES}/{result.digest}",
                place=readable(image),
                document=None if document is None else readable(document),
                document_link=_document_link(result, jobs),
                alike=_address(_DEFAULT, picture=result.digest),
            )
            for result, (image, document) in zip(findings.results, findings.names, strict=True)
        ]
    chips = [
        (short_name(name), next((r.meaning for r in RELATIONS if r.name == name), ""), name == chosen)
        for name in about.relations
    ]
    subject = readable(query.sentence) if query.sentence else "Pictures like this one"
    more = _address(query, top=min(query.top + STEP, MOST)) if findings is not None and findings.more else None
    title = f"{subject} – {counted(len(cards), 'picture')}" if findings is not None else problem or "Search"
    return page(
        "search.html",
        jobs.settings,
        here="/search",
        title=shortened(readable(title), 120),
        about=about,
        chips=chips,
        meaning=next((meaning for _, meaning, pressed in chips if pressed), None),
        entered={name: readable(parameters.get(name, "")) for name in SearchIn.model_fields},
        query=query,
        findings=findings,
        subject=subject,
        problem=problem,
        good=findings is None or findings.good,
        cards=cards,
        firm=firm_results(findings.results) if findings is not None else 0,
        breakable=breakable,
        example=query.picture and f"{PICTURES}/{query.picture}?size=small",
        without_example=_address(query, picture=None),
        more=more and f"{more}#result-{len(cards) + 1}",
        anyway=None if findings is None or findings.good or query.anyway else _address(query, anyway=True),
    )
