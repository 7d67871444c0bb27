"""How well one trained model finds pictures, with and without refinement, and tells relations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from iconotext.embed.folder import WEIGHTS, load_model
from iconotext.evaluate.average_precision import relation_precisions
from iconotext.evaluate.refinement_tuning import tune_refinement, write_tuning
from iconotext.evaluate.retrieval import POOL, Draw, of_relations, rank_pools, retrieval
from iconotext.evaluate.retrieval_scores import (
    own_probabilities,
    pair_probabilities,
    refined,
    similarities,
)
from iconotext.library.refinement import Refinement
from iconotext.train.pair_scores import split_pairs, told_by
from iconotext.write import write_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.train.prepared import Prepared

    Floats = NDArray[np.floating]

PER_QUERY = (1, 10)
"""The K of R@K of which every query's share is kept, to compare models query by query."""


def score_model(folder: Path, prepared: Prepared, path: Path) -> dict[str, Any]:
    """Measure a model on the test pairs of a corpus, or read what was measured of the same weights before.

    λ and T of the refinement are those that are best on the validation pairs; they go into the model's folder, with the
    plot of Fig. 3b.

    Args:
        folder: Of the model.
        prepared: The corpus it was trained on; validation and test documents have one sentence and one image each.
        path: JSON file for the figures.

    Returns:
        ``retrieval``, ``relations`` (Table 7), ``queries`` (ids to R@1 and R@10), and for a model that tells relations
        ``refined`` and ``precision`` (Table 8).
    """
    weights = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    if path.is_file():
        known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if known.get("weights") == weights:
            return known
    stored, cpu = load_model(folder), torch.device("cpu")
    test = split_pairs(stored.model, prepared, stored.recipe, "test", cpu)
    pool = min(POOL, len(test.images))
    plain = rank_pools(similarities(test), test.image_of, pool=pool)
    found: dict[str, Any] = {
        "weights": weights,
        "pairs": len(test.ids),
        "images": len(test.images),
        "pool": pool,
        "draws": len(plain),
        "retrieval": _figures(plain),
        "relations": {
            name: None if each is None else each.as_dict()
            for name, each in of_relations(plain, test.labels, test.relations).items()
        },
        "queries": _queries(plain, test.ids),
    }
    if stored.relations:
        probabilities = told_by(stored.model)
        columns = [test.relations.index(name) for name in stored.relations]
        own = own_probabilities(test, probabilities)
        precisions = relation_precisions(own, test.labels[:, columns], stored.relations)
        found["precision"] = {each.relation: each.as_dict() for each in precisions}
        validation = split_pairs(stored.model, prepared, stored.recipe, "validation", cpu)
        tuning = tune_refinement(
            similarities(validation),
            pair_probabilities(validation, probabilities),
            validation.image_of,
            pool=min(POOL, len(validation.images)),
        )
        write_tuning(tuning, folder, {"split": "validation"}, force=True)
        best = tuning.best
        found["refinement"] = {"strength": best.strength, "threshold": best.threshold, "hard": best.hard}
        score = refined(test, probabilities, Refinement(best.strength, best.threshold))
        found["refined"] = _figures(rank_pools(score, test.image_of, pool=pool))
    write_text(path, json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1) + "\n", force=True)
    return found


def _figures(draws: Sequence[Draw]) -> dict[str, Any]:
    found = retrieval(draws)
    assert found is not None  # every image of a pool has a pair that asks for it
    return found.as_dict()


def _queries(draws: Sequence[Draw], ids: Sequence[str]) -> dict[str, list[float]]:
    """Id to the mean, over the pools that have its image, of R@1 and R@10."""
    sums = np.zeros((len(ids), len(PER_QUERY)))
    counts = np.zeros(len(ids))
    for draw in draws:
        sums[draw.queries] += _recalls(draw)
        counts[draw.queries] += 1
    return {ids[query]: (sums[query] / counts[query]).tolist() for query in np.flatnonzero(counts).tolist()}


def _recalls(draw: Draw) -> NDArray[np.float64]:
    return np.stack([draw.ranks.recall(k) for k in PER_QUERY], axis=1)
