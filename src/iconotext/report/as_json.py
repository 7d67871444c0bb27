"""Linked documents as JSON: the format described in the documentation as "Linked document"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from iconotext.plain_text import encodable, json_list, json_text
from iconotext.types import Kind, LinkedDocument

if TYPE_CHECKING:
    from iconotext.read import Failure


def plain_number(value: float) -> float | None:
    """Return a number rounded to six significant digits; None if it is not finite."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


Number = Annotated[float | None, AfterValidator(lambda value: None if value is None else plain_number(value))]
"""A number with six significant digits, to keep files small; None if it is not finite, since JSON has no such
numbers."""

Text = Annotated[str, BeforeValidator(lambda text: encodable(text) if isinstance(text, str) else text)]


class _Part(BaseModel):
    """A part of the format; fields with their default values are left out."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)


class SentenceOut(_Part):
    """A sentence of a document."""

    text: Text
    block: int | None = Field(description="Number of its paragraph, heading, item or cell.")
    heading: bool
    kind: Kind
    level: int | None = Field(None, description="Of a heading, 1 to 6.")


class LineOut(_Part):
    """A line of text that is written in a picture."""

    text: Text
    confidence: float
    box: list[float] = Field(description="Left, top, right, bottom, as shares of the picture's sides.")


class ImageOut(_Part):
    """A picture of a document."""

    source: Text = Field(description="Its address, as the document writes it.")
    alt: Text | None
    caption: Text | None
    block: int | None
    position: int | None = Field(description="How many sentences stand before it.")
    page: int | None
    problem: Text | None = Field(description="Why it takes no part in linking.")
    lines: list[LineOut] | None = Field(None, description="What is written in it, where that was read.")


class ExplanationOut(_Part):
    """The words and regions that carry a link; weights above 0 support it."""

    words: list[tuple[int, int, Number]] = Field(description="Begin, end and weight of words of the sentence.")
    regions: list[tuple[Number, Number, Number, Number, Number]] = Field(
        description="Left, top, right, bottom and weight of parts of the picture."
    )


class LinkOut(_Part):
    """A sentence and a picture that belong together."""

    sentence: int
    image: int
    score: Number
    confidence: Number = Field(description="Probability that the picture belongs to the sentence.")
    paragraph_confidence: Number = Field(description="Probability that it belongs to the sentence's paragraph.")
    evidence: dict[str, Number] = Field(description="What each kind of evidence adds to the log-odds.")
    explanation: ExplanationOut | None = None
    relations: dict[str, Number] | None = Field(None, description="How probable each coherence relation is.")


class LinkedOut(_Part):
    """A document with its links."""

    id: Text
    source: Text | None
    title: Text | None
    language: str
    model: Text
    notes: list[Text]
    habit: str | None = Field(description="Where its pictures stand, in words.")
    sentences: list[SentenceOut]
    images: list[ImageOut]
    links: list[LinkOut] = Field(description="The strongest first.")
    similarity: list[list[float | None]] = Field(description="Of each sentence with each picture.")


class FailedOut(_Part):
    """A document that could not be linked, among others that were."""

    id: Text
    source: Text
    error: Text


def json_object(linked: LinkedDocument) -> dict[str, Any]:
    """Return a linked document as JSON data, see ``LinkedOut``."""
    document = linked.document
    out = LinkedOut(
        id=document.id,
        source=document.place,
        title=document.title,
        language=document.language,
        model=linked.model,
        notes=linked.notes,
        habit=linked.habit,
        sentences=document.sentences,
        images=document.images,
        links=linked.links,
        similarity=[[plain_number(cell) for cell in row] for row in linked.similarity.tolist()],
    )
    return out.model_dump(exclude_defaults=True)


def json_array(results: Iterable[LinkedDocument | Failure], folder: Path | None = None) -> Iterator[str]:
    """Yield pieces of a JSON list with one object for each document; it ends with a newline.

    A document that failed becomes an object with ``id``, ``source`` and ``error``, so that none is missing. ``folder``
    is given to every output (``Output.text``), but JSON has no addresses that depend on it.
    """
    return json_list(map(_any_object, results))


def json_lines(results: Iterable[LinkedDocument | Failure], folder: Path | None = None) -> Iterator[str]:
    """Yield the objects of ``json_array``, one per line, with newlines; only one is in memory."""
    for result in results:
        yield json_text(_any_object(result)) + "\n"


def _any_object(result: LinkedDocument | Failure) -> dict[str, Any]:
    if isinstance(result, LinkedDocument):
        return json_object(result)
    return FailedOut(id=result.path.stem, source=str(result.path), error=str(result.error)).model_dump()
