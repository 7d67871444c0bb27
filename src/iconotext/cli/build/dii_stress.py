"""``iconotext corpus build dii-stress``: Story-DII among many captions of other photographs."""

from __future__ import annotations

from functools import partial

from iconotext.cli.build.options import Images, Settings, Source, Workers
from iconotext.cli.build.run import run_build
from iconotext.cli.common import known_errors, make_settings, parse_settings
from iconotext.cli.options import CorpusOutput, Force, Seed


def dii_stress(
    source: Source,
    output: CorpusOutput,
    images: Images = None,
    seed: Seed = 0,
    workers: Workers = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make DII-Stress (Hessel 2019): Story-DII with 45 captions of other photographs of the split, in shuffled order.

    Needs what `story-dii` needs, and gives its documents the same ids. Settings: `distractors=45`, and those of
    `story-dii`.

    **Example**

    - `iconotext corpus build dii-stress --source VIST --output dii-stress.jsonl`
    """
    with known_errors():
        from iconotext.corpus.builders.dii_stress import DiiStressSettings, dii_stress_rows

        settings = make_settings(DiiStressSettings, parse_settings(set_ or [], DiiStressSettings)[0])
        run_build(
            "dii-stress",
            partial(dii_stress_rows, source=source, settings=settings, images=images),
            output,
            sources=[source] if images is None else [source, images],
            settings=settings.model_dump(mode="json"),
            seed=seed,
            workers=workers,
            force=force,
        )
