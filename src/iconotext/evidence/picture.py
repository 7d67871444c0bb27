"""The evidence of the picture itself: what it shows, and the words in it.

``picture_evidence`` brings an encoder's similarities to a scale that does not depend on the encoder; ``ocr_evidence``
compares the words in an image with every sentence in the same way as captions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.evidence.caption import compared
from iconotext.evidence.cells import features_of_chosen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.evidence.caption import EvidenceInput
    from iconotext.evidence.cells import Cells, Features
    from iconotext.types import Document, FloatMatrix, Image

_FLAT = 1e-6  # a smaller spread is float32 noise and counts as 0


def picture_evidence(documents: Sequence[Document], inputs: Sequence[EvidenceInput]) -> list[Features]:
    """Return the ``image_features`` of the documents that have similarities."""
    return features_of_chosen(
        documents,
        [item.similarity is not None for item in inputs],
        lambda _, cells, numbers: image_features(cells, cells.joined([inputs[n].similarity for n in numbers])),
    )


def image_features(cells: Cells, similarity: FloatMatrix) -> dict[str, FloatMatrix]:
    """Compute features of the similarity that do not depend on how widely an encoder spreads its cosines.

    Args:
        similarity: (cells,) cosines of sentences with images.

    Returns:
        Name to (cells,) float32:
        ``picture.z``, z score of the cell among the sentences of its image;
        ``picture.own``, the same after subtracting each sentence's mean over the images, since some sentences are
        similar to every image; 0 with a single image.
    """
    centred = similarity - cells.image_means(similarity)[cells.image]
    doubly_centred = centred - (cells.sentence_sums(centred) / cells.images[cells.of_sentence])[cells.sentence]
    return {"picture.z": _over_spread(cells, centred), "picture.own": _over_spread(cells, doubly_centred)}


def _over_spread(cells: Cells, centred: NDArray[np.float64]) -> FloatMatrix:
    """Divide centred values by their standard deviation over each image's cells, clipped at 4; 0 without spread."""
    spread = np.sqrt(cells.image_means(np.square(centred)))[cells.image]
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > _FLAT)
    return np.clip(scaled, -4.0, 4.0).astype(np.float32)


USED = frozenset(f"ocr.{name}" for name in ("cos", "own", "share"))
"""The features of ``compared`` that are used: few, since few pictures have words to fit weights on, and none that
depends on the length of sentences."""


def text_in(image: Image) -> str | None:
    """Return the lines of text in an image, joined; None without any."""
    return " ".join(line.text for line in image.lines or ()) or None


def ocr_evidence(documents: Sequence[Document], inputs: Sequence[EvidenceInput]) -> list[Features]:
    """Compare the words in every image with every sentence; the features are 0 where an image has no words."""

    def compute(batch: Sequence[Document], cells: Cells, numbers: Sequence[int]) -> dict[str, FloatMatrix]:
        words = [text_in(image) for document in batch for image in document.images]
        features = compared(batch, cells, words, [inputs[n].reading for n in numbers], name="ocr")
        return {name: values for name, values in features.items() if name in USED}

    return features_of_chosen(documents, [any(map(text_in, document.images)) for document in documents], compute)
