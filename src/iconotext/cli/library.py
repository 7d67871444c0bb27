"""``iconotext library``: add pictures to a library, remove them, and list its contents."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from iconotext.cli.common import known_errors, progress
from iconotext.cli.options import (
    Download,
    Json,
    Linking,
    Reading,
    Runtime,
    Threads,
    argument,
    complete_models,
    option,
    settings_options,
)
from iconotext.cli.output import complain, output_console, say, say_json
from iconotext.linker import LinkSettings
from iconotext.plain_text import counted, data_size, percent, readable
from iconotext.read import ReadSettings
from iconotext.read.format import EXAMPLES

if TYPE_CHECKING:
    from iconotext.library.commit import Report

SHOWN = 20
"""Number of left-out pictures, or folders, that are named on the terminal; ``--json`` names all."""

LibraryArgument = Annotated[Path, argument(metavar="LIB", help="Folder of the library.", file_okay=False)]


@settings_options
def add(
    path: Annotated[
        Path, argument(metavar="LIB", help="Folder of the library. It is made if need be.", file_okay=False)
    ],
    paths: Annotated[
        list[Path] | None,
        argument(
            metavar="PATH...",
            help=f"Pictures, documents, shards, or folders of all that. Documents are {EXAMPLES}, ...; shards or "
            "their results may lie in a store. Without any, what was added before is checked again.",
        ),
    ] = None,
    reading: Reading = ReadSettings(),
    linking: Linking = LinkSettings(),
    model: Annotated[
        str | None,
        option(
            help="Model of a new library. default, photographs (better at everyday photographs; for research only), "
            "no-training, the folder of a trained one, or a dual encoder such as CLIP. A library keeps its model; if "
            "that was moved, say where it is now.",
            autocompletion=complete_models,
        ),
    ] = None,
    threads: Threads = None,
    runtime: Runtime = None,
    download: Download = False,
    json: Json = False,
) -> None:
    """Put pictures into a library, or bring it up to date.

    What has not changed is skipped, what was deleted is taken out, a picture that lies in several places is kept once.
    A picture of a document keeps its caption, its alternative text and the sentences that belong to it. Stop it when
    you like: the same command goes on from there. The options of reading and linking are remembered for the paths with
    which they are given, until others are given (--no-fetch).

    **Examples**

    - `iconotext library add lib photos/`
    - `iconotext library add lib docs/ report.pdf`
    - `iconotext library add lib linked/`
    - `iconotext library add lib s3://bucket/linked`
    - `iconotext library add lib`
    """
    with known_errors(download=download, goes_on=True):
        from iconotext.library.update import add_paths

        report = add_paths(
            path,
            paths or [],
            model=model,
            reading=reading,
            linking=linking,
            watch=lambda files, total: progress(files, total=total, label="Adding"),
            say=lambda message: say(message, err=True),
        )
        if json:
            say_json(_report_json(path, report))
        else:
            _show_report(path, report)
        if report.failures:
            sys.exit(1)


def remove(
    path: LibraryArgument,
    paths: Annotated[list[Path], argument(metavar="PATH...", help="Files and folders that were added.")],
    json: Json = False,
) -> None:
    """Take out of a library what was added from there, and do not look there any more.

    The files themselves are not touched; they may be gone already.

    **Examples**

    - `iconotext library remove lib old-photos/`
    """
    with known_errors():
        from iconotext.library.update import remove_from_library

        report = remove_from_library(path, paths)
        if json:
            say_json({"library": str(path), "removed": report.removed})
        else:
            say(f"{path}: {counted(report.removed, 'picture')} removed")


def list_(path: LibraryArgument, json: Json = False) -> None:
    """Show the contents of a library: pictures, documents, folders, model, size, index.

    **Examples**

    - `iconotext library list lib`
    - `iconotext library list lib --json | jq .pictures`
    """
    with known_errors():
        from iconotext.library.store import describe, open_library

        description = describe(open_library(path))
        if json:
            say_json(description)
        else:
            _show_list(description)


def _report_json(path: Path, report: Report) -> dict[str, Any]:
    fields = ("left_out", "failures")
    lists = {name: [{"path": p, "problem": why} for p, why in getattr(report, name)] for name in fields}
    counts = {name: value for name, value in asdict(report).items() if name not in fields}
    return {"library": str(path), **counts, **lists}


def _show_report(path: Path, report: Report) -> None:
    from iconotext.images import is_harmless, kind_of
    from iconotext.library.files import file_kind

    reasons = [(where, why) for where, why in report.left_out if not is_harmless(why)]
    for where, why in reasons[:SHOWN]:
        complain(f"{readable(where)}: {readable(why)}")
    if len(reasons) > SHOWN:
        complain(f"... and {len(reasons) - SHOWN} more left out; --json names them all")
    if harmless := Counter(kind_of(why) for _, why in report.left_out if is_harmless(why)):
        kinds = "; ".join(f"{number:,} {kind}" for kind, number in harmless.most_common())
        complain(f"left out as icons or copies: {kinds} (--json names them; --min-side 1 keeps all of them)")
    for reason, number in report.reasons.most_common(SHOWN):
        complain(f"{number:,} × {readable(reason)}")
    for where, why in report.failures:
        complain(f"{readable(where)}: {readable(why)}")
    of_shards = sum(file_kind(Path(where)) == "shard" for where, _ in report.left_out)
    counts = [
        (report.encoded - report.added, "{:,} looked at again"),
        (report.shards, "{:,} shard{s} read"),
        (report.documents, "{:,} document{s} read"),
        (report.unchanged, "{:,} file{s} unchanged"),
        (report.shards_unchanged, "{:,} shard{s} unchanged"),
        (report.removed, "{:,} removed"),
        (len(report.left_out) - of_shards, "{:,} picture{s} left out"),
        (of_shards, "{:,} shard{s} left out"),
        (len(report.failures), "{:,} failed"),
    ]
    parts = [text.format(number, s="" if number == 1 else "s") for number, text in counts if number > 0]
    no_pictures = report.documents and not (report.added or report.encoded or report.unchanged or report.removed)
    if no_pictures and not report.left_out:
        documents = counted(report.documents, "document")
        parts[-1] += f"; no pictures in {documents}: add documents that show some, or pictures"
    say(f"{path}: {', '.join([counted(report.added, 'new picture'), *parts])}")


def _show_list(description: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    index = description["index"]
    search = "exact"
    if index is not None:
        recall = f"{percent(index['recall'], 1)} of the ten nearest pictures"
        search = f"approximate: finds {recall} (measured with {index['queries']} queries)"
    folders, documents, shards = description["folders"], description["documents"], description["shards"]
    rows = [("pictures", f"{description['pictures']:,}")]
    if documents or not shards:
        rows.append(("documents", f"{documents:,}"))
    if shards:
        rows.append(("shards", f"{shards:,} (documents in shards are not counted)"))
    rows += [("added", f"{readable(f['path'])} ({counted(f['pictures'], 'picture')})") for f in folders[:SHOWN]]
    if len(folders) > SHOWN:
        rows.append(("", f"and {len(folders) - SHOWN} more"))
    if description["single_pictures"]:
        rows.append(("", counted(description["single_pictures"], "single picture")))
    rows += [
        ("model", description["model"]),
        ("relations", ", ".join(description["relations"]) or "none"),
        ("size", data_size(description["bytes"])),
        ("search", search),
    ]
    table = Table(show_header=False, box=None, title=Text(readable(description["library"])), title_justify="left")
    for name, value in rows:
        table.add_row(Text(name, style="dim"), Text(value))
    output_console().print(table)
