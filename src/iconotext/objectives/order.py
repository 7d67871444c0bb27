"""The order objective: a document aligns better with its images in order than with the images in reverse order.

Images mostly follow the order of their sentences. None of the three papers has this objective; it is ours.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from iconotext.similarity.cells import Axis, Counts, axis_of


def order(cosines: Tensor, sentence_counts: Counts, image_counts: Counts, *, scale: float | Tensor) -> Tensor:
    """-log(A / (A + R)), where A is the soft monotone alignment of a document, R that with its images in reverse order.

    A is the sum, over all ways to assign a sentence to each image so that no image has an earlier sentence than the
    image before it, of the product of exp(scale * cosine). It is compared with the reverse order and not with all
    assignments, so that nothing is gained by making all images equal: images of one sentence are in order both ways.

    Args:
        cosines: (N, M) float of all sentences with all images. Those of the P documents come first, one document after
            the other, each in reading order.
        sentence_counts: (P,) sentences of each document, 1 or more, at most N together.
        image_counts: (P,) images of each document, 1 or more, at most M together.
        scale: Factor on the cosines, above 0. A tensor, () float, may be learned.

    Returns:
        (P,) losses, 0 or more; log 2, with gradient 0, for a document of one image or one sentence.

    Raises:
        ShapeError: A document has no sentence or no image.
    """
    sentences, images = axis_of(sentence_counts, "sentences"), axis_of(image_counts, "images")
    if not len(sentences):
        return cosines.new_zeros(0)
    rows, columns, backwards = _places(sentences), _places(images), _places(images, backwards=True)
    both = torch.stack([cosines[rows.unsqueeze(2), each.unsqueeze(1)] for each in (columns, backwards)])
    forth, back = _alignments(both * scale, torch.from_numpy(sentences.counts), torch.from_numpy(images.counts))
    return softplus(back - forth)


def _places(axis: Axis, *, backwards: bool = False) -> Tensor:
    """(P, largest count) positions of each set's members, padded with the last one (backwards: the first)."""
    counts, starts = torch.from_numpy(axis.counts)[:, None], torch.from_numpy(axis.starts)[:, None]
    place = torch.arange(int(axis.counts.max())).minimum(counts - 1)
    return starts + (counts - 1 - place if backwards else place)


def _alignments(scores: Tensor, sentence_counts: Tensor, image_counts: Tensor) -> Tensor:
    """(2, P) log of the sums over all monotone alignments; ``scores`` are (2, P, sentences, images).

    Padding behind a document's last sentence or image has no effect: sums only run forwards, and are read where the
    document ends.
    """
    documents = torch.arange(len(sentence_counts))
    until = scores[..., 0].logcumsumexp(2)  # this image has this sentence or an earlier one
    ends = [until[:, documents, sentence_counts - 1]]
    for image in scores.unbind(3)[1:]:
        until = (image + until).logcumsumexp(2)
        ends.append(until[:, documents, sentence_counts - 1])
    return torch.stack(ends)[image_counts - 1, :, documents].T
