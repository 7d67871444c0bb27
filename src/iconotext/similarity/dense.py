"""Dense correspondence: every sentence has an image, and every image a sentence (§3.2, DC)."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from iconotext.similarity.axis import Axis
from iconotext.similarity.cells import Cells
from iconotext.similarity.top_k import both_directions


def dense_cells(scores: Tensor, sentences: Axis, images: Axis) -> Cells:
    """Mean over the sentences of the best image, plus mean over the images of the best sentence.

    That is top-k with k = n in one direction and k = m in the other.

    Args:
        scores: (N, M), no gradient.
        sentences: P sets along the rows.
        images: Q sets along the columns.
    """
    shape = (len(sentences), len(images))
    every_sentence = np.broadcast_to(sentences.counts[:, None], shape)
    every_image = np.broadcast_to(images.counts[None, :], shape)
    return both_directions(scores, sentences, images, every_sentence, every_image)
