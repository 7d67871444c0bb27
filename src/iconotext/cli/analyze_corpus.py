"""``iconotext analyze``: what makes documents hard, and what training makes too easy."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

from iconotext.cli.common import known_errors, progress
from iconotext.cli.grids import show
from iconotext.cli.options import Download, Force, Json, SettingsPanel, Split, argument, option, settings_options
from iconotext.cli.output import complain, say, say_json
from iconotext.papers.analyses.settings import BiasSettings, DifficultySettings
from iconotext.plain_text import counted

S = TypeVar("S", BiasSettings, DifficultySettings)


def correlation(
    results: Annotated[list[Path], argument(metavar="RESULTS...", help="Files of `evaluate --results`, two or more.")],
    as_json: Json = False,
) -> None:
    """Do models have trouble with the same documents? Spearman's ρ of the AUC per document, for every pair.

    **Example**

    - `iconotext analyze correlation dc.parquet tk.parquet ap.parquet`
    """
    with known_errors():
        from iconotext.papers.analyses.correlation import as_dict, correlation_grid, correlations, named_results

        found = correlations(named_results(results))
        if as_json:
            say_json(as_dict(found))
        else:
            show([correlation_grid(found)])


@settings_options
def difficulty(
    results: Annotated[Path, argument(help="File of `evaluate --results`.")],
    corpus: Annotated[Path, argument(help="The corpus it was made from.")],
    settings: Annotated[DifficultySettings, SettingsPanel("What documents are seen through")],
    as_json: Json = False,
    download: Download = False,
) -> None:
    """What makes a document hard: how much alike its parts are (spread), or what it is about (content)?

    Two regressions of the AUC of the documents: on image and text spread, and on those with content (principal
    components of the mean vectors).

    **Examples**

    - `iconotext analyze difficulty ap.parquet corpus.jsonl`
    - `iconotext analyze difficulty ap.parquet corpus.jsonl --word-vectors GoogleNews.bin.gz --json`
    """
    with known_errors(download=download):
        from iconotext.evaluate import read_results
        from iconotext.papers.analyses.difficulty import corpus_difficulty, difficulty_grid

        evaluation = read_results(results).evaluation
        settings = _with_features(settings, corpus)
        watch = partial(progress, total=len(evaluation.defined), label="Encoding")
        found, left_out = corpus_difficulty(evaluation, corpus, settings, progress=watch)
        if left_out:
            names = ", ".join(left_out[:5])
            complain(f"{counted(len(left_out), 'document')} left out, because no picture can be read: {names}")
        if as_json:
            say_json(asdict(found))
        else:
            show([difficulty_grid(found)])


@settings_options
def bias(
    corpus: Annotated[Path, argument(help="Corpus file with gold links.")],
    settings: Annotated[BiasSettings, SettingsPanel("What is compared")],
    split: Annotated[Split | None, option(help="Part of the corpus (default: all).")] = None,
    output: Annotated[
        Path | None,
        option(
            "--output", "-o", help="SVG, PNG or PDF file for the histogram (default: distances.svg, with --json none)."
        ),
    ] = None,
    download: Download = False,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Are negatives easier in training than in evaluation? Distances between gold images and negatives, no model.

    In training the negatives of a sentence are images of other documents, in evaluation the other images of its own.
    The L2 distances of their features from the gold image are compared (Kolmogorov–Smirnov test, effect sizes), and
    drawn as two histograms. `iconotext reproduce li2021/bias` adds what training makes of it.

    **Examples**

    - `iconotext analyze bias corpus.jsonl --output distances.png`
    - `iconotext analyze bias corpus.jsonl --split test --documents 500 --json | jq .ks`
    - `iconotext analyze bias dii/ --image regions.tsv`
    """
    with known_errors(download=download):
        from iconotext.evaluate.corpus_part import corpus_part
        from iconotext.papers.analyses.bias import bias_grid, corpus_bias, write_distances
        from iconotext.papers.analyses.drawing import check_figure

        figure = output or (None if as_json else Path("distances.svg"))
        if figure is not None:
            check_figure(figure, force=force)
        chosen = corpus_part(corpus, split and split.value)
        settings = _with_features(settings, corpus)
        watch = partial(progress, total=min(chosen.count, settings.documents), label="Encoding")
        found, left_out = corpus_bias(chosen.documents(), settings, progress=watch)
        if left_out:
            complain(f"{counted(left_out, 'document')} left out, because no picture can be read")
        if as_json:
            say_json(asdict(found))
        else:
            show([bias_grid(found)])
        if figure is not None:
            write_distances(found, figure, force=force)
            say(f"Open {figure}", err=True)


def _with_features(settings: S, corpus: Path) -> S:
    """The settings, with the features beside a corpus that has no picture files, which is told."""
    from iconotext.corpus.feature_files import instead_of_pictures

    table = None if settings.image else instead_of_pictures(corpus)
    if table is None:
        return settings
    complain(f"{table} stands for the pictures, of which {corpus.name} has no files")
    return settings.model_copy(update={"image": table})
