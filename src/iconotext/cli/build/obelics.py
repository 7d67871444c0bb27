"""``iconotext corpus build obelics``: web pages with pictures in reading order."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.build.options import Images, Settings, Workers
from iconotext.cli.build.run import run_build
from iconotext.cli.common import known_errors, make_settings, parse_settings
from iconotext.cli.options import CorpusOutput, Fetch, Force


def obelics(
    source: Annotated[
        Path, typer.Option("--source", "-s", help="A shard, or the folder of the shards.", show_default=False)
    ],
    output: CorpusOutput,
    images: Images = None,
    fetch: Fetch = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two requests to one server.")] = 1.0,
    only_found: Annotated[bool, typer.Option("--only-found", help="Leave out images whose file is not there.")] = False,
    workers: Workers = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make a corpus out of shards of OBELICS (Laurençon et al. 2023).

    Shards are train-00000-of-01335.parquet and so on; they are read in the order of their names. Paragraphs are split
    into sentences and images keep their places among them; nobody says which belong together. Pictures are found in
    --images by SHA-256, SHA-1 or MD5 of their addresses; an image without a file is named by its address.

    **Examples**

    - `iconotext corpus build obelics --source data/ --output obelics.parquet`
    - `iconotext corpus build obelics -s data/ -o obelics.jsonl --images pictures/ --fetch --only-found`
    - `iconotext corpus build obelics -s data/ -o obelics.jsonl --set min_images=2 --set min_sentences=10`
    """
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.obelics import obelics_rows
        from iconotext.papers.datasets.shards import ShardSettings
        from iconotext.read.web.polite import Politeness

        settings = make_settings(ShardSettings, parse_settings(set_ or [], ShardSettings)[0])
        politeness = Politeness(interval=interval) if fetch else None
        run_build(
            "obelics",
            partial(
                obelics_rows, source=source, settings=settings, images=images, fetch=politeness, only_found=only_found
            ),
            output,
            sources=[source, *([images] if images is not None and images.exists() else [])],
            settings=settings.model_dump(mode="json") | {"fetch": fetch, "only_found": only_found},
            seed=0,
            workers=workers,
            force=force,
        )
