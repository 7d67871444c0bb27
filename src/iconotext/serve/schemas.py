"""What the server takes and gives as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80, pattern=r"^[^\x00-\x1f]+$")]
"""What a reviewer is called."""

LARGEST = 2**31 - 1
"""Of numbers that name something."""


class Described(BaseModel):
    """What all that is taken or given has in common: no field that is not described."""

    model_config = ConfigDict(extra="forbid")


class Problem(Described):
    """Why a request was not answered."""

    detail: str


class Health(Described):
    """Whether the server is there."""

    status: Literal["ok"]
    version: str


class DocumentOut(Described):
    """A document of a collection."""

    id: int
    name: str
    title: str | None
    state: Literal["waiting", "done", "failed"]
    problem: str | None
    sentences: int
    pictures: int = Field(description="All that the document has, as in its reading view.")
    links: int
    missing: int = Field(description="Pictures that were not found or cannot be read; those on the web do not count.")
    changed: int = Field(description="Pictures that what people said elsewhere has given another sentence.")


class RefusedOut(Described):
    """A file that was sent and not taken."""

    name: str
    problem: str


class CollectionOut(Described):
    """What was dropped or opened at once, and how far it is."""

    id: str
    name: str
    dropped: bool = Field(description="Whether its files were sent to the server, and not opened there.")
    state: Literal["finding", "linking", "learning", "done", "failed"]
    problem: str | None
    habit: str | None = Field(description="Where its pictures stand, in words.")
    documents: list[DocumentOut]
    refused: list[RefusedOut] = Field(description="Files that were sent and not taken.")
    pictures: int = Field(description="All that its documents have.")
    reviewable: int = Field(description="Pictures that can be seen, and so be judged.")
    judged: int = Field(description="Pictures that somebody has judged.")


class PathIn(Described):
    """What is to be opened."""

    path: str = Field(min_length=1, max_length=4096, description="A file or folder below the root of the server.")


class VerdictIn(Described):
    """What somebody says of a picture."""

    document: int = Field(ge=0, le=LARGEST)
    picture: int = Field(ge=0, le=LARGEST)
    sentences: list[Annotated[int, Field(ge=0, le=LARGEST)]] = Field(
        max_length=100, description="The sentences that it belongs to; none where it belongs to none."
    )
    reviewer: Name
    replaces: list[Annotated[int, Field(ge=0, le=LARGEST)]] | Literal["nothing"] | None = Field(
        None,
        description="The answer that this reviewer gave before, as far as you know; another one is not replaced. "
        "Null replaces any.",
    )
    digest: str | None = Field(
        None, max_length=64, description="Of the version that was judged, as the review says it; no other one is meant."
    )


class ReviewerIn(Described):
    """Who takes back what was said last."""

    reviewer: Name


class PictureOut(Described):
    """A picture and what was said of it."""

    document: int
    picture: int
    best: int | None = Field(description="Its likeliest sentence.")
    confidence: float
    worth: float = Field(description="How much a verdict would change, in nats; 0 where this reviewer gave one.")
    verdicts: dict[str, list[int]] = Field(description="By reviewer the sentences that were named.")


class ChangedOut(Described):
    """A picture that has another sentence since somebody corrected another one."""

    document: int
    title: str = Field(description="Of the document.")
    picture: int
    before: int | None
    now: int | None


class ReviewOut(Described):
    """What there is to review in a collection."""

    pictures: list[PictureOut] = Field(description="Those that a correction changes most first, the judged ones last.")
    reviewers: list[str]
    alpha: float | None = Field(description="Krippendorff's alpha of the reviewers; null where nobody can tell.")
    undecided: int = Field(description="Pictures for which no answer has more voices than every other.")
    changed: list[ChangedOut]
    current: bool = Field(description="Whether all that was said so far has been learned from.")


class SavedOut(Described):
    """A verdict is on the disk."""

    verdict: int


class UndoneOut(Described):
    """What was taken back; null where there was nothing."""

    document: int | None
    picture: int | None
