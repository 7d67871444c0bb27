"""``iconotext corpus build captions``: documents out of photographs with captions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.build.options import Images, Settings, Workers
from iconotext.cli.build.run import run_build
from iconotext.cli.common import known_errors, make_settings, parse_settings
from iconotext.cli.corpus_progress import encoded
from iconotext.cli.options import CorpusOutput, Download, Force, Seed

if TYPE_CHECKING:
    from iconotext.types import FloatMatrix


class CaptionsFormat(StrEnum):
    """Formats that captions come in."""

    AUTO = "auto"
    JSONL = "jsonl"
    FLICKR = "flickr"
    COCO = "coco"
    PASCAL = "pascal"


class Rule(StrEnum):
    """Data sets of the paper that documents out of captions may be like."""

    MSCOCO = "mscoco"
    DII = "dii"
    DII_STRESS = "dii-stress"


def captions(
    source: Annotated[
        Path,
        typer.Option(
            "--source",
            "-s",
            help='File of captions, or folder with one: JSON lines {"image": ..., "captions": [...]}, Flickr8k, '
            "Flickr30k, COCO, or Pascal sentences.",
            show_default=False,
        ),
    ],
    output: CorpusOutput,
    format_: Annotated[
        CaptionsFormat, typer.Option("--format", help="Format of the captions; auto: told from the files.")
    ] = CaptionsFormat.AUTO,
    images: Images = None,
    rule: Annotated[
        Rule,
        typer.Option(
            help="mscoco: 5 pairs, 5 other images, 5 other captions. dii: 5 pairs of similar images. dii-stress: and "
            "45 other captions."
        ),
    ] = Rule.MSCOCO,
    validation: Annotated[
        float, typer.Option(help="Share of the photographs without a split for validation.", show_default=False)
    ] = 0,
    test: Annotated[float, typer.Option(help="The same for test.", show_default=False)] = 0,
    test_on_validation: Annotated[
        bool,
        typer.Option(
            "--test-on-validation",
            help="Test on the photographs meant for validation; --validation then takes a share of those for training.",
        ),
    ] = False,
    backbone: Annotated[str, typer.Option(help="Backbone that tells which images are similar.")] = "efficientnet-lite0",
    download: Download = False,
    seed: Seed = 0,
    workers: Workers = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make documents out of photographs with captions, by the rules of Hessel 2019 (supplement §1).

    In training there are up to five versions of a document, with other captions of the same images; in validation and
    test one, with the first captions. Distractor captions come from other photographs of the same split.

    **Examples**

    - `iconotext corpus build captions --source captions.jsonl -o corpus.jsonl --validation 0.1 --test 0.1`
    - `iconotext corpus build captions --source Flickr8k/ -o benchmark.jsonl --set evaluation_shuffles=5`
    - `iconotext corpus build captions --source results_20130124.token --images flickr30k-images -o flickr30k.parquet`
    - `iconotext corpus build captions --source flickr8k/captions.jsonl -o dii.parquet --rule dii`
    """
    with known_errors(download=download, goes_on=True):
        from iconotext.corpus.builders import captions as builder
        from iconotext.features.model_folder import IMAGE_BACKBONES, find_model

        find_model(backbone, IMAGE_BACKBONES)
        (given,) = parse_settings(set_ or [], builder.CaptionsSettings)
        options = {"format": format_.value, "images": images, "validation": validation, "test": test}
        options |= {"test_on_validation": test_on_validation}
        settings = make_settings(builder.CaptionsSettings, {**options, **builder.RULES[rule.value], **given})
        run_build(
            "captions",
            partial(builder.captions_rows, source=source, settings=settings, look=partial(_look, backbone)),
            output,
            sources=[source],
            settings={**settings.model_dump(mode="json"), **({"backbone": backbone} if settings.topical else {})},
            seed=seed,
            workers=workers,
            force=force,
        )


def _look(backbone: str, files: Sequence[Path]) -> Iterator[FloatMatrix]:
    """(pictures, dim) features of pictures, some after the other."""
    from iconotext.features import FeatureCache, cached_image, load_image_backbone

    yield from encoded(cached_image(load_image_backbone(backbone), FeatureCache()), files, "Looking at photographs")
