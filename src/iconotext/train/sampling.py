"""Measures how often training chooses right: the share of gold links among likely and unlikely links (Li 2021).

The similarity of a document is a weighted mean of cells of its matrix; the weights show which links were chosen as
likely (by TK or another similarity) or unlikely (by NegTK). Li 2021 assume that most of the former are links and most
of the latter are not. Here this is counted, on training documents whose gold links are known. Training never sees them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from iconotext.similarity.sets import SimilarityKind, negative_similarities, own_similarities
from iconotext.train.validate import scored_documents

if TYPE_CHECKING:
    from iconotext.embed.model import JointModel
    from iconotext.evaluate.results import Scored
    from iconotext.recipe import Recipe, SimilaritySettings
    from iconotext.train.prepared import Prepared

SAMPLE = 200
"""Number of training documents that are measured after each epoch; always the same ones."""

_STREAM = 5
"""Number of the random stream from which these documents are drawn."""


class Sampling(NamedTuple):
    """Shares of gold links, 0 to 1, mean over documents; None if no document has gold links.

    Attributes:
        likely_gold: Among the links chosen as likely (TK): their precision.
        unlikely_gold: Among the links chosen as unlikely (NegTK).
        gold: Among all pairs: the share by chance.
    """

    likely_gold: float | None
    unlikely_gold: float | None
    gold: float | None


NOTHING = Sampling(None, None, None)


def sampling(model: JointModel, prepared: Prepared, recipe: Recipe, device: torch.device) -> Sampling:
    """Count gold links among those that a model would choose in some training documents.

    Args:
        model: In evaluation mode.
        recipe: Of the model; recipes with random or labelled pairs choose no links, and give ``NOTHING``.
    """
    documents = prepared.linked_documents("train")
    if not len(documents) or recipe.similarity.kind in ("single-pair", "labelled-pairs"):
        return NOTHING
    some = np.sort(np.random.default_rng([recipe.seed, _STREAM]).permutation(documents)[:SAMPLE])
    return gold_among(scored_documents(model, prepared, recipe, some, device), recipe.similarity)


def gold_among(scored: Iterable[Scored], similarity: SimilaritySettings) -> Sampling:
    """Count gold links among those that a set similarity chooses.

    Args:
        scored: Documents; those without gold links, or in which all pairs are gold links, do not count.
        similarity: Not one of pairs.
    """
    shares: list[list[float]] = []
    for _, scores, links in scored:
        gold = np.zeros(scores.shape, np.float32)
        gold[tuple(np.array(links or (), np.int64).reshape(-1, 2).T)] = 1
        if 0 < gold.sum() < gold.size:
            chosen = _chosen(torch.from_numpy(scores), similarity)
            shares.append(
                [*(float((each * gold).sum() / max(each.sum(), 1e-9)) for each in chosen), float(gold.mean())]
            )
    return Sampling(*np.mean(shares, axis=0).tolist()) if shares else NOTHING


def _chosen(cosines: Tensor, similarity: SimilaritySettings) -> tuple[np.ndarray, np.ndarray]:
    """The weight of each pair among the likely and the unlikely ones: the gradients of the two similarities."""
    with torch.inference_mode(False), torch.enable_grad():
        matrix = cosines.clone().requires_grad_()
        counts = [[len(matrix)], [matrix.shape[1]]]
        kind, k = cast("SimilarityKind", similarity.kind), similarity.k
        likely = own_similarities(matrix, *counts, kind=kind, k=k, links=similarity.links)
        unlikely = negative_similarities(matrix, *counts, kind=kind, k=k)
        first, second = (torch.autograd.grad(each.sum(), matrix)[0].numpy() for each in (likely, unlikely))
    return first, second
