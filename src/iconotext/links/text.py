"""Text evidence: the words in an image, compared with every sentence as captions are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from iconotext.links.caption import Encode, caption_features
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


def text_in(image: Image) -> str | None:
    """The lines in an image as one text; None where there are none."""
    return " ".join(line.text for line in image.lines or ()) or None


def text_features(
    document: Document, encode: Encode, *, sentence_vectors: FloatMatrix | None = None
) -> dict[str, FloatMatrix]:
    """Features that compare the words in every image with every sentence.

    Args:
        document: With S sentences and V images, their ``lines`` read.
        encode: As for ``caption_features``.
        sentence_vectors: Likewise.

    Returns:
        As ``caption_features`` gives them for a caption, named ``text.cos`` and so on; 0 in the column of an image
        without words. An empty dict where no image has any.
    """
    written = tuple(Image("", caption=text_in(image)) for image in document.images)
    found = caption_features(replace(document, images=written), encode, sentence_vectors=sentence_vectors)
    return {name.replace("caption.", "text."): matrix for name, matrix in found.items()}
