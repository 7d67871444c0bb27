"""Interleaved documents: texts and pictures in one reading order, as OBELICS, MINT-1T and other data sets hold them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from iconotext.images import tiff_pages
from iconotext.read.sentences import split_sentences

PARAGRAPHS = re.compile(r"\n\s*\n")

TIFFS = ("tiff", "tif")
"""Suffixes of the file in which MINT-1T has the pictures of a PDF, one a page, in their order in the document."""


class Page:
    """A document that is made of texts and pictures, one after the other.

    Attributes:
        texts: For each sentence, the place of its text in the reading order.
        places: For each picture, its place there.
    """

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.texts: list[int] = []
        self.images: list[str] = []
        self.places: list[int] = []
        self._blocks: list[int] = []
        self._positions: list[int] = []
        self._alts: list[str | None] = []
        self._block = 0

    def image(self, name: str, place: int, alt: object = None) -> None:
        """Add a picture; an alternative text that is empty counts as none."""
        self.images.append(name)
        self.places.append(place)
        self._positions.append(len(self.sentences))
        self._alts.append(alt if isinstance(alt, str) and alt.strip() else None)
        self._block += 1

    def text(self, text: str, place: int) -> None:
        """Add a text: a paragraph is a block, divided into sentences by the rules of English."""
        for paragraph in PARAGRAPHS.split(text):
            words = " ".join(paragraph.split())
            for start, end in split_sentences(words, "en"):
                self.sentences.append(words[start:end])
                self.texts.append(place)
                self._blocks.append(self._block)
            self._block += bool(words)

    def columns(self, name: str, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of the document's row, see ``corpus.row``."""
        return {
            "id": name,
            "sentences": self.sentences,
            "images": self.images,
            "blocks": self._blocks,
            "positions": self._positions,
            "alts": self._alts if any(self._alts) else None,
            "meta": meta,
        }


def is_mint(values: Mapping[str, Any]) -> bool:
    """Return whether the ``.json`` of a sample is a document of MINT-1T."""
    return isinstance(values.get("texts"), list) and isinstance(values.get("images"), list)


def mint_page(values: Mapping[str, Any]) -> Page:
    """Return a document of MINT-1T: ``texts`` and ``images`` are equally long, with null where the other has a value.

    Raises:
        ValueError: They are not, or hold something else.
    """
    texts, images, page = values["texts"], values["images"], Page()
    if len(texts) != len(images):
        raise ValueError(f"texts has {len(texts)} entries where images has {len(images)}")
    for place, (text, image) in enumerate(zip(texts, images, strict=True)):
        if not isinstance(text, str | None) or not isinstance(image, str | None):
            raise ValueError(f"entry {place} of texts or images is neither a text nor null")
        if image is not None:
            page.image(image, place)
        if text is not None:
            page.text(text, place)
    return page


def mint_files(images: Sequence[str], parts: Mapping[str, str], read: Callable[[str], bytes]) -> list[bytes | None]:
    """Return the pictures of a document of MINT-1T that lie on the pages of its TIFF; None for those that do not.

    Args:
        parts: Suffix to name of each member of its sample.
        read: Returns the bytes of a member.

    Raises:
        ImageError: The TIFF cannot be read at all.
    """
    tiff = next((parts[suffix] for suffix in TIFFS if suffix in parts), None)
    if tiff is None or any(name in parts or name in parts.values() for name in images):
        return [None] * len(images)
    pages = tiff_pages(read(tiff), len(images))
    return [*pages, *[None] * (len(images) - len(pages))]
