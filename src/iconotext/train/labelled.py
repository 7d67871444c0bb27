"""Gold links as training pairs, for the supervised models of Li 2021."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import CorpusError
from iconotext.train.prepared import span_counts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPairs:
    """L gold links of documents.

    Attributes:
        documents: (L,) number of each link's document, in the order given.
        sentences: (L,) sentence within the document.
        images: (L,) image within the document.
        strangers: (L, L) bool, [i, j] whether sentence i and image j, and sentence j and image i, are from documents
            without a common image, or from one document and not linked.
    """

    documents: NDArray[np.int64]
    sentences: NDArray[np.int64]
    images: NDArray[np.int64]
    strangers: NDArray[np.bool_]


def labelled_documents(prepared: Prepared, recipe: Recipe, split: str) -> NDArray[np.int64]:
    """The documents of a split with gold links; for training, only the recipe's share of them.

    Raises:
        CorpusError: There are fewer than two, so that a pair has no negatives in another document.
    """
    documents = prepared.documents(split)
    counts = span_counts(prepared.link_offsets, documents)
    documents = documents[counts > 0]
    if split == "train" and recipe.training.labelled < 1:
        # One order for all shares: a larger share includes a smaller one.
        order = np.random.default_rng([recipe.seed, 4]).permutation(documents)
        documents = np.sort(order[: round(recipe.training.labelled * len(order))])
    if len(documents) < 2:
        share = f", of which training.labelled takes {recipe.training.labelled:g}" if split == "train" else ""
        raise CorpusError(
            f"labelled-pairs need two or more {split} documents with gold links; there are {int((counts > 0).sum())}"
            f"{share}"
        )
    return documents


def labelled_pairs(prepared: Prepared, documents: NDArray[np.int64], strangers: NDArray[np.bool_]) -> LabelledPairs:
    """All gold links of (D,) documents; ``strangers``: (D, D) bool, whether two documents share no image."""
    links = [prepared.links_of(document) for document in documents.tolist()]
    place = np.repeat(np.arange(len(documents)), [len(own) for own in links])
    pairs = np.array([link for own in links for link in own], np.int64).reshape(-1, 2)
    apart = strangers[place][:, place]
    for where in range(len(documents)):
        own = np.flatnonzero(place == where)
        linked = np.zeros(pairs[own].max(axis=0, initial=0) + 1, bool)
        linked[pairs[own, 0], pairs[own, 1]] = True
        crosswise = linked[pairs[own, 0]][:, pairs[own, 1]]  # [i, j]: sentence i and image j
        apart[np.ix_(own, own)] = ~(crosswise | crosswise.T)
    return LabelledPairs(documents[place], pairs[:, 0], pairs[:, 1], apart)
