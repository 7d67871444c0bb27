"""``iconotext corpus build clue``: captions with pictures from the web and coherence relations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.build.labelled import Group, Once, OnlyFound, build_labelled
from iconotext.cli.common import known_errors
from iconotext.cli.options import CorpusOutput, Fetch, Force, Seed


def clue(
    source: Annotated[
        list[Path],
        typer.Option(
            "--source",
            help="data-both-04-08-cleaned.tsv as published with Clue; may be given several times, for other "
            "tables with its columns.",
            show_default=False,
        ),
    ],
    output: CorpusOutput,
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the pictures, named by SHA-256, SHA-1 or MD5 of their addresses or as they are there.",
            show_default=False,
        ),
    ] = None,
    fetch: Fetch = False,
    interval: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two requests to one server, with --fetch.")
    ] = 1.0,
    only_found: OnlyFound = False,
    once: Once = False,
    group: Group = False,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Make a corpus of Clue: a document for each annotated pair of a caption and the picture at an address.

    A fifth of the pairs is for test, a tenth of the others for validation, at random, as in Alikhani 2021. Without
    pictures, images are named by their addresses. What became of every row is in the report beside the corpus.

    **Examples**

    - `iconotext corpus build clue --source data-both-04-08-cleaned.tsv --output clue.jsonl`
    - `iconotext corpus build clue --source data-both-04-08-cleaned.tsv -o clue.jsonl --images clue/ --fetch`
    """
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.clue import CLUE_TABLE
        from iconotext.read.web.polite import Politeness

        build_labelled(
            CLUE_TABLE,
            source,
            output,
            images=images,
            fetch=Politeness(interval=interval) if fetch else None,
            once=once,
            group=group,
            only_found=only_found,
            seed=seed,
            force=force,
        )
