"""Rows of the store: collections, documents, pictures and verdicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from iconotext.plain_text import readable, shortened

State = Literal["waiting", "done", "failed"]


@dataclass(frozen=True, slots=True)
class Collection:
    """Files that were uploaded or opened together; its documents share a habit.

    Attributes:
        own: Whether the server may delete the files: they were uploaded.
        made: Time of creation, in seconds since 1970.
        habits: Where its pictures stand, as ``links.habit`` learned it, in JSON; empty before that.
        round: Counts up when people's verdicts change the habits; a document with a lower ``round`` is linked again.
        learned: Number of the last verdict that ``habits`` includes; below 0 if documents have changed since.
    """

    id: str
    name: str
    folder: str
    own: bool
    made: float
    found: bool
    habits: str
    habit: str | None
    problem: str | None
    round: int
    learned: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A document of a collection.

    Attributes:
        number: Its place there, from 0.
        name: Unique there.
        images: All its pictures; None if it was linked by an older version.
        missing: Those of them that were not found or cannot be read; pictures on the web do not count.
        digest: Of its sentences and pictures; verdicts about a version with another digest do not count.
        round: The ``round`` of its collection when it was linked.
        changed: Pictures whose likeliest sentence changed after people's verdicts, in JSON: number, sentence before,
            sentence now.
    """

    id: int
    collection: str
    number: int
    name: str
    path: str
    state: State
    problem: str | None
    title: str | None
    sentences: int
    links: int
    missing: int
    digest: str | None
    round: int
    changed: str
    images: int | None = None


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a linked document.

    Attributes:
        best: Its most likely sentence; None if none is likely.
        doubt: Entropy over its sentences, in nats; see ``serve.doubt``.
        place_doubt: Entropy over its possible places, in nats.
    """

    document: int
    number: int
    best: int | None
    confidence: float
    doubt: float
    place_doubt: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reviewer's answer for a picture: its sentences, or () for none of them."""

    id: int
    document: int
    picture: int
    reviewer: str
    sentences: tuple[int, ...]
    digest: str


@dataclass(slots=True)
class Saved:
    """What became of the files that were sent for a collection.

    Attributes:
        labels: By path in its folder the name that a file came with, if it is another one.
        refused: Name and reason of each file that was not taken.
    """

    labels: dict[str, str] = field(default_factory=dict)
    refused: list[tuple[str, str]] = field(default_factory=list)

    def refuse(self, name: str, why: str) -> None:
        """Leave a file out."""
        self.refused.append((shortened(readable(name), 255), why))
