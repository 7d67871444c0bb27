"""``iconotext corpus build mmc4``: web pages with pictures matched to sentences."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from iconotext.cli.build.options import Images, Settings, Workers
from iconotext.cli.build.run import run_build
from iconotext.cli.common import known_errors, make_settings, parse_settings
from iconotext.cli.options import CorpusOutput, Fetch, Force


def mmc4(
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
    """Make a corpus out of shards of Multimodal C4 (Zhu et al. 2023).

    Shards are docs_no_face_shard_0_v3.jsonl and so on, also as .jsonl.zip; they are read in the order of their names.
    Links are the data set's own guess, an image to a sentence. Pictures are found in --images under the names that the
    shards give them, or by SHA-256, SHA-1 or MD5 of their addresses; an image without a file is named by its address.

    **Examples**

    - `iconotext corpus build mmc4 --source shards/ --output mmc4.parquet`
    - `iconotext corpus build mmc4 -s shards/ -o mmc4.jsonl --images pictures/ --fetch --only-found`
    - `iconotext corpus build mmc4 -s shard_0.jsonl.zip -o mmc4.jsonl --set min_similarity=0.25`
    """
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.mmc4 import Mmc4Settings, mmc4_rows
        from iconotext.read.web.polite import Politeness

        settings = make_settings(Mmc4Settings, parse_settings(set_ or [], Mmc4Settings)[0])
        fetching = Politeness(interval=interval) if fetch else None
        run_build(
            "mmc4",
            partial(mmc4_rows, source=source, settings=settings, images=images, fetch=fetching, only_found=only_found),
            output,
            sources=[source, *([images] if images is not None and images.exists() else [])],
            settings=settings.model_dump(mode="json") | {"fetch": fetch, "only_found": only_found},
            seed=0,
            workers=workers,
            force=force,
        )
