"""``iconotext link``: read documents, link them, write the result."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext import __version__
from iconotext.cli.common import known_errors, show_log
from iconotext.cli.options import (
    CalibrationCorpus,
    Download,
    Linking,
    Model,
    Quiet,
    Reading,
    Runtime,
    Threads,
    argument,
    option,
    settings_options,
)
from iconotext.cli.output import as_typed, say
from iconotext.errors import OutputError, SettingError
from iconotext.pipeline import Linker, LinkSettings
from iconotext.read import Failure, ReadSettings
from iconotext.types import Document, LinkedDocument

if TYPE_CHECKING:
    from iconotext.cli.link_run import Run
    from iconotext.links.habit import Habit


OF_FILES = (".csv", ".docx", ".epub", ".json", ".jsonl", ".markdown", ".md", ".parquet", ".pdf", ".tsv", ".txt")
"""Suffixes that no folder of pages should have: somebody meant a file."""


class Format(StrEnum):
    """What links are written as."""

    HTML = "html"
    JSON = "json"
    JSONL = "jsonl"
    LABEL_STUDIO = "label-studio"
    MARKDOWN = "markdown"
    PARQUET = "parquet"
    WEB_ANNOTATION = "web-annotation"


Paths = Annotated[
    list[str],
    argument(
        metavar="PATH",
        help="Documents (Markdown, HTML, DOCX, EPUB, PDF, LaTeX, ...), folders of them, or web pages (with --fetch).",
    ),
]


@settings_options
def link(
    paths: Paths,
    reading: Reading,
    linking: Linking,
    to: Annotated[Format, typer.Option(help="What to write.")] = Format.HTML,
    output: Annotated[
        Path | None, option("--output", "-o", help="Folder for pages (default: linked/), or the file to write.")
    ] = None,
    model: Model = "default",
    calibration: CalibrationCorpus = None,
    threads: Threads = None,
    runtime: Runtime = None,
    download: Download = False,
    force: Annotated[
        bool, typer.Option("--force", help="Make every page anew, and replace files that are not ours.")
    ] = False,
    all_pages: Annotated[
        bool, typer.Option("--all-pages", help="Make a page of each document of a folder, also without pictures.")
    ] = False,
    quiet: Quiet = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell of every file.")] = False,
) -> None:
    """Find which sentences each picture belongs to.

    Pages are brought up to date: what has not changed is not linked again, and pages of documents that are gone are
    removed. Documents of a folder that have no picture get no page. Stop it when you like: the same command goes on
    from there.

    **Examples**

    - `iconotext link article.md`
    - `iconotext link docs/ --output pages/ --exclude drafts/`
    - `iconotext link article.md --explain`
    - `iconotext link report.pdf --to json | jq '.[0].links[0]'`
    - `iconotext link site/ --root site/static --to parquet --output links.parquet`
    - `iconotext link docs/ --to label-studio --output tasks.json`
    - `iconotext link book.epub --epub chapters --evidence picture,caption`
    """
    with known_errors(download=download, goes_on=to is Format.HTML and not is_page(output)):
        if quiet and verbose:
            raise SettingError("--quiet and --verbose contradict each other: give one of them")
        in_folder = to is Format.HTML and not is_page(output)
        if all_pages and not in_folder:
            raise SettingError("--all-pages is for a folder of pages: leave it out")
        from iconotext.features.cache_place import cache_folder
        from iconotext.read import fetch_pages

        if verbose:
            show_log()
        files, reading = fetch_pages(paths, reading, cache_folder() / "pages")
        if calibration is not None and linking.max_false is None:
            raise SettingError("--calibration is for promises: add --max-false 0.1")
        settings = RunSettings(model, reading, linking, force, quiet, calibration, all_pages)
        if in_folder:
            link_folder(files, output or Path("linked"), settings)
        else:
            link_file(files, output, to, settings)


@dataclass(frozen=True)
class RunSettings:
    """What holds for all documents of a run.

    Attributes:
        calibration: Corpus that promises are made from, None for what ships.
        all_pages: Whether documents of folders get a page without pictures, too.
    """

    model: str = "default"
    reading: ReadSettings = field(default_factory=ReadSettings)
    linking: LinkSettings = field(default_factory=LinkSettings)
    force: bool = False
    quiet: bool = False
    calibration: Path | None = None
    all_pages: bool = False

    def linker(self) -> Linker:
        """The linker, with the calibration figures."""
        from iconotext.pipeline import Linker

        linker = Linker.load(self.model, self.linking)
        if self.calibration is not None:
            from iconotext.corpus.store import read_corpus

            linker.calibrate(read_corpus(self.calibration))
        return linker

    def digest(self) -> str:
        """Of all that shapes a page but the document: version, settings, and models with their files."""
        from iconotext.features.fingerprint import content_name

        chosen = self.linking.model_dump(mode="json", exclude={"cache"})
        chosen |= self.reading.model_dump(mode="json", exclude={"include", "exclude"})
        names = (self.model, self.linking.text, self.linking.image, self.linking.relations)
        models = [content_name(name) for name in names if name]
        said = json.dumps([__version__, chosen, models], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()


def link_folder(paths: list[Path], folder: Path, settings: RunSettings) -> None:
    """Bring a folder of pages up to date; ``Run.finish`` says with which status it ends."""
    from iconotext.cli.link_run import Run
    from iconotext.read import Failure
    from iconotext.report.page_folder import INDEX, PageFolder, Source, WithoutPictures
    from iconotext.report.problems import NAME

    if folder.suffix.lower() in OF_FILES and not folder.is_dir():
        raise OutputError(
            f"{folder}: pages go into a folder, or one page into an .html file; --to says what else to write"
        )
    run = Run(paths, settings.reading, output=None, quiet=settings.quiet)
    load: Callable[[], Linker] = cache(settings.linker)
    setup, promises = settings.digest(), None
    habits: dict[str, Habit] = {}
    chapters = settings.reading.epub == "chapters" and any(p.suffix.lower() == ".epub" for p, _ in run.found)
    if len(run.found) > 1 or chapters:  # the links of one page depend on the habits that all documents show
        habits = load().habits(_documents(run, settings.reading))
        run.habits |= {told for habit in habits.values() if (told := habit.summary)}
        setup += "".join(f"{name} {habit.digest}" for name, habit in sorted(habits.items()))
    if settings.linking.max_false is not None:  # so does what is promised
        promises = load().promises(_documents(run, settings.reading))
        run.promises, setup = promises.made, setup + promises.digest

    def link_all(documents: Iterable[Document]) -> Iterable[LinkedDocument | Failure]:
        if promises is None:
            return load().link_all(documents, habits)
        found = load().plain.link_all(documents, habits)
        return (each if isinstance(each, Failure) else promises.keep(each) for each in found)

    pages = PageFolder(folder, setup=setup, force=settings.force, sources=[path for path, _ in run.found])
    sources = (
        Source(path, name, partial(_read, path, settings.reading, within, name), settings.all_pages or within is None)
        for (path, within), name in zip(run.found, run.names, strict=True)
    )
    last = INDEX
    for made in run.watched(pages.update(sources, link_all)):
        if isinstance(made, Failure):
            run.failed(made)
        elif isinstance(made, WithoutPictures):
            run.without_pictures(made.file)
        else:
            path, record, linked = made
            run.made(path, record.counts, linked)
            last = record.page
    removed = pages.finish([path for path in paths if path.is_dir()], run.problems)
    run.show_table()
    if run.shows_pictures and not settings.quiet:
        say(f"Open {folder / (last if run.linked == 1 else INDEX)}", err=True)
    run.finish(all_in=folder / NAME, removed=removed)


def link_file(paths: list[Path], output: Path | None, to: Format, settings: RunSettings) -> None:
    """Write links to one file, or to stdout; ``Run.finish`` says with which status it ends."""
    from iconotext.cli.link_run import Run
    from iconotext.report.as_parquet import write_parquet
    from iconotext.report.page import is_untouched
    from iconotext.report.reading_page import write_page
    from iconotext.write import check_overwrite, write_text

    force = settings.force or (to is Format.HTML and output is not None and is_untouched(output))
    if output is not None:
        check_overwrite(output, force)
        if to is Format.LABEL_STUDIO:
            check_overwrite(output.with_suffix(".xml"), force)
    elif to is Format.PARQUET:
        raise OutputError("Parquet is no text for a terminal: name a file with --output")
    run = Run(paths, settings.reading, output=output, quiet=settings.quiet)
    if to is Format.HTML and (len(run.names) > 1 or settings.reading.epub == "chapters"):
        raise OutputError(f"{output} can hold one document: name a folder for the pages of several")
    results = linked_documents(run, settings)
    linked = (result for result in results if isinstance(result, LinkedDocument))
    if output is None:
        print_pieces(_pieces(results, linked, to, Path()))
        run.finish()
        return
    if to is Format.HTML:
        for page in linked:
            write_page(page, output, force=force)
    elif to is Format.PARQUET:
        write_parquet(linked, output, force=force, explained=settings.linking.explain)
    else:
        write_text(output, _pieces(results, linked, to, output.parent), force=force)
    written = f"{'Open' if to is Format.HTML else 'Wrote'} {output}"
    if to is Format.LABEL_STUDIO:
        from iconotext.corpus.label_studio import labelling_config

        interface = output.with_suffix(".xml")
        write_text(interface, labelling_config(), force=force)
        written += f", and the labelling interface of the project: {interface}"
    run.show_table()
    if not settings.quiet and (run.shows_pictures or to is not Format.HTML):
        say(written, err=True)
    run.finish()


def is_page(output: Path | None) -> bool:
    """Whether ``--output`` names a page, not a folder of pages."""
    return output is not None and output.suffix.lower() in (".html", ".htm")


def linked_documents(run: Run, settings: RunSettings) -> Iterator[LinkedDocument | Failure]:
    """Every document of a run, linked or failed, one in memory at a time."""
    from iconotext.read import Failure
    from iconotext.report.as_table import count

    for result in run.watched(settings.linker().link_all(_documents(run, settings.reading))):
        if isinstance(result, Failure):
            run.failed(result)
        else:
            run.made(result.document.source, count(result), result)
        yield result


def _documents(run: Run, reading: ReadSettings) -> Iterator[Document | Failure]:
    """The documents of a run as they are read."""
    from iconotext.read import Failure, read_found

    for each in read_found(run.found, reading):
        yield each if isinstance(each, Failure) else as_said_here(each)


def _pieces(
    results: Iterable[LinkedDocument | Failure], linked: Iterable[LinkedDocument], to: Format, folder: Path
) -> Iterable[str]:
    """The text of a file in that folder, piece by piece."""
    from iconotext.report.as_json import json_array, json_lines
    from iconotext.report.as_markdown import markdown_pages

    if to is Format.MARKDOWN:
        return markdown_pages(linked, folder)
    if to is Format.LABEL_STUDIO:
        from iconotext.corpus.label_studio import tasks_json

        return tasks_json(linked, folder)
    if to is Format.WEB_ANNOTATION:
        from iconotext.adapters.web_annotation import annotations_json

        return annotations_json(linked, folder)
    return json_array(results) if to is Format.JSON else json_lines(results)


def print_pieces(pieces: Iterable[str]) -> None:
    """Print them on stdout as they come; somebody may stop reading them."""
    from iconotext.write import write_error

    for piece in pieces:
        try:
            typer.echo(piece, nl=False)
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has what it wanted
                raise
            raise write_error("to standard output", error) from error


def _read(path: Path, reading: ReadSettings, within: Path | None, name: str) -> list[Document]:
    from iconotext.read import read_documents

    return list(map(as_said_here, read_documents(path, reading, within=within, identifier=name)))


def as_said_here(document: Document) -> Document:
    """The same, with the problems of its pictures in the words of the command line."""
    images = [replace(image, problem=image.problem and as_typed(image.problem)) for image in document.images]
    return replace(document, images=tuple(images))
