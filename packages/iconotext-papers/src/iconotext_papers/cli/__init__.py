"""``iconotext papers``: build data sets, reproduce tables, analyse, and ask people."""

from __future__ import annotations

import typer
from typer.core import TyperGroup

from iconotext.cli.commands import ConfiguredCommand
from iconotext.cli.corpus import builder_command
from iconotext.cli.help import PlainHelp
from iconotext_papers.analyses import ANALYSES
from iconotext_papers.cli import analyses, sizes, studies
from iconotext_papers.cli.reproduce import reproduce
from iconotext_papers.datasets import ALIKHANI_2021, HESSEL_2019, RELEASED

PANELS = (
    ("Data sets of Hessel 2019 (Li 2021 uses the first three)", HESSEL_2019),
    ("Data sets of Alikhani 2021", ALIKHANI_2021),
    ("As released", (RELEASED,)),
)

IN_FULL = "What each option does in full: packages/iconotext-papers/docs/options.md"


class _Group(PlainHelp, TyperGroup):
    """A group of commands."""


def _group(summary: str, *examples: str) -> typer.Typer:
    shown = "\n".join([summary, "", "**Examples**", "", *(f"- `iconotext papers {example}`" for example in examples)])
    return typer.Typer(help=shown, cls=_Group, no_args_is_help=True, rich_markup_mode="markdown")


app = _group(
    "Reproduce Hessel 2019, Li 2021 and Alikhani 2021.",
    "build mscoco --source coco/ --output mscoco.jsonl",
    "reproduce 2 --corpus mscoco.jsonl",
)
build = _group("Make a corpus of a published data set.", "build mscoco --source coco/ --output mscoco.jsonl")
analyze = _group(
    "Analyse models: examples, hard documents, training curves.", "analyze examples default corpus.jsonl --split test"
)
study = _group(
    "Ask people which of two models finds the better pictures.",
    "study write models/cmcm models/cmca clue.jsonl",
    "study count study.key.json answers-*.json",
)

for panel, builders in PANELS:
    for builder in builders:
        command = build.command(
            builder.name, short_help=builder.summary, cls=ConfiguredCommand, rich_help_panel=panel, epilog=IN_FULL
        )
        command(builder_command(builder))
for analysis in ANALYSES:
    module = next(each for each in (analyses, sizes) if hasattr(each, analysis.name))
    command = analyze.command(analysis.name, short_help=analysis.summary, cls=ConfiguredCommand, epilog=IN_FULL)
    command(getattr(module, analysis.name))
study.command("write", cls=ConfiguredCommand, epilog=IN_FULL)(studies.write)
study.command("count", cls=ConfiguredCommand, epilog=IN_FULL)(studies.count_votes)
app.add_typer(build, name="build")
app.command("reproduce", cls=ConfiguredCommand, epilog=IN_FULL)(reproduce)
app.add_typer(analyze, name="analyze")
app.add_typer(study, name="study")
