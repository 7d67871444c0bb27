"""The server's JSON requests and answers about collections: their types, and how answers follow from the database."""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from iconotext.serve.store import Collection, DocumentState, Entry, Store
from iconotext.serve.verdicts import PictureKey, agreed, agreement, by_picture, worths

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80, pattern=r"^[^\x00-\x1f]+$")]
"""A reviewer's name."""

LARGEST = 2**31 - 1
"""Largest id or number in a request."""


CollectionState = Literal["finding", "linking", "learning", "done", "failed"]
"""State of a collection, which follows from the database: see ``state_of``."""


class Described(BaseModel):
    """Base of all requests and answers: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Problem(Described):
    """The reason why a request was refused."""

    detail: str


class DocumentOut(Described):
    """A document of a collection."""

    id: int
    name: str
    title: str | None
    state: DocumentState
    problem: str | None
    sentences: int
    pictures: int = Field(description="All pictures of the document, as in its reading view.")
    links: int
    missing: int = Field(description="Pictures that were not found or cannot be read; those on the web do not count.")
    changed: int = Field(description="Pictures whose sentence changed because of verdicts about others.")


class RefusedOut(Described):
    """A file that was sent and refused."""

    name: str
    problem: str


class CollectionOut(Described):
    """A collection of documents that were sent or opened together, and its progress."""

    id: str
    name: str
    dropped: bool = Field(description="Whether its files were uploaded, and not opened on the server.")
    state: CollectionState
    problem: str | None
    habit: str | None = Field(description="Where its author puts pictures, in words.")
    documents: list[DocumentOut]
    refused: list[RefusedOut] = Field(description="Uploaded files that were refused.")
    pictures: int = Field(description="All pictures of its documents.")
    reviewable: int = Field(description="Pictures that can be shown, and so be judged.")
    judged: int = Field(description="Pictures that somebody has judged.")


class PathIn(Described):
    """A file or folder to open."""

    path: str = Field(min_length=1, max_length=4096, description="A file or folder below the root of the server.")


class VerdictIn(Described):
    """A reviewer's verdict about a picture."""

    document: int = Field(ge=0, le=LARGEST)
    picture: int = Field(ge=0, le=LARGEST)
    sentences: list[Annotated[int, Field(ge=0, le=LARGEST)]] = Field(
        max_length=100, description="The sentences that it belongs to; none where it belongs to none."
    )
    reviewer: Name
    digest: str | None = Field(
        None, max_length=64, description="Of the version in the review; a verdict on another one is refused."
    )


class ReviewerIn(Described):
    """The reviewer whose last verdict is to be undone."""

    reviewer: Name


class PictureOut(Described):
    """A picture and the verdicts about it."""

    document: int
    picture: int
    best: int | None = Field(description="Its likeliest sentence.")
    confidence: float
    worth: float = Field(description="How much a verdict would change, in nats; 0 where this reviewer gave one.")
    verdicts: dict[str, list[int]] = Field(description="Reviewer to the chosen sentences.")


class ChangedOut(Described):
    """A picture whose sentence changed because of a verdict about another picture."""

    document: int
    title: str = Field(description="Of the document.")
    picture: int
    before: int | None
    now: int | None


class ReviewOut(Described):
    """The pictures of a collection to review, and the progress of the review."""

    pictures: list[PictureOut] = Field(description="Those that a correction changes most first, the judged ones last.")
    reviewers: list[str]
    alpha: float | None = Field(description="Krippendorff's alpha of the reviewers; null if it cannot be computed.")
    undecided: int = Field(description="Pictures for which no answer has more votes than every other one.")
    changed: list[ChangedOut]
    current: bool = Field(description="Whether all verdicts have been learned.")


class SavedOut(Described):
    """A verdict was stored on disk."""

    verdict: int


class UndoneOut(Described):
    """The verdict that was undone; null if there was none."""

    document: int | None
    picture: int | None


OF_ENTRY = ("id", "name", "title", "state", "problem", "sentences", "links", "missing")
"""Fields of ``DocumentOut`` that an ``Entry`` has, too."""


def collection_out(store: Store, collection: Collection) -> CollectionOut:
    """A collection with its documents and progress."""
    entries = store.entries(collection.id)
    judged = by_picture(store.verdicts(collection.id))
    return CollectionOut(
        id=collection.id,
        name=collection.name,
        dropped=collection.own,
        state=state_of(
            collection.problem,
            exists=collection.found,
            waiting=any(entry.round < 0 for entry in entries),
            current=is_current(store, collection, entries),
        ),
        problem=collection.problem,
        habit=collection.habit,
        documents=[
            DocumentOut(
                **{name: getattr(entry, name) for name in OF_ENTRY},
                pictures=entry.images,
                changed=len(_moved(entry, judged)),
            )
            for entry in entries
        ],
        refused=[RefusedOut(name=name, problem=why) for name, why in store.saved(collection.id).refused],
        pictures=sum(entry.images for entry in entries),
        reviewable=len(store.pictures(collection.id)),
        judged=len(judged),
    )


def _moved(entry: Entry, judged: Container[PictureKey]) -> list[tuple[int, int | None, int | None]]:
    """Pictures that nobody judged, and whose sentence changed because of verdicts about others."""
    return [(number, old, new) for number, old, new in json.loads(entry.changed) if (entry.id, number) not in judged]


def state_of(problem: str | None, *, exists: bool, waiting: bool, current: bool) -> CollectionState:
    """The state of a collection: ``waiting`` if a document was never linked, ``current`` as in ``is_current``."""
    if problem is not None:
        return "failed"
    if not exists:
        return "finding"
    if waiting:
        return "linking"
    return "done" if current else "learning"


def is_current(store: Store, collection: Collection, entries: list[Entry]) -> bool:
    """Whether all verdicts have been learned, and all documents linked with the result."""
    learned = store.last_change(collection.id) == collection.learned
    return learned and all(entry.round == collection.round for entry in entries)


def review_out(store: Store, collection: Collection, reviewer: str | None) -> ReviewOut:
    """The pictures to review; those that the reviewer (or, for None, anybody) has judged come last."""
    verdicts, pictures = store.verdicts(collection.id), store.pictures(collection.id)
    entries = store.entries(collection.id)
    judged = by_picture(verdicts)
    reviewed = {key for key, answers in judged.items() if reviewer is None or reviewer in answers}
    worth = worths(pictures, reviewed)
    ordered = sorted(pictures, key=lambda p: -worth.get((p.document, p.number), -1.0))
    return ReviewOut(
        pictures=[
            PictureOut(
                document=p.document,
                picture=p.number,
                best=p.best,
                confidence=round(p.confidence, 4),
                worth=round(worth.get((p.document, p.number), 0.0), 4),
                verdicts={name: list(answers) for name, answers in judged.get((p.document, p.number), {}).items()},
            )
            for p in ordered
        ],
        reviewers=sorted({verdict.reviewer for verdict in verdicts}),
        alpha=agreement(verdicts),
        undecided=len(judged) - len(agreed(verdicts)),
        changed=[
            ChangedOut(document=entry.id, title=entry.title or entry.name, picture=picture, before=before, now=now)
            for entry in entries
            for picture, before, now in _moved(entry, judged)
        ],
        current=is_current(store, collection, entries),
    )
