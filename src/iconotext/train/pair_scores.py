"""Figures of a model on pairs of one text and one image: the rank of the right image, and predicted relations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.embed.coherence import Coherence
from iconotext.evaluate.average_precision import average_precision
from iconotext.evaluate.pair_vectors import PairVectors
from iconotext.evaluate.retrieval import POOL, Retrieval, rank_pools, retrieval
from iconotext.evaluate.retrieval_scores import own_probabilities, similarities
from iconotext.train.validate import encode_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from iconotext.embed.model import JointModel
    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared


def split_pairs(model: JointModel, prepared: Prepared, recipe: Recipe, split: str, device: torch.device) -> PairVectors:
    """Encode the pairs of a split, from the arrays that the model was trained on.

    Args:
        model: In evaluation mode.
        prepared: The corpus; the documents of the split have one sentence and one image each.
    """
    documents = prepared.documents(split)
    texts, images = encode_pairs(model, prepared, recipe, documents, device)
    rows = np.asarray(prepared.image_rows[prepared.image_offsets[documents]])
    _, first, image_of = np.unique(rows, return_index=True, return_inverse=True)
    relations = tuple(prepared.labelled_relations)
    return PairVectors(
        ids=tuple(prepared.ids[document] for document in documents.tolist()),
        text=(),  # only vectors are measured
        texts=texts,
        images=images[first],
        pictures=(),
        image_of=image_of,
        relations=relations,
        labels=prepared.labels(documents, relations).astype(np.float64),
        left_out=(),
    )


def validation_median_rank(model: JointModel, prepared: Prepared, recipe: Recipe, device: torch.device) -> float:
    """The median rank of the right image over the validation documents, measured as for test documents.

    Args:
        model: In evaluation mode.
        prepared: A corpus whose validation documents have one sentence and one image each.
    """
    return found_images(split_pairs(model, prepared, recipe, "validation", device)).median_rank.mean


def found_images(pairs: PairVectors) -> Retrieval:
    """Median rank and R@K in pools of 500 images, or in one pool of all if there are fewer."""
    return retrieval(rank_pools(similarities(pairs), pairs.image_of, pool=min(POOL, len(pairs.images))))


def pair_figures(model: JointModel, pairs: PairVectors, relations: Sequence[str]) -> dict[str, Any]:
    """``found_images``, and the average precision of the relations that the model predicts, in its order."""
    pool = min(POOL, len(pairs.images))
    figures: dict[str, Any] = {"pairs": len(pairs.ids), "pool": pool, **found_images(pairs).as_dict()}
    if model.coherence is not None:
        own = own_probabilities(pairs, Coherence(tuple(relations), model.coherence))
        labels = pairs.labels[:, [pairs.relations.index(name) for name in relations]]
        figures["average_precision"] = {
            name: average_precision(own[known, column], labels[known, column] == 1)
            for column, name in enumerate(relations)
            if len(known := np.flatnonzero(~np.isnan(labels[:, column])))
        }
    return figures
