"""The data types that all stages share: documents with sentences and images, links and explanations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from iconotext.plain_text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatMatrix = NDArray[np.float32]

Kind = Literal["paragraph", "heading", "item", "quote", "cell", "caption"]
"""The kind of block that a sentence is in: running text, heading, list item, quotation, table cell, caption."""

Function = Literal["link", "button"]
"""The function of a picture that is the only content of a link or a button: its alternative text names it."""

Evidence = str
"""The name of a kind of evidence for a link; see ``iconotext.evidence.kinds``, which other packages may add to."""

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a document.

    Attributes:
        text: The sentence, with white space collapsed.
        block: Number of its block (paragraph, heading, list item, table cell), counted from 0 in reading order,
            together with the blocks of images; None without layout.
        kind: Of the block.
        targets: Identifiers in the document that the sentence links to, without the leading ``#``.
        level: Of a heading, 1 (highest) to 6; None for anything else, or if unknown.
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
        text: With white space collapsed.
        confidence: Of the text recognition, 0 to 1.
        box: Left, top, right, bottom, as shares of the image's width and height, 0 to 1 from the top left.
    """

    text: str
    confidence: float
    box: tuple[float, float, float, float]


class Member(NamedTuple):
    """The place of a picture in a file with many pictures: a tar, or a table with the bytes of pictures in its rows.

    Attributes:
        file: The tar or table.
        start: First byte in a tar; row in a table, from 0.
        part: Number of bytes in a tar; number of the picture within the row of a table, from 0.
    """

    file: str
    start: int
    part: int


@dataclass(frozen=True, slots=True)
class LinkedSentence:
    """A sentence that a document links to a picture, and the link's confidence, 0 to 1."""

    text: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Image:
    """One image of a document.

    Attributes:
        source: The address of the image as the document writes it.
        file: The encoded image: a file, or bytes if it came inside the document or from the network; None if it could
            not be loaded.
        alt: Alternative text, or None.
        caption: Caption, or None.
        block: Number of its block; an image on its own has its own block. None without layout.
        position: Number of sentences before it in reading order. None without layout.
        anchors: Identifiers by which the document may point at it (its own ``id`` and its figure's).
        page: Page of a PDF, from 1.
        box: Place on that page: left, top, right, bottom, as shares of width and height, 0 to 1 from the top left.
        lines: The text in the image, in reading order; None if it was not read.
        problem: Why it is not linked (not found, broken, too small, a repeat); None for a good image.
        at: Beginning of its markup in a Markdown or HTML file, or in the chapter of an EPUB, in characters; None if
            unknown.
        decorative: Whether the source marks it as decoration.
        member: Place of its bytes in a file of many pictures; None if in none, or unknown.
        context: The sentences that another document, which shows it, links to it; see ``iconotext.place``.
    """

    source: str
    file: Path | bytes | None = field(default=None, repr=False)  # may be megabytes
    _: KW_ONLY
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
    context: tuple[LinkedSentence, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """A document: its sentences and its images, each in reading order.

    Attributes:
        id: Name of the document, unique in a run or a corpus.
        sentences: In reading order. A plain text becomes a ``Sentence``.
        images: In reading order. A file name becomes an ``Image``.
        source: The file it was read from, or None.
        title: Title, or None.
        language: ISO 639-1 code.
        links: Gold links as (sentence, image) index pairs; None if unknown, () if there are none.
        split: Part of a corpus: train, validation or test.
        meta: Other information from the source.
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
        """Turn plain texts into sentences, and file names into images.

        Raises:
            TypeError: An item is something else.
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
        """The origin of the document, for readers: its address on the web, its file, or None."""
        return self.meta.get("address") or (None if self.source is None else str(self.source))

    @property
    def has_layout(self) -> bool:
        """Whether blocks and positions are known, so that layout can be evidence."""
        return all(s.block is not None for s in self.sentences) and all(i.position is not None for i in self.images)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Words and regions that carry a link's picture evidence: how far the cosine falls without each of them.

    A positive weight supports the link, a negative one speaks against it.

    Attributes:
        words: Begin and end, in characters of the sentence's text, and weight of each word; in reading order.
        regions: Left, top, right, bottom of each region, as shares of the picture's width and height, 0 to 1 from the
            top left, and its weight. () if the model reads features without looking at the image.
    """

    words: tuple[tuple[int, int, float], ...]
    regions: tuple[tuple[float, float, float, float, float], ...]


@dataclass(frozen=True, slots=True, repr=False)
class Link:
    """A link between a sentence and an image.

    Attributes:
        sentence: Index into the document's sentences.
        image: Index into the document's images.
        score: The value from which links were chosen: the cosine (-1 to 1) if pictures are the only evidence, else the
            confidence.
        confidence: Probability, 0 to 1, that this sentence belongs to the image.
        paragraph_confidence: Probability, 0 to 1, that any sentence of its block does: at least the confidence, and the
            same for a sentence without a block.
        evidence: Kind of evidence to what it adds to the log-odds of the link.
        explanation: Words and regions that carry it; None if not asked for, or if the image was not encoded.
        relations: Name to probability of each coherence relation (names: ``iconotext.relations``); None if not asked
            for, or if the relation model does not know the document's language.
    """

    sentence: int
    image: int
    score: float
    confidence: float
    paragraph_confidence: float
    evidence: Mapping[str, float]
    explanation: Explanation | None = None
    relations: Mapping[str, float] | None = None

    def __repr__(self) -> str:
        return (
            f"Link(sentence={self.sentence}, image={self.image}, score={self.score:.3f}, "
            f"confidence={self.confidence:.3f}, paragraph_confidence={self.paragraph_confidence:.3f})"
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinkedDocument:
    """A document with the links found in it; ``iconotext.linked`` adds what users make of it.

    Attributes:
        document: The document that was linked; images that could not be decoded now have a ``problem``.
        links: By descending score; ties by image, then sentence.
        similarity: (sentences, images) float32, the scores from which links were chosen; 0 in the column of an image
            with a problem.
        model: Name of the model that compared images with sentences.
        notes: What a user should know about all links, a sentence each, such as a language that the model does not
            know.
        habit: Where the pictures of its collection stand, in words; None if unknown.
        chosen: Image to the names of the people who chose its links, of which there may be none.
    """

    document: Document
    links: tuple[Link, ...]
    similarity: FloatMatrix
    model: str
    notes: tuple[str, ...] = ()
    habit: str | None = None
    chosen: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        links, images = counted(len(self.links), "link"), counted(len(self.document.images), "image")
        return f"LinkedDocument({self.document.id!r}, {links}, {images}, {self.model!r})"


Linked = TypeVar("Linked", bound=LinkedDocument)


def _parts(
    name: str, values: Iterable[Any], kind: type[Part], converters: Mapping[type, Callable[[Any], Part]]
) -> tuple[Part, ...]:
    """Convert sentences or images that were given as plain texts or file names."""
    if isinstance(values, tuple) and all(isinstance(value, kind) for value in values):
        return values
    if isinstance(values, (str, bytes, Path)):
        raise TypeError(f"{name} is a list of them, not {type(values).__name__}: put it into [ ]")
    parts = []
    for item in values:
        make = next((converters[cls] for cls in converters if isinstance(item, cls)), None)
        if make is None and not isinstance(item, kind):
            expected = " or ".join(cls.__name__ for cls in (kind, *converters))
            raise TypeError(f"{name}: each one is {expected}, not {type(item).__name__}")
        parts.append(make(item) if make else item)
    return tuple(parts)


def _image(file: str | Path) -> Image:
    return Image(str(file), Path(file))
