"""Images in pages: they are reduced and embedded as data URIs."""

from __future__ import annotations

import base64
import hashlib
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iconotext.errors import ImageError
from iconotext.images import decode
from iconotext.system.threads import in_threads
from iconotext.types import Image

if TYPE_CHECKING:
    from PIL.Image import Image as Pixels

LONGER_SIDE = 900
"""Longer side in pixels of an image that is a file of its own, or one of few: sharp enough for close viewing, about
100 kB."""

PAGE_SIDE = 720
"""Longer side in pixels of an image within a page of many: two and a half times its width beside the text."""

QUALITY = {"JPEG": 80, "WEBP": 72}
"""Quality of photographs. WebP takes half the bytes, and twice the time."""

FLAT_COLOURS, LEAST_GROUND = 256, 0.1
"""An image with at most this many colours, one of which covers at least this share, is a drawing or a screenshot: an
encoding without losses keeps it sharp, and is often smaller. Grey photographs have few colours too, but none covers
that much."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """An image in a page.

    Attributes:
        uri: Data URI, or the address at which a server has the image; None if it could not be decoded.
        width: Of the encoded image, in pixels.
        height: Of the encoded image, in pixels.
        problem: Why there is no URI; None if there is one.
    """

    uri: str | None
    width: int = 0
    height: int = 0
    problem: str | None = None

    @property
    def content(self) -> tuple[str, bytes]:
        """The type (``jpeg``, ``png`` or ``webp``) and bytes; only for an image in a data URI."""
        kind, _, data = (self.uri or "").removeprefix("data:image/").partition(";base64,")
        return kind, base64.b64decode(data)

    @property
    def digest(self) -> str | None:
        """A digest of its content; None if it could not be decoded."""
        return None if self.uri is None else hashlib.sha256(self.uri.encode()).hexdigest()[:16]


def embed(
    images: Sequence[Image], image_numbers: Iterable[int], *, longer_side: int = LONGER_SIDE, small: bool = False
) -> dict[int, Embedded]:
    """Encode some of a document's images for a page, several at a time.

    Args:
        image_numbers: Numbers of the images that the page shows; no others are read.
        longer_side: Maximum size in pixels; smaller images keep their size.
        small: Whether they are encoded as WebP, for pages of many images; else as JPEG and PNG, which everything reads.

    Returns:
        Image number to embedded image; one that cannot be decoded has a ``problem`` instead.
    """
    numbers = list(image_numbers)
    workers = max(1, min(len(numbers), os.cpu_count() or 1, 8))
    # Threads suffice, since Pillow releases the GIL while it decodes and encodes.
    embedded = in_threads(lambda i: _embed(images[i].file, longer_side, small=small), numbers, threads=workers)
    return dict(zip(numbers, embedded, strict=True))


def _embed(file: Path | bytes | None, longer_side: int, *, small: bool) -> Embedded:
    if file is None:
        return Embedded(None, problem="there is no file of this picture")
    try:
        image = decode(file, at_least=longer_side)
    except (ImageError, OSError) as error:
        # Pages may be passed on, so messages must not contain paths of this machine.
        return Embedded(None, problem=str(error).removeprefix(f"{file}: " if isinstance(file, Path) else ""))
    image.thumbnail((longer_side, longer_side), reducing_gap=2.0)
    data, kind = _smallest(image, *(("WEBP", "WEBP") if small else ("JPEG", "PNG")))
    uri = f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
    return Embedded(uri, image.width, image.height)


def _smallest(image: Pixels, lossy: str, lossless: str) -> tuple[bytes, str]:
    photograph = _encoded(image, lossy, quality=QUALITY[lossy], optimize=True)
    colours = image.getcolors(FLAT_COLOURS)  # None if there are more
    if colours is None or max(count for count, _ in colours) < LEAST_GROUND * image.width * image.height:
        return photograph, lossy.lower()
    drawing = _encoded(image.quantize(FLAT_COLOURS), lossless, optimize=True, lossless=True)
    return (drawing, lossless.lower()) if len(drawing) <= len(photograph) else (photograph, lossy.lower())


def _encoded(image: Pixels, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()
