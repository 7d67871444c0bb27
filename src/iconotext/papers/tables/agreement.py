"""Sections 4.1 and 5 of Hessel 2019: do models fail on the same documents, and what makes a document hard?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import CorpusError, SettingError
from iconotext.papers.analyses.correlation import correlations
from iconotext.papers.analyses.difficulty import Difficulty, check_enough, explain
from iconotext.papers.published import published_facts
from iconotext.papers.render import Grid, Section, percent
from iconotext.papers.tables.comparison import Comparison
from iconotext.papers.tables.differences import BySeed
from iconotext.papers.tables.document_vectors import seen_through, vectors_of

if TYPE_CHECKING:
    from iconotext.evaluate.results import Evaluation

COMPARED = {"DC": "dense", "TK": "top-k", "AP": "assignment"}
"""The models of the paper's comparison, and the keys of their rows."""

Measured = tuple[Comparison, Mapping[str, BySeed]]
"""A comparison, and name of the row to its scores by seed."""


def agreement_sections(measured: Sequence[Measured]) -> tuple[list[Section], dict[str, Any]]:
    """Rank correlations of the models' AUC, and what explains that of AP, for each corpus beside the published figures.

    Returns:
        What is shown, and what ``results.json`` says under ``correlation`` and ``difficulty``.
    """
    correlation, rho = _correlation(measured)
    difficulty, explained = _difficulty(measured)
    return [each for each in (correlation, difficulty) if each], {"correlation": rho, "difficulty": explained}


def _named(comparison: Comparison, found: Mapping[str, BySeed]) -> dict[str, BySeed]:
    """DC, TK and AP to their scores, as far as they were trained."""
    names = {row.key: row.name for row in comparison.rows}
    return {name: found[names[key]] for name, key in COMPARED.items() if names.get(key) in found}


def _correlation(measured: Sequence[Measured]) -> tuple[Grid | None, dict[str, Any]]:
    pairs = [("DC", "TK"), ("DC", "AP"), ("TK", "AP")]
    lowest = {name: (one, other, rho) for one, other, name, rho in published_facts("hessel2019")["lowest_correlation"]}
    facts: dict[str, Any] = {}
    rows, notes = [], []
    for comparison, found in measured:
        try:
            rhos = _rhos(_named(comparison, found))
        except CorpusError as error:
            notes.append(f"{comparison.corpus.name}: no correlation: {error}.")
            continue
        if not rhos:
            continue
        facts[comparison.called] = {", ".join(pair): rho for pair, rho in rhos.items()}
        one, other, rho = lowest.get(comparison.dataset or "", ("", "", None))
        cells = ["–" if rhos.get(pair) is None else f"{rhos[pair]:.2f}" for pair in pairs]
        rows.append([comparison.called, *cells, "–" if rho is None else f"{one}, {other}: {rho:.2f}"])
    if not rows:
        return None, facts
    note = (
        "Spearman's ρ of the AUC of the test documents; over several seeds the mean of the seeds' own. Published: of "
        "all pairs on crowd-labelled data the lowest, .89, is that of DC and AP on MSCOCO; on RQA theirs is .64."
    )
    columns = ["", *(", ".join(pair) for pair in pairs), "published"]
    return Grid("Do models have trouble with the same documents?", columns, rows, [note, *notes]), facts


def _rhos(models: Mapping[str, BySeed]) -> dict[tuple[str, str], float | None]:
    seeds = set.intersection(*(set(each) for each in models.values())) if len(models) > 1 else set()
    found: dict[tuple[str, str], list[float | None]] = {}
    for seed in sorted(seeds):
        for each in correlations({name: by_seed[seed] for name, by_seed in models.items()}):
            found.setdefault((each.first, each.second), []).append(each.rho)
    return {pair: None if None in rhos else float(np.mean(np.array(rhos, float))) for pair, rhos in found.items()}


def _difficulty(measured: Sequence[Measured]) -> tuple[Grid | None, dict[str, Any]]:
    published = published_facts("hessel2019")["explained_by_spread"]
    facts: dict[str, Any] = {}
    rows, notes = [], []
    for comparison, found in measured:
        by_seed = _named(comparison, found).get("AP")
        if not by_seed:
            continue
        try:
            explained = _explained(comparison, list(by_seed.values()))
        except (CorpusError, SettingError) as error:
            notes.append(f"{comparison.corpus.name}: what makes its documents hard is not measured: {error}.")
            continue
        spread, both = ([getattr(each, name).r2 for each in explained] for name in ("spread", "content"))
        facts[comparison.called] = {"spread": float(np.mean(spread)), "spread_and_content": float(np.mean(both))}
        theirs = [f"{each}" for each in published.get(comparison.dataset or "", ("–", "–"))]
        image, text = (
            np.mean([getattr(each, f"{side}_spread").r2 for each in explained]) for side in ("image", "text")
        )
        cells = [percent(float(np.mean(each))) for each in (image, text, spread, both)]
        rows.append([comparison.called, *cells, *theirs])
        notes.append(f"{comparison.called}: {seen_through(_recipe(comparison), comparison.prepared)}")
    if not rows and not notes:
        return None, facts
    note = "R² in percent: how much of the AUC of AP the spread and the content of the test documents explain."
    columns = ["", "image spread", "text spread", "both", "and content", "published: spread", "published: and content"]
    return Grid("What makes documents hard?", columns, rows, [note, *notes]), facts


def _explained(comparison: Comparison, scores: Sequence[Evaluation]) -> list[Difficulty]:
    """What explains the AUC of each seed.

    Raises:
        CorpusError: There are too few documents, or no vectors of their images.
        SettingError: The vectors are too short.
    """
    prepared = comparison.prepared
    if prepared.images is None or prepared.images.ndim != 2:
        raise CorpusError("it needs the features of an image backbone or a table of them")
    aucs = [{each.id: each.auc or 0.0 for each in one.defined} for one in scores]
    wanted = set.intersection(*map(set, aucs))
    check_enough(len(wanted))
    comparison.notify("what makes documents hard")
    seen = list(vectors_of(comparison.corpus, _recipe(comparison), prepared, prepared.images, wanted))
    ids, images, sentences = zip(*seen, strict=True)
    return [explain([auc[each] for each in ids], images, sentences) for auc in aucs]


def _recipe(comparison: Comparison) -> Any:
    return next(row.recipe for row in comparison.rows if row.key == COMPARED["AP"])
