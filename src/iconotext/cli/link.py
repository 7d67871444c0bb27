"""``iconotext link``: read documents, link them, write the result; ``iconotext demo`` does so with an example.

``link`` is the command. ``Run`` has the documents of a run and their outcomes, for this and other commands;
``linked_documents`` links them.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from iconotext import __version__
from iconotext.cli.common import known_errors, progress, show_log
from iconotext.cli.options import (
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
from iconotext.cli.output import complain, output_console, say, say_open
from iconotext.errors import EmptyDocumentError, OutputError, SettingError
from iconotext.linker import Linker, LinkSettings, RunFiles
from iconotext.plain_text import counted, language_name, listed
from iconotext.read import Failure, ReadSettings
from iconotext.read.format import EXAMPLES
from iconotext.report.outputs import HTML, OUTPUTS, Output, output_named, outputs
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    from iconotext.report.problems import Problem
    from iconotext.report.terminal import Counts

logger = logging.getLogger(__name__)

SHOWN = 20
"""Number of problems that are named on the terminal."""

SHOWN_HABITS = 5
"""Number of habits of collections that are shown on the terminal; the pages have each."""

Item = TypeVar("Item")


class Run:
    """The documents of a run, and the outcome for each.

    Args:
        output: The file or folder that the run writes; it is not read if it is in a folder of documents.

    Attributes:
        files: The file of each document, and the named folder that contains it; None if the file itself was named.
        names: Their ids, before an EPUB is divided into chapters.
        habits: Where pictures stand, a text for each collection.

    Raises:
        DocumentError: There are none.
    """

    def __init__(self, paths: Sequence[Path], reading: ReadSettings, *, output: Path | None, quiet: bool) -> None:
        from iconotext.read import find_documents, unique_names
        from iconotext.read.find import no_documents

        self._quiet = quiet
        self._skipped: Counter[str] = Counter()
        files = find_documents(paths, reading, skipped=self._skipped)
        # Not ``Path.resolve``, which fails for a link to itself.
        target = os.path.realpath(output) if output is not None else None
        self.files = [(path, folder) for path, folder in files if folder is None or os.path.realpath(path) != target]
        self.names = unique_names([path for path, _ in self.files])
        if not self.files:
            raise no_documents(paths, reading, self._skipped)
        self.habits: set[str] = set()
        self._single = {path for path, folder in self.files if folder is None}
        self._counts: list[Counts] = []
        self._failures: list[Failure] = []
        self._images: list[Problem] = []
        self._unchanged = 0
        self._without_pictures = 0
        self._problems_shown = False
        self._only: LinkedDocument | None = None
        self._foreign: Counter[str] = Counter()

    @property
    def linked(self) -> int:
        """Number of documents that are linked so far."""
        return len(self._counts)

    @property
    def _documents(self) -> int:
        return len(self._counts) + len(self._failures) + self._without_pictures

    @property
    def shows_pictures(self) -> bool:
        """Whether any of the linked documents has a picture."""
        return any(counts.pictures for counts in self._counts)

    @property
    def problems(self) -> list[Problem]:
        """All problems so far, those of whole documents first."""
        from iconotext.report.problems import Problem

        documents = [Problem(str(failure.path), "document", _without_path(failure)) for failure in self._failures]
        return documents + self._images

    def watched(self, items: Iterable[Item]) -> Iterator[Item]:
        """Pass the items on, and show progress."""
        if self._quiet or logger.isEnabledFor(logging.INFO):
            return iter(items)
        return progress(items, total=len(self.files), label="Linking")

    def failed(self, failure: Failure) -> None:
        """Record a document that could not be read or linked, or whose page could not be written."""
        self._failures.append(failure)
        logger.info("%s: failed", failure.path)

    def without_pictures(self, path: Path) -> None:
        """Record a document that gets no page, since it has no picture."""
        self._without_pictures += 1
        logger.info("%s: no picture, no page", path)

    def record(
        self, path: Path | None, counts: Counts, linked: LinkedDocument | None, *, unchanged: bool = False
    ) -> None:
        """Record a linked document.

        Args:
            linked: None if it was linked in an earlier run, and only its counts are known.
            unchanged: Whether the page of an earlier run stays.
        """
        from iconotext.report.problems import Problem

        self._only = linked if not self._counts else None  # no more than one is kept in memory
        self._counts.append(counts)
        self._unchanged += unchanged
        where = str(path or counts.name)
        self._images += [Problem(where, picture, why) for picture, why in counts.problems]
        if linked is not None and linked.notes:
            self._note(where, linked)
        if linked is not None and linked.habit:
            self.habits.add(linked.habit)
        logger.info("%s: %s", where, "unchanged" if unchanged else f"{counts.links} links")

    def _note(self, where: str, linked: LinkedDocument) -> None:
        """Print the notes on a document's links, which are about its language; of each language only the first."""
        language = linked.document.language
        self._foreign[language] += 1
        if self._foreign[language] == 1 and not self._quiet:
            for note in linked.notes:
                complain(f"{where}: {note}")

    def show_table(self, linking: LinkSettings | None = None) -> None:
        """Print the links of one document, or the counts of several, on stdout.

        Args:
            linking: How they were linked; with a smallest confidence, how often such links are right is printed, too.
        """
        from iconotext.decide.measured import measured_at
        from iconotext.report.terminal import links_table, overview

        if self._quiet or not self._counts:
            return
        if self._only is not None:
            self._problems_shown = True  # what is wrong with each picture
            output_console().print(links_table(self._only))
        else:
            output_console().print(overview(self._counts))
        for habit in sorted(self.habits)[:SHOWN_HABITS]:
            say(f"Habit: {habit}")
        least = None if linking is None else linking.min_confidence
        if linking is not None and least is not None and (measured := measured_at(least, linking.evidence)):
            say(measured.words)

    def finish(self, *, all_in: Path | None = None, removed: int = 0) -> None:
        """Report left-out files and problems, and end the program with status 1 if necessary.

        It is necessary if no document could be linked, a file that was named itself failed and is not empty, or a page
        could not be written.

        Args:
            all_in: The file that lists all problems.
        """
        if not self._quiet:
            from iconotext.read.find import unread_lines

            unread = unread_lines(self._skipped, every=logger.isEnabledFor(logging.INFO))
            for line in (*unread, *self._notices(removed)):
                say(line, err=True)
        self._say_problems(all_in)
        hard = any(
            isinstance(failure.error, OutputError)
            or (failure.path in self._single and not isinstance(failure.error, EmptyDocumentError))
            for failure in self._failures
        )
        if hard or not (self._counts or self._without_pictures):
            sys.exit(1)

    def _notices(self, removed: int) -> Iterator[str]:
        bare, total = self._without_pictures, self._documents
        if self._unchanged:
            yield f"{self._unchanged:,} of {counted(len(self._counts), 'document')} unchanged"
        if self._foreign.total() > len(self._foreign):
            counts = ", ".join(f"{number:,} in {language_name(code)}" for code, number in self._foreign.most_common())
            yield f"Documents in languages that the model does not know: {counts}"
        if bare and self.shows_pictures:
            have = "has" if bare == 1 else "have"
            documents = f"{bare:,} of {counted(total, 'document')}"
            yield f"{documents} {have} no picture and so no page: --all-pages makes one of each"
        if removed:
            also = " or have no picture" if bare else ""
            yield f"{counted(removed, 'page')} removed: of documents that are gone{also}"
        if (self._counts or bare) and not self.shows_pictures:
            yield (
                f"No pictures in {counted(self.linked + bare, 'document')}, so there is nothing to link: name documents"
                " that show some; pictures without a document are for iconotext library add"
            )

    def _say_problems(self, all_in: Path | None) -> None:
        from iconotext.report.problems import problem_lines

        failed, total = len(self._failures), self._documents
        problems = self.problems[: failed if self._quiet or self._problems_shown else None]
        lines = problem_lines(problems)
        for line in lines[:SHOWN]:
            complain(line)
        if len(lines) > SHOWN:
            complain(f"... and {len(lines) - SHOWN:,} more problems")
        if all_in and len(problems) > min(len(lines), SHOWN):
            complain(f"{all_in} lists all problems")
        if failed and total > 1:
            complain(f"{failed:,} of {total:,} documents failed")


def _without_path(failure: Failure) -> str:
    """The problem of a document without its path, which is shown beside it."""
    return str(failure.error).removeprefix(f"{failure.path.absolute()}: ").removeprefix(f"{failure.path}: ")


OF_FILES = (".csv", ".docx", ".epub", ".pdf", ".tsv", ".txt")
"""Suffixes that a folder of pages should not have, besides those of other outputs: the user meant a file."""


def _known_output(name: str) -> str:
    try:
        return output_named(name).name
    except SettingError as error:
        raise typer.BadParameter(str(error)) from error


Paths = Annotated[
    list[str],
    argument(metavar="PATH...", help=f"Documents, folders of them, or web pages with --fetch. {EXAMPLES}, ..."),
]


@settings_options
def link(
    paths: Paths,
    reading: Reading,
    linking: Linking,
    to: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help=f"{listed([output.name for output in OUTPUTS], 'or')}.",
            callback=_known_output,
            autocompletion=lambda: [(output.name, output.summary) for output in outputs()],
        ),
    ] = HTML.name,
    output: Annotated[
        Path | None, option("--output", "-o", help="Folder for pages, or one file (default: linked/).")
    ] = None,
    model: Model = "default",
    threads: Threads = None,
    runtime: Runtime = None,
    download: Download = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Make every page anew, replace files in the way. Also those that are not ours."),
    ] = False,
    all_pages: Annotated[
        bool,
        typer.Option(
            "--all-pages",
            help="Make a page also of documents without pictures. A file that is named always has one.",
        ),
    ] = False,
    quiet: Quiet = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Report every file.")] = False,
) -> None:
    """Find which sentences each picture belongs to.

    Pages are brought up to date: what has not changed is not linked again. Stop it when you like: the same command
    goes on from there.

    **Examples**

    - `iconotext link article.md`
    - `iconotext link docs/ --output pages/ --exclude drafts/`
    - `iconotext link article.md --explain`
    - `iconotext link report.pdf --to json | jq '.[0].links[0]'`
    - `iconotext link site/ --root site/static --to parquet --output links.parquet`
    - `iconotext link book.epub --epub chapters --evidence picture,caption`
    """
    in_folder = to == HTML.name and (output is None or output.suffix.lower() not in HTML.suffixes)
    with known_errors(download=download, goes_on=in_folder):
        if quiet and verbose:
            raise SettingError("--quiet and --verbose contradict each other: give one of them")
        if all_pages and not in_folder:
            raise SettingError("--all-pages is for a folder of pages: leave it out")
        from iconotext.features.cache import cache_folder
        from iconotext.read import fetch_pages

        if verbose:
            show_log()
        files, reading = fetch_pages(paths, reading, cache_folder() / "pages")
        settings = RunSettings(model, reading, linking, force, quiet, all_pages)
        if in_folder:
            link_folder(files, output or Path("linked"), settings)
        else:
            link_file(files, output, output_named(to), settings)


@dataclass(frozen=True)
class RunSettings:
    """The settings that hold for all documents of a run.

    Attributes:
        all_pages: Whether documents of folders get a page without pictures, too.
    """

    model: str = "default"
    reading: ReadSettings = field(default_factory=ReadSettings)
    linking: LinkSettings = field(default_factory=LinkSettings)
    force: bool = False
    quiet: bool = False
    all_pages: bool = False

    def linker(self) -> Linker:
        """Load the model that links."""
        return Linker.load(self.model, self.linking)

    def digest(self) -> str:
        """Digest of everything that shapes a page except the document: version, settings, models, their files."""
        from iconotext.features.model_folder import content_name

        chosen = self.linking.model_dump(mode="json", exclude={"cache"})
        chosen |= self.reading.model_dump(mode="json", exclude={"include", "exclude"})
        names = (self.model, self.linking.text, self.linking.image, self.linking.relations)
        models = [content_name(name) for name in names if name]
        text = json.dumps([__version__, chosen, models], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def link_folder(paths: list[Path], folder: Path, settings: RunSettings) -> None:
    """Bring a folder of pages up to date; ``Run.finish`` determines the exit status."""
    from iconotext.report.page_folder import INDEX, PageFolder, Source, WithoutPictures
    from iconotext.report.problems import NAME

    _check_folder(folder)
    run = Run(paths, settings.reading, output=None, quiet=settings.quiet)
    chapters = settings.reading.epub == "chapters" and any(p.suffix.lower() == ".epub" for p, _ in run.files)
    by_name = dict(zip(run.names, run.files, strict=True))
    alone = len(by_name) == 1 and not chapters and not settings.quiet  # its sentences are printed in each run
    # The habits and the pages need the documents, one after the other; RunFiles reads each file once.
    with RunFiles(by_name, settings.reading) as files:
        linker = cache(settings.linker)
        # The links of one page depend on the habits that all documents show.
        habits = linker().habits(files) if len(by_name) > 1 or chapters else {}
        run.habits |= {summary for habit in habits.values() if (summary := habit.summary)}
        setup = settings.digest() + "".join(f"{name} {habit.digest}" for name, habit in sorted(habits.items()))
        pages = PageFolder(folder, setup=setup, force=settings.force, sources=[path for path, _ in run.files])
        sources = (
            Source(path, name, partial(files.read, name), settings.all_pages or within is None)
            for name, (path, within) in by_name.items()
        )
        last = INDEX  # of a single document, its page is named instead
        for outcome in run.watched(pages.update(sources, lambda documents: linker().link_all(documents, habits))):
            if isinstance(outcome, Failure):
                run.failed(outcome)
            elif isinstance(outcome, WithoutPictures):
                run.without_pictures(outcome.file)
            else:
                path, record, linked = outcome
                again = linker().link(files.read(run.names[0])[0]) if linked is None and alone else None
                run.record(path, record.counts, linked or again, unchanged=linked is None)
                last = record.page
    removed = pages.finish([path for path in paths if path.is_dir()], run.problems)
    run.show_table(settings.linking)
    if run.shows_pictures and not settings.quiet:
        say_open(folder / (last if run.linked == 1 else INDEX))
    run.finish(all_in=folder / NAME, removed=removed)


def _check_folder(folder: Path) -> None:
    """Raise ``OutputError`` if the folder for pages has the suffix of a file."""
    of_files = {*OF_FILES, *(suffix for output in outputs() for suffix in output.suffixes)}
    if folder.suffix.lower() in of_files and not folder.is_dir():
        raise OutputError(
            f"{folder}: pages go into a folder, or one page into an .html file; --to says what else to write"
        )


def link_file(paths: list[Path], output: Path | None, to: Output, settings: RunSettings) -> None:
    """Write links to one file, or to stdout; ``Run.finish`` determines the exit status."""
    from iconotext.report.page import is_untouched
    from iconotext.system.files import check_overwrite

    force = settings.force or (to is HTML and output is not None and is_untouched(output))
    if output is not None:
        check_overwrite(output, force)
    run = Run(paths, settings.reading, output=output, quiet=settings.quiet)
    if not to.several and (len(run.names) > 1 or settings.reading.epub == "chapters"):
        raise OutputError(f"{output} can hold one document: name a folder for the pages of several")
    results = linked_documents(run, settings)
    if output is None:
        print_parts(to.text_parts(results, Path()))
        run.finish()
        return
    to.write_file(results, output, force=force, explained=settings.linking.explain)
    run.show_table(settings.linking)
    if not settings.quiet and to is not HTML:
        say(f"Wrote {output}", err=True)
    elif not settings.quiet and run.shows_pictures:
        say_open(output)
    run.finish()


def linked_documents(run: Run, settings: RunSettings) -> Iterator[LinkedDocument | Failure]:
    """Yield every document of a run, linked or failed; one is in memory at a time."""
    from iconotext.read import read_files
    from iconotext.report.terminal import count

    documents = read_files(run.files, settings.reading)
    for result in run.watched(settings.linker().link_all(documents)):
        if isinstance(result, Failure):
            run.failed(result)
        else:
            run.record(result.document.source, count(result), result)
        yield result


def print_parts(parts: Iterable[str]) -> None:
    """Print the parts on stdout as they come; the reader may close the pipe early."""
    from iconotext.system.files import write_error

    for piece in parts:
        try:
            typer.echo(piece, nl=False)
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has what it wanted
                raise
            raise write_error("to standard output", error) from error


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder to write the article and its linked page to.")] = Path("demo"),
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
) -> None:
    """Write an example article with photographs and link it.

    The photographs are the samples that scikit-image carries (`pip install 'iconotext[demo]'`). The article has some
    faults, so that `iconotext check` has something to find.

    **Examples**

    - `iconotext demo`
    - `iconotext demo garden/ --force`
    """
    with known_errors():
        from iconotext.demo import write_demo

        article = write_demo(folder, force=force)
        linking = LinkSettings(explain=True)  # the page shows why each picture is linked
        link_folder([article], folder / "linked", RunSettings(linking=linking, force=force))
