"""``iconotext alt-text``: drafts of the alternative texts of documents."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.alt_text.captioner import Captioner, CaptionerSettings
from iconotext.alt_text.writing import WRITABLE_AND, WRITABLE_OR
from iconotext.cli.common import EVERY, check_unused, known_errors
from iconotext.cli.link import Run, RunSettings, linked_documents
from iconotext.cli.options import (
    LINKING,
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
from iconotext.plain_text import counted, readable, shortened
from iconotext.read import ReadSettings
from iconotext.types import LinkedDocument

if TYPE_CHECKING:
    from rich.table import Table

    from iconotext.alt_text.captioned import Refused
    from iconotext.alt_text.drafts import Draft


SHOWN = 2
"""Sentences that are shown beside a draft."""

CAPTIONING = Fields(
    names={
        "url": "captioner",
        "model": "captioner-model",
        "requests": "captioner-requests",
        "seconds": "captioner-seconds",
    },
    more={"url": {"metavar": "URL"}, "model": {"metavar": "NAME"}},
)
"""Which vision model is asked."""

Linking = Annotated[LinkSettings, replace(LINKING, only=("evidence", "habit", "k"))]
Captioning = Annotated[CaptionerSettings, CAPTIONING]


NO_CAPTIONER = (
    "name the vision model that makes the drafts: --captioner URL --captioner-model NAME. Without one, "
    "`iconotext context --prompt` prints what it would be asked, for a pipeline of your own, and "
    "`iconotext check --rules alt` lists the pictures whose text you write yourself"
)


@settings_options
def draft(
    paths: Annotated[
        list[Path] | None,
        argument(metavar="PATH...", help=f"Documents, or folders of them. {WRITABLE_AND} files, others such as PDF."),
    ] = None,
    reading: Reading = ReadSettings(),
    linking: Linking = LinkSettings(),
    captioning: Captioning = CaptionerSettings(),
    write: Annotated[
        bool, typer.Option("--write", help=f"Put the drafts into the documents, after a look. They are {WRITABLE_OR}.")
    ] = False,
    replace_: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Draft also where the text says nothing. It is a file name or a placeholder; with --write "
            "it is replaced.",
        ),
    ] = False,
    from_: Annotated[
        Path | None,
        option("--from", exists=True, dir_okay=False, help="Drafts to write. What --json printed, changed by hand."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    json: Json = False,
    model: Model = "default",
    download: Download = False,
    quiet: Quiet = False,
) -> None:
    """Draft alternative texts for pictures that have none, with a vision model on a server of yours.

    It gets the picture, its caption and the sentences about it, in any language. A draft is a proposal: look at the
    picture, then accept it, change it or drop it. For a pipeline of your own, `iconotext context --prompt` prints what
    the model would get, and sends nothing.

    **Examples**

    - `iconotext alt-text draft docs/ --captioner http://127.0.0.1:8080/v1`
    - `iconotext alt-text draft docs/ --captioner http://127.0.0.1:8080/v1 --write`
    - `iconotext alt-text draft --from drafts.json --write`
    """
    with known_errors(download=download, goes_on=captioning.url is not None):  # the captioner stores replies
        from iconotext.alt_text.drafts import read_drafts, row

        if from_ is not None:
            if paths or not write:
                raise SettingError("--from takes --write and no PATH: the drafts name their documents")
            _write(read_drafts(from_), reading, {}, yes=yes, quiet=quiet, over=replace_)
            return
        if not paths:
            raise SettingError("name the documents, or with --from a file of drafts")
        if json and write:
            raise SettingError("--json prints the drafts, and --write writes them: take one after the other")
        captioner = named_captioner(captioning)
        if captioner is None:
            raise SettingError(NO_CAPTIONER)
        linking = linking.model_copy(update={"relations": "none"})  # drafts do not show them
        settings = RunSettings(model, reading, linking, quiet=quiet)
        drafts, folders, finish = _drafts(paths, settings, captioner, poor=replace_)
        if write:
            _write(drafts, reading, folders, yes=yes, quiet=quiet, over=replace_)
        elif json:
            say_json([row(draft) for draft in drafts])
        elif drafts:
            print_table(_table(drafts))
        finish()


def named_captioner(settings: CaptionerSettings) -> Captioner | None:
    """The vision model that is asked; None if none is named. Another machine is named on stderr, even with --quiet."""
    if settings.url is None:
        flags = [CAPTIONING.flag(name) for name in settings.model_fields_set]
        check_unused(dict.fromkeys(flags, True), "is for --captioner URL: add it, or leave this out")
        return None
    captioner = Captioner(settings)
    if captioner.is_remote:
        open_ = "" if captioner.address.startswith("https:") else ", unencrypted"
        complain(f"pictures, captions and the sentences about them go to {captioner.host}{open_}")
    return captioner


def _drafts(
    paths: list[Path], settings: RunSettings, captioner: Captioner, *, poor: bool
) -> tuple[list[Draft], dict[str, Path | None], Callable[[], None]]:
    """The drafts for documents, the folder of each document, and a function that ends the run.

    A picture that gets no draft is named on stderr, with the reason.
    """
    from iconotext.alt_text.captioned import Refused, captioned_drafts

    if settings.reading.epub != "book":
        raise SettingError("drafts are made for a book as a whole: leave --epub out")
    quiet = settings.quiet
    run = Run(paths, settings.reading, output=None, quiet=quiet)
    # Digests are taken before reading, so a file that changes while the model works is refused when written.
    before = {path: _digest(path) for path, _ in run.files}
    documents = (
        (linked, before.get(linked.document.source) if linked.document.source else None)
        for linked in linked_documents(run, settings)
        if isinstance(linked, LinkedDocument)
    )
    drafts: list[Draft] = []
    refused: list[Refused] = []
    next_line = monotonic() + EVERY

    def show_progress() -> None:
        nonlocal next_line
        if not quiet and monotonic() >= next_line:
            next_line = monotonic() + EVERY
            complain(f"Asking: {counted(captioner.sent, 'picture')} sent, {captioner.tokens:,} tokens")

    for outcome in captioned_drafts(documents, captioner, poor=poor, after_each=show_progress):
        if isinstance(outcome, Refused):
            refused.append(outcome)
        else:
            drafts.append(outcome)
    _report(captioner, drafts, refused, quiet=quiet)
    return drafts, {str(path): folder for path, folder in run.files}, run.finish


def _report(captioner: Captioner, drafts: list[Draft], refused: list[Refused], *, quiet: bool) -> None:
    """Print how many drafts there are, and why pictures got none; with ``quiet`` only those without a reply."""
    unanswered = [refusal for refusal in refused if refusal.text is None]
    for reason in dict.fromkeys(refusal.reason for refusal in unanswered):
        names = [refusal.id for refusal in unanswered if refusal.reason == reason]
        complain(f"no draft for {counted(len(names), 'picture')} ({shortened(', '.join(names), 60)}): {reason}")
    if quiet:
        return
    for refusal in refused:
        if refusal.text is not None:
            reply = f'; the model said "{refusal.text}"' if refusal.text else ""
            complain(f"no draft for {refusal.id} ({refusal.source}): {refusal.reason}{reply}")
    stored = f"; {captioner.stored:,} had a reply from before" if captioner.stored else ""
    sent = f"{counted(captioner.sent, 'picture')} sent to {captioner.host}, {captioner.tokens:,} tokens"
    say(f"{sent}{stored}; {counted(len(drafts), 'draft')}", err=True)


def _digest(path: Path) -> str | None:
    from iconotext.alt_text.writing import digest

    try:
        return digest(path.read_bytes())
    except OSError:
        return None  # the problem is reported when the file is read


def _write(
    drafts: list[Draft],
    reading: ReadSettings,
    folders: Mapping[str, Path | None],
    *,
    yes: bool,
    quiet: bool,
    over: bool,
) -> None:
    """Show the changes, ask, and write them, document by document; status 1 if a document could not be written."""
    from iconotext.alt_text.writing import plan_change, unified_diff, write_change

    failed = total = 0
    for path in dict.fromkeys(draft.path for draft in drafts):
        of_file = [draft for draft in drafts if draft.path == path]
        try:
            alts = {draft.image: draft.text for draft in of_file}
            folder = folders.get(path)
            change = plan_change(Path(path), alts, reading, read=of_file[0].sha256 or "", within=folder, over=over)
            if not quiet or not yes:
                say("\n".join(unified_diff(change)))
            if yes or _agreed(path, len(of_file)):
                write_change(change)
                total += len(of_file)
        except (DocumentError, OutputError) as error:
            failed += 1
            complain(str(error))
    if not quiet:
        say(f"Wrote {counted(total, 'alternative text')}", err=True)
    if failed:
        sys.exit(1)


def _agreed(path: str, number: int) -> bool:
    """Whether the user at the terminal agrees; ``OutputError`` without a terminal."""
    if not has_terminal():
        raise OutputError(f"{path}: nobody is there to ask: --yes writes without asking")
    return typer.confirm(f"Write {counted(number, 'alternative text')} into {path}?", err=True)


def has_terminal() -> bool:
    """Whether there is a terminal, so that the user can be asked."""
    return sys.stdin.isatty()


def _table(drafts: list[Draft]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from iconotext.report.terminal import bar

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 1, 0))
    table.add_column("Draft", overflow="fold")
    table.add_column("Picture")
    table.add_column("Alternative text, to be looked at")
    table.add_column("Confidence", no_wrap=True)
    for draft in drafts:
        cell = Text(readable(draft.text))
        evidence = [("caption", draft.caption), *(("beside", quote.text) for quote in draft.sentences[:SHOWN])]
        for name, text in evidence:
            if text:
                cell.append(f"\n{name}: {readable(text)}", style="dim")
        table.add_row(
            Text(readable(draft.id)), Text(shortened(readable(draft.source), 40)), cell, bar(draft.confidence)
        )
    return table
