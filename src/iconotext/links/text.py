"""Text evidence: the words in an image, compared with every sentence as captions are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iconotext.links.caption import Encode, compared
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


KEPT = frozenset(f"text.{name}" for name in ("cos", "own", "share"))
"""What is compared: few features, since few pictures have words, and none that depends on the length of sentences."""


def text_in(image: Image) -> str | None:
    """The lines in an image as one text; None where there are none."""
    return " ".join(line.text for line in image.lines or ()) or None


def text_features(
    document: Document, encode: Encode, *, sentence_vectors: FloatMatrix | None = None
) -> dict[str, FloatMatrix]:
    """Features that compare the words in every image with every sentence.

    Args:
        document: With S sentences and V images, their ``lines`` read.
        encode: As for ``compared``.
        sentence_vectors: Likewise.

    Returns:
        Those of ``compared`` that are ``KEPT``; 0 in the column of an image without words. An empty
        dict where no image has any.
    """
    words = [text_in(image) for image in document.images]
    if not document.sentences or not any(words):
        return {}
    found = compared(document, words, encode, name="text", sentence_vectors=sentence_vectors)
    return {name: matrix for name, matrix in found.items() if name in KEPT}
