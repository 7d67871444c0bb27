"""NoStruct: the baseline without sets, with one sentence and one image of each document (§3.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from iconotext.errors import ShapeError
from iconotext.similarity.axis import Axis, Counts, axis_of


def draw_single_pairs(
    sentence_counts: Counts, image_counts: Counts, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Draw a random sentence and a random image of each document; their cosine is the document's similarity.

    The similarities of a batch of D documents are ``cosines[sentence_index][:, image_index]`` or, with less work, the
    cosines of only the drawn vectors; any objective can be used with them.

    Args:
        sentence_counts: (D,) sentences of each document, 1 or more.
        image_counts: (D,) images of each document, 1 or more.

    Returns:
        (D,) int64 row of each drawn sentence among the sentences of all documents, and (D,) int64 of each drawn image
        among all images, on the device of the generator.

    Raises:
        ShapeError: The two have different lengths, or a document has no sentence or no image.
    """
    sentences, images = axis_of(sentence_counts, "sentences"), axis_of(image_counts, "images")
    if len(sentences) != len(images):
        raise ShapeError(f"sentence counts of {len(sentences)} documents, image counts of {len(images)}")
    return _draw(sentences, generator), _draw(images, generator)


def _draw(axis: Axis, generator: torch.Generator) -> Tensor:
    counts, starts = (torch.from_numpy(numbers).to(generator.device) for numbers in (axis.counts, axis.starts))
    # 53 random bits: the bias towards any member is negligible, and no product is rounded up to the count.
    share = torch.rand(len(axis), dtype=torch.float64, generator=generator, device=generator.device)
    return starts + (share * counts).long()
