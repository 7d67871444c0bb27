"""``iconotext corpus build``: a command for each builder, made from its settings class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iconotext.cli.common import known_errors, progress
from iconotext.cli.lazy_group import LazyCommand, lazy_group
from iconotext.cli.options import READING, CorpusOutput, Force, SettingsPanel, Workers, settings_options
from iconotext.cli.output import as_typed, output_console, say
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.corpus.builders.report import BuildReport, Count

RULES = 12
"""Number of rules for dropped items that are shown; the report has all."""

MORE: Mapping[str, Mapping[str, Any]] = {**READING.more, "compare": {"case_sensitive": False}}
"""Further arguments of options, by the name of the setting."""


@dataclass(frozen=True)
class Builder(LazyCommand):
    """The command of a builder; ``place`` is its module in ``iconotext``, with ``Settings`` and ``documents``."""

    def command(self, name: str) -> Callable[..., None]:
        """A command that has an option for each setting."""
        module = import_module(f"iconotext.{self.place}")
        kind = module.Settings
        more = {field: found for field, found in MORE.items() if field in kind.model_fields}
        panel = SettingsPanel("Options", short={"source": "-s"}, more=more)

        def build(*, settings: Any, output: CorpusOutput, workers: Workers = None, force: Force = False) -> None:
            with known_errors():
                from iconotext.corpus.builders.run import build_corpus

                report = build_corpus(
                    name, module.documents, settings, output, workers=workers, force=force, watcher=progress
                )
                show(report, output)

        build.__doc__ = inspect.cleandoc(kind.__doc__).replace("``", "`")
        build.__annotations__["settings"] = Annotated[kind, panel]
        return settings_options(build)


def _builders(panel: str, builders: dict[str, tuple[str, str]]) -> dict[str, LazyCommand]:
    return {name: Builder(place, help_, panel) for name, (place, help_) in builders.items()}


COMMANDS = {
    **_builders(
        "Out of what you have",
        {
            "folder": ("corpus.builders.folder", "Make a corpus out of documents, or folders of them."),
            "captions": ("corpus.builders.captions", "Make documents out of photographs with captions."),
            "label-studio": (
                "corpus.builders.label_studio",
                "Take the links that people gave in Label Studio.",
            ),
            "pairs": (
                "corpus.builders.pairs",
                "Make a document of each picture and what its author wrote about it.",
            ),
        },
    ),
    **_builders(
        "Data sets of Hessel 2019 (Li 2021 uses the first three)",
        {
            "mscoco": ("papers.datasets.mscoco", "Ten images, ten sentences, five links."),
            "story-dii": ("papers.datasets.story_dii", "Five photographs of an album, five captions."),
            "story-sis": ("papers.datasets.story_sis", "Five photographs of an album, a story of five sentences."),
            "dii-stress": ("papers.datasets.dii_stress", "Story-DII with 45 captions of other photographs."),
            "rqa": ("papers.datasets.rqa", "Recipes whose steps have pictures, of RecipeQA."),
            "diy": ("papers.datasets.diy", "Albums of photographs with captions, of Reddit's r/DIY."),
            "wiki": ("papers.datasets.wiki", "English articles of Wikipedia with three pictures or more."),
        },
    ),
    **_builders(
        "Data sets of Alikhani 2021",
        {
            "cite": ("papers.datasets.cite", "Steps of recipes with their picture and coherence relations."),
            "clue": ("papers.datasets.clue", "Captions with a picture of the web and coherence relations."),
        },
    ),
    **_builders(
        "Shards as published",
        {
            "mmc4": ("corpus.builders.mmc4", "Web pages with pictures matched to sentences: Multimodal C4."),
            "obelics": ("corpus.builders.obelics", "Web pages with pictures in reading order: OBELICS."),
            "multi-retrieval": ("papers.datasets.multi_retrieval", "A data set that was released with Hessel 2019."),
        },
    ),
}

build = typer.Typer(
    name="build",
    cls=lazy_group(COMMANDS),
    help="Make a corpus out of files, out of photographs with captions, or out of a published data set.",
    no_args_is_help=True,
)


@build.callback()
def _options() -> None:
    """There are no options that all builders share."""


def show(report: BuildReport, output: Path) -> None:
    """Print counts beside the published ones, dropped items, and the corpus, on stderr."""
    from iconotext.corpus.builders.report import dropped_path, report_path

    if any(count.published is not None for count in report.counts):
        _show_comparison(report.counts)
    else:
        for count in report.counts:
            say(f"{count.found:>11,}  {count.what}", err=True)
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


def _show_comparison(counts: Sequence[Count]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("here", justify="right", no_wrap=True)
    table.add_column("published", justify="right", no_wrap=True)
    for count in counts:
        published = "" if count.published is None else f"{'about ' * (count.rounding > 1)}{count.published:,}"
        table.add_row(Text(count.what), f"{count.found:,}", published)
    output_console(err=True).print(table)
