"""Tables of Alikhani 2021: how well each row's model finds images by texts, refined or not, and tells relations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.embed.folder import WEIGHTS
from iconotext.errors import CorpusError
from iconotext.papers.tables.comparison import Comparison, Report
from iconotext.papers.tables.folder import model_folder, results_path
from iconotext.papers.tables.retrieval_sections import Scores, differences_to, retrieval_sections
from iconotext.papers.tables.runs import runs_of
from iconotext.relations import CITE, CLUE
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.evaluate.retrieval import Draw
    from iconotext.train.prepared import Prepared

PER_QUERY = (1, 10)
"""The K of R@K of which every query's share is kept, to compare models query by query."""


def check_corpus(corpus: Path, prepared: Prepared) -> None:
    """Raise what would only show after hours of training.

    Raises:
        CorpusError: The corpus has no splits, no labels, or documents that are no pairs.
    """
    if prepared.meta["drawn"] is not None or not len(prepared.documents("test")):
        raise CorpusError(
            f"{corpus}: these tables need a corpus with splits, test documents among them; "
            "`iconotext corpus split` makes them"
        )
    if not prepared.labelled_relations:
        raise CorpusError(f"{corpus}: no training document of one sentence and one image has labels of relations")
    for split in ("validation", "test"):
        if not prepared.all_single(split):
            raise CorpusError(f"{corpus}: {split} documents need one sentence and one image each for these tables")


def score_retrieval(model: Path, prepared: Prepared, path: Path) -> None:
    """Measure a model on the test pairs of a corpus.

    λ and T of the refinement are those that are best on the validation pairs; they go into the model's folder, with the
    plot of Fig. 3b.

    Args:
        model: Its folder.
        prepared: The corpus it was trained on; validation and test documents have one sentence and one image each.
        path: JSON file for ``retrieval``, ``relations`` (Table 7), ``queries`` (ids to R@1 and R@10), and for a model
            that tells relations ``refined`` and ``precision`` (Table 8).
    """
    import torch

    from iconotext.embed.folder import load_model
    from iconotext.evaluate.average_precision import relation_precisions
    from iconotext.evaluate.retrieval import POOL, of_relations, rank_pools
    from iconotext.evaluate.retrieval_scores import own_probabilities, pair_probabilities, refined, similarities
    from iconotext.library.refinement import Refinement
    from iconotext.papers.analyses.refinement_tuning import tune_refinement, write_tuning
    from iconotext.train.pair_scores import coherence_of, split_pairs

    stored, cpu = load_model(model), torch.device("cpu")
    test = split_pairs(stored.model, prepared, stored.recipe, "test", cpu)
    pool = min(POOL, len(test.images))
    plain = rank_pools(similarities(test), test.image_of, pool=pool)
    found: dict[str, Any] = {
        "weights": _digest(model),
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
        coherence = coherence_of(stored.model, stored.relations)
        columns = [test.relations.index(name) for name in stored.relations]
        own = own_probabilities(test, coherence)
        precisions = relation_precisions(own, test.labels[:, columns], stored.relations)
        found["precision"] = {each.relation: each.as_dict() for each in precisions}
        validation = split_pairs(stored.model, prepared, stored.recipe, "validation", cpu)
        tuning = tune_refinement(
            similarities(validation),
            pair_probabilities(validation, coherence),
            validation.image_of,
            pool=min(POOL, len(validation.images)),
        )
        write_tuning(tuning, model, {"split": "validation"}, force=True)
        best = tuning.best
        found["refinement"] = {"strength": best.strength, "threshold": best.threshold, "hard": best.hard}
        score = refined(test, coherence, Refinement(best.strength, best.threshold))
        found["refined"] = _figures(rank_pools(score, test.image_of, pool=pool))
    write_text(path, json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1) + "\n", force=True)


def read_scores(path: Path, model: Path) -> dict[str, Any] | None:
    """What was measured of a model; None where nothing was, or of other weights."""
    if not path.is_file():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found if found.get("weights") == _digest(model) else None


def report(comparison: Comparison) -> Report:
    """Table 4 or 5, Figure 5, Tables 7 and 8, as far as there are models."""
    scores = _read(comparison)
    dataset = comparison.dataset or data_set(comparison.prepared.labelled_relations)
    rows = {
        name: {str(seed): {key: value for key, value in each.items() if key != "queries"} for seed, each in by.items()}
        for name, by in scores.items()
    }
    differences = differences_to(scores, comparison.reference)
    facts = {"dataset": dataset, "seeds": comparison.seeds, "rows": rows, "differences": differences}
    sections = retrieval_sections(scores, dataset, comparison.reference, comparison.folder) if scores else []
    return Report(f"{comparison.table.paper}, and {comparison.corpus.name}", sections, facts)


def data_set(relations: Sequence[str]) -> str | None:
    """The paper's data set that a corpus is labelled like; None if like none or both of them."""
    cite, clue = set(relations) & set(CITE), set(relations) & set(CLUE)
    return None if bool(cite) == bool(clue) else "CITE++" if cite else "Clue"


def _read(comparison: Comparison) -> Scores:
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for row in comparison.rows:
        for run in runs_of(row, comparison.seeds):
            model = model_folder(comparison.folder, run.key)
            scored = read_scores(results_path(comparison.folder, run.key, "retrieval"), model)
            if scored is not None and run.key not in comparison.failed:
                found.setdefault(row.name, {})[run.seed] = scored
    return found


def _digest(model: Path) -> str:
    return hashlib.sha256((model / WEIGHTS).read_bytes()).hexdigest()


def _figures(draws: Sequence[Draw]) -> dict[str, Any]:
    from iconotext.evaluate.retrieval import retrieval

    found = retrieval(draws)
    assert found is not None  # every image of a pool has a pair that asks for it
    return found.as_dict()


def _queries(draws: Sequence[Draw], ids: Sequence[str]) -> dict[str, list[float]]:
    """Id to the mean, over the pools that have its image, of R@1 and R@10."""
    sums = np.zeros((len(ids), len(PER_QUERY)))
    counts = np.zeros(len(ids))
    for draw in draws:
        sums[draw.queries] += np.stack([draw.ranks.recall(k) for k in PER_QUERY], axis=1)
        counts[draw.queries] += 1
    return {ids[query]: (sums[query] / counts[query]).tolist() for query in np.flatnonzero(counts).tolist()}
