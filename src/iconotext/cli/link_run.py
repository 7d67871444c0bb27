"""One run of ``iconotext link``: which documents are meant, what came of each, and what the user sees of it."""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from iconotext.cli.common import progress
from iconotext.cli.output import complain, output_console, say
from iconotext.errors import OutputError
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.read import Failure, ReadSettings
    from iconotext.report.as_table import Counts
    from iconotext.report.problems import Problem
    from iconotext.types import LinkedDocument, Promise

logger = logging.getLogger(__name__)

SHOWN = 20
"""Problems that are named on the terminal."""

SHOWN_HABITS = 5
"""Habits of collections that are told on the terminal; the pages have each."""

TEXTS = frozenset(".doc .djvu .eml .fb2 .mdx .mobi .odp .pages .ppt .textile .txt".split())
"""Kinds of files whose reader would expect them to be linked; others (pictures, scripts, styles) are no documents."""

Item = TypeVar("Item")


class Run:
    """The documents of a run, and what came of each.

    Args:
        output: What the run writes; not read where it lies in a folder.

    Attributes:
        found: The documents: the file, and the folder that was named, None where the file itself was.
        names: Their ids, before an EPUB falls into chapters.
        promises: What is promised of the links.
        habits: Where pictures stand, a text for each collection.

    Raises:
        DocumentError: There are none.
    """

    def __init__(self, paths: Sequence[Path], reading: ReadSettings, *, output: Path | None, quiet: bool) -> None:
        from iconotext.read import find_documents, unique_names
        from iconotext.read.find import no_documents

        self._quiet = quiet
        self._skipped: Counter[str] = Counter()
        found = find_documents(paths, reading, skipped=self._skipped)
        own = output.resolve() if output is not None else None
        self.found = [(path, folder) for path, folder in found if folder is None or path.resolve() != own]
        self.names = unique_names([path for path, _ in self.found])
        if not self.found:
            raise no_documents(paths, reading, self._skipped)
        self.promises: tuple[Promise, ...] = ()
        self.habits: set[str] = set()
        self._given = {path for path, folder in self.found if folder is None}
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
        """How many documents are linked so far."""
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
        """All that went wrong so far, whole documents first."""
        from iconotext.report.problems import Problem

        documents = [Problem(str(each.path), "document", _without_path(each)) for each in self._failures]
        return documents + self._images

    def watched(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, with a word now and then on how far they are."""
        if self._quiet or logger.isEnabledFor(logging.INFO):
            return iter(items)
        return progress(items, total=len(self.found), label="Linking")

    def failed(self, failure: Failure) -> None:
        """Remember a document that could not be read or linked, or whose page could not be written."""
        self._failures.append(failure)
        logger.info("%s: failed", failure.path)

    def without_pictures(self, path: Path) -> None:
        """Remember a document that gets no page, since it has no picture."""
        self._without_pictures += 1
        logger.info("%s: no picture, no page", path)

    def made(self, path: Path | None, counts: Counts, linked: LinkedDocument | None) -> None:
        """Remember a document that is linked; ``linked`` is None where it was already, and nothing has changed."""
        from iconotext.report.problems import Problem

        self._only = linked if not self._counts else None
        self.promises = linked.promises if linked is not None else self.promises
        self._counts.append(counts)
        self._unchanged += linked is None
        where = str(path or counts.name)
        self._images += [Problem(where, picture, why) for picture, why in counts.problems]
        if linked is not None and linked.notes:
            self._note(where, linked)
        if linked is not None and linked.habit:
            self.habits.add(linked.habit)
        logger.info("%s: %s", where, "unchanged" if linked is None else f"{counts.links} links")

    def _note(self, where: str, linked: LinkedDocument) -> None:
        """Say at once what there is to know of a document's links, but of each language only the first time."""
        language = linked.document.language
        self._foreign[language] += 1
        if self._foreign[language] == 1 and not self._quiet:
            for note in linked.notes:
                complain(f"{where}: {note}")

    def show_table(self) -> None:
        """The links of one document, or the numbers of several, on stdout."""
        from iconotext.report.as_table import overview, table
        from iconotext.report.promised import promise_lines

        if self._quiet or not self._counts:
            return
        if self._only is not None:
            self._problems_shown = True  # what is wrong with each picture
            output_console().print(table(self._only))
        else:
            output_console().print(overview(self._counts))
        for line in promise_lines(self.promises):
            say(line)
        for habit in sorted(self.habits)[:SHOWN_HABITS]:
            say(f"Habit: {habit}")

    def finish(self, *, all_in: Path | None = None, removed: int = 0) -> None:
        """Say what was left out and what went wrong, and end the program with status 1 if it must.

        It must where no document could be linked, a file that was named itself failed, or a page could not be written.

        Args:
            all_in: The file that lists all problems.
        """
        self._tell_unread()
        if self._unchanged and not self._quiet:
            say(f"{self._unchanged:,} of {len(self._counts):,} unchanged", err=True)
        if self._foreign.total() > len(self._foreign) and not self._quiet:
            counts = ", ".join(f"{number:,} {language}" for language, number in self._foreign.most_common())
            say(f"In languages that the model does not know: {counts}", err=True)
        bare, total = self._without_pictures, self._documents
        if bare and self.shows_pictures and not self._quiet:
            say(
                f"{bare:,} of {counted(total, 'document')} {'has' if bare == 1 else 'have'} no picture and so no page: "
                "--all-pages makes one of each",
                err=True,
            )
        if removed and not self._quiet:
            say(
                f"{counted(removed, 'page')} removed: of documents that are gone"
                + (" or have no picture" if bare else ""),
                err=True,
            )
        if (self._counts or bare) and not self.shows_pictures and not self._quiet:
            say(
                f"No pictures in {counted(self.linked + bare, 'document')}, so there is nothing to link: name documents"
                " that show some; pictures without a document are for iconotext library add",
                err=True,
            )
        self._tell_problems(all_in)
        hard = any(failure.path in self._given or isinstance(failure.error, OutputError) for failure in self._failures)
        if hard or not (self._counts or bare):
            sys.exit(1)

    def _tell_problems(self, all_in: Path | None) -> None:
        failed, total = len(self._failures), self._documents
        problems = self.problems[: failed if self._quiet or self._problems_shown else None]
        for problem in problems[:SHOWN]:
            complain(str(problem))
        if len(problems) > SHOWN:
            where = f"; {all_in} lists all" if all_in else ""
            complain(f"... and {len(problems) - SHOWN:,} more problems{where}")
        if failed and total > 1:
            complain(f"{failed:,} of {total:,} documents failed")

    def _tell_unread(self) -> None:
        """Say which files of the folders were skipped: those that people may miss, or with --verbose all."""
        from iconotext.read.find import EXCLUDED, OWN_PAGE, TEMPLATE
        from iconotext.read.format import lacks_extra

        def matters(kind: str) -> bool:
            folder = kind.endswith("/") and not kind.startswith(".")
            return (
                folder
                or kind in TEXTS
                or lacks_extra(kind)
                or kind in (EXCLUDED, OWN_PAGE, TEMPLATE)
                or logger.isEnabledFor(logging.INFO)
            )

        skipped = [
            kind if kind.endswith("/") else f"{number:,} {kind or 'without suffix'}{'s' * (number > 1 and ' ' in kind)}"
            for kind, number in self._skipped.most_common()
            if matters(kind)
        ]
        if skipped and not self._quiet:
            say(f"Not read: {', '.join(skipped)}", err=True)
        if any(map(lacks_extra, self._skipped)) and not self._quiet:
            say('Some of these are read after: pip install "iconotext[formats]"', err=True)


def _without_path(failure: Failure) -> str:
    """What is wrong with a document; its path is shown beside it."""
    return str(failure.error).removeprefix(f"{failure.path.absolute()}: ").removeprefix(f"{failure.path}: ")
