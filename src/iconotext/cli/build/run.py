"""What the commands share that run a builder: progress while it works, and the comparison with the paper at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from iconotext.cli.common import make_settings, parse_settings, progress
from iconotext.cli.output import output_console, say
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.corpus.builders.frame.build import Build, Values
    from iconotext.corpus.builders.frame.report import BuildReport, Count

RULES = 12
"""Rules by which items were dropped that are told; the report has all."""


def run_build(
    builder: str,
    rows: Callable[[Build], Iterator[Values]],
    output: Path,
    *,
    sources: Sequence[Path],
    settings: Mapping[str, Any],
    seed: int,
    workers: int | None,
    force: bool,
) -> BuildReport:
    """Run a builder with a progress bar, and say on stderr what came out and how it compares."""
    from iconotext.corpus.builders.frame.build import build_corpus

    report = build_corpus(
        builder,
        rows,
        output,
        sources=sources,
        settings=settings,
        seed=seed,
        workers=workers,
        force=force,
        watcher=progress,
    )
    tell(report, output)
    return report


def run_data_set(
    builder: str,
    rows: Callable[..., Iterator[Values]],
    kind: type[BaseModel],
    set_: list[str] | None,
    *,
    source: Path,
    images: Path | None,
    output: Path,
    seed: int,
    workers: int | None,
    force: bool,
) -> None:
    """Run the builder of a published data set.

    Args:
        builder: Its name.
        rows: The builder; it takes a build, ``source``, ``settings`` and ``images``.
        kind: Of its settings.
        set_: What the user sets of them, ``NAME=VALUE``.
        source: Folder with the original files.
        images: Folder with the pictures, where it is another one.
        output: The corpus.
        seed: Of all choices.
        workers: Processes; None: all cores.
        force: Replace files that are there.
    """
    settings = make_settings(kind, parse_settings(set_ or [], kind)[0])
    run_build(
        builder,
        partial(rows, source=source, settings=settings, images=images),
        output,
        sources=[source] if images is None else [source, images],
        settings=settings.model_dump(mode="json") | {"images": None if images is None else str(images)},
        seed=seed,
        workers=workers,
        force=force,
    )


def tell(report: BuildReport, output: Path) -> None:
    """Counts beside the published ones, what was dropped, and the corpus, on stderr."""
    from iconotext.corpus.builders.frame.report import dropped_path, report_path

    if any(count.published is not None for count in report.counts):
        _show_comparison(report.counts)
    else:
        for count in report.counts:
            say(f"{count.found:>11,}  {count.what}", err=True)
    for note in report.notes:
        say(f"note: {note}", err=True)
    if report.dropped:
        say("dropped:", err=True)
        for rule, number in report.dropped.most_common(RULES):
            say(f"{number:>11,}  {rule}", err=True)
            say(f"{'':13}{'e.g. ' if number > 1 else ''}{report.first[rule]}", err=True)
        if len(report.dropped) > RULES:
            say(f"             and by {len(report.dropped) - RULES} more rules, see the report", err=True)
    if report.stats is not None:
        stats = report.stats
        parts = [f"{stats.splits[name]:,} {name}" for name in ("train", "validation", "test") if name in stats.splits]
        say(f"{output}: {counted(stats.documents, 'document')}" + (f" ({', '.join(parts)})" if parts else ""), err=True)
    also = f", and {dropped_path(output)}: every item that was dropped" if report.dropped else ""
    say(f"{report_path(output)}: the counts{also}", err=True)


def _show_comparison(counts: Sequence[Count]) -> None:
    """A table: what, found here, published."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("here", justify="right", no_wrap=True)
    table.add_column("published", justify="right", no_wrap=True)
    for count in counts:
        published = "" if count.published is None else _published(count)
        table.add_row(Text(count.what), f"{count.found:,}", published)
    output_console(err=True).print(table)


def _published(count: Count) -> str:
    about = "about " if count.rounding > 1 else ""
    return f"{about}{count.published:,}"
