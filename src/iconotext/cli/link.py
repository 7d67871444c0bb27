"""``iconotext link``: read documents, link them, write the result."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import complain, known_errors, make_settings, parse_settings, progress
from iconotext.cli.options import AllowOutside, Fetch, Force, Root
from iconotext.errors import DocumentError, OutputError

if TYPE_CHECKING:
    from iconotext.pipeline import LinkSettings
    from iconotext.read import Failure, ReadSettings
    from iconotext.report.as_table import Counts
    from iconotext.types import LinkedDocument


class Format(StrEnum):
    """What links are written as."""

    HTML = "html"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    PARQUET = "parquet"


class Selection(StrEnum):
    """Which pairs become links."""

    TOP_K = "top-k"
    BEST = "best"
    ASSIGNMENT = "assignment"
    THRESHOLD = "threshold"


def link(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH", help="Markdown, HTML, DOCX, EPUB or PDF files, or folders of them.", show_default=False
        ),
    ],
    to: Annotated[Format, typer.Option(help="What to write.")] = Format.HTML,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for pages (default: linked/), or the file to write.", show_default=False
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(help="Name or folder of a model: default, or a dual encoder such as CLIP.")
    ] = "default",
    evidence: Annotated[
        str, typer.Option(help="What to look at, with commas between: picture, caption, layout, reference.")
    ] = "picture,caption,layout,reference",
    select: Annotated[Selection, typer.Option(help="Which pairs become links.")] = Selection.TOP_K,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Drop links less probable than this (default: 0.1, but 0 for pictures alone).",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Say why: the words and the parts of the picture that carry each link."),
    ] = False,
    root: Root = None,
    allow_outside: AllowOutside = False,
    fetch: Fetch = False,
    force: Force = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other setting: language=de, epub=chapters, captions=true, min_side=32, k=5, text=FOLDER, "
            "image=FOLDER, cache=false, ...",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Find which sentences each picture belongs to.

    **Examples**

    - `iconotext link article.md`
    - `iconotext link docs/ --output pages/`
    - `iconotext link article.md --explain`
    - `iconotext link report.pdf --to json | jq '.links[0]'`
    - `iconotext link site/ --root site/static --to parquet --output links.parquet`
    - `iconotext link book.epub --set epub=chapters --evidence picture,caption`
    """
    with known_errors():
        from iconotext.pipeline import LinkSettings
        from iconotext.read import ReadSettings

        read_values, link_values = parse_settings(set_ or [], ReadSettings, LinkSettings)
        reading = make_settings(
            ReadSettings, {"root": root, "allow_outside": allow_outside or None, "fetch": fetch or None} | read_values
        )
        given = {
            "evidence": [kind.strip() for kind in evidence.split(",")],
            "select": select.value,
            "min_confidence": min_confidence,
            "explain": explain or None,
        }
        linking = make_settings(LinkSettings, given | link_values)
        if to is Format.HTML:
            link_pages(paths, output, model=model, reading=reading, linking=linking, force=force)
        else:
            link_data(paths, output, to=to, model=model, reading=reading, linking=linking, force=force)


def link_pages(
    paths: list[Path], output: Path | None, *, model: str, reading: ReadSettings, linking: LinkSettings, force: bool
) -> None:
    """Write a page for each document and show a table; status 1 if a document failed."""
    from iconotext.report.as_html import page_name, write_page, write_pages
    from iconotext.write import refuse

    run = Run(paths, model, reading, linking)
    if output is not None and output.suffix.lower() in (".html", ".htm"):
        if len(run.names) > 1 or reading.epub == "chapters":
            raise OutputError(f"{output} can hold one document: name a folder for the pages of several")
        refuse(output, force)
        pages = []
        for linked in run.linked():
            write_page(linked, output, force=force)
            pages.append(output)
    else:
        folder = output or Path("linked")
        taken = {"index"}
        for name in run.names:  # before the work, not after it
            refuse(folder / f"{page_name(name, taken)}.html", force)
        pages = write_pages(run.linked(), folder, force=force)
    run.show_table()
    if pages:
        typer.echo(f"Open {pages[-1]}", err=True)
    run.finish()


def link_data(
    paths: list[Path],
    output: Path | None,
    *,
    to: Format,
    model: str,
    reading: ReadSettings,
    linking: LinkSettings,
    force: bool,
) -> None:
    """Write links for programs to read, to a file or to stdout; status 1 if a document failed."""
    from iconotext.report.as_json import json_array, json_lines
    from iconotext.report.as_markdown import markdown_pages
    from iconotext.report.as_parquet import write_parquet
    from iconotext.write import refuse, write_text

    if output is not None:
        refuse(output, force)
    elif to is Format.PARQUET:
        raise OutputError("Parquet is no text for a terminal: name a file with --output")
    run = Run(paths, model, reading, linking)
    if to is Format.PARQUET and output is not None:
        write_parquet(run.linked(), output, force=force, explained=linking.explain)
    else:
        match to:
            case Format.JSON:
                several = len(run.names) != 1 or reading.epub == "chapters"
                pieces = json_array(run.results()) if several else json_lines(run.results())
            case Format.JSONL:
                pieces = json_lines(run.results())
            case _:
                pieces = markdown_pages(run.linked())
        if output is not None:
            write_text(output, pieces, force=force)
        else:
            for piece in pieces:
                typer.echo(piece, nl=False)
    run.finish()


class Run:
    """One run over the documents that were named; remembers what came of each.

    Attributes:
        names: Ids of the documents, before an EPUB falls into chapters.
        failures: Documents that could not be read or linked, so far.
    """

    def __init__(self, paths: list[Path], model: str, reading: ReadSettings, linking: LinkSettings) -> None:
        from iconotext.read import find_documents, unique_names

        self.names = unique_names([path for path, _ in find_documents(paths)])
        if not self.names:
            raise DocumentError(
                f"no documents in {', '.join(map(str, paths))}: Markdown, HTML, DOCX, EPUB and PDF are read"
            )
        self.failures: list[Failure] = []
        self._paths, self._model, self._reading, self._linking = paths, model, reading, linking
        self._counts: list[Counts] = []
        self._only: LinkedDocument | None = None

    def results(self) -> Iterator[LinkedDocument | Failure]:
        """Every document, linked or failed, one in memory at a time."""
        from iconotext.pipeline import Linker
        from iconotext.read import Failure, read_all
        from iconotext.report.as_table import count

        linker = Linker.load(self._model, self._linking)
        results = linker.link_all(read_all(self._paths, self._reading))
        for result in progress(results, total=len(self.names), label="Linking"):
            if isinstance(result, Failure):
                self.failures.append(result)
            else:
                self._counts.append(count(result))
                self._only = result if len(self._counts) == 1 else None
            yield result

    def linked(self) -> Iterator[LinkedDocument]:
        """The documents that could be linked."""
        from iconotext.read import Failure

        return (result for result in self.results() if not isinstance(result, Failure))

    def show_table(self) -> None:
        """The links of one document, or the numbers of several, on stdout."""
        from rich.console import Console

        from iconotext.report.as_table import overview, table

        if self._counts:
            Console().print(table([self._only]) if self._only is not None else overview(self._counts))

    def finish(self) -> None:
        """Say what failed, and end the program with status 1 if anything did."""
        for failure in self.failures:
            complain(str(failure.error))
        if self.failures:
            total = len(self._counts) + len(self.failures)
            if total > 1:
                complain(f"{len(self.failures)} of {total} documents failed")
            sys.exit(1)
