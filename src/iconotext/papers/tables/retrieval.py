"""Tables of Alikhani 2021: how well each row's model finds images by texts, refined or not, and tells relations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.embed.folder import WEIGHTS
from iconotext.errors import CorpusError
from iconotext.papers.published import published_facts
from iconotext.papers.render import Note, Section
from iconotext.papers.tables.comparison import Comparison, Report
from iconotext.papers.tables.folder import model_folder, results_path
from iconotext.papers.tables.retrieval_differences import PLAIN, Scores, differences_to, ranks_for_json
from iconotext.papers.tables.retrieval_sections import retrieval_sections
from iconotext.papers.tables.runs import runs_of
from iconotext.papers.tables.sweeps import sweep_sections
from iconotext.relations import CITE, CLUE
from iconotext.strict_json import parse_json
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.evaluate.retrieval import Draw
    from iconotext.train.prepared import Prepared


def check_corpus(corpus: Path, prepared: Prepared) -> None:
    """Raise ``CorpusError`` for a corpus without splits or labels, or of documents that are no pairs."""
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

    Similarities are refined with the λ and T that are best on the validation pairs, which go into the model's folder
    with the plot of Fig. 3, and with those that the paper settled on for each of its data sets.

    Args:
        prepared: The corpus it was trained on; validation and test documents have one sentence and one image each.
        path: JSON file for ``retrieval``, ``validation``, ``relations`` (Table 7), ``ranks`` (of every query in every
            pool), and for a model that tells relations ``refined`` and ``precision`` (Table 8).
    """
    import torch

    from iconotext.embed.coherence import Coherence
    from iconotext.embed.folder import load_model
    from iconotext.evaluate.retrieval import POOL, of_relations, rank_pools
    from iconotext.evaluate.retrieval_scores import pair_probabilities, refined, similarities, told_precisions
    from iconotext.library.refinement import Refinement
    from iconotext.papers.analyses.refinement import write_tuning
    from iconotext.papers.analyses.refinement_tuning import tune_refinement
    from iconotext.train.pair_scores import found_images, split_pairs

    stored, cpu = load_model(model), torch.device("cpu")
    test, validation = (
        split_pairs(stored.model, prepared, stored.recipe, split, cpu) for split in ("test", "validation")
    )
    pool = min(POOL, len(test.images))
    plain = rank_pools(similarities(test), test.image_of, pool=pool)
    found: dict[str, Any] = {
        "weights": _digest(model),
        "pairs": len(test.ids),
        "images": len(test.images),
        "pool": pool,
        "draws": len(plain),
        "validation": found_images(validation).as_dict(),
        "retrieval": _figures(plain),
        "relations": {
            name: None if each is None else each.as_dict()
            for name, each in of_relations(plain, test.labels, test.relations).items()
        },
        "ranks": {PLAIN: ranks_for_json(plain)},
    }
    if stored.model.coherence is not None:
        coherence = Coherence(tuple(stored.relations), stored.model.coherence)
        found["precision"] = {each.relation: each.as_dict() for each in told_precisions(coherence, test)}
        tuning = tune_refinement(
            similarities(validation),
            pair_probabilities(validation, coherence),
            validation.image_of,
            pool=min(POOL, len(validation.images)),
        )
        write_tuning(tuning, model, {"split": "validation"}, force=True)
        fixed = published_facts("alikhani2021")["refinement"]
        chosen = {"validation": (tuning.best.strength, tuning.best.threshold), **fixed}
        found["refined"] = {}
        for name, (strength, threshold) in chosen.items():
            draws = rank_pools(refined(test, coherence, Refinement(strength, threshold)), test.image_of, pool=pool)
            found["refined"][name] = {"strength": strength, "threshold": threshold, **_figures(draws)}
            found["ranks"][name] = ranks_for_json(draws)
    write_text(path, json.dumps(found, ensure_ascii=False, allow_nan=False) + "\n", force=True)


def read_scores(path: Path, model: Path) -> dict[str, Any] | None:
    """What was measured of a model; None where nothing was, or of other weights."""
    if not path.is_file():
        return None
    try:
        found: dict[str, Any] = dict(parse_json(path.read_bytes()))
    except (OSError, ValueError, TypeError):  # damaged: it is measured again
        return None
    return found if found.get("weights") == _digest(model) and "ranks" in found else None


def report(comparison: Comparison) -> Report:
    """Table 4 or 5, Figure 5, Tables 7 and 8, as far as there are models; or Figure 8."""
    scores = _read(comparison)
    dataset = comparison.dataset
    rows = {
        name: {str(seed): {key: value for key, value in each.items() if key != "ranks"} for seed, each in by.items()}
        for name, by in scores.items()
    }
    differences = differences_to(scores, comparison.reference)
    facts = {"dataset": dataset, "seeds": comparison.seeds, "rows": rows, "differences": differences}
    sections: list[Section] = []
    if scores and "sweeps" in comparison.table.sections:
        sections = sweep_sections(scores, comparison.rows, differences, comparison.folder)
    elif scores:
        sections = retrieval_sections(scores, differences, dataset, comparison.reference, comparison.folder)
        sections += [Note(each) for each in comparison.table.notes]
    return Report(f"{comparison.table.paper}, and {comparison.corpus.name}", sections, facts)


def data_set(relations: Iterable[str]) -> str | None:
    """The paper's data set whose relations a corpus has; None if those of none or of both of them."""
    cite, clue = set(relations) & set(CITE), set(relations) & set(CLUE)
    return None if bool(cite) == bool(clue) else "CITE++" if cite else "Clue"


def named_relations(corpus: Path) -> set[str]:
    """The relations that the pairs of a corpus have answers to; ``CorpusError`` where it breaks its format."""
    from iconotext.corpus.store import read_corpus

    return {name for document in read_corpus(corpus) for name in document.meta.get("relations") or ()}


def _read(comparison: Comparison) -> Scores:
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for row in comparison.rows:
        for run in runs_of(row, comparison.seeds):
            model = model_folder(comparison.folder, run.key)
            scored = read_scores(results_path(comparison.folder, run.key, "retrieval"), model)
            if scored is not None and comparison.counts(run.key):
                found.setdefault(row.name, {})[run.seed] = scored
    return found


def _digest(model: Path) -> str:
    return hashlib.sha256((model / WEIGHTS).read_bytes()).hexdigest()


def _figures(draws: Sequence[Draw]) -> dict[str, Any]:
    from iconotext.evaluate.retrieval import retrieval

    return retrieval(draws).as_dict()
