"""The tables of ``iconotext evaluate``: scores with their intervals, and how two models differ."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from iconotext.cli.output import output_console, say
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from rich.console import Console

    from iconotext.cli.evaluate import Report
    from iconotext.cli.evaluate_selection import Selection
    from iconotext.evaluate import Comparison, Evaluation

NARROW = 110
"""Columns of a terminal below which intervals stand below their means."""


def show(report: Report, other: Report | None, comparison: dict[str, Comparison] | None, chosen: Selection) -> None:
    """Tables for people, on stdout."""
    from rich.table import Table
    from rich.text import Text

    from iconotext.evaluate.results import LABELS, METRICS

    console = output_console()
    between = "\n" if console.width < NARROW else " "
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Model", overflow="fold")
    for metric in METRICS:
        table.add_column(LABELS[metric], no_wrap=True)
    for name, evaluation in [pair for each in (report, other) if each is not None for pair in _named(each)]:
        row = [_figure(evaluation.means[metric], evaluation.intervals[metric], between) for metric in METRICS]
        table.add_row(Text(name), *row)
    console.print(table)
    evaluation = report.evaluation
    where = "" if chosen.split is None else f" of the split {chosen.split}"
    say(
        f"\n{counted(len(evaluation.defined), 'document')}{where}, in percent; in brackets 95 % bootstrap intervals "
        "over them."
    )
    if evaluation.undefined:
        for why, number in Counter(document.undefined for document in evaluation.undefined).items():
            names = [document.id for document in evaluation.undefined if document.undefined == why]
            shown = ", ".join(names[:10]) + (", ..." if number > 10 else "")
            say(f"Left out, because {why}: {number:,} ({shown})")
    if other is not None and comparison is not None:
        show_comparison(console, report.name, other.name, comparison)


def show_comparison(console: Console, name: str, other: str, comparison: dict[str, Comparison]) -> None:
    """The differences of two models, with their p values."""
    from rich.table import Table
    from rich.text import Text

    from iconotext.evaluate.results import LABELS

    say(f"\n{name} minus {other}, in points:")
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in ("", "Difference", "95 % interval", "p (permutation)", "p (Wilcoxon)"):
        table.add_column(column, no_wrap=True)
    for metric, each in comparison.items():
        interval = f"{100 * each.low:+.1f} to {100 * each.high:+.1f}"
        table.add_row(
            LABELS[metric], Text(f"{100 * each.difference:+.1f}"), Text(interval), _p(each.p), _p(each.p_wilcoxon)
        )
    console.print(table)


def _named(report: Report) -> list[tuple[str, Evaluation]]:
    if report.detection is None:
        return [(report.name, report.evaluation)]
    detection = report.detection
    named = [(f"{report.name}, K = {detection.k} (best on these documents)", detection.best)]
    if detection.chosen is not None:
        named.append((f"{report.name}, K = {detection.validation_k} (chosen on validation)", detection.chosen))
    return named


def _figure(mean: float | None, interval: tuple[float, float] | None, between: str) -> str:
    if mean is None or interval is None:
        return "–"
    return f"{100 * mean:.1f}{between}({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
