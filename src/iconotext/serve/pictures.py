"""Encodes pictures for pages in a process without models, so that nobody waits while documents are being linked."""

from __future__ import annotations

from pathlib import Path

from iconotext.errors import ImageError
from iconotext.report.embedded import embed
from iconotext.serve.pool import Pool
from iconotext.types import Image

SECONDS = 60.0
"""Maximum time for encoding a picture."""


def picture_pool() -> Pool:
    """A process for ``encoded``; it starts with the first picture."""
    return Pool(1, _nothing, None)


def encoded(file: Path) -> tuple[str, bytes]:
    """Media type (jpeg or png) and bytes of a picture, at most 900 pixels a side, without metadata."""
    picture = embed([Image("picture", file)], [0])[0]
    if picture.uri is None:
        raise ImageError(f"this picture cannot be shown: {picture.problem}")
    return picture.content


def _nothing(_: None) -> None:
    """Prepares nothing."""
