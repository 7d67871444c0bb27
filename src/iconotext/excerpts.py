"""Excerpts of a linked document, for retrieval and captioning: a context for each image, and chunks with images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CONTEXT_WORDS = 120
"""Default length of a context in words: a paragraph or two."""

CHUNK_WORDS = 300
"""Default length of a chunk in words: about three paragraphs."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a document, and its place.

    Attributes:
        sentence: Its index in the document.
        text: The whole sentence.
        start: Its beginning in the text of the document (``report.flow.document_text``), in characters.
        end: Its end there.
        source_start: Its beginning in the Markdown or HTML file, in characters of the decoded file; None for other
            formats, or if it was not found.
        source_end: Its end there.
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
        confidence: Of its link with the image; None if it is not linked, but was the next most likely or the nearest.
        score: How strongly the two belong together; see ``Link``.
        relations: How they relate; see ``Link``.
    """

    confidence: float | None
    score: float
    relations: Mapping[str, float] | None


@dataclass(frozen=True, slots=True)
class Context:
    """The context of an image: the sentences of a document about it.

    Attributes:
        document: Id of the document.
        image: Index of the image.
        source: Its address, as the document writes it.
        file: Its file; None if it was inside the document, or could not be loaded.
        page: Its page in a PDF.
        headings: The headings above the most likely sentence, highest first.
        caption: Its caption.
        alt: Its alternative text.
        words_in_picture: The text in the image; None if it was not read.
        problem: Why it was not linked.
        by: How the sentences were chosen: ``links``; ``score``, if no sentence is likely enough to be linked;
            ``place``, the nearest ones, if nothing else is known; ``nothing`` if there are none.
        confidence: Of its best link.
        relation: The relation of its best link, if one stands out; see ``report.explanation``.
        sentences: Whole sentences, in reading order.
        text: Their texts; a line for each stretch of consecutive sentences.
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

    def _repr_html_(self) -> str:
        from iconotext.report.context import context_card  # which is made of the types of this module

        return context_card(self)


@dataclass(frozen=True, slots=True)
class ChunkImage:
    """An image in a chunk.

    Attributes:
        image: Its index in the document.
        source: Its address, as the document writes it.
        file: Its file; None if it was inside the document, or could not be loaded.
        caption: Its caption.
        alt: Its alternative text.
        problem: Why it was not linked.
        by: Why it is in this chunk: ``links``, its sentences are here; ``place``, it has no links and is placed here;
            ``unknown``, it has neither links nor a known place.
        confidence: Of all its links to sentences of this chunk together, at most 1; None without links.
        also_in: Number of another chunk that has it too; None if there is none.
        sentences: The sentences of this chunk to which it is linked.
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
    """A stretch of a document, with its images.

    Attributes:
        document: Id of the document.
        chunk: Its number, from 0.
        headings: The headings above all of its sentences, highest first.
        first: Index of its first sentence.
        last: Index of its last sentence; ``first`` - 1 if the document has no sentences.
        start: Beginning of its text in the text of the document, in characters.
        end: End of its text there.
        source_start: Beginning of its first sentence in the Markdown or HTML file; see ``Quote``.
        source_end: End of its last sentence there.
        words: Number of words.
        text: Its text, with a blank line between paragraphs.
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
