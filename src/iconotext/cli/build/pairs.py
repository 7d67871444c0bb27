"""``iconotext corpus build pairs``: each picture with what its author wrote about it."""

from __future__ import annotations

from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.common import known_errors
from iconotext.cli.options import CorpusOutput, Force


class Part(StrEnum):
    """A part of a corpus."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def pairs(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE",
            help="Corpora with captions or alt texts, or captioned photographs as for `build captions`.",
            show_default=False,
        ),
    ],
    output: CorpusOutput,
    only: Annotated[
        Part | None,
        typer.Option(help="Pictures of this split, and those of none; training then divides them.", show_default=False),
    ] = None,
    force: Force = False,
) -> None:
    """Make a document of each picture and its captions and alternative texts, which is what a model learns most from.

    **Examples**

    - `iconotext corpus build pairs corpus.jsonl --output pairs.jsonl`
    - `iconotext corpus build pairs flickr8k/captions.jsonl -o pairs.jsonl --only train`
    """
    with known_errors():
        from iconotext.corpus.builders.pairs import build_pairs
        from iconotext.corpus.store import write_corpus
        from iconotext.errors import CorpusError
        from iconotext.write import refuse

        refuse(output, force)
        found = build_pairs(sources, only=only.value if only else None)
        first = next(found, None)
        if first is None:
            names = ", ".join(map(str, sources))
            raise CorpusError(f"{names}: no picture has a caption or alternative text of at least 3 words")
        written = write_corpus(chain([first], found), output, force=force)
        typer.echo(f"{output}: {written} pictures with their texts", err=True)
