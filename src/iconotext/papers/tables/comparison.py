"""What is compared in a reproduced table, and the report of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.papers.published import PublishedTable
from iconotext.papers.render import Section, report_page
from iconotext.papers.tables.folder import PAGE, RESULTS, TABLE
from iconotext.papers.tables.rows import Row
from iconotext.write import write_text

if TYPE_CHECKING:
    from iconotext.train.prepared import Prepared

Notify = Callable[[str], None]
"""Called with what is being done, for people."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was asked for, and how far it came.

    Attributes:
        table: The published table.
        rows: All that lie in the folder.
        corpus: The corpus file.
        prepared: The corpus, as the first row that is trained on it reads it.
        folder: Where everything lies.
        overrides: ``key=value`` for all rows, or with the row before it.
        dataset: Data set of the paper to set beside ours; None for all.
        seeds: Of each row that is trained.
        source: Corpus file that a transferred row is trained on.
        failed: For each key of a run that failed, why.
        problems: What else a reader must know.
        notify: Called with what is being done.
    """

    table: PublishedTable
    rows: Sequence[Row]
    corpus: Path
    prepared: Prepared
    folder: Path
    overrides: Sequence[str] = ()
    dataset: str | None = None
    seeds: int = 1
    source: Path | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[str] = ()
    notify: Notify = print

    @property
    def reference(self) -> str:
        """Name of the row that the others are compared with: the paper's own model, else the first that is trained."""
        trained = [row for row in self.rows if row.recipe is not None]
        return next((row for row in trained if row.key == self.table.reference), trained[0]).name


@dataclass(frozen=True, slots=True)
class Report:
    """What is written about a comparison.

    Attributes:
        title: Of the page.
        sections: Of ``table.md`` and ``table.html``; without any, neither is written.
        facts: For ``results.json``.
    """

    title: str
    sections: Sequence[Section]
    facts: Mapping[str, Any]


def write_report(comparison: Comparison, report: Report) -> dict[str, Any]:
    """Write table, page and ``results.json``.

    Returns:
        What ``results.json`` holds.
    """
    folder, sections = comparison.folder, report.sections
    if sections:
        write_text(folder / TABLE, "\n".join(section.markdown() for section in sections), force=True)
        write_text(folder / PAGE, report_page(report.title, [section.html() for section in sections]), force=True)
    everything = {
        "table": comparison.table.name,
        "corpus": str(comparison.corpus),
        "dataset": comparison.dataset,
        "set": list(comparison.overrides),
        **report.facts,
        "failed": comparison.failed,
        "notes": list(comparison.problems),
    }
    text = json.dumps(everything, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(folder / RESULTS, text + "\n", force=True)
    found: dict[str, Any] = json.loads(text)  # with the lists that a reader of the file gets
    return found
