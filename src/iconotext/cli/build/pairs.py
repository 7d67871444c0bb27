"""``iconotext corpus build pairs``: each picture with what its author wrote about it."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.build.run import run_build
from iconotext.cli.common import known_errors
from iconotext.cli.options import CorpusOutput, Force


class Part(StrEnum):
    """A part of a corpus."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def pairs(
    source: Annotated[
        list[Path],
        typer.Option(
            "--source",
            "-s",
            help="A corpus with captions or alt texts, or captioned photographs (.jsonl); may be given several times.",
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

    - `iconotext corpus build pairs --source corpus.jsonl --output pairs.jsonl`
    - `iconotext corpus build pairs --source flickr8k/captions.jsonl -o pairs.jsonl --only train`
    """
    with known_errors(goes_on=True):
        from iconotext.corpus.builders.pairs import pairs_rows

        run_build(
            "pairs",
            partial(pairs_rows, sources=source, only=only.value if only else None),
            output,
            sources=source,
            settings={"only": only.value if only else None},
            seed=0,
            workers=1,
            force=force,
        )
