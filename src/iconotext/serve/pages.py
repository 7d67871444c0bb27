"""The pages of documents: all of them, one to read, a collection to review; and the files that pages load."""

from __future__ import annotations

from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse, Response

from iconotext.report.page import asset, policy_hash, policy_of
from iconotext.serve.answers import known_collection, known_entry
from iconotext.serve.collections import made
from iconotext.serve.jobs import Jobs
from iconotext.serve.page import ASSETS, page
from iconotext.serve.work import PAGE


def routes(jobs: Jobs) -> APIRouter:
    """The routes of the pages."""
    router, store = APIRouter(include_in_schema=False), jobs.store

    @router.get("/", response_class=HTMLResponse)
    def all_documents(path: str = "") -> str:
        """What was dropped and opened, and where to drop more; a path is put into the field to be opened."""
        return page("list.html", jobs.settings, here="/", title="Documents", path=path)

    @router.get("/documents/{document}", response_class=HTMLResponse)
    async def reading_view(document: int, request: Request) -> Response:
        """The reading view, as ``iconotext link`` makes it. Its own policy holds: it names its script by its hash.

        Where the file is followed, the page follows it: it may then load one more script, ask for itself and listen.
        """
        entry = known_entry(store, document)
        view = (await made(jobs, entry, PAGE)).read_text(encoding="utf-8")
        policy, now = policy_of(view), policy_hash(view)
        headers = {"etag": f'"{now}"', "iconotext-problem": quote(entry.problem or "")}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        host = request.headers["host"]
        if not known_collection(store, entry.collection).own and "[" not in host:  # no policy can name such an address
            home = f"{request.url.scheme}://{host}"
            new = policy.replace("script-src ", f"script-src {home}/static/follow.js ", 1)
            new += f"; connect-src {home}/v1/events {home}/documents/{document}"
            script = (
                f'<script type="module" src="/static/follow.js" data-document="{document}" data-now="{now}"></script>'
            )
            view, policy = f"{script}\n</body>".join(view.replace(policy, new, 1).rsplit("</body>", 1)), new
        return HTMLResponse(view, headers=headers | {"content-security-policy": f"{policy}; frame-ancestors 'none'"})

    @router.get("/collections/{collection}/review", response_class=HTMLResponse)
    def review(collection: str) -> str:
        """The pictures of a collection, one after the other, to be judged."""
        known = known_collection(store, collection)
        return page("review.html", jobs.settings, here="/", title=f"Review: {known.name}", collection=known)

    @router.get("/static/{name}")
    def static(name: str) -> Response:
        """A style sheet or a script."""
        if name not in ASSETS:
            raise HTTPException(404, "there is no such file")
        package, kind = ASSETS[name]
        return Response(asset(package, name), media_type=kind, headers={"cache-control": "no-cache"})

    return router
