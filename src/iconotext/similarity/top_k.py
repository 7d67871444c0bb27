"""The best edges of each direction, sentences to images and images to sentences: k of them, or all (§3.2, TK and DC).

Dense correspondence, in which every sentence has an image and every image a sentence, is top-k with k = n in one
direction and k = m in the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from iconotext.similarity.axis import Axis
from iconotext.similarity.best import Strides, best_cells
from iconotext.similarity.cells import Cells, joined


def top_k_cells(scores: Tensor, sentences: Axis, images: Axis, *, kept: NDArray[np.int64]) -> Cells:
    """Mean of the k highest of the sentences' best images, plus mean of the k highest of the images' best sentences.

    Args:
        scores: (N, M), no gradient.
        sentences: P sets along the rows.
        images: Q sets along the columns.
        kept: (P, Q) k of each pair, 1 or more.
    """
    return both_directions(scores, sentences, images, kept, kept)


def both_directions(
    scores: Tensor, sentences: Axis, images: Axis, of_sentences: NDArray[np.int64], of_images: NDArray[np.int64]
) -> Cells:
    """Cells of the best image of each sentence, and of the best sentence of each image; (P, Q) how many of each."""
    width, sets = scores.shape[1], len(images)
    forward = best_cells(scores, sentences, images, kept=of_sentences, cells=Strides(width, 1), pairs=Strides(sets, 1))
    backward = best_cells(
        scores.t(), images, sentences, kept=of_images.T, cells=Strides(1, width), pairs=Strides(1, sets)
    )
    return joined([forward, backward])


def dense_cells(scores: Tensor, sentences: Axis, images: Axis) -> Cells:
    """Mean over sentences of the best image, plus that over images of the best sentence; see ``top_k_cells``."""
    shape = (len(sentences), len(images))
    every_sentence = np.broadcast_to(sentences.counts[:, None], shape)
    every_image = np.broadcast_to(images.counts[None, :], shape)
    return both_directions(scores, sentences, images, every_sentence, every_image)
