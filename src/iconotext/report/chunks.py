"""The division of a document into chunks at natural borders, with every image in the chunk of its sentences.

``ChunkSettings`` are the choices of a user.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from iconotext.errors import SettingError
from iconotext.excerpts import CHUNK_WORDS, SHIPPED_TOKENIZER, Chunk, ChunkImage, Cut, SlimChunk
from iconotext.report.context import Excerpts, check_words, image_file
from iconotext.report.flow import Span, common_path, count_words
from iconotext.report.length import Ruler, stretches, tokens_ruler, within_limit, words_ruler
from iconotext.types import Document, Image, Link, LinkedDocument, Sentence

BOTH = 0.5
"""An image is also in a second chunk if that has at least this share of the first one's confidence, since a
picture may belong to several paragraphs."""


def chunks(
    linked: LinkedDocument,
    words: int | None = None,
    *,
    tokens: int | None = None,
    tokenizer: str = SHIPPED_TOKENIZER,
    once: bool = False,
) -> list[Chunk]:
    """Divide the document into consecutive chunks, none of them longer than the limit.

    A chunk is filled with sentences until the next one no longer fits, and ends at the best border in its second half:
    before a heading, else between two blocks, else between two sentences; after a heading only if there is no other.
    A sentence that is longer than the limit is divided between words, and ``Chunk.cut`` says so.

    An image is in the chunk whose linked paragraphs it belongs to most probably; if it belongs to a second one
    (``BOTH``), it is in both, and both say so. An image without links is in the chunk where it stands. No image is left
    out.

    Args:
        words: Maximum length of a chunk in words; in Chinese, Japanese and Korean, in characters. ``CHUNK_WORDS`` by
            default.
        tokens: Maximum length in tokens, instead of words, with those that the tokeniser adds to every text.
        tokenizer: Name of the tokeniser; see ``features.tokenizer_files``.
        once: Whether an image is in its best chunk only.

    Returns:
        At least one, unless the document has neither sentences nor images.

    Raises:
        SettingError: ``words`` or ``tokens`` is too small, or both are given.
        FeatureError: There is no such tokeniser.
    """
    ruler = chunk_ruler(words, tokens, tokenizer)
    document, excerpts = linked.document, Excerpts(linked)
    parts = _parts(document, excerpts, ruler)
    if not parts and document.images:
        parts = [Part(0, -1, 0, 0)]
    starts = [part.start for part in parts]
    images: list[list[ChunkImage]] = [[] for _ in parts]
    for image in range(len(document.images)):
        homes = _homes(linked, excerpts, image, starts, once=once)
        for number in homes:
            images[number].append(_image(document.images[image], excerpts, image, starts, number, homes))
    texts = [excerpts.text[part.start : part.end] for part in parts]
    counts = [None] * len(parts) if tokens is None else ruler.lengths(texts)
    return [
        _chunk(document, excerpts, number, part, count, tuple(images[number]))
        for number, (part, count) in enumerate(zip(parts, counts, strict=True))
    ]


def chunk_ruler(words: int | None, tokens: int | None, tokenizer: str) -> Ruler:
    """Return what measures chunks; see ``chunks``."""
    if words is not None and tokens is not None:
        raise SettingError("words and tokens are two limits of a chunk: give one of them")
    if tokens is not None:
        return tokens_ruler(tokens, tokenizer)
    if tokenizer != SHIPPED_TOKENIZER:
        raise SettingError(
            f"the tokenizer {tokenizer} has nothing to count: give tokens, the most that a chunk may have"
        )
    words = CHUNK_WORDS if words is None else words
    check_words(words)
    return words_ruler(words)


class Part(NamedTuple):
    """The text of a chunk: its first and last sentence, and its offsets in the text of the document."""

    first: int
    last: int
    start: int
    end: int


def _parts(document: Document, excerpts: Excerpts, ruler: Ruler) -> list[Part]:
    """Divide the text of a document into the texts of its chunks."""
    pieces, lengths = within_limit(excerpts.text, excerpts.spans, ruler)

    def cost(i: int) -> int:
        before, after = pieces[i - 1][0], pieces[i][0]
        return WITHIN if before == after else _cost(document.sentences[before], document.sentences[after])

    starts = stretches(excerpts.text, [span for _, span in pieces], lengths, ruler, cost)
    return [
        Part(pieces[start][0], pieces[after - 1][0], pieces[start][1][0], pieces[after - 1][1][1])
        for start, after in pairwise([*starts, len(pieces)])
    ]


WITHIN = 5
"""The rank of a border within a sentence: the worst."""


def _cost(before: Sentence, after: Sentence) -> int:
    """The rank of a border between two sentences, 0 for the best; lists and tables are cut less gladly than text."""
    if before.heading:
        return 4
    if after.heading:
        return 0
    if before.block == after.block is not None:
        return 3
    return 2 if before.kind == after.kind in ("item", "cell") else 1


Home = tuple[str, float | None]
"""The reason why an image is in a chunk (``ChunkImage.by``), and ``ChunkImage.paragraph_confidence``."""


def _homes(
    linked: LinkedDocument, excerpts: Excerpts, image: int, starts: Sequence[int], *, once: bool
) -> dict[int, Home]:
    """Return the numbers of an image's chunks, one or two, each with the reason.

    Args:
        starts: Offsets of the chunks in the text. A sentence that is divided counts for the chunk where it begins, and
            a paragraph that is divided for each chunk by the confidences of its linked sentences there.
    """
    shares: dict[int, float] = {}
    paragraphs: dict[int, list[Link]] = {}
    for link in excerpts.links.get(image, ()):
        block = linked.document.sentences[link.sentence].block
        paragraphs.setdefault(-1 - link.sentence if block is None else block, []).append(link)
    for links in paragraphs.values():
        total = sum(link.confidence for link in links)
        parts: dict[int, float] = {}
        for link in links:
            number = _at(starts, excerpts.spans[link.sentence][0])
            part = link.confidence / total if total else 1 / len(links)
            parts[number] = parts.get(number, 0.0) + part * link.paragraph_confidence
        for number, part in parts.items():
            shares[number] = 1 - (1 - shares.get(number, 0.0)) * (1 - part)  # any of its paragraphs
    if shares:
        first, *others = sorted(shares, key=lambda number: (-shares[number], number))
        second = [number for number in others[:1] if not once and shares[number] >= BOTH * shares[first] > 0]
        return {number: ("links", min(shares[number], 1.0)) for number in [first, *second]}
    placed = linked.document.images[image]
    if placed.position is None:
        return {0: ("unknown", None)}
    if not excerpts.spans:
        return {0: ("place", None)}
    beside, after = _neighbour(linked.document, placed)
    return {_at(starts, excerpts.spans[beside][0] if after else excerpts.spans[beside][1] - 1): ("place", None)}


def _at(starts: Sequence[int], offset: int) -> int:
    """Return the number of the chunk at an offset of the text."""
    return max(bisect_right(starts, offset) - 1, 0)


def _neighbour(document: Document, image: Image) -> tuple[int, bool]:
    """Return the sentence before an image; or, with True, that after it, if the image begins that sentence's block."""
    after = min(image.position or 0, len(document.sentences))
    blocks = [sentence.block for sentence in document.sentences[max(after - 1, 0) : after + 1]]
    begins = image.block is not None and after < len(document.sentences) and blocks[-1] == image.block != blocks[0]
    return (after, True) if begins else (max(after - 1, 0), False)


def _chunk(
    document: Document, excerpts: Excerpts, number: int, part: Part, tokens: int | None, images: tuple[ChunkImage, ...]
) -> Chunk:
    own = range(part.first, part.last + 1)
    running = [excerpts.paths[i] for i in own if not document.sentences[i].heading]
    in_source = [place for place in excerpts.source[part.first : part.last + 1] if place is not None]
    text = excerpts.text[part.start : part.end]
    return Chunk(
        document=document.id,
        chunk=number,
        headings=common_path(running or [excerpts.paths[i] for i in own]),
        first=part.first,
        last=part.last,
        start=part.start,
        end=part.end,
        source_start=in_source[0][0] if in_source else None,
        source_end=in_source[-1][1] if in_source else None,
        words=count_words(text),
        text=text,
        images=images,
        tokens=tokens,
        cut=_cut(part, excerpts.spans),
    )


def _cut(part: Part, spans: Sequence[Span]) -> Cut | None:
    if part.last < part.first:
        return None
    at_start, at_end = spans[part.first][0] < part.start, part.end < spans[part.last][1]
    return "both" if at_start and at_end else "start" if at_start else "end" if at_end else None


def _image(
    image: Image, excerpts: Excerpts, n: int, starts: Sequence[int], chunk: int, homes: Mapping[int, Home]
) -> ChunkImage:
    by, paragraph_confidence = homes[chunk]
    return ChunkImage(
        image=n,
        source=image.source,
        file=image_file(image),
        caption=image.caption,
        alt=image.alt,
        problem=image.problem,
        by=by,
        paragraph_confidence=paragraph_confidence,
        also_in=next((other for other in homes if other != chunk), None),
        sentences=tuple(
            excerpts.quote(i, n)
            for i in sorted(link.sentence for link in excerpts.links.get(n, ()))
            if _at(starts, excerpts.spans[i][0]) == chunk
        ),
    )


class ChunkSettings(BaseModel):
    """How documents are cut into chunks; the command ``chunks`` has an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    words: int | None = Field(None, ge=1)
    """Most words of a chunk; characters in Chinese, Japanese, Korean (default: 300). With a limit in tokens, any
    number."""

    tokens: int | None = Field(None, ge=1)
    """Most tokens of a chunk, instead of words. With those that the tokenizer puts before and after a text."""

    tokenizer: str = SHIPPED_TOKENIZER
    """Tokeniser that counts. minilm, which ships; a file tokenizer.json or a folder with one; or a model of the Hugging
    Face hub whose files are on this machine."""

    once: bool = False
    """Put each picture into its best chunk only."""

    full: bool = False
    """Give all fields. Also the texts of linked sentences, scores, and the numbers of sentences and words."""

    def check(self) -> None:
        """Check the limit before documents are linked; raises as ``chunks``."""
        chunk_ruler(self.words, self.tokens, self.tokenizer)

    def of(self, linked: LinkedDocument) -> list[Chunk] | list[SlimChunk]:
        """Return the chunks of a document: with all fields, or slim."""
        found = chunks(linked, self.words, tokens=self.tokens, tokenizer=self.tokenizer, once=self.once)
        return found if self.full else [chunk.slim() for chunk in found]

    @property
    def kind(self) -> type[Chunk] | type[SlimChunk]:
        """The class of the chunks."""
        return Chunk if self.full else SlimChunk
