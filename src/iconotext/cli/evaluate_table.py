"""The tables of ``iconotext evaluate``: scores with their intervals, and how two models differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from iconotext.cli import grids
from iconotext.cli.output import say, say_left_out
from iconotext.papers.render import Grid
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.cli.evaluate import Report
    from iconotext.evaluate import Comparison, Evaluation
    from iconotext.evaluate.corpus_part import CorpusPart


def show(report: Report, other: Report | None, comparison: dict[str, Comparison] | None, chosen: CorpusPart) -> None:
    """Tables for people, on stdout."""
    from iconotext.evaluate.results import LABELS, METRICS

    rows = [
        [name, *(_figure(evaluation.means[metric], evaluation.intervals[metric]) for metric in METRICS)]
        for each in (report, other)
        if each is not None
        for name, evaluation in _named(each)
    ]
    grids.show([Grid("", ["Model", *(LABELS[metric] for metric in METRICS)], rows)])
    evaluation = report.evaluation
    where = "" if chosen.split is None else f" of the split {chosen.split}"
    say(
        f"\n{counted(len(evaluation.defined), 'document')}{where}, in percent; in brackets 95 % bootstrap intervals "
        "over them."
    )
    say_left_out((document.id, document.undefined) for document in evaluation.undefined)
    if other is not None and comparison is not None:
        say(f"\n{report.name} minus {other.name}, in points:")
        grids.show([_comparison_grid(comparison, LABELS)])


def _comparison_grid(comparison: Mapping[str, Comparison], labels: Mapping[str, str]) -> Grid:
    """The differences of two models, with their p values."""
    rows = [
        [
            labels[metric],
            f"{100 * each.difference:+.1f}",
            f"{100 * each.interval[0]:+.1f} to {100 * each.interval[1]:+.1f}",
            _p(each.p),
            _p(each.p_wilcoxon),
        ]
        for metric, each in comparison.items()
    ]
    return Grid("", ["", "Difference", "95 % interval", "p (permutation)", "p (Wilcoxon)"], rows)


def _named(report: Report) -> list[tuple[str, Evaluation]]:
    if report.detection is None:
        return [(report.name, report.evaluation)]
    detection = report.detection
    named = [(f"{report.name}, K = {detection.k} (best on these documents)", detection.best)]
    if detection.chosen is not None:
        named.append((f"{report.name}, K = {detection.validation_k} (chosen on validation)", detection.chosen))
    return named


def _figure(mean: float | None, interval: tuple[float, float] | None) -> str:
    if mean is None or interval is None:
        return "–"
    return f"{100 * mean:.1f} ({100 * interval[0]:.1f}–{100 * interval[1]:.1f})"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
