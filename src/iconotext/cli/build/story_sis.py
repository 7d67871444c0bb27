"""``iconotext corpus build story-sis``: stories about photographs of one album."""

from __future__ import annotations

from iconotext.cli.build.options import Images, Settings, Source, Workers
from iconotext.cli.build.run import run_data_set
from iconotext.cli.common import known_errors
from iconotext.cli.options import CorpusOutput, Force


def story_sis(
    source: Source,
    output: CorpusOutput,
    images: Images = None,
    workers: Workers = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make Story-SIS (Hessel 2019) of the Visual Storytelling Dataset: five photographs, a story of five sentences.

    Needs `{train,val,test}.story-in-sequence.json` and the photographs, in any folders. Stories with a missing
    or broken photograph are dropped. Settings: `text=text` (in tokens, without names), `verify=false` (do not decode
    photographs).

    **Example**

    - `iconotext corpus build story-sis --source VIST --output sis.jsonl`
    """
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.stories.story import StorySettings
        from iconotext.papers.datasets.story_sis import story_sis_rows

        run_data_set(
            "story-sis",
            story_sis_rows,
            StorySettings,
            set_,
            source=source,
            images=images,
            output=output,
            seed=0,
            workers=workers,
            force=force,
        )
