"""The pages of documents: all of them, one to read, a collection to review; and the files that pages load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field

from iconotext.report.page import asset, policy_hash, policy_of
from iconotext.serve.answers import known_collection, known_entry
from iconotext.serve.collections import made, refused_kindly
from iconotext.serve.jobs import Jobs
from iconotext.serve.page import ASSETS, page
from iconotext.serve.records import Entry
from iconotext.serve.state import TheJobs
from iconotext.serve.views import PAGE
from iconotext.types import EVIDENCE


class Chosen(BaseModel):
    """Settings of a reading view, as sent by its form."""

    evidence: list[Literal["picture", "caption", "layout", "reference"]] = []
    select: Literal["top-k", "best", "order", "assignment", "threshold"] = "top-k"
    k: int = Field(3, ge=1, le=99)
    min_confidence: Annotated[float, Field(ge=0, le=1)] | Literal[""] = ""
    max_false: Annotated[float, Field(ge=0.01, le=0.5)] | Literal[""] = ""

    def settings(self) -> dict[str, object]:
        """The changes to ``LinkSettings``; if no evidence is chosen, all is used."""
        kinds = tuple(kind for kind in EVIDENCE if kind in self.evidence)
        if self.max_false != "":  # it decides which links stay, and needs all evidence
            return {"max_false": self.max_false, "promise": "paragraph"}
        least = None if self.min_confidence == "" else self.min_confidence
        return {"select": self.select, "k": self.k, "min_confidence": least, **({"evidence": kinds} if kinds else {})}


router = APIRouter(include_in_schema=False)


@router.get("/", response_class=HTMLResponse)
def all_documents(jobs: TheJobs, path: str = "") -> str:
    """What was dropped and opened, and where to drop more; a path is put into the field to be opened."""
    return page("list.html", jobs.settings, here="/", title="Documents", path=path)


@router.get("/documents/{document}", response_class=HTMLResponse)
async def reading_view(jobs: TheJobs, document: int, request: Request, chosen: Annotated[Chosen, Query()]) -> Response:
    """The reading view, as ``iconotext link`` makes it. Its own policy holds: it names its script by its hash.

    Where the file is followed, the page follows it: it may then load one more script, ask for itself and listen.
    With a query it is linked by other settings, and follows nothing.
    """
    entry = known_entry(jobs.store, document)
    if request.query_params:
        with refused_kindly(entry):
            view = await jobs.view_by(entry, chosen.settings())
        return HTMLResponse(view, headers={"content-security-policy": f"{policy_of(view)}; frame-ancestors 'none'"})
    return await run_in_threadpool(_followed, jobs, request, entry, await made(jobs, entry, PAGE))


@router.get("/collections/{collection}/review", response_class=HTMLResponse)
def review(jobs: TheJobs, collection: str) -> str:
    """The pictures of a collection, one after the other, to be judged."""
    known = known_collection(jobs.store, collection)
    return page("review.html", jobs.settings, here="/", title=f"Review: {known.name}", collection=known)


@router.get("/static/{name}")
def static(name: str) -> Response:
    """A style sheet or a script."""
    if name not in ASSETS:
        raise HTTPException(404, "there is no such file")
    package, kind = ASSETS[name]
    return Response(asset(package, name), media_type=kind, headers={"cache-control": "no-cache"})


def _followed(jobs: Jobs, request: Request, entry: Entry, file: Path) -> Response:
    """The reading view out of its file; where that is followed, with the script that does so."""
    document, view = entry.id, file.read_text(encoding="utf-8")
    policy, now = policy_of(view), policy_hash(view)
    headers = {"etag": f'"{now}"', "iconotext-problem": quote(entry.problem or "")}
    if request.headers.get("if-none-match") == headers["etag"]:
        return Response(status_code=304, headers=headers)
    host = request.headers["host"]
    if not known_collection(jobs.store, entry.collection).own and "[" not in host:  # no policy can name such an address
        home = f"{request.url.scheme}://{host}"
        new = policy.replace("script-src ", f"script-src {home}/static/follow.js ", 1)
        new += f"; connect-src {home}/v1/events {home}/documents/{document}"
        script = f'<script type="module" src="/static/follow.js" data-document="{document}" data-now="{now}"></script>'
        view, policy = f"{script}\n</body>".join(view.replace(policy, new, 1).rsplit("</body>", 1)), new
    return HTMLResponse(view, headers=headers | {"content-security-policy": f"{policy}; frame-ancestors 'none'"})
