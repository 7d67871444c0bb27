"""The division of a document into chunks at natural borders, with every image in the chunk of its sentences."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from iconotext.excerpts import CHUNK_WORDS, Chunk, ChunkImage
from iconotext.report.context import Excerpts, check_words, image_file
from iconotext.report.flow import common_path
from iconotext.types import Document, Image, LinkedDocument, Sentence

BOTH = 0.5
"""An image is also in a second chunk if that has at least this share of the first one's confidence. The confidences of
one image sum to one at most, so a bar of "more likely than not" would leave no second chunk."""


def chunks(linked: LinkedDocument, words: int = CHUNK_WORDS) -> list[Chunk]:
    """Divide the document into consecutive chunks.

    A chunk is filled with sentences until the next one no longer fits, and ends at the best border in its second half:
    before a heading, else between two blocks, else between two sentences; after a heading only if there is no other.

    An image is in the chunk with the largest sum of its links' confidences; if it belongs to a second one (``BOTH``),
    it is in both, and both say so. An image without links is in the chunk where it stands. No image is left out.

    Args:
        words: Maximum length of a chunk in words; a longer sentence is a chunk of its own.

    Returns:
        At least one, unless the document has neither sentences nor images.

    Raises:
        SettingError: ``words`` is below 1.
    """
    check_words(words)
    document, excerpts = linked.document, Excerpts(linked)
    starts = chunk_starts(document.sentences, excerpts.words, words)
    if not starts:
        starts = [0] if document.images else []
    images: list[list[ChunkImage]] = [[] for _ in starts]
    spans = list(pairwise([*starts, len(document.sentences)]))
    for image in range(len(document.images)):
        homes = _homes(linked, excerpts, image, starts)
        for number in homes:
            images[number].append(_image(document.images[image], excerpts, image, spans[number], number, homes))
    return [_chunk(document, excerpts, number, span, tuple(images[number])) for number, span in enumerate(spans)]


def chunk_starts(sentences: Sequence[Sentence], lengths: Sequence[int], words: int) -> list[int]:
    """Return the index of the first sentence of each chunk."""
    before = [0, *accumulate(lengths)]
    starts: list[int] = []
    start = 0
    # One pass: an optimal division by the cost of borders takes quadratic time in hostile files.
    while start < len(sentences):
        starts.append(start)
        full = max(bisect_right(before, before[start] + words) - 1, start + 1)
        if full >= len(sentences):
            break
        half = max(bisect_right(before, before[start] + words // 2), start + 1)
        # Of equally good borders the last one: a chunk is as full as it can be.
        start = min(range(min(half, full), full + 1), key=lambda i: (_cost(sentences[i - 1], sentences[i]), -i))
    return starts


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
"""The reason why an image is in a chunk (``ChunkImage.by``), and the confidence."""


def _homes(linked: LinkedDocument, excerpts: Excerpts, image: int, starts: Sequence[int]) -> dict[int, Home]:
    """Return the numbers of an image's chunks, one or two, each with the reason."""
    shares: dict[int, float] = {}
    for link in excerpts.links.get(image, ()):
        number = bisect_right(starts, link.sentence) - 1
        shares[number] = shares.get(number, 0.0) + link.confidence
    if shares:
        first, *others = sorted(shares, key=lambda number: (-shares[number], number))
        second = [number for number in others[:1] if shares[number] >= BOTH * shares[first] > 0]
        return {number: ("links", min(shares[number], 1.0)) for number in [first, *second]}
    placed = linked.document.images[image]
    if placed.position is None:
        return {0: ("unknown", None)}
    return {max(bisect_right(starts, _neighbour(linked.document, placed)) - 1, 0): ("place", None)}


def _neighbour(document: Document, image: Image) -> int:
    """Return the sentence before an image; the sentence after it, if the image begins that sentence's block."""
    after = image.position or 0
    blocks = [sentence.block for sentence in document.sentences[max(after - 1, 0) : after + 1]]
    begins = image.block is not None and after < len(document.sentences) and blocks[-1] == image.block != blocks[0]
    return after if begins else max(after - 1, 0)


def _chunk(
    document: Document, excerpts: Excerpts, number: int, span: tuple[int, int], images: tuple[ChunkImage, ...]
) -> Chunk:
    first, end = span
    start, stop = (excerpts.spans[first][0], excerpts.spans[end - 1][1]) if first < end else (0, 0)
    running = [excerpts.paths[i] for i in range(first, end) if not document.sentences[i].heading]
    in_source = [place for place in excerpts.source[first:end] if place is not None]
    return Chunk(
        document=document.id,
        chunk=number,
        headings=common_path(running or excerpts.paths[first:end]),
        first=first,
        last=end - 1,
        start=start,
        end=stop,
        source_start=in_source[0][0] if in_source else None,
        source_end=in_source[-1][1] if in_source else None,
        words=sum(excerpts.words[first:end]),
        text=excerpts.text[start:stop],
        images=images,
    )


def _image(
    image: Image, excerpts: Excerpts, n: int, span: tuple[int, int], chunk: int, homes: Mapping[int, Home]
) -> ChunkImage:
    by, confidence = homes[chunk]
    return ChunkImage(
        image=n,
        source=image.source,
        file=image_file(image),
        caption=image.caption,
        alt=image.alt,
        problem=image.problem,
        by=by,
        confidence=confidence,
        also_in=next((other for other in homes if other != chunk), None),
        sentences=tuple(
            excerpts.quote(i, n)
            for i in sorted(link.sentence for link in excerpts.links.get(n, ()))
            if span[0] <= i < span[1]
        ),
    )
