"""``iconotext analyze`` on results and corpora: correlation, difficulty, bias, best pictures, studies and votes.

The analyses are those of Hessel 2019 (section 4.1, figures 3 and 4), Li 2021 and Alikhani 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from iconotext.cli.common import known_errors, progress
from iconotext.cli.options import Download, Force, Json, Split, WholeSplit, argument, option, settings_options
from iconotext.cli.output import complain, say, say_json, show
from iconotext.errors import OutputError, SettingError
from iconotext.papers.analyses.settings import (
    BiasSettings,
    DifficultySettings,
    StudySettings,
    TopSettings,
    VotesSettings,
)
from iconotext.plain_text import counted

if TYPE_CHECKING:
    from iconotext.papers.analyses.top_images import Search

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
        from iconotext.papers.analyses.difficulty import as_dict, correlation_grid, correlations, named_results

        found = correlations(named_results(results))
        if as_json:
            say_json(as_dict(found))
        else:
            show([correlation_grid(found)])


@settings_options
def difficulty(
    results: Annotated[Path, argument(help="File of `evaluate --results`.")],
    corpus: Annotated[Path, argument(help="The corpus it was made from.")],
    settings: DifficultySettings,
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
    settings: BiasSettings,
    split: WholeSplit = None,
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
        from iconotext.evaluate.score_documents import corpus_part
        from iconotext.papers.analyses.bias import bias_grid, corpus_bias, write_distances
        from iconotext.report.charts import check_figure

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
    """The settings, with the features beside a corpus without picture files; a message says so."""
    from iconotext.corpus.convert import instead_of_pictures

    table = None if settings.image else instead_of_pictures(corpus)
    if table is None:
        return settings
    complain(f"{table} stands for the pictures, of which {corpus.name} has no files")
    return settings.model_copy(update={"image": table})


SMALL_EFFECT = 0.2
"""Cohen's term for an effect of this size."""

OWN = "own"
"""Stands for a relation: for each model the relations that it predicts."""

Corpus = Annotated[Path, argument(help="Corpus file of texts and their pictures.")]
PartOfCorpus = Annotated[Split | None, option(help="Part of the corpus (default: test; all where there is none).")]


@settings_options
def top(
    models: Annotated[list[str], argument(metavar="MODEL...", help="As for `evaluate --pool`.")],
    corpus: Corpus,
    settings: TopSettings,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("top.html"),
    split: PartOfCorpus = None,
    relation: Annotated[
        list[str] | None,
        option(
            help="Texts with this relation to their picture; may be given several times (default: every relation that "
            "the corpus has labels of)."
        ),
    ] = None,
    document: Annotated[list[str] | None, option(help="Show this text (its id) instead of random ones.")] = None,
    force: Force = False,
    download: Download = False,
) -> None:
    """Write a page with the best pictures of several models for the same texts, side by side.

    With the relations that are labelled and those that the models tell, and the weight of each word for models with
    attention, as figures 1, 6, 7, 9 and 10 of Alikhani 2021. Every model searches all pictures of the split, refined
    as its folder says.

    **Examples**

    - `iconotext analyze top models/cmcm models/cmca clue.jsonl`
    - `iconotext analyze top models/cmcm models/cmca clue.jsonl --relation story --count 5 --output story.html`
    """
    with known_errors(download=download):
        from iconotext.papers.analyses.examples import attention_of
        from iconotext.papers.analyses.top_images import (
            ask,
            chosen_queries,
            held_relations,
            named_queries,
            top_images_page,
        )
        from iconotext.system.files import check_overwrite, write_text

        check_overwrite(output, force)
        searches = _searches(models, corpus, split, cache=settings.cache)
        pairs = searches[0].pairs
        if document:
            chosen, drawn = named_queries(pairs, document), "The texts were named by whoever made this page."
        else:
            some = relation or held_relations(pairs)
            chosen = chosen_queries(pairs, relations=some, count=settings.count, seed=settings.seed)
            drawn = f"The texts were drawn at random (seed {settings.seed}), not chosen."
        attention = {model: words for model in models if (words := attention_of(model)) is not None}
        asked = ask(searches, chosen, attention, count=settings.pictures)
        write_text(output, top_images_page(asked, pairs, corpus=corpus.name, drawn=drawn), force=force)
        say(f"Open {output}", err=True)


@settings_options
def study(
    models: Annotated[
        list[str],
        argument(
            metavar="MODEL... OTHER",
            help="The models that are asked about, as for `evaluate --pool`, and last the one they are compared with.",
        ),
    ],
    corpus: Corpus,
    settings: StudySettings,
    output: Annotated[Path, typer.Option("--output", "-o", help="The study to make.")] = Path("study.sqlite"),
    split: PartOfCorpus = None,
    relation: Annotated[
        list[str] | None,
        option(
            help="Only texts with this relation to their picture; may be given several times. `own`: for each model "
            "those that it tells."
        ),
    ] = None,
    count: Annotated[int | None, option(min=1, help="Texts to draw, for each relation (default: all).")] = None,
    download: Download = False,
) -> None:
    """Make a study: for each text, the best pictures of two models side by side, for people to choose from.

    All models search all pictures of the split, refined as their folders say. Each is compared with the last one. The
    same picture twice stays in the study, marked as such. `iconotext serve --study` shows the pairs to people, in an
    order and on sides that are random for each of them.

    **Examples**

    - `iconotext analyze study models/cmcm models/cmca clue.jsonl --relation story --count 100`
    - `iconotext analyze study models/cmcm-visible models/cmcm-story models/cmca clue.jsonl --relation own --count 100`
    """
    with known_errors(download=download):
        from iconotext.papers.analyses.top_images import chosen_queries
        from iconotext.papers.studies import create_study
        from iconotext.papers.studies.results import pairs_needed, smallest_effect
        from iconotext.papers.studies.study import contenders

        if output.exists():
            raise OutputError(f"{output} exists already, and a study may hold votes; give another name (--output)")
        if len(models) < 2:
            raise SettingError("a study compares models: name at least two, and behind them the corpus")
        *searches, other = _searches(models, corpus, split, cache=settings.cache)
        found = []
        for search in searches:
            wanted = _relations(search, relation or [])
            queries = chosen_queries(search.pairs, relations=wanted, count=count, seed=settings.seed)
            found += contenders(search, other, queries)
        same = create_study(output, found, second=other.model, raters=settings.raters, seed=settings.seed)
        say(
            f"{output}: {len(found):,} pairs, {same:,} of them the same picture twice; "
            f"{settings.raters * len(found):,} votes are wanted: iconotext serve --study {output}",
            err=True,
        )
        for search in searches:
            pairs = sum(each.model == search.model for each in found)
            if pairs > 1:
                say(
                    f"{search.model}: {pairs:,} pairs can show an effect of {smallest_effect(pairs):.2f}; one of "
                    f"{SMALL_EFFECT:g}, usually called small, takes {pairs_needed(SMALL_EFFECT):,} pairs (--count)",
                    err=True,
                )


def _searches(models: Sequence[str], corpus: Path, split: Split | None, *, cache: bool) -> list[Search]:
    """The models, each with its encoding of the corpus's pairs."""
    from iconotext.cli.evaluate import encoded_pairs, usual_part
    from iconotext.evaluate.retrieval import chosen_refinement, retrieval_encoder, retrieval_score
    from iconotext.papers.analyses.top_images import Search, check_same_pairs

    if len(set(models)) < len(models):
        raise SettingError("the models are named twice; each would be compared with itself")
    chosen = usual_part(corpus, split, Split.TEST, "a model finds again what it was trained on")
    searches = []
    for model in models:
        encoder = retrieval_encoder(model, corpus, cache=cache)
        pairs = encoded_pairs(encoder, chosen)
        refinement = chosen_refinement(model, encoder)
        score = retrieval_score(encoder, pairs, refinement)
        searches.append(Search(model, encoder, pairs, score, refinement if refinement.threshold else None))
    check_same_pairs(searches)
    if left_out := searches[0].pairs.left_out:
        complain(f"{len(left_out)} left out, such as {left_out[0].id!r}, because {left_out[0].reason}")
    return searches


def _relations(search: Search, wanted: Sequence[str]) -> list[str]:
    """The relations for which texts of a model are selected."""
    if OWN not in wanted:
        return list(wanted)
    if search.encoder.coherence is None:
        raise SettingError(f"--relation {OWN}: {search.model} tells no relations; name some")
    return [*(each for each in wanted if each != OWN), *search.encoder.coherence.relations]


@settings_options
def votes(
    file: Annotated[Path, argument(metavar="STUDY", help="The study's file.")],
    settings: VotesSettings,
    csv: Annotated[Path | None, option(metavar="FILE", help="Also write the raw votes to it.")] = None,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Count the votes of a study: better, worse, both good, both bad, for each relation, by majority.

    With a t-test and a sign test of the preference, the smallest effect that so many pairs could have shown, and how
    far the raters agree. `iconotext serve --study` has people vote, and shows the same at the end.

    **Examples**

    - `iconotext analyze votes study.sqlite`
    - `iconotext analyze votes study.sqlite --csv votes.csv --json`
    """
    with known_errors():
        from iconotext.papers.studies import export_votes, study_results
        from iconotext.papers.studies.results import study_grids

        found = study_results(file, power=settings.power, significance=settings.significance)
        if csv is not None:
            export_votes(file, csv, force=force)
        if as_json:
            say_json(found.as_dict())
        else:
            show(study_grids(found))
