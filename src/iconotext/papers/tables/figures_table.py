"""Results tables: our figures, with their intervals, beside published ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from iconotext.report.as_markdown import block_text, inline_text

if TYPE_CHECKING:
    from iconotext.evaluate.results import Evaluation
    from iconotext.papers.published import Table as Published

WITHIN = 1.0
"""Percentage points within which a figure counts as good as the best of its column.

The paper says "within 1 % of the best-in-column performance". Its AUC columns follow this rule exactly. Its columns
of p@1/p@5 are bold as pairs, by no rule that we could find, so we judge the two numbers apart."""


class Value(NamedTuple):
    """One figure, in percent.

    Attributes:
        value: The figure.
        interval: Its 95 % interval; None where there is none.
    """

    value: float
    interval: tuple[float, float] | None = None


class Cell(NamedTuple):
    """AUC, p@1 and p@5 of one row on one data set, in percent; None where there is no such figure."""

    auc: Value | None = None
    p1: Value | None = None
    p5: Value | None = None


@dataclass(frozen=True)
class ResultsTable:
    """A table to be written.

    Attributes:
        groups: Names of the data sets, each with two columns: AUC, and p@1/p@5.
        rows: Name of the row and a cell for each group.
        title: Above the table.
        notes: Below the table.
    """

    groups: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    title: str = ""
    notes: tuple[str, ...] = field(default=())


def results_table(
    rows: Mapping[str, Mapping[str, Evaluation]],
    published: Published | None = None,
    *,
    title: str = "",
    notes: Sequence[str] = (),
) -> ResultsTable:
    """Set our figures beside published ones.

    Args:
        rows: Name of the row, as the published table has it, to name of our data set to scores.
        published: One of ``iconotext.papers.published.PUBLISHED``; rows that only it has are kept, too.
        title: Above the table.
        notes: Below the table.

    Returns:
        Our data sets, then the published ones, marked as such; rows in the published order, ours that it lacks at
        the end.
    """
    published = published or {}
    ours = list(dict.fromkeys(name for each in rows.values() for name in each))
    theirs = list(dict.fromkeys(name for each in published.values() for name in each))
    names = [*published, *(name for name in rows if name not in published)]
    cells = [
        (
            name,
            (
                *(_ours(rows.get(name, {}).get(group)) for group in ours),
                *(_published(published.get(name, {}).get(group)) for group in theirs),
            ),
        )
        for name in names
    ]
    groups = (*(f"{name} (ours)" if theirs else name for name in ours), *(f"{name} (published)" for name in theirs))
    return ResultsTable(groups, tuple(cells), title, tuple(notes))


def markdown(table: ResultsTable) -> str:
    """The table as GitHub-flavoured Markdown; what is within 1 point of the best of its column is bold."""
    best = _best(table)
    headers = ["", *(f"{inline_text(group)}: {name}" for group in table.groups for name in ("AUC", "p@1 / p@5"))]
    lines = [f"**{inline_text(table.title)}**", ""] if table.title else []
    lines += ["| " + " | ".join(headers) + " |", "|---" + "|---:" * (len(headers) - 1) + "|"]
    for name, cells in table.rows:
        texts = [text for i, cell in enumerate(cells) for text in _texts(cell, best[i], "**{}**")]
        lines.append("| " + " | ".join([inline_text(name), *texts]) + " |")
    lines += [line for note in table.notes for line in ("", block_text(note))]
    return "\n".join(lines) + "\n"


def html(table: ResultsTable) -> str:
    """The table as an HTML fragment: one ``<table>``, and a paragraph for each note; all text is escaped."""
    best = _best(table)
    parts = ['<table class="results">']
    if table.title:
        parts.append(f"<caption>{escape(table.title)}</caption>")
    groups = "".join(f'<th colspan="2" scope="colgroup">{escape(group)}</th>' for group in table.groups)
    columns = '<th scope="col">AUC</th><th scope="col">p@1 / p@5</th>' * len(table.groups)
    parts.append(f'<thead><tr><td rowspan="2"></td>{groups}</tr><tr>{columns}</tr></thead><tbody>')
    for name, cells in table.rows:
        texts = [text for i, cell in enumerate(cells) for text in _texts(cell, best[i], "<b>{}</b>")]
        parts.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{text}</td>" for text in texts)}</tr>')
    parts.append("</tbody></table>")
    parts += [f"<p>{escape(note)}</p>" for note in table.notes]
    return "\n".join(parts) + "\n"


def is_bold(value: float, best: float | None) -> bool:
    """Whether a figure, in percent, is within 1 point of the best of its column, both as printed (one decimal)."""
    return best is not None and round(best, 1) - round(value, 1) <= WITHIN + 1e-9


def _best(table: ResultsTable) -> list[tuple[float | None, float | None, float | None]]:
    """For each group the best AUC, p@1 and p@5."""
    return [
        (
            _highest(cells[i].auc for _, cells in table.rows),
            _highest(cells[i].p1 for _, cells in table.rows),
            _highest(cells[i].p5 for _, cells in table.rows),
        )
        for i in range(len(table.groups))
    ]


def _highest(values: Iterable[Value | None]) -> float | None:
    return max((value.value for value in values if value is not None), default=None)


def _texts(cell: Cell, best: tuple[float | None, float | None, float | None], bold: str) -> tuple[str, str]:
    area, one, five = (_text(value, top, bold) for value, top in zip(cell, best, strict=True))
    return area or "–", f"{one or '–'} / {five or '–'}" if one or five else "–"


def _text(value: Value | None, best: float | None, bold: str) -> str:
    if value is None:
        return ""
    number = f"{value.value:.1f}"
    shown = bold.format(number) if is_bold(value.value, best) else number
    return shown if value.interval is None else f"{shown} ({value.interval[0]:.1f}–{value.interval[1]:.1f})"


def _ours(evaluation: Evaluation | None) -> Cell:
    if evaluation is None:
        return Cell()
    values: list[Value | None] = []
    for metric in ("auc", "p@1", "p@5"):
        mean, interval = evaluation.means[metric], evaluation.intervals[metric]
        spread = None if interval is None else (100 * interval[0], 100 * interval[1])
        values.append(None if mean is None else Value(100 * mean, spread))
    return Cell(*values)


def _published(figures: tuple[float, float, float] | None) -> Cell:
    return Cell() if figures is None else Cell(*map(Value, figures))
