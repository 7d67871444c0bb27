"""What the stages hand to each other: documents with sentences and images, and the links between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

from iconotext.excerpts import CHUNK_WORDS, CONTEXT_WORDS, Chunk, Context
from iconotext.plain_text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatMatrix = NDArray[np.float32]

Kind = Literal["paragraph", "heading", "item", "quote", "cell", "caption"]
"""What a sentence stands in: running text, a heading, a list item, a quotation, a table cell, a caption."""

Evidence = Literal["picture", "caption", "text", "layout", "reference"]
"""Where knowledge about a link comes from; see ``iconotext.links``."""

Part = TypeVar("Part")

EVIDENCE: tuple[Evidence, ...] = ("picture", "caption", "text", "layout", "reference")

Claim = Literal["document", "paragraph", "sentence"]
"""What may be promised of a link: its picture belongs to the document; its paragraph, or its sentence, is right."""

Required = Literal["document", "paragraph", "sentence", "none"]
"""The claim without which a link is dropped; ``none`` drops nothing."""

CLAIMS: tuple[Claim, ...] = ("document", "paragraph", "sentence")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a document.

    Attributes:
        text: The sentence, white space collapsed.
        block: Number of the block (paragraph, heading, list item, table cell) it stands in, counted from 0 in
            reading order and shared with the images; None where the source has no layout.
        kind: What the block is.
        targets: Identifiers within the document that the sentence links to, without the leading ``#``.
        level: Of a heading, 1 (the highest) to 6; None of anything else, and where the source does not say.
    """

    text: str
    block: int | None = None
    kind: Kind = "paragraph"
    targets: tuple[str, ...] = ()
    level: int | None = None

    @property
    def heading(self) -> bool:
        """Whether the sentence is a heading."""
        return self.kind == "heading"


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text that is written in an image.

    Attributes:
        text: What it says, white space collapsed.
        confidence: Of the reader, 0 to 1.
        box: Left, top, right, bottom, as shares of the image's width and height, 0 to 1 from the top left.
    """

    text: str
    confidence: float
    box: tuple[float, float, float, float]


class Member(NamedTuple):
    """Where a picture lies in a file that holds many: a tar, or a table with the bytes of pictures in its rows.

    Attributes:
        file: That file.
        start: Its first byte in a tar; the number of its row in a table, from 0.
        part: How many bytes it has in a tar; which picture of the row it is in a table, from 0.
    """

    file: str
    start: int
    part: int


@dataclass(frozen=True, slots=True)
class Image:
    """One image of a document.

    Attributes:
        source: The address of the image as the document writes it.
        file: Where the encoded image is: a file, or its bytes where it came inside the document or from the
            network. None where it could not be had.
        alt: Alternative text, None where there is none.
        caption: Caption, None where there is none.
        block: Number of the block it stands in; an image on its own has a block of its own. None without layout.
        position: Number of sentences before it in reading order, 0 to the number of sentences. None without layout.
        anchors: Identifiers by which the document may point at it (its own ``id`` and its figure's).
        page: Page of a PDF, from 1.
        box: Place on that page: left, top, right, bottom, as shares of width and height, 0 to 1 from the top left.
        lines: The text that is written in it, in reading order; None where nobody has looked for any.
        problem: Why it takes no part in linking (not found, broken, too small, a repeat), None for a good image.
        at: Where its markup begins in a Markdown or HTML file, or in the chapter of an EPUB, in characters; None where
            nobody knows.
        decorative: Whether the source says that it is for the eye alone.
        member: Where its bytes lie in a file of many pictures; None where they do not, or nobody has noted it.
    """

    source: str
    file: Path | bytes | None = field(default=None, repr=False)  # may be megabytes
    alt: str | None = None
    caption: str | None = None
    block: int | None = None
    position: int | None = None
    anchors: tuple[str, ...] = ()
    page: int | None = None
    box: tuple[float, float, float, float] | None = None
    lines: tuple[TextLine, ...] | None = None
    problem: str | None = None
    at: int | None = None
    decorative: bool = False
    member: Member | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """A document: its sentences and its images, each in reading order.

    Attributes:
        id: Name of the document, unique within a run or a corpus.
        sentences: In reading order. Plain texts become a ``Sentence`` each.
        images: In reading order. Names of files become an ``Image`` each.
        source: The file it was read from, or None.
        title: Title, or None.
        language: ISO 639-1 code of its language.
        links: Gold links as (sentence, image) index pairs; None where nobody knows them, () where there are none.
        split: Part of a corpus: train, validation or test.
        meta: Anything else the source says.
    """

    id: str
    sentences: tuple[Sentence, ...]
    images: tuple[Image, ...] = ()
    source: Path | None = None
    title: str | None = None
    language: str = "en"
    links: tuple[tuple[int, int], ...] | None = None
    split: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make plain texts sentences and names of files images.

        Raises:
            TypeError: There is something else among them.
        """
        sentences = _parts("sentences", self.sentences, Sentence, {str: Sentence})
        images = _parts("images", self.images, Image, {str: _image, Path: _image})
        object.__setattr__(self, "sentences", sentences)
        object.__setattr__(self, "images", images)

    def __repr__(self) -> str:
        images = counted(len(self.images), "image")
        return f"Document({self.id!r}, {counted(len(self.sentences), 'sentence')}, {images})"

    @property
    def place(self) -> str | None:
        """Where it comes from, as people write it: its address on the web, its file, or None."""
        return self.meta.get("address") or (None if self.source is None else str(self.source))

    @property
    def has_layout(self) -> bool:
        """Whether blocks and positions are known, so that layout can be evidence."""
        return all(s.block is not None for s in self.sentences) and all(i.position is not None for i in self.images)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What carries a link, as far as the picture evidence goes: how far the cosine falls without each part.

    A weight above 0 speaks for the link, one below 0 against it.

    Attributes:
        words: Begin and end of each word that was tried, in characters of the sentence's text, and its weight; in
            reading order.
        regions: Left, top, right, bottom of each region, as shares of the picture's width and height, 0 to 1 from the
            top left, and its weight. () where the model reads features without looking at the image.
    """

    words: tuple[tuple[int, int, float], ...]
    regions: tuple[tuple[float, float, float, float, float], ...]


@dataclass(frozen=True, slots=True, repr=False)
class Link:
    """A link between a sentence and an image.

    Attributes:
        sentence: Index into the document's sentences.
        image: Index into the document's images.
        score: The cell of the matrix the links were chosen from: the cosine (-1 to 1) where the image is the only
            evidence, else the confidence.
        confidence: Probability, 0 to 1, that the link is right.
        evidence: What each kind of evidence adds to the log-odds of the link.
        explanation: Words and regions that carry it; None if not asked for, or if the image was not encoded.
        paragraph: Probability, 0 to 1, that any sentence of the link's block belongs to the image; None without
            layout.
        relations: Name to probability of each coherence relation (names: ``iconotext.relations``); None if not asked
            for, or if the relation model does not know the document's language.
    """

    sentence: int
    image: int
    score: float
    confidence: float
    evidence: Mapping[str, float]
    explanation: Explanation | None = None
    relations: Mapping[str, float] | None = None
    paragraph: float | None = None

    def __repr__(self) -> str:
        return (
            f"Link(sentence={self.sentence}, image={self.image}, score={self.score:.3f}, "
            f"confidence={self.confidence:.3f})"
        )


@dataclass(frozen=True, slots=True)
class Promise:
    """What is promised of the links of all documents that were linked together; see ``iconotext.links.promise``.

    Attributes:
        claim: What is said of each image that passed.
        max_false: Of those, the share for which that is false, at most.
        tested: How many images it was tested for.
        kept: How many of them passed.
        calibration: How many calibration figures, or decoys, the promise is made from.
        untested: How many images could not be tested; nothing is said of them.
        refused: Why not; None where all were tested.
        images: The images of this document that passed.
        decides: Whether the links of images that did not pass are dropped.
        collections: How many collections have a threshold of their own; the promise is of all together, not of each.
    """

    claim: Claim
    max_false: float
    tested: int
    kept: int
    calibration: int
    untested: int = 0
    refused: str | None = None
    images: frozenset[int] = frozenset()
    decides: bool = False
    collections: int = 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinkedDocument:
    """A document with the links found in it.

    Attributes:
        document: The document that was linked; images that could not be decoded now have their ``problem``.
        links: By descending score; ties in the order of image, then sentence.
        similarity: (sentences, images) float32, the matrix the links were chosen from; 0 in the column of an image
            that has a problem.
        model: Name of the model that compared images with sentences.
        promises: One for each claim; () where nobody asked for any.
        notes: What a user should know of the links as a whole, a sentence each, such as a language that the model does
            not know.
        habit: Where the pictures of its collection stand, in words; None where too little is known.
    """

    document: Document
    links: tuple[Link, ...]
    similarity: FloatMatrix
    model: str
    promises: tuple[Promise, ...] = ()
    notes: tuple[str, ...] = ()
    habit: str | None = None

    def __repr__(self) -> str:
        links, images = counted(len(self.links), "link"), counted(len(self.document.images), "image")
        return f"LinkedDocument({self.document.id!r}, {links}, {images}, {self.model!r})"

    page_in_notebook: ClassVar[Callable[[LinkedDocument], str]]
    """Makes the HTML that notebooks show. The package sets it: pages are made of documents, which know of none."""
    make_context: ClassVar[Callable[[LinkedDocument, int | Image, int], Context]]
    make_chunks: ClassVar[Callable[[LinkedDocument, int], list[Chunk]]]
    """Set by the package as well: ``report.context``, ``report.chunks``."""

    def _repr_html_(self) -> str:
        return type(self).page_in_notebook(self)

    def context(self, image: int | Image, words: int = CONTEXT_WORDS) -> Context:
        """What the document says about one of its images, in at most so many words; see ``report.context``."""
        return type(self).make_context(self, image, words)

    def chunks(self, words: int = CHUNK_WORDS) -> list[Chunk]:
        """The document in chunks of at most so many words, with their images; see ``report.chunks``."""
        return type(self).make_chunks(self, words)


def _parts(
    name: str, given: Iterable[Any], kind: type[Part], made: Mapping[type, Callable[[Any], Part]]
) -> tuple[Part, ...]:
    """The sentences or images of a document, made of what was given for them."""
    if isinstance(given, tuple) and all(isinstance(each, kind) for each in given):
        return given
    if isinstance(given, (str, bytes, Path)):
        raise TypeError(f"{name} is a list of them, not {type(given).__name__}: put it into [ ]")
    parts = []
    for each in given:
        make = next((made[known] for known in made if isinstance(each, known)), None)
        if make is None and not isinstance(each, kind):
            wanted = " or ".join(known.__name__ for known in (kind, *made))
            raise TypeError(f"{name}: each one is {wanted}, not {type(each).__name__}")
        parts.append(make(each) if make else each)
    return tuple(parts)


def _image(file: str | Path) -> Image:
    return Image(str(file), Path(file))
