"""``iconotext context``: what documents say about each of their pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.excerpts import Kind, Linking, Output, Paths, write
from iconotext.cli.link import RunSettings
from iconotext.cli.options import Download, Force, Json, Reading, settings_options
from iconotext.excerpts import CONTEXT_WORDS, Context

if TYPE_CHECKING:
    from rich.table import Table


@settings_options
def context(
    paths: Paths,
    reading: Reading,
    linking: Linking,
    words: Annotated[int, typer.Option(min=1, help="Most words of the sentences for a picture.")] = CONTEXT_WORDS,
    output: Output = None,
    json: Json = False,
    model: Annotated[str, typer.Option(help="Name or folder of a model.")] = "default",
    download: Download = False,
    force: Force = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Tell only of errors.")] = False,
) -> None:
    """Give for each picture the sentences that talk about it: enough to describe it, or to ask a model about it.

    Whole sentences, the surest first until they fill the words, in reading order; beside them headings, caption,
    alternative text, confidence, and where each sentence stands in the document.

    **Examples**

    - `iconotext context article.md`
    - `iconotext context docs/ --words 60 --output contexts.jsonl`
    - `iconotext context article.md --json | jq '.[].text'`
    """
    with known_errors(download=download):
        from iconotext.report.context import contexts

        settings = RunSettings(model, reading, linking, force, quiet)
        write(paths, settings, Kind(Context, lambda linked: contexts(linked, words), _table), output, as_json=json)


def _table(found: list[Context]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from iconotext.plain_text import readable, shortened
    from iconotext.report.as_table import bar

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 1, 0))
    table.add_column("Picture", overflow="fold")
    table.add_column("What is said of it")
    table.add_column("Confidence", no_wrap=True)
    for each in found:
        said = Text(" › ".join(map(readable, each.headings)), style="dim")
        said.append(f"{chr(10) if each.headings else ''}{readable(each.text) or 'nothing'}", style="not dim")
        sure = Text(f"by {each.by}", style="dim") if each.confidence is None else bar(each.confidence)
        table.add_row(Text(shortened(readable(each.source), 40)), said, sure)
    return table
