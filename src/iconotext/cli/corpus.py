"""``iconotext corpus``: check, count, convert, divide and build corpora."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.build import build
from iconotext.cli.common import known_errors
from iconotext.cli.corpus_check import check
from iconotext.cli.corpus_convert import convert
from iconotext.cli.corpus_progress import watched
from iconotext.cli.corpus_stats import stats
from iconotext.cli.options import CorpusOutput, Force, Seed
from iconotext.cli.output import say
from iconotext.plain_text import counted

corpus = typer.Typer(name="corpus", help="Check, count, convert, divide and build corpora.", no_args_is_help=True)
corpus.add_typer(build)
corpus.command()(check)
corpus.command()(convert)
corpus.command()(stats)


@corpus.command()
def split(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A corpus of any format that can be read.", show_default=False)
    ],
    output: CorpusOutput,
    validation: Annotated[float, typer.Option(help="Share of the documents for validation.")] = 0.1,
    test: Annotated[float, typer.Option(help="Share of the documents for test.")] = 0.1,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Divide a corpus into train, validation and test, at random; splits that it has are replaced.

    Documents that share a picture go together, so that no picture is in two splits.

    **Example**

    - `iconotext corpus split corpus.jsonl --output split.jsonl --validation 0.1 --test 0.1`
    """
    with known_errors():
        from dataclasses import replace

        from iconotext.corpus.split import Shares, assign_splits
        from iconotext.corpus.store import write_corpus
        from iconotext.write import check_overwrite

        check_overwrite(output, force)
        splits = assign_splits(watched(path, "Reading"), Shares(validation, test), seed=seed)
        documents = (
            replace(document, split=part) for document, part in zip(watched(path, "Writing"), splits, strict=True)
        )
        written = write_corpus(documents, output, force=force)
        counts = ", ".join(f"{splits.count(name)} {name}" for name in ("train", "validation", "test"))
        say(f"{output}: {counted(written, 'document')} ({counts})", err=True)
