"""How much text every element of a page holds, measured in one pass over the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lxml import etree

Element = Any  # lxml has no types of its own that mypy could check


@dataclass(slots=True)
class Extent:
    """What an element holds.

    Attributes:
        letters: Characters that are not white space.
        words: Stretches of them; one may go through several elements.
        links: Links (``<a>``) to elsewhere, not to a place on the page.
        linked: Length of the text of these.
        images: Images (``<img>``).
    """

    letters: int = 0
    words: int = 0
    links: int = 0
    linked: int = 0
    images: int = 0
    _empty: bool = True
    _open_left: bool = False  # whether the text begins in the middle of a word
    _open_right: bool = False  # whether it ends in the middle of one

    @property
    def length(self) -> int:
        """Characters of the text with one space between words."""
        return self.letters + max(self.words - 1, 0)

    def add_text(self, text: str | None) -> None:
        """Put text behind what is there."""
        if text:
            words = text.split()
            self._join(sum(map(len, words)), len(words), not text[0].isspace(), not text[-1].isspace())

    def add(self, other: Extent) -> None:
        """Put what another element holds behind what is there."""
        if not other._empty:
            self._join(other.letters, other.words, other._open_left, other._open_right)
        self.links += other.links
        self.linked += other.linked
        self.images += other.images

    def _join(self, letters: int, words: int, open_left: bool, open_right: bool) -> None:
        self.letters += letters
        self.words += words - (self._open_right and open_left)
        self._open_left = open_left if self._empty else self._open_left
        self._open_right = open_right
        self._empty = False


def measure(root: Element) -> dict[Element, Extent]:
    """The extent of an element and of every one in it, the innermost first."""
    extents: dict[Element, Extent] = {}
    for element in reversed(list(root.iter(etree.Element))):
        extent = Extent()
        extent.add_text(element.text)
        for part in element:
            if part in extents:
                extent.add(extents[part])
            extent.add_text(part.tail)
        if element.tag == "a" and not (element.get("href") or "#").startswith("#"):
            extent.links += 1
            extent.linked += extent.length
        extent.images += element.tag == "img"
        extents[element] = extent
    return extents
