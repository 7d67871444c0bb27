"""What ``iconotext context`` and ``iconotext chunks`` share: read, link, write a row for each context or chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iconotext.cli.link import RunSettings, linked_documents, print_pieces
from iconotext.cli.options import SettingsPanel
from iconotext.cli.output import print_table, say
from iconotext.excerpts import Chunk, Context
from iconotext.extras import require
from iconotext.pipeline import LinkSettings
from iconotext.plain_text import counted
from iconotext.types import Document, LinkedDocument

if TYPE_CHECKING:
    from rich.table import Table

Paths = Annotated[
    list[str],
    typer.Argument(
        metavar="PATH",
        help="Documents (Markdown, HTML, DOCX, EPUB, PDF, LaTeX, ...), folders of them, or web pages (with --fetch).",
        show_default=False,
    ),
]
Linking = Annotated[
    LinkSettings,
    SettingsPanel("Linking", only=("evidence", "habit", "k", "relations"), more={"evidence": {"metavar": "KIND,..."}}),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="A file to write: .jsonl or .parquet; or a folder, for a data set of Hugging Face with the pictures.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Kind:
    """Contexts or chunks."""

    type: type[Context] | type[Chunk]
    of: Callable[[LinkedDocument], Iterable[Any]]
    table: Callable[[list[Any]], Table]


def write(paths: list[str], settings: RunSettings, kind: Kind, output: Path | None, *, as_json: bool) -> None:
    """Link documents and write what ``kind`` makes of them; ``Run.finish`` says with which status it ends."""
    from iconotext.cli.link_run import Run
    from iconotext.features.cache_place import cache_folder
    from iconotext.read import fetch_pages
    from iconotext.report.as_dataset import check_folder, write_dataset
    from iconotext.report.as_excerpts import check_suffix, json_array, write_excerpts
    from iconotext.write import check_overwrite

    is_folder = output is not None and (output.is_dir() or not output.suffix)
    if output is not None and is_folder:
        require("parquet", purpose="a data set")
        check_folder(output, force=settings.force)
    elif output is not None:
        check_suffix(output)
        check_overwrite(output, settings.force)
    files, reading = fetch_pages(paths, settings.reading, cache_folder() / "pages")
    run = Run(files, reading, output=output, quiet=settings.quiet)
    written = 0

    def found() -> Iterator[tuple[Document, Any]]:
        nonlocal written
        for linked in linked_documents(run, settings):
            if isinstance(linked, LinkedDocument):
                for each in kind.of(linked):
                    written += 1
                    yield linked.document, each

    rows = (each for _, each in found())
    if output is not None:
        if is_folder:
            write_dataset(found(), output, kind.type, force=settings.force)
        else:
            write_excerpts(rows, output, kind.type, force=settings.force)
        if not settings.quiet:
            what = f"{counted(written, kind.type.__name__.lower())} of {counted(run.linked, 'document')}"
            say(f"Wrote {output}: {what}", err=True)
    elif as_json:
        print_pieces(json_array(rows))
    else:
        print_table(kind.table(list(rows)))
    run.finish()
