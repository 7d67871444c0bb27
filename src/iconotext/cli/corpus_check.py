"""``iconotext corpus check``: everything that is wrong with a corpus."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.build.options import Workers
from iconotext.cli.common import known_errors, progress
from iconotext.cli.corpus_progress import total
from iconotext.cli.options import Json
from iconotext.cli.output import say, say_json
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.corpus.check import CheckedCorpus

SHOWN = 20
"""Problems that ``check`` prints; ``--json`` gives all."""


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Corpora: .jsonl, .parquet, a folder with docs.json, a shard of mmc4 or OBELICS.",
            show_default=False,
        ),
    ],
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Decode every picture, or only see that it is there.")
    ] = True,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """List everything that is wrong with a corpus: fields, ids, pictures, pictures in two splits.

    The exit status is 1 when there is something. Of several corpora each is looked at by itself; --json has a line for
    each.

    **Examples**

    - `iconotext corpus check corpus.jsonl`
    - `iconotext corpus check mscoco/ train.jsonl test.jsonl`
    - `iconotext corpus check corpus.parquet --json | jq '.problems[].field'`
    """
    with known_errors():
        from iconotext.corpus.check import check_corpus

        processes, wrong = workers or os.cpu_count() or 1, False
        for path in paths:
            watch = partial(_watched, documents=total(path))
            checked = check_corpus(path, decode_images=pictures, workers=processes, watch=watch)
            if json:
                say_json(_checked_json(checked))
            else:
                _show_checked(checked)
            wrong = wrong or bool(checked.problems)
        if wrong:
            sys.exit(1)


def _watched(done: Iterable[int], total: int | None, label: str, *, documents: int) -> Iterator[None]:
    """Show how many documents or images have come."""
    one_by_one = (None for number in done for _ in range(number))
    return progress(one_by_one, total=documents if total is None else total, label=label)


def _checked_json(checked: CheckedCorpus) -> dict[str, object]:
    return {
        "corpus": str(checked.path),
        "format": checked.format,
        "documents": checked.documents,
        "problems": [
            {"place": problem.place, "field": problem.field, "message": problem.message} for problem in checked.problems
        ],
        "unlisted": checked.unlisted,
        "notes": list(checked.notes),
    }


def _show_checked(checked: CheckedCorpus) -> None:
    for problem in checked.problems[:SHOWN]:
        say(f"{checked.path}, {problem}")
    count = len(checked.problems) + checked.unlisted
    hidden = count - SHOWN
    if hidden > 0:
        say(f"... and {hidden} more; --json gives " + (f"{len(checked.problems):,}" if checked.unlisted else "all"))
    for note in checked.notes:
        say(f"note: {note}")
    verdict = "nothing wrong" if not count else counted(count, "problem")
    say(f"{checked.path} ({checked.format}): {counted(checked.documents, 'document')}, {verdict}")
