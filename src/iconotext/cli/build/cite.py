"""``iconotext corpus build cite``: steps of recipes with their pictures and coherence relations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.build.labelled import Group, Once, OnlyFound, build_labelled
from iconotext.cli.common import known_errors
from iconotext.cli.options import CorpusOutput, Force, Seed


def cite(
    source: Annotated[
        list[Path],
        typer.Option(
            "--source",
            help="data.csv as published with CITE; may be given several times, for other tables with its "
            "columns, such as that of CITE++.",
            show_default=False,
        ),
    ],
    output: CorpusOutput,
    images: Annotated[
        Path | None,
        typer.Option(help="Folder with the pictures of RecipeQA, also in folders inside it.", show_default=False),
    ] = None,
    only_found: OnlyFound = False,
    once: Once = False,
    group: Group = False,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Make a corpus of CITE or CITE++: a document for each annotated pair of a step and its picture.

    A fifth of the pairs is for test, a tenth of the others for validation, at random, as in Alikhani 2021. Without
    pictures, images are named `recipeqa:NAME`. What became of every row is in the report beside the corpus.

    **Examples**

    - `iconotext corpus build cite --source data.csv --output cite.jsonl`
    - `iconotext corpus build cite --source data.csv --images recipeqa/images -o cite.jsonl --only-found`
    - `iconotext corpus build cite --source data.csv --source more.csv -o citepp.parquet --group`
    """
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.cite import CITE_TABLE

        build_labelled(
            CITE_TABLE,
            source,
            output,
            images=images,
            once=once,
            group=group,
            only_found=only_found,
            seed=seed,
            force=force,
        )
