"""The data types of the server's JSON requests and answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80, pattern=r"^[^\x00-\x1f]+$")]
"""A reviewer's name."""

LARGEST = 2**31 - 1
"""Largest id or number in a request."""


class Described(BaseModel):
    """Base of all requests and answers: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Problem(Described):
    """The reason why a request was refused."""

    detail: str


class Health(Described):
    """A sign that the server is running."""

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
    """A file that was sent and refused."""

    name: str
    problem: str


class CollectionOut(Described):
    """A collection of documents that were sent or opened together, and its progress."""

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
    replaces: list[Annotated[int, Field(ge=0, le=LARGEST)]] | Literal["nothing"] | None = Field(
        None,
        description="The answer that this reviewer gave before, as far as you know; another one is not replaced. "
        "Null replaces any.",
    )
    digest: str | None = Field(
        None, max_length=64, description="Of the version that was judged, as the review says it; no other one is meant."
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
    verdicts: dict[str, list[int]] = Field(description="By reviewer the sentences that were named.")


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
    alpha: float | None = Field(description="Krippendorff's alpha of the reviewers; null where nobody can tell.")
    undecided: int = Field(description="Pictures for which no answer has more voices than every other.")
    changed: list[ChangedOut]
    current: bool = Field(description="Whether all that was said so far has been learned from.")


class SavedOut(Described):
    """A verdict was stored on disk."""

    verdict: int


class UndoneOut(Described):
    """The verdict that was undone; null if there was none."""

    document: int | None
    picture: int | None


MOST = 1000
"""Maximum number of results."""

PictureId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
"""The id of a picture: a digest of its content."""

Size = Literal["small", "large"]
"""The size at which a picture is shown."""


class SearchIn(Described):
    """A search by a sentence, a picture, or both, with the options of ``iconotext search``."""

    sentence: str | None = Field(None, max_length=1000, description="What the picture should fit.")
    picture: PictureId | None = Field(None, description="Like this one, of the library or sent.")
    relation: str | None = Field(None, max_length=80, description="How picture and sentence should relate.")
    top: int = Field(10, ge=1, le=MOST, description="How many pictures.")
    folder: str | None = Field(None, max_length=4096, description="Only pictures in it, or of documents in it.")
    since: str | None = Field(None, max_length=10, description="Taken in or after: 2024, 2024-05, 2024-05-31.")
    until: str | None = Field(None, max_length=10, description="Taken in or before.")
    anyway: bool = Field(False, description="As many pictures even if none is a good match.")


class WhyOut(Described):
    """Why a picture matches."""

    picture: bool
    text: bool
    words: list[str]


class SaidOut(Described):
    """A sentence that a document links to a picture."""

    text: str
    confidence: float


class ResultOut(Described):
    """A result of a search, as ``iconotext search --json`` prints it, with its id."""

    id: PictureId
    image: str = Field(description="Its file, as what was added to the library names it.")
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
    reading_view: str | None = Field(description="Address of the document's reading view here, where it was opened.")


class SearchOut(Described):
    """The results of a search."""

    results: list[ResultOut]
    good: bool = Field(description="Whether one of them matches well.")
    more: bool = Field(description="Whether there are more.")
    note: str | None = Field(description="What was not looked at, and why.")


class ExampleOut(Described):
    """A picture that was sent to search with."""

    id: PictureId
