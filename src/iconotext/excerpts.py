"""Excerpts of a linked document, for retrieval and captioning: quoted sentences, and chunks with images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypedDict

from annotated_types import Ge, Len

CONTEXT_WORDS = 120
"""Default length of a context in words: a paragraph or two."""

CHUNK_WORDS = 300
"""Default length of a chunk in words: about three paragraphs."""

SHIPPED_TOKENIZER = "minilm"
"""Name of the tokeniser of the text encoder in the package."""


class ChunkOptions(TypedDict, total=False):
    """How to cut a document into chunks, besides the number of words; see ``report.chunks.chunks``."""

    tokens: int | None
    tokenizer: str
    once: bool


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
        confidence: Probability that this sentence belongs to the image; None if it is not linked, but was the next most
            likely or the nearest.
        score: How strongly the two belong together; see ``Link``.
        relations: How they relate; see ``Link``.
    """

    confidence: float | None
    score: float
    relations: Mapping[str, float] | None


Cut = Literal["start", "end", "both"]


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
        paragraph_confidence: Probability that it belongs to any of the linked paragraphs of this chunk; None without
            links.
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
    paragraph_confidence: float | None
    also_in: int | None
    sentences: tuple[Excerpt, ...]

    def slim(self, start: int, end: int) -> SlimImage:
        """Return what retrieval needs of the image in a chunk with these offsets."""
        return SlimImage(
            self.image,
            self.source.partition(",")[0] if self.source.startswith("data:") else self.source,
            self.file,
            self.caption,
            None if self.alt == self.caption else self.alt,
            self.problem,
            self.paragraph_confidence,
            self.also_in,
            tuple((s.start - start, min(s.end, end) - start, s.confidence or 0.0) for s in self.sentences),
        )


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
        words: Number of words; in Chinese, Japanese and Korean, of characters.
        text: Its text, with a blank line between paragraphs.
        images: In reading order.
        tokens: Number of tokens, if these were limited.
        cut: Where the chunk begins or ends within a sentence, since that is longer than the limit; None if nowhere.
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
    tokens: int | None = None
    cut: Cut | None = None

    def slim(self) -> SlimChunk:
        """Return what retrieval needs of the chunk, each text once."""
        return SlimChunk(
            self.document,
            self.chunk,
            self.headings,
            self.start,
            self.source_start,
            self.source_end,
            self.cut,
            self.text,
            tuple(image.slim(self.start, self.end) for image in self.images),
        )


@dataclass(frozen=True, slots=True)
class SlimImage:
    """The part of a ``ChunkImage`` that retrieval needs.

    Attributes:
        alt: Its alternative text, unless that is the caption.
        sentences: For each sentence to which it is linked, beginning and end in the text of the chunk, and confidence.
    """

    image: int
    source: str
    file: str | None = field(default=None, repr=False)
    caption: str | None = None
    alt: str | None = None
    problem: str | None = None
    paragraph_confidence: float | None = None
    also_in: int | None = None
    sentences: tuple[Annotated[tuple[Annotated[float, Ge(0)], ...], Len(3, 3)], ...] = ()


@dataclass(frozen=True, slots=True)
class SlimChunk:
    """The part of a ``Chunk`` that retrieval needs, as ``iconotext chunks`` writes it."""

    document: str
    chunk: int
    headings: tuple[str, ...]
    start: int
    source_start: int | None = None
    source_end: int | None = None
    cut: Cut | None = None
    text: str = ""
    images: tuple[SlimImage, ...] = ()
