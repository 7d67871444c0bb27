"""The objectives that look into a document, and so need sets of sentences and images.

``intra_document`` and ``draw_members``, which draws sub-documents, are those of Li 2021. ``order`` (the images follow
the order of their sentences) and ``posterior`` (learning from captions, layout and references) are ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import softplus

from iconotext.errors import ShapeError
from iconotext.similarity.cells import Axis, Counts, axis_of


def draw_members(counts: Counts, p_sub: float, generator: torch.Generator) -> tuple[Tensor, list[int]]:
    """Draw ⌊p_sub * count⌋ members of each set without replacement, but at least one.

    Args:
        counts: (D,) members of each set, sentences or images, 1 or more.
        p_sub: Share to draw, above 0, at most 1.

    Returns:
        (K,) int64, ascending: positions of the drawn members among the members of all sets, on the generator's device;
        and the number drawn from each set.
    """
    axis = axis_of(counts, "members")
    # Li 2021 does not say how the share is rounded. A product such as 0.6 * 5 may be slightly below the whole number.
    sizes = [max(1, math.floor(p_sub * count + 1e-9)) for count in axis.counts.tolist()]
    drawn = [
        start + torch.randperm(count, generator=generator, device=generator.device)[:size].sort().values
        for start, count, size in zip(axis.starts.tolist(), axis.counts.tolist(), sizes, strict=True)
    ]
    return torch.cat(drawn) if drawn else torch.zeros(0, dtype=torch.int64, device=generator.device), sizes


def intra_document(likely: Tensor, unlikely: Tensor, *, margin: float) -> Tensor:
    """max(0, margin - likely + unlikely): unlikely links are to be less similar than likely ones, by the margin.

    Args:
        likely: (P,) float, similarity of each document with itself, TK(M) or another one.
        unlikely: (P,) float, of the least likely links of the same matrix; see
            ``similarity.sets.negative_similarities``.
        margin: 0 or more; half of that of the cross-document objective in the paper.

    Returns:
        (P,) losses, 0 or more. A document with one sentence and one image has the loss ``margin``, and gradient 0.
    """
    if likely.ndim != 1 or likely.shape != unlikely.shape:
        raise ShapeError(f"likely are {tuple(likely.shape)}, unlikely {tuple(unlikely.shape)}; one number a document")
    return (margin - likely + unlikely).relu()


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


def posterior(
    cosines: Tensor, targets: Tensor, sentence_counts: Sequence[int], image_counts: Sequence[int], *, scale: Tensor
) -> Tensor:
    """(P,) losses of P documents: cross-entropy of each image's softmax over its sentences against ``targets``.

    The weight of an image is the probability that any sentence belongs to it: the sum of its targets, at most 1. The
    losses are scaled so that their mean is the weighted mean over all images; a total weight below 1 counts as 1.

    Args:
        cosines: (N, M) of all sentences with all images. Those of the P documents come first, one document after the
            other; the rest is ignored.
        targets: The (S, V) probabilities of each document, flattened row by row, one document after the other. A column
            may sum to more than 1 if several sentences are right.
        sentence_counts: (P,) S of each document, 1 or more.
        image_counts: (P,) V of each document, 1 or more.
        scale: () factor on the cosines, above 0; may be learned.
    """
    losses, weights = [], []
    row = column = place = 0
    for sentences, images in zip(sentence_counts, image_counts, strict=True):
        own = cosines[row : row + sentences, column : column + images]
        target = targets[place : place + sentences * images].view(sentences, images)
        row, column, place = row + sentences, column + images, place + sentences * images
        sums = target.sum(0)
        entropy = -(target / sums.clamp(min=1e-6) * torch.log_softmax(own * scale, 0)).sum(0)
        weight = sums.clamp(max=1)
        losses.append((weight * entropy).sum())
        weights.append(weight.sum())
    total = torch.stack(weights).sum().clamp(min=1)
    return torch.stack(losses) * (len(losses) / total)
