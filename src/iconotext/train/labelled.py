"""Labelled pairs: the gold links of documents, which train and measure supervised models."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import CorpusError
from iconotext.recipe import Recipe
from iconotext.train.arrays import Rows, span_counts
from iconotext.train.prepared import Prepared


class LabelledPairs(NamedTuple):
    """L gold links of documents.

    Attributes:
        documents: (L,) number of each link's document, in the order given.
        sentences: (L,) sentence within the document.
        images: (L,) image within the document.
        negative_mask: (L, L) bool, [i, j] whether sentence i and image j, and sentence j and image i, are from
            documents without a common image, or from one document and not linked.
    """

    documents: Rows
    sentences: Rows
    images: Rows
    negative_mask: NDArray[np.bool_]


def labelled_documents(prepared: Prepared, recipe: Recipe, split: str) -> Rows:
    """Return the documents of a split with gold links; for training, only the recipe's share of them."""
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


def labelled_pairs(prepared: Prepared, documents: Rows, negative_mask: NDArray[np.bool_]) -> LabelledPairs:
    """Return all gold links of (D,) documents, given the (D, D) mask of documents without a common image."""
    links = [prepared.links_of(document) for document in documents.tolist()]
    place = np.repeat(np.arange(len(documents)), [len(document_links) for document_links in links])
    pairs = np.array([link for document_links in links for link in document_links], np.int64).reshape(-1, 2)
    apart = negative_mask[place][:, place]
    for where in range(len(documents)):
        rows = np.flatnonzero(place == where)
        linked = np.zeros(pairs[rows].max(axis=0, initial=0) + 1, bool)
        linked[pairs[rows, 0], pairs[rows, 1]] = True
        crosswise = linked[pairs[rows, 0]][:, pairs[rows, 1]]  # [i, j]: sentence i and image j
        apart[np.ix_(rows, rows)] = ~(crosswise | crosswise.T)
    return LabelledPairs(documents[place], pairs[:, 0], pairs[:, 1], apart)
