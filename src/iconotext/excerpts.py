"""What retrieval and captioning are handed of a linked document: a context for each image, chunks with their images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

CONTEXT_WORDS = 120
"""Words of a context: a paragraph or two."""

CHUNK_WORDS = 300
"""Words of a chunk: some three paragraphs."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a document, and where it stands.

    Attributes:
        sentence: Its index in the document.
        text: The sentence, whole.
        start: Where it begins in the text of the document (``report.document_text``), in characters.
        end: Where it ends there.
        source_start: Where it begins in the Markdown or HTML file, in characters of the decoded file; None of other
            formats, and where it was not found again.
        source_end: Where it ends there.
    """

    sentence: int
    text: str
    start: int
    end: int
    source_start: int | None
    source_end: int | None


@dataclass(frozen=True, slots=True)
class Excerpt(Quote):
    """A sentence that was chosen for an image.

    Attributes:
        confidence: Of its link with the image; None where it is not linked, but was the next likeliest or nearest.
        score: How strongly the two belong together; see ``Link``.
        relations: How they relate; see ``Link``.
    """

    confidence: float | None
    score: float
    relations: Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class Context:
    """What a document says about one of its images.

    Attributes:
        document: Id of the document.
        image: Index of the image.
        source: Its address, as the document writes it.
        file: Its file; None where it came inside the document, or could not be had.
        page: Its page in a PDF.
        headings: The headings above the likeliest sentence, the highest first.
        caption: Its caption.
        alt: Its alternative text.
        words_in_picture: What is written in it; None where nobody has looked.
        problem: Why it took no part in linking.
        by: How the sentences were chosen: ``links``; ``score``, where no sentence is likely enough to be linked;
            ``place``, the nearest ones, where nothing else is known; ``nothing`` where there are none.
        confidence: Of its best link.
        relation: How the best link relates the two, where that says something; see ``report.shown_relations``.
        sentences: In reading order, each of them whole.
        text: Their texts; a line for each stretch of the document.
    """

    document: str
    image: int
    source: str
    file: str | None = field(repr=False)
    page: int | None
    headings: tuple[str, ...]
    caption: str | None
    alt: str | None
    words_in_picture: str | None
    problem: str | None
    by: str
    confidence: float | None
    relation: str | None
    sentences: tuple[Excerpt, ...]
    text: str

    card_in_notebook: ClassVar[Callable[[Context], str]]
    """Makes the HTML that notebooks show: ``report.context_card``. The package sets it."""

    def _repr_html_(self) -> str:
        return type(self).card_in_notebook(self)


@dataclass(frozen=True, slots=True)
class ChunkImage:
    """An image in a chunk.

    Attributes:
        image: Its index in the document.
        source: Its address, as the document writes it.
        file: Its file; None where it came inside the document, or could not be had.
        caption: Its caption.
        alt: Its alternative text.
        problem: Why it took no part in linking.
        by: Why it is here: ``links``, its sentences are; ``place``, it has none and stands here; ``unknown``, nobody
            knows where it stands.
        confidence: Of all its links to sentences of this chunk together, at most 1; None without links.
        also_in: The number of the other chunk that it is in, None where this is the only one.
        sentences: Those of this chunk that it is linked with.
    """

    image: int
    source: str
    file: str | None = field(repr=False)
    caption: str | None
    alt: str | None
    problem: str | None
    by: str
    confidence: float | None
    also_in: int | None
    sentences: tuple[Excerpt, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of a document, with the images that belong to it.

    Attributes:
        document: Id of the document.
        chunk: Its number, from 0.
        headings: The headings that all of its sentences stand under, the highest first.
        first: Index of its first sentence.
        last: Index of its last sentence; one less than ``first`` where the document has none.
        start: Where its text begins in the text of the document, in characters.
        end: Where it ends there.
        source_start: Where its first sentence begins in the Markdown or HTML file; see ``Excerpt``.
        source_end: Where its last one ends there.
        words: How many words it has.
        text: Its text, a blank line between two paragraphs.
        images: In reading order.
    """

    document: str
    chunk: int
    headings: tuple[str, ...]
    first: int
    last: int
    start: int
    end: int
    source_start: int | None
    source_end: int | None
    words: int
    text: str
    images: tuple[ChunkImage, ...]
