"""``iconotext corpus build``: a command for each builder, made from its settings class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from iconotext.cli.common import known_errors, progress
from iconotext.cli.options import READING, CorpusOutput, Fields, Force, Workers, settings_options
from iconotext.cli.output import as_typed, say
from iconotext.cli.output import show as show_report
from iconotext.plain_text import counted
from iconotext.report.tables import Grid

if TYPE_CHECKING:
    from iconotext.corpus.builders import Builder
    from iconotext.corpus.builders.report import BuildReport

RULES = 12
"""Number of rules for dropped items that are shown; the report has all."""

MORE: Mapping[str, Mapping[str, Any]] = {**READING.more, "compare": {"case_sensitive": False}}
"""Further arguments of options, by the name of the setting."""


def builder_command(builder: Builder) -> Callable[..., None]:
    """Make the command of a builder, with an option for each of its settings."""
    kind, documents = builder.load()
    more = {field: help_ for field, help_ in MORE.items() if field in kind.model_fields}
    panel = Fields(short={"source": "-s"}, more=more)

    def build(*, settings: Any, output: CorpusOutput, workers: Workers = None, force: Force = False) -> None:
        with known_errors():
            from iconotext.corpus.builders.run import build_corpus

            report = build_corpus(
                builder.name, documents, settings, output, workers=workers, force=force, watcher=progress
            )
            show(report, output)

    build.__doc__ = inspect.cleandoc(kind.__doc__).replace("``", "`")
    build.__annotations__["settings"] = Annotated[kind, panel]
    return settings_options(build)


def show(report: BuildReport, output: Path) -> None:
    """Print counts beside the published ones, dropped items, and the corpus, on stderr."""
    from iconotext.corpus.builders.report import dropped_path, report_path

    if any(count.published is not None for count in report.counts):
        rows = [
            [
                count.name,
                f"{count.number:,}",
                "" if count.published is None else f"{'about ' * (count.rounding > 1)}{count.published:,}",
            ]
            for count in report.counts
        ]
        show_report([Grid("", ["", "here", "published"], rows)], err=True)
    else:
        for count in report.counts:
            say(f"{count.number:>11,}  {count.name}", err=True)
    for note in report.notes:
        say(as_typed(f"note: {note}"), err=True)
    if report.dropped:
        say("dropped:", err=True)
        for rule, number in report.dropped.most_common(RULES):
            say(as_typed(f"{number:>11,}  {rule}"), err=True)
            say(as_typed(f"{'':13}{'e.g. ' if number > 1 else ''}{report.first[rule]}"), err=True)
        if len(report.dropped) > RULES:
            say(f"             and by {len(report.dropped) - RULES} more rules, see the report", err=True)
    if report.stats is not None:
        stats = report.stats
        parts = [f"{stats.splits[name]:,} {name}" for name in ("train", "validation", "test") if name in stats.splits]
        say(f"{output}: {counted(stats.documents, 'document')}" + (f" ({', '.join(parts)})" if parts else ""), err=True)
    also = f", and {dropped_path(output)}: every item that was dropped" if report.dropped else ""
    say(f"{report_path(output)}: the counts{also}", err=True)
