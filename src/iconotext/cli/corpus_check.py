"""``iconotext corpus check``: everything that is wrong with a corpus."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors, progress
from iconotext.cli.corpus_progress import total
from iconotext.cli.options import Json

if TYPE_CHECKING:
    from iconotext.corpus.check import CheckedCorpus

SHOWN = 20
"""Problems that ``check`` prints; ``--json`` gives all."""


def check(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A corpus: .jsonl, .parquet, a folder with docs.json, a shard of mmc4 or OBELICS.",
            show_default=False,
        ),
    ],
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Decode every picture, or only see that it is there.")
    ] = True,
    json: Json = False,
) -> None:
    """List everything that is wrong with a corpus: fields, ids, pictures, pictures in two splits.

    The exit status is 1 when there is something.

    **Examples**

    - `iconotext corpus check corpus.jsonl`
    - `iconotext corpus check mscoco/`
    - `iconotext corpus check corpus.parquet --json | jq '.problems[].field'`
    """
    with known_errors():
        from iconotext.corpus.check import check_corpus
        from iconotext.corpus.store import read_records
        from iconotext.corpus.strict_json import dump_json

        records = progress(read_records(path), total=total(path), label="Checking")
        checked = check_corpus(path, records, decode_pictures=pictures)
        if json:
            typer.echo(dump_json(_checked_json(checked)))
        else:
            _show_checked(checked)
        if checked.problems:
            sys.exit(1)


def _checked_json(checked: CheckedCorpus) -> dict[str, object]:
    return {
        "corpus": str(checked.path),
        "format": checked.format,
        "documents": checked.documents,
        "problems": [
            {"place": problem.place, "field": problem.field, "message": problem.message} for problem in checked.problems
        ],
        "notes": list(checked.notes),
    }


def _show_checked(checked: CheckedCorpus) -> None:
    for problem in checked.problems[:SHOWN]:
        typer.echo(f"{checked.path}, {problem}")
    hidden = len(checked.problems) - SHOWN
    if hidden > 0:
        typer.echo(f"... and {hidden} more; --json gives all")
    for note in checked.notes:
        typer.echo(f"note: {note}")
    count = len(checked.problems)
    verdict = "nothing wrong" if not count else "1 problem" if count == 1 else f"{count} problems"
    typer.echo(f"{checked.path} ({checked.format}): {checked.documents} documents, {verdict}")
