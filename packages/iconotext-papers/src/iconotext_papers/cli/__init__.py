"""``iconotext papers``: build data sets, reproduce tables, analyse, and ask people."""

from __future__ import annotations

import typer

from iconotext.cli.commands import ConfiguredCommand
from iconotext.cli.corpus_build import builder_command
from iconotext_papers.analyses import ANALYSES
from iconotext_papers.cli import analyses, detection, sizes, studies
from iconotext_papers.cli.reproduce import reproduce
from iconotext_papers.datasets import ALIKHANI_2021, HESSEL_2019, RELEASED

PANELS = (
    ("Data sets of Hessel 2019 (Li 2021 uses the first three)", HESSEL_2019),
    ("Data sets of Alikhani 2021", ALIKHANI_2021),
    ("As released", (RELEASED,)),
)


def _group(summary: str) -> typer.Typer:
    return typer.Typer(help=summary, no_args_is_help=True, rich_markup_mode="markdown")


app = _group("Reproduce Hessel 2019, Li 2021 and Alikhani 2021.")
build = _group("Make a corpus of a published data set.")
analyze = _group("Analyse models: examples, hard documents, training curves.")
study = _group("Ask people which of two models finds the better pictures.")

for panel, builders in PANELS:
    for builder in builders:
        command = build.command(builder.name, short_help=builder.summary, cls=ConfiguredCommand, rich_help_panel=panel)
        command(builder_command(builder))
for analysis in ANALYSES:
    module = next(each for each in (analyses, detection, sizes) if hasattr(each, analysis.name))
    analyze.command(analysis.name, short_help=analysis.summary, cls=ConfiguredCommand)(getattr(module, analysis.name))
study.command("write", cls=ConfiguredCommand)(studies.write)
study.command("count", cls=ConfiguredCommand)(studies.count_votes)
app.add_typer(build, name="build")
app.command("reproduce", cls=ConfiguredCommand)(reproduce)
app.add_typer(analyze, name="analyze")
app.add_typer(study, name="study")
