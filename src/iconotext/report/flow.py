"""The flow of a linked document: its sentences in blocks, each image after the block of its strongest link."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from iconotext.types import Document, Image, Kind, Link, LinkedDocument, Sentence

# Scripts that put no space between sentences end them with these.
_FULL_WIDTH_ENDS = "。！？」』）"


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring sentences, at least one, by their indices in reading order, in one block of the source."""

    kind: Kind
    sentences: tuple[int, ...]


def blocks(sentences: Sequence[Sentence]) -> list[Block]:
    """Group the sentences by block; where the source has no blocks, each sentence is one."""

    def place(i: int) -> tuple[int, int, str]:
        block = sentences[i].block
        return (-1, i, "") if block is None else (0, block, sentences[i].kind)

    return [
        Block(sentences[members[0]].kind, members)
        for members in (tuple(group) for _, group in groupby(range(len(sentences)), key=place))
    ]


def space_after(text: str) -> str:
    """What stands between a sentence and the next one of its block."""
    return "" if text.endswith(tuple(_FULL_WIDTH_ENDS)) else " "


def links_by_image(linked: LinkedDocument) -> dict[int, list[Link]]:
    """The links of every image that has any, strongest first."""
    found: dict[int, list[Link]] = {}
    for link in linked.links:
        found.setdefault(link.image, []).append(link)
    return found


def placed(document_blocks: Iterable[Block], strongest: dict[int, Link]) -> dict[int, list[int]]:
    """Which images to show after which block.

    Args:
        document_blocks: As ``blocks`` gives them.
        strongest: The strongest link of every image that is to be placed.

    Returns:
        Number of the block, counted in ``document_blocks``, to its images: by sentence, then image.
    """
    block_of = {sentence: n for n, block in enumerate(document_blocks) for sentence in block.sentences}
    after: dict[int, list[int]] = {}
    for image, link in sorted(strongest.items(), key=lambda item: (item[1].sentence, item[0])):
        after.setdefault(block_of[link.sentence], []).append(image)
    return after


def unlinked_reason(linked: LinkedDocument, image: Image) -> str:
    """Why an image without links has none, for people."""
    promised = "it is not sure enough for the promise, or nothing can be promised of it"
    return image.problem or (promised if any(p.decides for p in linked.promises) else "no sentence fits it well enough")


def title(document: Document) -> str:
    """The title of the document, else the name of its file, else its id."""
    return document.title or (document.source.stem if document.source else document.id)
