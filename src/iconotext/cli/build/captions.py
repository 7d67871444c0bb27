"""``iconotext corpus build captions``: documents out of photographs with captions."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iconotext.cli.common import known_errors, make_settings, parse_settings
from iconotext.cli.corpus_progress import encoded
from iconotext.cli.options import CorpusOutput, Force, Seed

if TYPE_CHECKING:
    from iconotext.corpus.builders.captions import Photo
    from iconotext.types import FloatMatrix


class Rule(StrEnum):
    """Data sets of the paper that documents out of captions may be like."""

    MSCOCO = "mscoco"
    DII = "dii"
    DII_STRESS = "dii-stress"


def captions(
    source: Annotated[
        Path, typer.Argument(help='JSON lines, {"image": ..., "captions": [...], "split": ...}.', show_default=False)
    ],
    output: CorpusOutput,
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
            help="The photographs for validation are for test, and --validation takes its share of those for training.",
        ),
    ] = False,
    seed: Seed = 0,
    backbone: Annotated[str, typer.Option(help="What says which images are similar.")] = "efficientnet-lite0",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="pairs, distractor_images, distractor_captions, versions, shuffles, evaluation_shuffles, topical.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Make documents out of photographs with captions, by the rules of Hessel 2019 (supplement §1).

    In training there are up to five versions of a document, with other captions of the same images; in validation and
    test one, with the first captions. Distractor captions come from other photographs of the same split.

    **Examples**

    - `iconotext corpus build captions captions.jsonl --output corpus.jsonl --validation 0.1 --test 0.1`
    - `iconotext corpus build captions flickr8k/captions.jsonl -o benchmark.jsonl --set evaluation_shuffles=5`
    - `iconotext corpus build captions flickr8k/captions.jsonl -o three.jsonl --validation 0.1 --test-on-validation`
    - `iconotext corpus build captions captions.jsonl -o dii.parquet --rule dii`
    """
    with known_errors():
        from iconotext.corpus.builders import captions as builder
        from iconotext.corpus.split import Shares
        from iconotext.corpus.store import write_corpus
        from iconotext.errors import SettingError
        from iconotext.write import refuse

        (given,) = parse_settings(set_ or [], builder.CaptionSettings)
        settings = make_settings(builder.CaptionSettings, {**builder.RULES[rule.value], "seed": seed, **given})
        shares = Shares(validation, test)
        refuse(output, force)
        photos = builder.read_photos(source)
        if test_on_validation:
            if not validation:
                raise SettingError("--test-on-validation leaves none to validate on: say how many, as --validation 0.1")
            photos = builder.validation_as_test(photos)
        if validation or test:
            photos = builder.share_out(photos, shares, seed=seed)
        vectors = _vectors(photos, backbone) if settings.topical else None
        documents = builder.build_captions(photos, settings, vectors=vectors)
        written = write_corpus(documents, output, force=force)
        typer.echo(f"{output}: {written} documents out of {len(photos)} photographs", err=True)


def _vectors(photos: list[Photo], backbone: str) -> FloatMatrix:
    """(photos, dim) features of photographs."""
    import numpy as np

    from iconotext.features import FeatureCache, cached_image, load_image_backbone

    encoder = cached_image(load_image_backbone(backbone), FeatureCache())
    chunks = encoded(encoder, [photo.file for photo in photos], "Looking at photographs")
    return np.concatenate([np.zeros((0, encoder.dim), np.float32), *chunks])
