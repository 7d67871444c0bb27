"""The pages: all documents, one document to read, a collection to review; and the files that they are made of."""

from __future__ import annotations

from functools import cache
from importlib import resources

import jinja2
from fastapi import APIRouter, HTTPException
from fastapi.responses import HTMLResponse, Response

from iconotext.report.page import PACKAGE, asset, policy_of
from iconotext.serve.answers import known_collection, known_entry
from iconotext.serve.jobs import Jobs
from iconotext.serve.work import PAGE

HERE = "iconotext.serve"

ASSETS = {
    "page.css": (PACKAGE, "text/css"),
    "serve.css": (HERE, "text/css"),
    "list.js": (HERE, "text/javascript"),
    "review.js": (HERE, "text/javascript"),
    "server.js": (HERE, "text/javascript"),
}
"""The files of the pages: where each lies, and its type."""


def routes(jobs: Jobs) -> APIRouter:
    """The routes of the pages."""
    router, store = APIRouter(include_in_schema=False), jobs.store

    @router.get("/", response_class=HTMLResponse)
    def all_documents() -> str:
        """What was dropped and opened, and where to drop more."""
        return _page("list.html", title="Documents", settings=jobs.settings)

    @router.get("/documents/{document}", response_class=HTMLResponse)
    def reading_view(document: int) -> HTMLResponse:
        """The reading view, as ``iconotext link`` makes it. Its own policy holds: it names its script by its hash."""
        entry = known_entry(store, document)
        page = (jobs.entry_folder(entry) / PAGE).read_text(encoding="utf-8")
        policy = f"{policy_of(page)}; frame-ancestors 'none'"
        return HTMLResponse(page, headers={"content-security-policy": policy})

    @router.get("/collections/{collection}/review", response_class=HTMLResponse)
    def review(collection: str) -> str:
        """The pictures of a collection, one after the other, to be judged."""
        known = known_collection(store, collection)
        return _page("review.html", title=f"Review: {known.name}", collection=known)

    @router.get("/static/{name}")
    def static(name: str) -> Response:
        """A style sheet or a script."""
        if name not in ASSETS:
            raise HTTPException(404, "there is no such file")
        package, kind = ASSETS[name]
        return Response(asset(package, name), media_type=kind, headers={"cache-control": "no-cache"})

    return router


def _page(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values) + "\n"


@cache
def _environment() -> jinja2.Environment:
    folder = resources.files(HERE) / "templates"
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
