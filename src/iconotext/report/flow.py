"""The order of a linked document for output: sentences in blocks, each image after the block that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile

from iconotext.plain_text import readable
from iconotext.types import Document, Image, Kind, Link, LinkedDocument, Sentence

Span = tuple[int, int]

BETWEEN_BLOCKS = "\n\n"

DEFAULT_LEVEL = 2
"""Level of headings whose level is unknown; the title, repeated as a heading, has level 1."""

# In Chinese, Japanese and Korean, each character counts as a word, as in word processors.
_WORD = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\\s\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")


def document_text(document: Document) -> tuple[str, list[Span]]:
    """Join all sentences in reading order, with blank lines between blocks; return also their offsets in characters."""
    parts: list[str] = []
    spans: list[Span] = []
    length = 0
    for block in blocks(document.sentences):
        for place, sentence in enumerate(block.sentences):
            text = document.sentences[sentence].text
            space = (BETWEEN_BLOCKS if parts else "") if place == 0 else space_after(parts[-1])
            length += len(space) + len(text)
            spans.append((length - len(text), length))
            parts += [space, text]
    return "".join(parts), spans


def count_words(text: str) -> int:
    """Return the number of words of a text; in Chinese, Japanese and Korean, of characters."""
    return sum(1 for _ in _WORD.finditer(text))


def counted_words(text: str) -> list[Span]:
    """Return the offsets of the words that ``count_words`` counts."""
    return [match.span() for match in _WORD.finditer(text)]


def heading_paths(document: Document) -> list[tuple[str, ...]]:
    """Return for each sentence the headings above it, highest first; for a heading, including itself."""
    paths: list[tuple[str, ...]] = []
    open_: list[tuple[int, str]] = []
    for sentence in document.sentences:
        if sentence.heading:
            level = _level(sentence, document.title, first=not open_)
            open_ = [(above, text) for above, text in open_ if above < level] + [(level, sentence.text)]
            path = tuple(text for _, text in open_)
        else:
            path = paths[-1] if paths else ()
        paths.append(path)
    return paths


def _level(heading: Sentence, title: str | None, *, first: bool) -> int:
    if heading.level is not None:
        return heading.level
    return 1 if first and heading.text == title else DEFAULT_LEVEL


def common_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the common beginning of heading paths."""
    levels = zip(*paths, strict=False)  # as many as the shortest path has
    return tuple(names[0] for names in takewhile(lambda names: len(set(names)) == 1, levels))


# Endings of sentences in scripts without spaces between sentences.
_FULL_WIDTH_ENDS = "。！？」』）"

LEAST_CONFIDENCE = 0.3
"""An image whose strongest link is less probable than this is not moved to the sentence: the link is a guess."""


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive sentences of one block of the source, as a range of indices; at least one."""

    kind: Kind
    sentences: tuple[int, ...]


def blocks(sentences: Sequence[Sentence]) -> list[Block]:
    """Group the sentences by block; without blocks in the source, each sentence is one."""

    def place(i: int) -> tuple[int, int, str]:
        block = sentences[i].block
        return (-1, i, "") if block is None else (0, block, sentences[i].kind)

    return [
        Block(sentences[members[0]].kind, members)
        for members in (tuple(group) for _, group in groupby(range(len(sentences)), key=place))
    ]


def space_after(text: str) -> str:
    """Return the separator between a sentence and the next one in its block."""
    return "" if text.endswith(tuple(_FULL_WIDTH_ENDS)) else " "


def links_by_image(linked: LinkedDocument) -> dict[int, list[Link]]:
    """Return the links of every image that has any, strongest first."""
    by_image: dict[int, list[Link]] = {}
    for link in linked.links:
        by_image.setdefault(link.image, []).append(link)
    return by_image


def is_guess(link: Link) -> bool:
    """Return whether the strongest link of an image is too improbable to move the image to its sentence."""
    return link.confidence < LEAST_CONFIDENCE


def images_after(
    document: Document, document_blocks: Sequence[Block], strongest: dict[int, Link]
) -> dict[int, list[int]]:
    """Assign images to the blocks after which they are shown.

    An image follows the block of its strongest link; where that is a guess, it stays where its author put it.

    Args:
        document_blocks: From ``blocks``.
        strongest: The strongest link of every image to place.

    Returns:
        Number of a block, in the order of ``document_blocks``, to its images in the author's order; -1 for images
        before all text.
    """
    block_of = {sentence: n for n, block in enumerate(document_blocks) for sentence in block.sentences}
    numbered = {document.sentences[block.sentences[0]].block: n for n, block in enumerate(document_blocks)}
    after: dict[int, list[int]] = {}
    for number, link in sorted(strongest.items()):
        image, place = document.images[number], block_of[link.sentence]
        if is_guess(link) and image.position is not None:
            place = block_of.get(min(image.position, len(document.sentences)) - 1, -1)
            if image.block is not None:  # it stands within a paragraph
                place = numbered.get(image.block, place)
        after.setdefault(place, []).append(number)
    return dict(sorted(after.items()))


def unlinked_reason(image: Image) -> str:
    """Return the reason why an image has no links, in words for readers."""
    return image.problem or "no sentence fits it well enough"


def shown_source(source: str) -> str:
    """Return the address of an image for readers, without the data that it may contain."""
    return "a picture within the document" if source.startswith("data:") else readable(source)


def title(document: Document) -> str:
    """Return the title of the document, else the name of its file, else its id."""
    return document.title or (document.source.stem if document.source else document.id)
