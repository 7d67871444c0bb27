"""``iconotext place``: pictures for a text that has none."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import PRINT_OR_WRITE, check_unused, known_errors
from iconotext.cli.options import Download, Fields, Force, Json, Model, Quiet, Reading, argument, settings_options
from iconotext.cli.output import as_typed, complain, print_table, say, say_json
from iconotext.errors import DocumentError
from iconotext.linker import Linker
from iconotext.place.settings import PlaceSettings
from iconotext.plain_text import readable, shortened

if TYPE_CHECKING:
    from rich.table import Table

    from iconotext.place.output import PlacedOut
    from iconotext.place.pictures import Given
    from iconotext.types import Document

Placing = Annotated[PlaceSettings, Fields(more={"evidence": {"metavar": "KIND,..."}})]


@settings_options
def place(
    text: Annotated[str, argument(metavar="TEXT", help="The text: a document, or - for Markdown from stdin.")],
    pictures: Annotated[
        list[Path],
        argument(
            metavar="PICTURES",
            help="Where pictures come from. JSON of link, chunks or context, a library, documents, pictures, folders.",
        ),
    ],
    reading: Reading,
    placing: Placing,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A file to write: .md, .html or .json.", show_default=False),
    ] = None,
    json: Json = False,
    model: Model = "default",
    download: Download = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Place pictures in a text that has none: an answer of a language model, a summary, a rewritten page.

    Each picture goes to the sentence that it belongs to, or nowhere: by what it shows, its caption, and what its own
    document says of it. Without an output file, the places are printed with the reason for each.

    **Examples**

    - `iconotext place answer.md manual.docx --output answer-with-pictures.md`
    - `iconotext place answer.md chunks.jsonl --most 3`
    - `ask-a-model | iconotext place - library/ --output answer.html`
    - `iconotext place summary.md report.pdf photos/ --json | jq '.placed[].why'`
    """
    with known_errors(download=download):
        from iconotext.place.output import placed, save
        from iconotext.place.text import text_document
        from iconotext.system.files import check_overwrite

        if output is not None:
            check_unused({"--json": json}, PRINT_OR_WRITE)
            check_overwrite(output, force)
        document = text_document(_from_stdin() if text == "-" else Path(text), reading)
        sources = _sources(document, pictures)
        linked = Linker.load(model, download=download).place(document, sources, placing, reading)
        for note in [] if quiet else linked.notes:
            complain(note)
        result = placed(linked, None if output is None else output.parent)
        if output is not None:
            save(linked, output, force=force)
            if not quiet:
                number = len(result.placed)
                say(f"Wrote {output}: {number} of {number + len(result.left_out)} pictures placed", err=True)
                for why, count in Counter(image.why for image in result.left_out).items():
                    say(f"Left out {count}: {as_typed(why)}", err=True)
        elif json:
            say_json(result.model_dump())
        elif not quiet:
            print_table(_table(result))
            for image in result.left_out:
                say(f"Left out: {image.picture}: {as_typed(image.why)}", err=True)


def _from_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError("standard input: not UTF-8; save it as a file, which may have another encoding") from error


def _sources(text: Document, paths: list[Path]) -> list[Given]:
    """What pictures come from; of a library, the pictures that match a sentence of the text."""
    from iconotext.library.settings import is_library

    sources: list[Given] = []
    for path in paths:
        if is_library(path):
            from iconotext.library.search import pictures_for

            sources += pictures_for(text, path)
        else:
            sources.append(path)
    return sources


def _table(result: PlacedOut) -> Table:
    from rich.table import Table
    from rich.text import Text

    from iconotext.report.terminal import bar

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 1, 0))
    table.add_column("Picture", overflow="fold")
    table.add_column("Sentence")
    table.add_column("Paragraph", no_wrap=True)
    table.add_column("Why")
    for placement in result.placed:
        table.add_row(
            Text(shortened(readable(placement.picture), 40)),
            Text(readable(placement.text)),
            bar(placement.paragraph_confidence or 0.0),
            Text(readable(placement.why), style="dim"),
        )
    return table
