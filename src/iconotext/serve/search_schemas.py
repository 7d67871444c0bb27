"""What a search takes and gives as JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from iconotext.serve.schemas import Described

MOST = 1000
"""Maximum number of results."""

PictureId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
"""The id of a picture: a digest of its content."""

Size = Literal["small", "large"]
"""The size at which a picture is shown."""


class SearchIn(Described):
    """What is searched for: a sentence, a picture, or both. As the options of ``iconotext search``."""

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
    """A picture that was found, as ``iconotext search --json`` prints it, with its id."""

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
    """What came of a search."""

    results: list[ResultOut]
    good: bool = Field(description="Whether one of them matches well.")
    more: bool = Field(description="Whether there are more.")
    note: str | None = Field(description="What was not looked at, and why.")


class ExampleOut(Described):
    """A picture that was sent, to be searched with."""

    id: PictureId
