"""``iconotext corpus build multi-retrieval``: a data set that was released with Hessel 2019."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.build.options import Images, Settings
from iconotext.cli.build.run import run_build
from iconotext.cli.common import known_errors, make_settings, parse_settings
from iconotext.cli.options import CorpusOutput, Force


class DataSet(StrEnum):
    """Names of the data sets in Table 1."""

    MSCOCO = "MSCOCO"
    STORY_DII = "Story-DII"
    STORY_SIS = "Story-SIS"
    DII_STRESS = "DII-Stress"
    DIY = "DIY"
    RQA = "RQA"
    WIKI = "WIKI"


def multi_retrieval(
    source: Annotated[
        Path, typer.Option("--source", "-s", help="Folder with docs.json, as released.", show_default=False)
    ],
    output: CorpusOutput,
    images: Images = None,
    only_found: Annotated[bool, typer.Option("--only-found", help="Leave out images whose file is not there.")] = False,
    compare: Annotated[
        DataSet | None,
        typer.Option(
            help="Show the sizes that the paper gives for this data set.", case_sensitive=False, show_default=False
        ),
    ] = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make a corpus out of a data set that was released with Hessel 2019: docs.json, features.npy, id2row.json.

    Splits and labels are those of the release. Images are ids; with --images they are found by id, whatever the suffix.
    The features are copied beside the corpus. They serve all corpora of that folder, so each data set has its own.

    **Examples**

    - `iconotext corpus build multi-retrieval --source mscoco/ --output corpora/mscoco/c.jsonl --compare mscoco`
    - `iconotext corpus build multi-retrieval -s diy/ -o corpora/diy/c.parquet --images diy/images --only-found`
    """
    with known_errors(goes_on=True):
        from iconotext.corpus.published_sizes import PUBLISHED
        from iconotext.papers.datasets.multi_retrieval import (
            MultiRetrievalSettings,
            check_features,
            multi_retrieval_rows,
        )

        settings = make_settings(MultiRetrievalSettings, parse_settings(set_ or [], MultiRetrievalSettings)[0])
        published = None
        if compare is not None:
            published = PUBLISHED[compare.value]
        check_features(source, output.parent, settings, force=force)  # here no folder of a build is made yet
        run_build(
            "multi-retrieval",
            partial(
                multi_retrieval_rows,
                source=source,
                settings=settings,
                images=images,
                only_found=only_found,
                published=published,
                force=force,
            ),
            output,
            sources=[source, *([images] if images is not None and images.exists() else [])],
            settings=settings.model_dump(mode="json") | {"only_found": only_found},
            seed=0,
            workers=1,
            force=force,
        )
