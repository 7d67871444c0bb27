"""Picture evidence: the similarities of an encoder, on a scale that does not depend on the encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.links.cells import Cells
    from iconotext.types import FloatMatrix

_FLAT = 1e-6  # a spread below float32's noise on cosines is none


def image_features(cells: Cells, similarity: FloatMatrix) -> dict[str, FloatMatrix]:
    """Features of the image similarity that do not depend on how wide an encoder spreads its cosines.

    Args:
        similarity: (cells,) cosines of sentences with images.

    Returns:
        Name to (cells,) float32:
        ``picture.z`` how many standard deviations the cell lies above its image's mean over the sentences;
        ``picture.own`` the same after the sentence's mean over the images is subtracted too: some sentences are similar
        to every image. 0 with a single image.
    """
    centred = similarity - cells.image_means(similarity)[cells.image]
    own = centred - (cells.sentence_sums(centred) / cells.images[cells.of_sentence])[cells.sentence]
    return {"picture.z": _over_spread(cells, centred), "picture.own": _over_spread(cells, own)}


def _over_spread(cells: Cells, centred: NDArray[np.float64]) -> FloatMatrix:
    """Divides what has a mean of 0 over an image's cells by its standard deviation, and cuts at 4; flat stays 0."""
    spread = np.sqrt(cells.image_means(np.square(centred)))[cells.image]
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > _FLAT)
    return np.clip(scaled, -4.0, 4.0).astype(np.float32)
