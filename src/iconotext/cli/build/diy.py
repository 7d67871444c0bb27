"""``iconotext corpus build diy``: albums of photographs with captions from Reddit's r/DIY."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from iconotext.cli.build.options import Images, Settings, Source, Workers
from iconotext.cli.build.run import run_build
from iconotext.cli.common import known_errors, make_settings, parse_settings
from iconotext.cli.options import CorpusOutput, Fetch, Force, Seed


def diy(
    source: Source,
    output: CorpusOutput,
    images: Images = None,
    fetch: Fetch = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds between two requests, with --fetch.")] = 1.0,
    seed: Seed = 0,
    workers: Workers = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make DIY (Hessel 2019): posts to r/DIY that link an album of imgur; its captions are the sentences.

    The source has pushshift's files of submissions (RS_2013-01.zst to RS_2018-10.zst, or DIY_submissions.zst) and the
    pages of the albums as they were until 2019 (albums/Ab3dE.html). Pictures are named as imgur names them
    (Ab3dE7f.jpg); --fetch gets those that are missing.

    **Examples**

    - `iconotext corpus build diy --source reddit/ --output diy.jsonl`
    - `iconotext corpus build diy -s reddit/ -o diy.jsonl --images pictures/ --fetch --set min_score=10`
    """
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.diy import DiySettings, diy_rows
        from iconotext.read.web.polite import Politeness

        settings = make_settings(DiySettings, parse_settings(set_ or [], DiySettings)[0])
        politeness = Politeness(interval=interval) if fetch else None
        run_build(
            "diy",
            partial(diy_rows, source=source, settings=settings, images=images, fetch=politeness),
            output,
            sources=[source, *([images] if images is not None and images.exists() else [])],
            settings=settings.model_dump(mode="json") | {"fetch": fetch},
            seed=seed,
            workers=workers,
            force=force,
        )
