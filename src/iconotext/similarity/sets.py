"""The similarity of a whole set of sentences and a whole set of images: the functions of Hessel 2019, §3.2.

Each similarity chooses cells of the matrix of every sentence against every image, and their weights; see
``similarity.cells``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pkgutil import resolve_name
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from iconotext.errors import ShapeError
from iconotext.similarity import SIMILARITIES
from iconotext.similarity.assignment import Links
from iconotext.similarity.cells import Axis, Cells, Group, LinkBound, axis_of, joined, number_of_links, weighted_sum


@dataclass(frozen=True, slots=True)
class Strides:
    """Combines row and column into one flat number: row * ``row`` + column * ``column``.

    For an (N, M) matrix, (M, 1) gives the numbers of its cells; (1, M) gives the same numbers for its transpose, so
    that one function serves both directions.
    """

    row: int
    column: int

    def flat(self, row: Tensor, column: Tensor) -> Tensor:
        """The flat numbers of cells."""
        return row * self.row + column * self.column


def best_cells(
    scores: Tensor, rows: Axis, columns: Axis, *, bound: NDArray[np.int64], cells: Strides, pairs: Strides
) -> Cells:
    """For every set of rows and every set of columns, the cells whose mean is the similarity.

    Each row takes its best column of the set; the ``bound`` highest of these cells are used, each with weight
    1 / bound. Ties go to the first row; among columns of a row PyTorch decides, deterministically.

    Args:
        scores: (N, M), no gradient.
        rows: P sets of rows.
        columns: Q sets of columns.
        bound: (P, Q) number of cells to use, from 1 to the number of rows.
        cells: From row and column of ``scores`` to the number of a cell.
        pairs: From a set of rows and a set of columns to the number of a similarity.
    """
    values, best = _best_columns(scores, columns)
    across = torch.arange(len(columns), device=scores.device)
    if (bound == rows.counts[:, None]).all():  # every row counts, so none need be sorted
        of_row = np.repeat(np.arange(len(rows)), rows.counts)
        weight = torch.from_numpy(1.0 / bound[of_row]).to(scores)
        number = cells.flat(torch.arange(len(scores), device=scores.device)[:, None], best)
        pair = pairs.flat(torch.from_numpy(of_row).to(scores.device)[:, None], across)
        return Cells(number.flatten(), pair.flatten(), weight.flatten())
    parts = []
    for group in rows.of_about_one_size():
        most = bound[group.sets]
        row = _best_rows(values, group, rows.counts[group.sets], most=int(most.max()))
        number = cells.flat(row, best.gather(0, row.flatten(0, 1)).view_as(row))
        sets = torch.from_numpy(group.sets).to(scores.device)[:, None, None]
        pair = pairs.flat(sets, across).expand_as(row)
        weight = torch.from_numpy(1.0 / most).to(scores)[:, None].expand_as(row)
        part = Cells(number.flatten(), pair.flatten(), weight.flatten())
        if most.min() < most.max():
            inside = np.arange(most.max())[None, :, None] < most[:, None]
            part = part.at(torch.from_numpy(np.flatnonzero(inside)).to(scores.device))
        parts.append(part)
    return joined(parts)


def _best_columns(scores: Tensor, columns: Axis) -> tuple[Tensor, Tensor]:
    """Value and column of the best cell of every row in every set of columns, each (N, Q)."""
    rows, device = len(scores), scores.device
    if (columns.counts == columns.counts[0]).all():  # a view is enough
        values, best = scores.reshape(rows, len(columns), -1).max(-1)
        return values, best + torch.from_numpy(columns.starts).to(device)
    values = scores.new_empty(rows, len(columns))
    best = torch.empty(values.shape, dtype=torch.int64, device=device)
    for group in columns.of_about_one_size():
        members, sets = (torch.from_numpy(array).to(device) for array in (group.members, group.sets))
        highest = scores.index_select(1, members.flatten()).view(rows, *members.shape).max(-1)
        values[:, sets] = highest.values
        best[:, sets] = members.gather(1, highest.indices.t()).t()
    return values, best


def _best_rows(values: Tensor, group: Group, counts: NDArray[np.int64], *, most: int) -> Tensor:
    """(G, most, Q) the rows of each set, sorted by value, separately for each column of ``values``.

    ``most`` may exceed the size of a set; the surplus is meaningless.
    """
    members = torch.from_numpy(group.members).to(values.device)
    group_values = values[members]  # (G, width, Q)
    if counts.min() < group.width:
        repeated = torch.from_numpy(np.arange(group.width) >= counts[:, None]).to(values.device)
        group_values = group_values.masked_fill(repeated[:, :, None], -torch.inf)  # last, since the sort is stable
    order = group_values.sort(dim=1, descending=True, stable=True).indices[:, :most]
    return members.gather(1, order.flatten(1)).view_as(order)


def top_k_cells(scores: Tensor, sentences: Axis, images: Axis, *, k: LinkBound) -> Cells:
    """Mean of the k highest of the sentences' best images, plus mean of the k highest of the images' best sentences.

    Args:
        scores: (N, M), no gradient.
        sentences: P sets along the rows.
        images: Q sets along the columns.
    """
    bound = number_of_links(k, sentences.counts, images.counts)
    return _both_directions(scores, sentences, images, bound, bound)


def dense_cells(scores: Tensor, sentences: Axis, images: Axis) -> Cells:
    """Mean over sentences of the best image, plus that over images of the best sentence; see ``top_k_cells``."""
    shape = (len(sentences), len(images))
    every_sentence = np.broadcast_to(sentences.counts[:, None], shape)
    every_image = np.broadcast_to(images.counts[None, :], shape)
    return _both_directions(scores, sentences, images, every_sentence, every_image)


def _both_directions(
    scores: Tensor, sentences: Axis, images: Axis, of_sentences: NDArray[np.int64], of_images: NDArray[np.int64]
) -> Cells:
    """Cells of the best image of each sentence, and of the best sentence of each image; (P, Q) how many of each."""
    width, sets = scores.shape[1], len(images)
    forward = best_cells(scores, sentences, images, bound=of_sentences, cells=Strides(width, 1), pairs=Strides(sets, 1))
    backward = best_cells(
        scores.t(), images, sentences, bound=of_images.T, cells=Strides(1, width), pairs=Strides(1, sets)
    )
    return joined([forward, backward])


SimilarityKind = Literal["dense", "top-k", "assignment"]

Directions = Literal["sum", "mean"]
"""Whether the similarities of sentences to images and of images to sentences are added (Hessel 2019) or averaged (Li
2021)."""

MAX_CELLS = 1 << 22
"""Cells that are processed at a time, or those of one document if it has more; each takes some 50 bytes. Another number
changes results at most in the last bit, by the order of additions."""


def set_similarities(
    cosines: Tensor,
    sentence_counts: Sequence[int],
    image_counts: Sequence[int],
    *,
    kind: SimilarityKind,
    k: LinkBound = "min",
    links: Links = "at-most",
    directions: Directions = "sum",
) -> Tensor:
    """Similarity of every document's sentences with every document's images.

    An assignment of at most k links has none that is negative; if no cell is positive, the similarity and its gradient
    are 0.

    Args:
        cosines: (N, M) float, every sentence of P documents against every image of Q documents, one document after the
            other.
        sentence_counts: (P,) sentences of each document, 1 or more, N together.
        image_counts: (Q,) images of each document, 1 or more, M together.
        kind: See ``SIMILARITIES``.
        k: For top-k and assignment.
        links: For assignment.
        directions: For dense and top-k.

    Returns:
        (P, Q), on the device of ``cosines`` and with its dtype, except that half precision gives float32. -2 to 2 for
        the sum of dense and top-k, -1 to 1 for their mean and for assignment. The gradient is exact where small changes
        do not change the choice of cells, and a subgradient elsewhere.

    Raises:
        ShapeError: ``cosines`` is no matrix or does not fit the counts, or a document has no sentence or no image.
    """
    sentences, images = axis_of(sentence_counts, "sentences"), axis_of(image_counts, "images")
    shape = (int(sentences.counts.sum()), int(images.counts.sum()))
    if tuple(cosines.shape) != shape:
        raise ShapeError(f"cosines are {tuple(cosines.shape)}, the counts of sentences and images add up to {shape}")
    row, values = SIMILARITIES[kind], {"k": k, "links": links}
    choose: Callable[[Tensor, Axis, Axis], Cells] = partial(
        resolve_name(row.function), **{name: values[name] for name in row.settings if name in values}
    )
    if cosines.dtype in (torch.float16, torch.bfloat16):
        cosines = cosines.float()
    parts = _portions(sentences, shape[1])
    rows = torch.split(cosines, [int(part.counts.sum()) for part in parts])
    sums = [
        weighted_sum(part, choose(part.detach(), axis, images), len(axis) * len(images))
        for part, axis in zip(rows, parts, strict=True)
    ]
    similarities = torch.cat(sums).view(len(sentences), len(images))
    return similarities / 2 if directions == "mean" and "directions" in row.settings else similarities


def negative_similarities(
    cosines: Tensor,
    sentence_counts: Sequence[int],
    image_counts: Sequence[int],
    *,
    kind: SimilarityKind,
    k: LinkBound = "min",
    directions: Directions = "sum",
) -> Tensor:
    """The similarity of a document's least likely links: NegTK of Li 2021, Eq. 2, and its counterparts.

    Where the similarity takes the best cells, this takes the worst ones: -sim(-cosines). For assignment these are
    always the k links with the smallest sum; "at most k" would take none if no cosine is below 0.

    Args:
        cosines: (N, M) float, as for ``set_similarities``.
        sentence_counts: (D,) sentences of each document.
        image_counts: (D,) images of each document.

    Returns:
        (D,), of each document with itself.
    """
    opposite = own_similarities(
        -cosines, sentence_counts, image_counts, kind=kind, k=k, links="exactly", directions=directions
    )
    return -opposite


def own_similarities(
    cosines: Tensor,
    sentence_counts: Sequence[int],
    image_counts: Sequence[int],
    *,
    kind: SimilarityKind,
    k: LinkBound = "min",
    links: Links = "at-most",
    directions: Directions = "sum",
) -> Tensor:
    """The (D,) similarities of each document's sentences with its own images only; see ``set_similarities``."""
    rows, columns = axis_of(sentence_counts, "sentences"), axis_of(image_counts, "images")
    parts = []
    for first in range(0, len(rows), OWN_BLOCK):
        span = slice(first, first + OWN_BLOCK)
        n, m = rows.counts[span], columns.counts[span]
        block = cosines[rows.starts[first] :, columns.starts[first] :][: n.sum(), : m.sum()]
        matrix = set_similarities(block, n.tolist(), m.tolist(), kind=kind, k=k, links=links, directions=directions)
        parts.append(matrix.diagonal())
    return torch.cat(parts)


OWN_BLOCK = 4
"""Documents whose similarities with each other are computed at once when only those with themselves are needed: a call
costs about as much as the few surplus similarities."""


def set_similarity(cosines: Tensor, *, kind: SimilarityKind, k: LinkBound = "min", links: Links = "at-most") -> Tensor:
    """Similarity of one set of sentences with one set of images, a scalar; see ``set_similarities``."""
    return set_similarities(cosines, [len(cosines)], [cosines.shape[1]], kind=kind, k=k, links=links)[0, 0]


def _portions(sentences: Axis, width: int) -> list[Axis]:
    """Divide the documents along the rows into portions of at most ``MAX_CELLS`` cells, or of one document."""
    ends = np.cumsum(sentences.counts) * width
    if ends[-1] <= MAX_CELLS:
        return [sentences]
    cuts = [0]
    while cuts[-1] < len(sentences):
        begun = ends[cuts[-1]] - sentences.counts[cuts[-1]] * width
        cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, begun + MAX_CELLS, side="right"))))
    return [axis_of(sentences.counts[first:last].tolist(), "sentences") for first, last in pairwise(cuts)]
