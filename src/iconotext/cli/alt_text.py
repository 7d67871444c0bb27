"""``iconotext alt-text``: the commands ``check`` and ``draft`` for the alternative texts of documents."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.alt_text.audit import FAILED, audit
from iconotext.alt_text.picture import FORMATS_AND, FORMATS_OR
from iconotext.alt_text.rules import AltTextSettings
from iconotext.cli.common import known_errors
from iconotext.cli.excerpts import Linking
from iconotext.cli.link import RunSettings, linked_documents
from iconotext.cli.options import (
    READING,
    Download,
    Fields,
    Json,
    Model,
    Quiet,
    Reading,
    argument,
    option,
    settings_options,
)
from iconotext.cli.output import complain, print_table, say, say_json
from iconotext.errors import DocumentError, OutputError, SettingError
from iconotext.linker import LinkSettings
from iconotext.plain_text import counted
from iconotext.read import ReadSettings
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    from rich.table import Table

    from iconotext.alt_text.drafts import Draft


@settings_options
def check(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH", help=f"{FORMATS_OR} files, or folders of them.", show_default=False),
    ],
    checking: Annotated[
        AltTextSettings,
        Fields(more={"rules": {"metavar": "RULE,..."}, "skip": {"metavar": "RULE,..."}}),
    ],
    reading: Annotated[
        ReadSettings,
        Fields(only=("root", "include", "exclude", "max_bytes"), more=READING.more),
    ],
    json: Json = False,
    sarif: Annotated[
        Path | None, option("--sarif", metavar="FILE", help="Write the findings as SARIF 2.1.0, too.")
    ] = None,
    baseline: Annotated[
        Path | None, option("--baseline", metavar="FILE", help="Findings that are known: only others count.")
    ] = None,
    write_baseline: Annotated[
        bool, typer.Option("--write-baseline", help="Write all findings into the baseline.")
    ] = False,
) -> None:
    """Find pictures without alternative text, or with one that serves nobody: a file name, the caption again.

    Ends with status 1 if there is something new to mend, and with 2 if a document cannot be read. No model is asked,
    and no picture is looked at but for its size.

    **Examples**

    - `iconotext alt-text check docs/`
    - `iconotext alt-text check docs/ --skip long,image-of --sarif found.sarif`
    - `iconotext alt-text check docs/ --baseline known.json --write-baseline`
    """
    with known_errors(status=FAILED):
        result = audit(
            paths, checking, reading, as_json=json, sarif=sarif, baseline=baseline, make_baseline=write_baseline
        )
        if result.output:
            say(result.output)
        for line in result.messages:
            complain(line)
    sys.exit(result.status)


@settings_options
def draft(
    paths: Annotated[
        list[Path] | None,
        argument(metavar="PATH...", help=f"{FORMATS_AND} files, others such as PDF, or folders of them."),
    ] = None,
    reading: Reading = ReadSettings(),
    linking: Linking = LinkSettings(),
    write: Annotated[
        bool, typer.Option("--write", help=f"Put the drafts into the documents ({FORMATS_OR}), after a look at them.")
    ] = False,
    accept: Annotated[
        list[str] | None, option(metavar="ID", help="Write only these drafts; may be repeated (default: all).")
    ] = None,
    from_: Annotated[
        Path | None,
        option("--from", exists=True, dir_okay=False, help="Drafts to write: what --json printed, changed by hand."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    json: Json = False,
    model: Model = "default",
    download: Download = False,
    quiet: Quiet = False,
) -> None:
    """Draft alternative texts for pictures that have none, from what the author says that they show.

    Only a sentence that says outright what a picture shows makes a draft, so most pictures get none. A draft is a
    proposal: look at the picture, then accept it, change it or drop it. English only.

    **Examples**

    - `iconotext alt-text draft docs/`
    - `iconotext alt-text draft article.md --write`
    - `iconotext alt-text draft docs/ --json > drafts.json`, change it, then
      `iconotext alt-text draft --write --from drafts.json`
    """
    with known_errors(download=download):
        from iconotext.alt_text.drafts import chosen, read_drafts, row

        if from_ is not None:
            if paths or not write:
                raise SettingError("--from takes --write and no PATH: the drafts name their documents")
            _write(chosen(read_drafts(from_), accept or ()), reading, {}, yes=yes, quiet=quiet)
            return
        if not paths:
            raise SettingError("name the documents, or with --from a file of drafts")
        if json and write:
            raise SettingError("--json prints the drafts, and --write writes them: take one after the other")
        drafts, folders, finish = _drafts(paths, RunSettings(model, reading, linking, quiet=quiet))
        drafts = chosen(drafts, accept or ())
        if write:
            _write(drafts, reading, folders, yes=yes, quiet=quiet)
        elif json:
            say_json([row(each) for each in drafts])
        elif drafts:
            print_table(_table(drafts))
        if not (drafts or quiet or json):
            say("No drafts: no sentence says outright what a picture without alternative text shows", err=True)
        finish()


def _drafts(paths: list[Path], settings: RunSettings) -> tuple[list[Draft], dict[str, Path | None], Callable[[], None]]:
    """The drafts for documents, the folder of each document, and a function that ends the run."""
    from iconotext.alt_text.drafts import LANGUAGE, make_drafts
    from iconotext.cli.link import Run

    if settings.linking.relations == "none":
        raise SettingError("only the relation model says whether a sentence tells what is seen: leave --relations out")
    if settings.reading.epub != "book":
        raise SettingError("drafts are made for a book as a whole: leave --epub out")
    run = Run(paths, settings.reading, output=None, quiet=settings.quiet)
    before = {path: _digest(path) for path, _ in run.files}
    drafts: list[Draft] = []
    others: Counter[str] = Counter()
    for linked in linked_documents(run, settings):
        if isinstance(linked, LinkedDocument):
            path = linked.document.source
            drafts += make_drafts(linked, None if path is None else before.get(path))
            others[linked.document.language] += linked.document.language != LANGUAGE
    foreign = +others
    if foreign and not settings.quiet:
        languages = ", ".join(f"{number:,} {language}" for language, number in foreign.most_common())
        complain(f"drafts are made of English sentences alone; none for documents in other languages: {languages}")
    return drafts, {str(path): folder for path, folder in run.files}, run.finish


def _digest(path: Path) -> str | None:
    from iconotext.alt_text.writing import digest

    try:
        return digest(path.read_bytes())
    except OSError:
        return None  # the problem is reported when the file is read


def _write(
    drafts: list[Draft], reading: ReadSettings, folders: Mapping[str, Path | None], *, yes: bool, quiet: bool
) -> None:
    """Show the changes, ask, and write them, document by document; status 1 if a document could not be written."""
    from iconotext.alt_text.writing import plan_change, unified_diff, write_change

    failed = written = 0
    for path in dict.fromkeys(draft.path for draft in drafts):
        own = [draft for draft in drafts if draft.path == path]
        try:
            alts = {draft.image: draft.text for draft in own}
            folder = folders.get(path)
            change = plan_change(Path(path), alts, reading, read=own[0].sha256 or "", within=folder)
            if not quiet or not yes:
                say("\n".join(unified_diff(change)))
            if yes or _agreed(path, len(own)):
                write_change(change)
                written += len(own)
        except (DocumentError, OutputError) as error:
            failed += 1
            complain(str(error))
    if not quiet:
        say(f"Wrote {counted(written, 'alternative text')}", err=True)
    if failed:
        sys.exit(1)


def _agreed(path: str, number: int) -> bool:
    """Whether the user at the terminal agrees; False without a terminal."""
    if not has_terminal():
        raise OutputError(f"{path}: nobody is there to ask: --yes writes without asking")
    return typer.confirm(f"Write {counted(number, 'alternative text')} into {path}?", err=True)


def has_terminal() -> bool:
    """Whether there is a terminal, so that the user can be asked."""
    return sys.stdin.isatty()


def _table(drafts: list[Draft]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from iconotext.plain_text import readable, shortened
    from iconotext.report.terminal import bar

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 1, 0))
    table.add_column("Draft", overflow="fold")
    table.add_column("Picture")
    table.add_column("Alternative text, to be looked at")
    table.add_column("Confidence", no_wrap=True)
    for draft in drafts:
        cell = Text(readable(draft.text))
        cell.append(f"\nfrom: {readable(draft.sentences[0].text)}", style="dim")
        table.add_row(
            Text(readable(draft.id)), Text(shortened(readable(draft.source), 40)), cell, bar(draft.confidence)
        )
    return table
