"""What commands print as JSON, as schemas for programs: of ``link`` (``report.as_json``) and ``alt-text``."""

from __future__ import annotations

from pydantic import Field

from iconotext.alt_text.finding import Finding
from iconotext.serve.schemas import Described
from iconotext.types import Claim, Evidence, Kind


class SentenceOut(Described):
    """A sentence of a document."""

    text: str
    block: int | None = Field(description="Number of its paragraph, heading, item or cell.")
    heading: bool
    kind: Kind
    level: int | None = Field(None, description="Of a heading, 1 to 6.")


class LineOut(Described):
    """A line of text that is written in a picture."""

    text: str
    confidence: float
    box: list[float] = Field(description="Left, top, right, bottom, as shares of the picture's sides.")


class ImageOut(Described):
    """A picture of a document."""

    source: str = Field(description="Its address, as the document writes it.")
    alt: str | None
    caption: str | None
    block: int | None
    position: int | None = Field(description="How many sentences stand before it.")
    page: int | None
    problem: str | None = Field(description="Why it takes no part in linking.")
    lines: list[LineOut] | None = Field(None, description="What is written in it, where that was read.")


class ExplanationOut(Described):
    """What carries a link; weights above 0 speak for it."""

    words: list[tuple[int, int, float | None]] = Field(description="Begin, end and weight of words of the sentence.")
    regions: list[tuple[float | None, float | None, float | None, float | None, float | None]] = Field(
        description="Left, top, right, bottom and weight of parts of the picture."
    )


class LinkOut(Described):
    """A sentence and a picture that belong together."""

    sentence: int
    image: int
    score: float | None
    confidence: float | None = Field(description="Probability that the link is right.")
    evidence: dict[Evidence, float | None] = Field(description="What each kind of evidence adds to the log-odds.")
    paragraph: float | None = Field(None, description="Probability that the picture belongs to the paragraph.")
    explanation: ExplanationOut | None = None
    relations: dict[str, float | None] | None = Field(None, description="How probable each coherence relation is.")


class PromiseOut(Described):
    """What is promised of the links of all documents that were sent together."""

    claim: Claim
    max_false: float
    tested: int
    kept: int
    calibration: int
    untested: int
    refused: str | None
    pictures: list[int]
    decides: bool
    collections: int


class LinkedOut(Described):
    """A document with its links."""

    id: str
    source: str | None
    title: str | None
    language: str
    model: str
    notes: list[str]
    habit: str | None = Field(description="Where its pictures stand, in words.")
    sentences: list[SentenceOut]
    images: list[ImageOut]
    links: list[LinkOut] = Field(description="The strongest first.")
    similarity: list[list[float | None]] = Field(description="Of each sentence with each picture.")
    promises: list[PromiseOut] | None = None


class FailedOut(Described):
    """A document that could not be linked, among others that were."""

    id: str
    source: str
    error: str


class SourceOut(Described):
    """A sentence that a draft is made of, and where it stands."""

    sentence: int
    text: str
    start: int
    end: int
    source_start: int | None
    source_end: int | None


class DraftOut(Described):
    """A proposal for an alternative text."""

    id: str
    path: str
    sha256: str | None = Field(description="Of the file that was sent.")
    image: int
    source: str
    text: str = Field(description="The proposed alternative text.")
    draft: bool
    confidence: float = Field(description="That the sentence belongs to the picture.")
    visible: float = Field(description="Probability that the sentence says what the picture shows.")
    sentences: list[SourceOut]


class AltTextsOut(Described):
    """What is wrong with alternative texts, and proposals for those that are missing."""

    findings: list[Finding]
    drafts: list[DraftOut]
    failed: list[FailedOut] = Field(description="Documents that could not be checked, or not be linked.")
