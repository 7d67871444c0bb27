"""``iconotext link``: read documents, link them, write the result."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeGuard

import typer

from iconotext import __version__
from iconotext.cli import complete
from iconotext.cli.common import known_errors, show_log
from iconotext.cli.options import Download, Linking, Reading, settings_options
from iconotext.cli.output import as_typed, say
from iconotext.errors import OutputError, SettingError
from iconotext.pipeline import LinkSettings
from iconotext.read import ReadSettings
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    from iconotext.cli.link_run import Run
    from iconotext.read import Failure
    from iconotext.types import Document


OF_FILES = (".csv", ".docx", ".epub", ".json", ".jsonl", ".markdown", ".md", ".parquet", ".pdf", ".tsv", ".txt")
"""Suffixes that no folder of pages should have: somebody meant a file."""


class Format(StrEnum):
    """What links are written as."""

    HTML = "html"
    JSON = "json"
    JSONL = "jsonl"
    MARKDOWN = "markdown"
    PARQUET = "parquet"


@settings_options
def link(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH",
            help="Markdown, HTML, DOCX, EPUB or PDF files, folders of them, or addresses of pages (with --fetch).",
            show_default=False,
        ),
    ],
    reading: Reading,
    linking: Linking,
    to: Annotated[Format, typer.Option(help="What to write.")] = Format.HTML,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for pages (default: linked/), or the file to write.", show_default=False
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            help="Name or folder of a model: default, or a dual encoder such as CLIP.", autocompletion=complete.models
        ),
    ] = "default",
    download: Download = False,
    force: Annotated[
        bool, typer.Option("--force", help="Make every page anew, and replace files that are not ours.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Tell only of errors.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell of every file.")] = False,
) -> None:
    """Find which sentences each picture belongs to.

    Pages are brought up to date: what has not changed is not linked again, and pages of documents that are gone are
    removed. Stop it when you like: the same command goes on from there.

    **Examples**

    - `iconotext link article.md`
    - `iconotext link docs/ --output pages/ --exclude drafts/`
    - `iconotext link article.md --explain`
    - `iconotext link report.pdf --to json | jq '.[0].links[0]'`
    - `iconotext link site/ --root site/static --to parquet --output links.parquet`
    - `iconotext link book.epub --epub chapters --evidence picture,caption`
    """
    with known_errors(download=download, goes_on=to is Format.HTML and not is_page(output)):
        if quiet and verbose:
            raise SettingError("--quiet and --verbose contradict each other: give one of them")
        from iconotext.features.cache import cache_folder
        from iconotext.read import fetch_pages

        if verbose:
            show_log()
        work = link_pages if to is Format.HTML else partial(link_data, to=to)
        files, reading = fetch_pages(paths, reading, cache_folder() / "pages")
        work(files, output, model=model, reading=reading, linking=linking, force=force, quiet=quiet)


def link_pages(
    paths: list[Path],
    output: Path | None,
    *,
    model: str,
    reading: ReadSettings,
    linking: LinkSettings,
    force: bool = False,
    quiet: bool = False,
) -> None:
    """Bring a folder of pages up to date, or write one page; ``Run.finish`` says with which status it ends."""
    from iconotext.cli.link_run import Run

    if is_page(output):
        link_page(paths, output, model=model, reading=reading, linking=linking, force=force, quiet=quiet)
        return
    from iconotext.read import Failure
    from iconotext.report.page_folder import INDEX, PageFolder
    from iconotext.report.problems import NAME

    folder = output or Path("linked")
    if folder.suffix.lower() in OF_FILES and not folder.is_dir():
        raise OutputError(
            f"{output}: pages go into a folder, or one page into an .html file; --to says what else to write"
        )
    run = Run(paths, reading, output=None, quiet=quiet)
    sources = [path for path, _ in run.found]
    pages = PageFolder(folder, setup=_setup(model, reading, linking), force=force, sources=sources)

    @cache
    def linker() -> Callable[[Document], LinkedDocument]:
        from iconotext.pipeline import Linker

        return Linker.load(model, linking).link

    last = INDEX
    for (path, within), name in zip(run.watched(run.found), run.names, strict=True):
        read = partial(_read, path, reading, within, name)
        for made in pages.update(path, name, read, linker):
            if isinstance(made, Failure):
                run.failed(made)
            else:
                record, linked = made
                run.made(path, record.counts, linked)
                last = record.page
    removed = pages.finish([path for path in paths if path.is_dir()], run.problems)
    run.show_table()
    if run.linked and not quiet:
        say(f"Open {folder / (last if run.linked == 1 else INDEX)}", err=True)
    run.finish(all_in=folder / NAME, removed=removed)


def link_page(
    paths: list[Path],
    output: Path,
    *,
    model: str,
    reading: ReadSettings,
    linking: LinkSettings,
    force: bool,
    quiet: bool,
) -> None:
    """Write the page of one document; a page that we wrote and nobody changed is replaced."""
    from iconotext.cli.link_run import Run
    from iconotext.report.reading_page import write_page
    from iconotext.report.seal import is_untouched
    from iconotext.write import check_overwrite

    force = force or is_untouched(output)
    check_overwrite(output, force)
    run = Run(paths, reading, output=output, quiet=quiet)
    if len(run.names) > 1 or reading.epub == "chapters":
        raise OutputError(f"{output} can hold one document: name a folder for the pages of several")
    for result in _results(run, model, reading, linking):
        if isinstance(result, LinkedDocument):
            write_page(result, output, force=force)
    run.show_table()
    if run.linked and not quiet:
        say(f"Open {output}", err=True)
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
    quiet: bool,
) -> None:
    """Write links for programs to read, to a file or to stdout; ``Run.finish`` says with which status it ends."""
    from iconotext.cli.link_run import Run
    from iconotext.report.as_json import json_array, json_lines
    from iconotext.report.as_markdown import markdown_pages
    from iconotext.report.as_parquet import write_parquet
    from iconotext.write import check_overwrite, write_error, write_text

    if output is not None:
        check_overwrite(output, force)
    elif to is Format.PARQUET:
        raise OutputError("Parquet is no text for a terminal: name a file with --output")
    run = Run(paths, reading, output=output, quiet=quiet)
    results = _results(run, model, reading, linking)
    linked = (result for result in results if isinstance(result, LinkedDocument))
    if to is Format.PARQUET and output is not None:
        write_parquet(linked, output, force=force, explained=linking.explain)
    else:
        match to:
            case Format.JSON:
                pieces = json_array(results)
            case Format.JSONL:
                pieces = json_lines(results)
            case _:
                pieces = markdown_pages(linked, output.parent if output is not None else Path())
        if output is not None:
            write_text(output, pieces, force=force)
        else:
            for piece in pieces:
                try:
                    typer.echo(piece, nl=False)
                except OSError as error:
                    if error.errno == errno.EPIPE:  # the reader has what it wanted
                        raise
                    raise write_error("to standard output", error) from error
    if output is not None:
        run.show_table()
        if not quiet:
            say(f"Wrote {output}", err=True)
    run.finish()


def is_page(output: Path | None) -> TypeGuard[Path]:
    """Whether ``--output`` names a page, not a folder of pages."""
    return output is not None and output.suffix.lower() in (".html", ".htm")


def _results(run: Run, model: str, reading: ReadSettings, linking: LinkSettings) -> Iterator[LinkedDocument | Failure]:
    """Every document of a run, linked or failed, one in memory at a time."""
    from iconotext.pipeline import Linker
    from iconotext.read import Failure, read_found
    from iconotext.report.as_table import count

    linker = Linker.load(model, linking)
    found = (each if isinstance(each, Failure) else as_said_here(each) for each in read_found(run.found, reading))
    for result in run.watched(linker.link_all(found)):
        if isinstance(result, Failure):
            run.failed(result)
        else:
            run.made(result.document.source, count(result), result)
        yield result


def _read(path: Path, reading: ReadSettings, within: Path | None, name: str) -> list[Document]:
    from iconotext.read import read_documents

    return list(map(as_said_here, read_documents(path, reading, within=within, identifier=name)))


def as_said_here(document: Document) -> Document:
    """The same, with the problems of its pictures in the words of the command line."""
    images = [replace(image, problem=image.problem and as_typed(image.problem)) for image in document.images]
    return replace(document, images=tuple(images))


def _setup(model: str, reading: ReadSettings, linking: LinkSettings) -> str:
    """A digest of all that shapes a page but the document: version, settings, and models with their files."""
    from iconotext.features.fingerprint import content_name

    settings = linking.model_dump(mode="json", exclude={"cache"}) | reading.model_dump(
        mode="json", exclude={"include", "exclude"}
    )
    models = [content_name(name) for name in (model, linking.text, linking.image, linking.relations) if name]
    said = json.dumps([__version__, settings, models], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()
