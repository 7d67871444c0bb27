"""Text evidence: the words in an image, compared with every sentence in the same way as captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iconotext.evidence.caption import Reading, compared
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from iconotext.evidence.cells import Cells
    from iconotext.types import FloatMatrix

KEPT = frozenset(f"text.{name}" for name in ("cos", "own", "share"))
"""The features used: only a few, since few pictures have words, and none that depends on the length of sentences."""


def text_in(image: Image) -> str | None:
    """Return the lines of text in an image, joined; None without any."""
    return " ".join(line.text for line in image.lines or ()) or None


def text_features(documents: Sequence[Document], cells: Cells, readings: Sequence[Reading]) -> dict[str, FloatMatrix]:
    """Compute features that compare the words in every image with every sentence.

    Returns:
        The features of ``compared`` that are in ``KEPT``; 0 where an image has no words.
    """
    words = [text_in(image) for document in documents for image in document.images]
    found = compared(documents, cells, words, readings, name="text")
    return {name: values for name, values in found.items() if name in KEPT}
