"""``iconotext analyze bias``: how unlike the negatives of training are to those of evaluation (Li 2021, Fig. 2b)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import BaseModel, ConfigDict, Field

from iconotext.cli.common import known_errors, make_settings, parse_settings, progress
from iconotext.cli.evaluate import Split, of_split, select
from iconotext.cli.options import Download, Force, Json
from iconotext.cli.output import complain, output_console, say, say_json
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.features import ImageBackbone
    from iconotext.features.feature_table import FeatureTable
    from iconotext.papers.analyses.bias import Bias


class BiasSettings(BaseModel):
    """Settings of ``analyze bias``; each can be given as ``--set name=value``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    documents: int = Field(2000, ge=2)
    """So many documents are drawn where there are more."""

    batch: int = Field(11, ge=2)
    """Documents in a batch of training."""

    seed: int = Field(0, ge=0)
    """Of the documents, the batches and the interval."""

    resamplings: int = Field(2000, ge=100)
    """How often the documents are drawn anew for the interval."""

    image: str | None = None
    """Image backbone, a name or folder, or a table of features (``features.npy``); None takes the one that comes with
    the program."""

    cache: bool = True
    """Whether features are kept on disk."""


def bias(
    corpus: Annotated[Path, typer.Argument(help="Corpus file with gold links.", show_default=False)],
    split: Annotated[Split | None, typer.Option(help="Part of the corpus (default: all).", show_default=False)] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="SVG, PNG or PDF file for the histogram (default: distances.svg, with --json none).",
            show_default=False,
        ),
    ] = None,
    download: Download = False,
    as_json: Json = False,
    force: Force = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="documents=5000, batch=11, image=FOLDER, image=features.npy, seed=1, resamplings=10000, cache=false.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Are negatives easier in training than in evaluation? Distances between gold images and negatives, no model.

    In training the negatives of a sentence are images of other documents, in evaluation the other images of its own.
    The L2 distances of their features from the gold image are compared (Kolmogorov–Smirnov test, effect sizes), and
    drawn as two histograms. `iconotext reproduce li2021/bias` adds what training makes of it.

    **Examples**

    - `iconotext analyze bias corpus.jsonl --output distances.png`
    - `iconotext analyze bias corpus.jsonl --split test --set documents=500 --json | jq .ks`
    - `iconotext analyze bias dii/ --set image=dii/features.npy`
    """
    with known_errors(download=download):
        from iconotext.evaluate.drawing import check_figure
        from iconotext.papers.analyses.bias import measure, negative_distances, write_distances
        from iconotext.papers.analyses.document_images import document_images, some_linked

        settings = make_settings(BiasSettings, parse_settings(set_ or [], BiasSettings)[0])
        figure = output or (None if as_json else Path("distances.svg"))
        if figure is not None:
            check_figure(figure, force=force)
        chosen = select(corpus, split)
        documents = some_linked(of_split(corpus, chosen.split), settings.documents, seed=settings.seed)
        shown = progress(documents, total=len(documents), label="Encoding")
        pictures = list(document_images(shown, _image(settings)))
        if len(pictures) < len(documents):
            left_out = len(documents) - len(pictures)
            complain(f"{left_out} of {counted(len(documents), 'document')} left out, because no picture can be read")
        distances = negative_distances(pictures, batch=settings.batch, seed=settings.seed)
        found = measure(distances, resamplings=settings.resamplings, seed=settings.seed)
        if as_json:
            say_json(found.as_dict())
        else:
            show_bias(found)
        if figure is not None:
            write_distances(found, figure, force=force)
            say(f"Open {figure}", err=True)


def show_bias(found: Bias) -> None:
    """A table for people, on stdout."""
    from rich.table import Table

    from iconotext.papers.analyses.bias import in_words

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("Negatives of")
    for column in ("distances", "mean", "deviation", "quartiles"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, each in (("training", found.training), ("evaluation", found.evaluation)):
        quartiles = "  ".join(f"{value:.2f}" for value in each.quartiles)
        table.add_row(name, f"{each.count:,}", f"{each.mean:.2f}", f"{each.deviation:.2f}", quartiles)
    output_console().print(table)
    for note in in_words(found):
        say(f"\n{note}")


def _image(settings: BiasSettings) -> ImageBackbone | FeatureTable:
    """What gives the features.

    Raises:
        FeatureError: The backbone or the table is not there.
    """
    from iconotext.features import FeatureCache, cached_image, load_image_backbone

    if settings.image is not None and settings.image.endswith(".npy"):
        from iconotext.features.feature_table import load_feature_table

        return load_feature_table(Path(settings.image))
    backbone = load_image_backbone(settings.image) if settings.image else load_image_backbone()
    return cached_image(backbone, FeatureCache()) if settings.cache else backbone
