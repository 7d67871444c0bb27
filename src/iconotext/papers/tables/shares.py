"""Fig. 5 of Li 2021: how many labels a supervised model needs to be better than models that need none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.errors import CorpusError
from iconotext.evaluate.results import LABELS
from iconotext.evaluate.seeds import differences, over_seeds
from iconotext.papers.analyses.shares import SHOWN, LabelledShare, overtaking, write_shares
from iconotext.papers.published.li2021 import ENOUGH_LABELS
from iconotext.papers.tables.differences import BySeed
from iconotext.papers.tables.section import Section, figure_section, table_section

if TYPE_CHECKING:
    from iconotext.papers.tables.rows import Row

FIGURE, FIGURE_PNG = "shares.svg", "shares.png"


def share_sections(
    rows: Sequence[Row], found: Mapping[str, BySeed], folder: Path
) -> tuple[list[Section], dict[str, Any]]:
    """Draw the figure, and tell from which share on the supervised model is better.

    Args:
        rows: Of the table.
        found: Name of the row to its scores by seed.
        folder: Where the figure goes.

    Returns:
        What is shown, and what ``results.json`` says under ``overtaking``.
    """
    supervised = {row.share: found[row.name] for row in rows if row.share is not None and row.name in found}
    unsupervised = {row.name: found[row.name] for row in rows if row.share is None and row.name in found}
    if not supervised:
        return [], {}
    means = {share: over_seeds(list(each.values())) for share, each in supervised.items()}
    others = {name: over_seeds(list(each.values())) for name, each in unsupervised.items()}
    shares = [LabelledShare(share, each) for share, each in means.items()]
    for name in (FIGURE, FIGURE_PNG):
        write_shares(shares, others, folder / name, force=True)
    sections = [figure_section(FIGURE, "AUC and p@1 of the supervised model by share of labelled training documents")]
    facts: dict[str, Any] = {}
    lines, notes = [], []
    for name, by_seed in unsupervised.items():
        facts[name] = {"published": (enough := ENOUGH_LABELS[name]) / 100}
        cells = []
        for metric in SHOWN:
            level = others[name].means[metric]
            values = [(share, value) for share, each in means.items() if (value := each.means[metric]) is not None]
            first = None if level is None else overtaking(values, level)
            try:
                low = [(share, differences(each, by_seed)[metric].low) for share, each in supervised.items()]
                surely = overtaking(low, 0)
            except CorpusError as error:
                notes, surely = [f"{name} cannot be compared: {error}."], None
            facts[name][metric] = {"from": first, "from_with_certainty": surely}
            cells += [_told(first, means), _told(surely, means)]
        lines.append([name, *cells, f"more than {enough} %"])
    if lines:
        columns = ["better than"]
        for metric in SHOWN:
            columns += [f"{LABELS[metric]}: from", f"{LABELS[metric]}: beyond chance from"]
        notes = [
            "Share of the labelled training documents from which on, at it and at all larger ones tried, the "
            "supervised model has the better mean, and from which on the 95 % interval of the difference excludes 0.",
            *notes,
        ]
        sections.append(table_section("Labels that the supervised model needs", [*columns, "published"], lines, notes))
    return sections, facts


def _told(share: float | None, tried: Mapping[float, object]) -> str:
    return f"not with {100 * max(tried):.0f} %" if share is None else f"{100 * share:.0f} %"
