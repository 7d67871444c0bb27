"""A picture of a document as the rules see it, and the pixels that the header of its file names."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from iconotext.check.places import Place
from iconotext.evidence.labels import Label, own_labels
from iconotext.system.files import open_plain
from iconotext.types import Function

MAX_HEADER = 256 * 2**10
"""Most bytes that are read of a picture to know its size, wherever in its file they lie."""

MAX_READS = 20_000
"""Most reads of a picture to know its size."""

PICTURE_SUFFIXES = ".jpg .jpeg .jpe .png .gif .webp .avif .heic .heif .tif .tiff .bmp .svg".split()
"""Endings of the names of picture files, in lower case."""

Number = tuple[str, str]
"""Family and number of a label, without the part: Figure 3a is a part of Figure 3."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of a document, with all facts for judging it.

    Attributes:
        index: Its number among the pictures of the document, from 0.
        block: Number of its block.
        sources: Its addresses, the preferred one first.
        alt: Its alternative text; "" if it is empty, None if there is none.
        beside: The texts of its own block and of the blocks before and after it, without captions.
        language: ISO 639-1 code declared by the document, or None.
        cited: Whether a link in the document leads to it.
        decorative: Whether the source marks it as decoration.
        function: Its function if it is the only content of a link or a button.
        alt_unknown: Whether code, another element or a title names it in place of an alternative text.
        sides: Width and height at which it is shown, in pixels; None if not given.
        anchors: Identifiers by which the document may point at it.
        pixels: Width and height of a picture inside the document; None if unknown or elsewhere.
        weight: Size in bytes of a picture inside the document; None if it is elsewhere.
        problem: Why it cannot be used, if the reader has found that out.
    """

    place: Place
    index: int
    sources: tuple[str, ...]
    block: int = 0
    alt: str | None = None
    caption: str | None = None
    beside: tuple[str, ...] = ()
    language: str | None = None
    cited: bool = False
    decorative: bool = False
    function: Function | None = None
    alt_unknown: bool = False
    sides: tuple[int | None, int | None] | None = None
    anchors: tuple[str, ...] = ()
    pixels: tuple[int, int] | None = None
    weight: int | None = None
    problem: str | None = None

    @property
    def source(self) -> str:
        """The address of the picture, for messages."""
        return self.sources[0]

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels at the beginning of its caption, else of its alternative text."""
        return own_labels(self.caption or "") or own_labels(self.alt or "")

    @property
    def names(self) -> list[Number | str]:
        """The numbers of its labels, and its anchors, each once."""
        numbers: list[Number | str] = [number(label) for label in self.labels]
        return list(dict.fromkeys([*numbers, *self.anchors]))

    def is_same(self, other: Picture) -> bool:
        """Return whether another picture is the same one, shown again: by its address, or its file in the document."""
        inside = self.weight is not None and (self.weight, self.pixels) == (other.weight, other.pixels)
        return inside or bool(set(self.sources) & set(other.sources))


def number(label: Label) -> Number:
    """Return a label without its part."""
    return label.family, label.number


class _Header:
    """A picture's file, of which no more than ``MAX_HEADER`` bytes are read, in at most ``MAX_READS`` reads."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._bytes, self._reads = file, MAX_HEADER, MAX_READS
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        self._reads -= 1
        if self._reads < 0 or (self._bytes == 0 and size):
            raise ValueError("a header of more bytes than any program writes")
        data = self._file.read(min(size, self._bytes) if size >= 0 else self._bytes)
        self._bytes -= len(data)
        return data


def pixels(file: Path | bytes) -> tuple[int, int] | None:
    """Return the width and height of a picture by its header; None if they are unknown."""
    import imagesize

    try:
        with BytesIO(file) if isinstance(file, bytes) else open_plain(file) as opened:
            width, height = imagesize.get(_Header(opened))
            return (int(width), int(height)) if min(width, height) >= 1 else None
    except Exception:  # what a damaged header makes of the package: errors of any kind
        return None
