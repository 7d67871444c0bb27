"""Routes for the pages of documents (list, reading view, review, folder), and for static files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from fastapi import HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, Response

from iconotext.plain_text import data_size
from iconotext.report.page import PACKAGE, asset, environment, policy_hash, policy_of
from iconotext.serve.answers import LARGEST
from iconotext.serve.collections import TheCollection, TheDocument, collection_or_404, current_file
from iconotext.serve.jobs import Jobs, TheJobs
from iconotext.serve.listing import SORTS, STATES, ListQuery, listing
from iconotext.serve.results import PAGE
from iconotext.serve.root import shelf
from iconotext.serve.settings import ServeSettings
from iconotext.serve.store import Entry

STYLES = ("alt-text.css", "search.css", "serve.css")
SCRIPTS = ("alt-text.js", "follow.js", "list.js", "review.js", "root.js", "search.js", "server.js")
ASSETS = {"page.css": PACKAGE, "cards.css": "iconotext.library"} | dict.fromkeys(STYLES + SCRIPTS, "iconotext.serve")
"""The static files of the pages, each with its package. No other file is sent, whatever a request names."""

TEMPLATES = ("iconotext.serve", "iconotext.library")
"""Packages of the templates; that of search results belongs to the library."""


def page(template: str, settings: ServeSettings, *, here: str, title: str, **values: object) -> str:
    """Render a page of the server.

    Args:
        here: Address of its section in the navigation.
        title: Its title.
    """
    sections = {"/": "Documents"}
    if settings.library is not None:
        sections["/search"] = "Search"
    values |= {"settings": settings, "sections": sections, "here": here, "title": title}
    return environment(*TEMPLATES).get_template(template).render(**values) + "\n"


def all_documents(jobs: TheJobs, query: Annotated[ListQuery, Query()], path: str = "") -> str:
    """The list of documents, page by page, with the field to add more.

    ``path`` is filled in as the path to open.
    """
    values = {"listing": listing(jobs.store, query), "sorts": SORTS, "states": STATES, "path": path}
    values["limit"] = data_size(jobs.settings.max_upload)
    return page("list.html", jobs.settings, here="/", title="Documents", **values)


def folder(jobs: TheJobs, path: str = "", number: Annotated[int, Query(alias="page", ge=1, le=LARGEST)] = 1) -> str:
    """A folder below the root, with the documents and folders that can be opened."""
    contents, root = shelf(jobs.settings.root, path, number), jobs.settings.root
    assert root is not None  # else ``shelf`` has refused
    home = root.resolve()
    linked = jobs.store.linked_entries([str(home / entry.path) for entry in contents.inside])
    opened = {Path(file).relative_to(home).as_posix(): entry for file, entry in linked.items()}
    name = home.name or "/"
    title = contents.way[-1][0] if contents.way else name
    return page("root.html", jobs.settings, here="/", title=title, name=name, shelf=contents, opened=opened)


async def reading_view(jobs: TheJobs, document: TheDocument, request: Request) -> Response:
    """The reading view, as ``iconotext link`` makes it.

    It has its own policy, which names its script by its hash. The page of a followed file updates itself: it may load
    one more script, request itself and listen to events.
    """
    return await run_in_threadpool(_stored_view, jobs, request, document, await current_file(jobs, document, PAGE))


def review(jobs: TheJobs, collection: TheCollection) -> str:
    """The pictures of a collection, one after the other, to be judged."""
    return page("review.html", jobs.settings, here="/", title=f"Review: {collection.name}", collection=collection)


def static(name: str) -> Response:
    """A style sheet or a script."""
    if name not in ASSETS:
        raise HTTPException(404, "there is no such file")
    kind = "text/javascript" if name in SCRIPTS else "text/css"
    return Response(asset(ASSETS[name], name), media_type=kind, headers={"cache-control": "no-cache"})


def _stored_view(jobs: Jobs, request: Request, entry: Entry, file: Path) -> Response:
    """The reading view from its file; for a followed file, with the script that updates the page."""
    document, view = entry.id, file.read_text(encoding="utf-8")
    policy, etag = policy_of(view), policy_hash(view)
    headers = {"etag": f'"{etag}"', "iconotext-problem": quote(entry.problem or "")}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    host = request.headers["host"]
    if not collection_or_404(jobs, entry.collection).own and "[" not in host:  # a policy cannot name IPv6 addresses
        home = f"{request.url.scheme}://{host}"
        new = policy.replace("script-src ", f"script-src {home}/static/follow.js ", 1)
        new += f"; connect-src {home}/v1/events {home}/documents/{document}"
        script = f'<script type="module" src="/static/follow.js" data-document="{document}" data-now="{etag}"></script>'
        view, policy = f"{script}\n</body>".join(view.replace(policy, new, 1).rsplit("</body>", 1)), new
    return HTMLResponse(view, headers=headers | {"content-security-policy": f"{policy}; frame-ancestors 'none'"})
