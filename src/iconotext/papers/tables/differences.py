"""How far the seeds of each row lie apart, and its difference to the row that all are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from iconotext.errors import CorpusError
from iconotext.evaluate.results import LABELS, Evaluation
from iconotext.papers.analyses.seeds import Difference, differences, spread_over_seeds
from iconotext.papers.render import Grid, difference, percent

SHOWN = ("auc", "p@1")
"""The metrics that are compared."""

BySeed = Mapping[int, "Evaluation"]
"""Seed to scores."""


def compare_rows(rows: Mapping[str, BySeed], reference: str) -> tuple[Grid | None, dict[str, dict[str, Any]]]:
    """Compare every row with one of them.

    Args:
        rows: Name of the row to its scores by seed.
        reference: Name of the row that the others are compared with; where it is not there, it is the first.

    Returns:
        The table, None without anything to compare; and for each name what ``results.json`` says of it: ``spread``,
        ``difference``.
    """
    facts: dict[str, dict[str, Any]] = {}
    reference = reference if reference in rows else next(iter(rows), reference)
    lines, notes = [], [
        "In points. Spread: standard deviation over the seeds. Differences are paired, document by document and seed "
        "by seed; in brackets 95 % bootstrap intervals for which documents and seeds are drawn anew, and in how many "
        "seeds the difference has this sign.",
    ]  # fmt: skip
    for name, by_seed in rows.items():
        spread = spread_over_seeds(list(by_seed.values()))
        found: dict[str, Difference] = {}
        if name != reference and set(by_seed) & set(rows[reference]):
            try:
                found = differences(by_seed, rows[reference])
            except CorpusError as error:
                notes.append(f"{name} cannot be compared: {error}.")
        dicts = {metric: asdict(each) for metric, each in found.items()}
        facts[name] = {"spread": spread, "difference": {"to": reference, **dicts} if found else None}
        cells = [name, f"{len(by_seed)}"]
        for metric in SHOWN:
            cells.append(f"± {percent(spread[metric])}" if spread[metric] is not None else "–")
            cells.append(_cell(found[metric]) if found else "–")
        lines.append(cells)
    if len(rows) < 2 and all(len(by_seed) < 2 for by_seed in rows.values()):
        return None, facts
    columns = ["", "seeds", *(f"{LABELS[each]}{what}" for each in SHOWN for what in (": spread", f" − {reference}"))]
    return Grid(f"Differences to {reference}", columns, lines, notes), facts


def _cell(found: Difference) -> str:
    interval = difference(found.difference, *found.interval)
    return f"{interval}, {found.same_sign} of {found.seeds}" if found.seeds > 1 else interval
