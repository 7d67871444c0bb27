"""``iconotext corpus build story-dii``: captions of photographs of one album, each seen alone."""

from __future__ import annotations

from iconotext.cli.build.options import Images, Settings, Source, Workers
from iconotext.cli.build.run import run_data_set
from iconotext.cli.common import known_errors
from iconotext.cli.options import CorpusOutput, Force


def story_dii(
    source: Source,
    output: CorpusOutput,
    images: Images = None,
    workers: Workers = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make Story-DII (Hessel 2019) of the Visual Storytelling Dataset: five photographs, five captions.

    Needs `{train,val,test}.description-in-isolation.json` and the photographs, in any folders. Stories with a missing
    or broken photograph are dropped. Settings: `text=text` (in tokens, without names), `verify=false` (do not decode
    photographs).

    **Example**

    - `iconotext corpus build story-dii --source VIST --output dii.jsonl`
    """
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.stories.story import StorySettings
        from iconotext.papers.datasets.story_dii import story_dii_rows

        run_data_set(
            "story-dii",
            story_dii_rows,
            StorySettings,
            set_,
            source=source,
            images=images,
            output=output,
            seed=0,
            workers=workers,
            force=force,
        )
