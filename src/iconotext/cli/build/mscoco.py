"""``iconotext corpus build mscoco``: the MSCOCO documents of Hessel 2019."""

from __future__ import annotations

from iconotext.cli.build.options import Images, Settings, Source, Workers
from iconotext.cli.build.run import run_data_set
from iconotext.cli.common import known_errors
from iconotext.cli.options import CorpusOutput, Force, Seed


def mscoco(
    source: Source,
    output: CorpusOutput,
    images: Images = None,
    seed: Seed = 0,
    workers: Workers = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make the MSCOCO documents of Hessel 2019 (supplement §1): ten images, ten sentences, five links.

    The source has `annotations/captions_train2014.json` and any others of 2014 and 2017, and the unpacked folders of
    images. Half of the photographs are true images, half are without their captions; a fifth of the documents is for
    validation, a fifth for test; those for training come in five versions, with other captions of the same images.

    **Examples**

    - `iconotext corpus build mscoco --source coco/ --output mscoco.jsonl`
    - `iconotext corpus build mscoco --source coco/annotations --images coco/images -o m.parquet --set verify=false`
    - `iconotext corpus build mscoco --source coco/ -o all.parquet --set photographs=all`
    """
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.mscoco import MscocoSettings, mscoco_rows

        run_data_set(
            "mscoco",
            mscoco_rows,
            MscocoSettings,
            set_,
            source=source,
            images=images,
            output=output,
            seed=seed,
            workers=workers,
            force=force,
        )
