"""``iconotext corpus build rqa``: recipes whose steps have pictures."""

from __future__ import annotations

from iconotext.cli.build.options import Images, Settings, Source, Workers
from iconotext.cli.build.run import run_data_set
from iconotext.cli.common import known_errors
from iconotext.cli.options import CorpusOutput, Force, Seed


def rqa(
    source: Source,
    output: CorpusOutput,
    images: Images = None,
    seed: Seed = 0,
    workers: Workers = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make RQA (Hessel 2019) of RecipeQA: a document for each recipe, a sentence for each step, linked to its pictures.

    Needs `train.json` and `val.json`, which becomes the test split, and the pictures, in any folders. Settings:
    `validation=0.127` (share of the training recipes), `pictures=names` (no files, images are named `recipeqa:NAME`),
    `verify=false` (do not decode pictures).

    **Example**

    - `iconotext corpus build rqa --source recipeqa --output rqa.jsonl`
    """
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.rqa import RqaSettings, rqa_rows

        run_data_set(
            "rqa",
            rqa_rows,
            RqaSettings,
            set_,
            source=source,
            images=images,
            output=output,
            seed=seed,
            workers=workers,
            force=force,
        )
