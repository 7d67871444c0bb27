"""Measures whether models have difficulties with the same documents (Hessel 2019, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate.results import Evaluation, read_results
from iconotext.evaluate.significance import matched
from iconotext.papers.render import Bold, Grid


@dataclass(frozen=True, slots=True)
class Correlation:
    """Rank correlation of two models.

    Attributes:
        rho: Spearman's ρ of their AUC per document, -1 to 1; None if a model gives every document the same AUC.
    """

    first: str
    second: str
    rho: float | None
    documents: int


def correlations(evaluations: Mapping[str, Evaluation]) -> list[Correlation]:
    """Spearman's ρ of the per-document AUC for every pair of models, in the order of the names.

    Args:
        evaluations: Name of a model to its scores, at least two, all of the same documents.

    Raises:
        SettingError: There are fewer than two models.
        CorpusError: They are not of the same documents, or fewer than three have a defined AUC.
    """
    if len(evaluations) < 2:
        raise SettingError("a correlation needs the results of at least two models")
    return [_correlation(first, second, evaluations) for first, second in combinations(evaluations, 2)]


def named_results(paths: Sequence[Path]) -> dict[str, Evaluation]:
    """Results by name of their model, or of their file if models have no names or the same one.

    Raises:
        CorpusError: A file cannot be read, or is named twice.
    """
    read = {path: read_results(path) for path in paths}
    if len(read) < len(paths):
        raise CorpusError("a results file is named twice")
    models = [results.model for results in read.values()]
    stems = [path.stem for path in read]
    unique = all(models) and len(set(models)) == len(models)
    names = models if unique else stems if len(set(stems)) == len(stems) else [str(path) for path in read]
    return {name: results.evaluation for name, results in zip(names, read.values(), strict=True)}


def lowest(found: list[Correlation]) -> Correlation | None:
    """The pair with the lowest ρ; None if no pair has one."""
    defined = [each for each in found if each.rho is not None]
    return min(defined, key=lambda each: each.rho or 0.0, default=None)


def as_dict(found: list[Correlation]) -> dict[str, Any]:
    """For JSON."""
    least = lowest(found)
    pairs = [{"models": [c.first, c.second], "spearman": c.rho, "documents": c.documents} for c in found]
    return {"pairs": pairs, "lowest": None if least is None else [least.first, least.second]}


def correlation_grid(found: list[Correlation]) -> Grid:
    """For people; the lowest of several is bold."""
    least = lowest(found) if len(found) > 1 else None
    rows = []
    for each in found:
        rho = "–" if each.rho is None else f"{each.rho:.3f}"
        rows.append([f"{each.first}, {each.second}", [Bold(rho) if each is least else rho], f"{each.documents:,}"])
    return Grid("", ["Models", "Spearman's ρ", "Documents"], rows)


def _correlation(first: str, second: str, evaluations: Mapping[str, Evaluation]) -> Correlation:
    from scipy.stats import rankdata

    try:
        one, other = matched(evaluations[first], evaluations[second])
    except CorpusError as error:
        raise CorpusError(f"{first} and {second}: {error}") from error
    if len(one) < 3:
        raise CorpusError(
            f"{first} and {second}: a correlation needs three documents with an AUC, there are {len(one)}"
        )
    ranks = np.stack([rankdata([document.auc for document in side]) for side in (one, other)])
    flat = bool((np.ptp(ranks, axis=1) == 0).any())
    rho = None if flat else float(np.clip(np.corrcoef(ranks)[0, 1], -1, 1))
    return Correlation(first, second, rho, len(one))
