"""Picture evidence: the similarities of an encoder, on a scale that does not depend on the encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix

_FLAT = 1e-6  # a spread below float32's noise on cosines is none


def image_features(similarity: FloatMatrix) -> dict[str, FloatMatrix]:
    """Features of the image similarity that do not depend on how wide an encoder spreads its cosines.

    Args:
        similarity: (S, V) cosines of sentences with images.

    Returns:
        Name to (S, V) float32:
        ``picture.z`` how many standard deviations the cell lies above its image's mean over the sentences;
        ``picture.own`` the same after the sentence's mean over the images is subtracted too: some sentences are similar
        to every image. 0 with a single image.
    """
    if similarity.size == 0:
        return {"picture.z": np.zeros_like(similarity), "picture.own": np.zeros_like(similarity)}
    centred = similarity - similarity.mean(axis=0, keepdims=True)
    own = centred - centred.mean(axis=1, keepdims=True)
    return {"picture.z": _over_spread(centred), "picture.own": _over_spread(own)}


def _over_spread(centred: FloatMatrix) -> FloatMatrix:
    """Divides columns of mean 0 by their standard deviation, and cuts at 4; flat columns stay 0."""
    spread = np.sqrt(np.square(centred).mean(axis=0, keepdims=True))
    scaled: FloatMatrix = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > _FLAT)
    np.clip(scaled, -4.0, 4.0, out=scaled)
    return scaled
