"""``iconotext corpus build dii-stress``: Story-DII among many captions of other photographs."""

from __future__ import annotations

from iconotext.cli.build.options import Images, Settings, Source, Workers
from iconotext.cli.build.run import run_data_set
from iconotext.cli.common import known_errors
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
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.dii_stress import DiiStressSettings, dii_stress_rows

        run_data_set(
            "dii-stress",
            dii_stress_rows,
            DiiStressSettings,
            set_,
            source=source,
            images=images,
            output=output,
            seed=seed,
            workers=workers,
            force=force,
        )
