"""``iconotext papers analyze``: the analyses of the three papers, of results, corpora and models."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from iconotext.cli.common import known_errors, progress
from iconotext.cli.evaluate import EvaluateSettings, ScoredLinks, check_names, evaluate_model, with_feature_table
from iconotext.cli.options import (
    Download,
    Fields,
    Force,
    Json,
    Split,
    WholeSplit,
    argument,
    option,
    settings_options,
)
from iconotext.cli.output import complain, say, say_json, show
from iconotext.corpus.store import corpus_folder, read_corpus
from iconotext.errors import FeatureError, SettingError
from iconotext.features.feature_table import TABLE_FILE
from iconotext.linker import LinkSettings
from iconotext.plain_text import counted
from iconotext_papers.analyses.settings import BiasSettings, DifficultySettings, RefinementSettings, TopSettings
from iconotext_papers.cli.studies import Corpus, PartOfCorpus, searches_of

S = TypeVar("S", BiasSettings, DifficultySettings)


def correlation(
    results: Annotated[list[Path], argument(metavar="RESULTS...", help="Files of `evaluate --results`, two or more.")],
    as_json: Json = False,
) -> None:
    """Do models have trouble with the same documents? Spearman's ρ of the AUC per document, for every pair.

    **Example**

    - `iconotext papers analyze correlation dc.parquet tk.parquet ap.parquet`
    """
    with known_errors():
        from iconotext_papers.analyses.difficulty import as_dict, correlation_grid, correlations, named_results

        results_of_both = correlations(named_results(results))
        if as_json:
            say_json(as_dict(results_of_both))
        else:
            show([correlation_grid(results_of_both)])


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

    - `iconotext papers analyze difficulty ap.parquet corpus.jsonl`
    - `iconotext papers analyze difficulty ap.parquet c.jsonl --json`
    """
    with known_errors(download=download):
        from iconotext.evaluate import read_results
        from iconotext_papers.analyses.difficulty import corpus_difficulty, difficulty_grid

        evaluation = read_results(results).evaluation
        settings = _with_features(settings, corpus)
        watch = partial(progress, total=len(evaluation.defined), label="Encoding")
        analysis, left_out = corpus_difficulty(evaluation, corpus, settings, progress=watch)
        if left_out:
            names = ", ".join(left_out[:5])
            complain(f"{counted(len(left_out), 'document')} left out, because no picture can be read: {names}")
        if as_json:
            say_json(asdict(analysis))
        else:
            show([difficulty_grid(analysis)])


@settings_options
def bias(
    corpus: Annotated[Path, argument(help="Corpus file with gold links.")],
    settings: BiasSettings,
    split: WholeSplit = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            help="SVG, PNG or PDF file (default: distances.svg). The histogram; with --json there is none by default.",
        ),
    ] = None,
    download: Download = False,
    as_json: Json = False,
    force: Force = False,
) -> None:
    """Are negatives easier in training than in evaluation? Distances between gold images and negatives, no model.

    In training the negatives of a sentence are images of other documents, in evaluation the other images of its own.
    The L2 distances of their features from the gold image are compared (Kolmogorov–Smirnov test, effect sizes), and
    drawn as two histograms. `iconotext papers reproduce li2021/bias` adds what training makes of it.

    **Examples**

    - `iconotext papers analyze bias corpus.jsonl --output distances.png`
    - `iconotext papers analyze bias corpus.jsonl --split test --json | jq .ks`
    - `iconotext papers analyze bias dii/ --image regions.tsv`
    """
    with known_errors(download=download):
        from iconotext.evaluate.score_documents import corpus_part
        from iconotext_papers.analyses.bias import bias_grid, corpus_bias, write_distances
        from iconotext_papers.charts import check_figure

        figure = output or (None if as_json else Path("distances.svg"))
        if figure is not None:
            check_figure(figure, force=force)
        chosen = corpus_part(corpus, split)
        settings = _with_features(settings, corpus)
        watch = partial(progress, total=min(chosen.count, settings.documents), label="Encoding")
        analysis, left_out = corpus_bias(chosen.documents(), settings, progress=watch)
        if left_out:
            complain(f"{counted(left_out, 'document')} left out, because no picture can be read")
        if as_json:
            say_json(asdict(analysis))
        else:
            show([bias_grid(analysis)])
        if figure is not None:
            write_distances(analysis, figure, force=force)
            say(f"Open {figure}", err=True)


def _with_features(settings: S, corpus: Path) -> S:
    """The settings, with the features beside a corpus without picture files; a message says so."""
    table = corpus_folder(corpus) / TABLE_FILE
    if settings.image or not table.is_file():
        return settings
    first = next((image for document in read_corpus(corpus) for image in document.images), None)
    if first is None or first.file is not None:
        return settings
    complain(f"{table} stands for the pictures, of which {corpus.name} has no files")
    return settings.model_copy(update={"image": str(table)})


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
            help="Texts with this relation (default: each labelled one). It is one to their picture; may be repeated."
        ),
    ] = None,
    document: Annotated[list[str] | None, option(help="Show this text (its id) instead of random ones.")] = None,
    force: Force = False,
    download: Download = False,
) -> None:
    """Write a page with the best pictures of several models for the same texts, side by side.

    The page shows the relations that are labelled and those that the models predict, and the weight of each word for
    models with attention, as figures 1, 6, 7, 9 and 10 of Alikhani 2021. Every model searches all pictures of the
    split, refined as its folder says.

    **Examples**

    - `iconotext papers analyze top models/cmcm models/cmca clue.jsonl`
    - `iconotext papers analyze top models/cmcm clue.jsonl --relation story --count 5`
    """
    with known_errors(download=download):
        from iconotext.system.files import check_overwrite, write_text
        from iconotext_papers.analyses.examples import attention_of
        from iconotext_papers.analyses.top_images import (
            ask,
            chosen_queries,
            held_relations,
            named_queries,
            top_images_page,
        )

        check_overwrite(output, force)
        searches = searches_of(models, corpus, split, cache=settings.cache)
        pairs = searches[0].pairs
        if document:
            chosen, drawn = named_queries(pairs, document), "The texts were named by whoever made this page."
        else:
            relations = relation or held_relations(pairs)
            chosen = chosen_queries(pairs, relations=relations, count=settings.count, seed=settings.seed)
            drawn = f"The texts were drawn at random (seed {settings.seed}), not chosen."
        attention = {model: words for model in models if (words := attention_of(model)) is not None}
        results = ask(searches, chosen, attention, count=settings.pictures)
        write_text(output, top_images_page(results, pairs, corpus=corpus.name, drawn=drawn), force=force)
        say(f"Open {output}", err=True)


@settings_options
def examples(
    model: Annotated[str, argument(help="As for `evaluate`.")],
    corpus: Annotated[Path, argument(help="Corpus file with gold links.")],
    linking: ScoredLinks,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("examples.html"),
    split: WholeSplit = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="Number of documents.")] = 4,
    document: Annotated[
        list[str] | None, option(help="Show the document of this id. It is shown instead of representative ones.")
    ] = None,
    force: Force = False,
    download: Download = False,
) -> None:
    """Write a page with what a model links in representative documents: those whose AUC is nearest to the mean.

    It shows the five strongest edges of the best one-to-one assignment of each, which of them the author drew too,
    and the whole matrix of scores; for a model that reads concepts also the main ones of each picture, in italics where
    the sentences have their words.

    **Examples**

    - `iconotext papers analyze examples default corpus.jsonl --split test`
    - `iconotext papers analyze examples models/wiki wiki.jsonl --document Mauritius`
    """
    with known_errors(download=download):
        from iconotext.evaluate.score_documents import corpus_part, score_documents
        from iconotext.system.files import check_overwrite, write_text
        from iconotext_papers.analyses.examples import (
            concept_source,
            examples_of,
            examples_page,
            representative,
            shown_documents,
        )

        check_overwrite(output, force)
        check_names(linking, model)
        chosen = corpus_part(corpus, split)
        ids, mean = list(dict.fromkeys(document or ())), None
        if not ids:
            evaluation = evaluate_model(model, chosen, linking, EvaluateSettings()).evaluation
            ids, mean = [d.id for d in representative(evaluation, count)], evaluation.means["auc"]
        documents = shown_documents(ids, chosen.documents())
        linking = with_feature_table(linking, model, corpus)
        scored = score_documents(model, documents, linking, say=complain)
        items = examples_of(documents, scored, concept_source(model, linking.image))
        write_text(output, examples_page(items, model=model, corpus=corpus.name, mean_auc=mean), force=force)
        say(f"Open {output}", err=True)


def curves(
    folders: Annotated[list[Path], argument(metavar="MODEL_FOLDER...", help="Folders of trained models.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="SVG, PNG or PDF file to write.")] = Path("curves.svg"),
    force: Force = False,
) -> None:
    """Draw how objective and AUC on the validation documents rise together during training, a panel for each model.

    The numbers are in `log.csv` of each folder.

    **Example**

    - `iconotext papers analyze curves models/dc models/ap --output curves.svg`
    """
    with known_errors():
        from iconotext_papers.analyses.curves import read_curve, write_curves

        write_curves([read_curve(folder) for folder in folders], output, force=force)
        say(f"Open {output}", err=True)


@settings_options
def refinement(
    model: Annotated[str, argument(help="Folder of a coherence-aware model.")],
    corpus: Annotated[Path, argument(help="Corpus file of texts and their pictures.")],
    settings: Annotated[
        RefinementSettings,
        Fields(
            names={"strengths": "strength", "thresholds": "threshold"},
            more={"strengths": {"metavar": "λ"}, "thresholds": {"metavar": "T"}, "pool": {"metavar": "N"}},
        ),
    ],
    split: Annotated[Split | None, option(help="Split to take (default: validation, else all).")] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "-o",
            help="Folder of the results (default: refinement). refinement.json and refinement.svg; with "
            "--json none. In the "
            "model's folder, `evaluate` finds the settings by itself.",
        ),
    ] = None,
    as_json: Json = False,
    force: Force = False,
    download: Download = False,
) -> None:
    """Choose how much the relations refine the ranking of hard queries: λ and T, by the median rank on validation.

    Hard are queries whose two best pictures differ by less than T. Every λ is tried with every T on the same random
    pools; no refinement is among what can win. The drawing shows, as Fig. 3b, the rank of the right picture against
    the difference of the two best ones.

    **Examples**

    - `iconotext papers analyze refinement models/cmcm clue.jsonl -o models/cmcm`
    - `iconotext papers analyze refinement models/cmcm clue.jsonl --strength 0.1`
    """
    with known_errors(download=download):
        from iconotext.cli.evaluate import default_part, encoded_pairs
        from iconotext.encoders.coherence_relations import SETTINGS_FILE
        from iconotext.evaluate.retrieval import retrieval_encoder
        from iconotext.system.files import check_overwrite
        from iconotext_papers.analyses.refinement import FIGURE_FILE, tune_pairs, tuning_sections, write_tuning

        folder = output or (None if as_json else Path("refinement"))
        if folder is not None:
            for name in (FIGURE_FILE, SETTINGS_FILE):
                check_overwrite(folder / name, force)
        chosen = default_part(corpus, split, Split.VALIDATION, "λ and T look better than they are on what chose them")
        encoder = retrieval_encoder(model, corpus, cache=settings.cache)
        if encoder.coherence is None:
            raise SettingError(f"{model}: predicts no relations to refine by; train one with objective.coherence")
        pairs = encoded_pairs(encoder, chosen)
        if pairs.left_out:
            first = pairs.left_out[0]
            complain(f"{len(pairs.left_out)} left out, such as {first.id!r}, because {first.reason}")
        tuning = tune_pairs(encoder.coherence, pairs, settings)
        about = {
            "model": model,
            "corpus": str(chosen.path),
            "split": chosen.split,
            "pairs": len(pairs.ids),
            "images": len(pairs.images),
            "seed": settings.seed,
        }
        if as_json:
            say_json(about | tuning.as_dict())
        else:
            show(tuning_sections(tuning))
        if folder is not None:
            write_tuning(tuning, folder, about, force=force)
            say(f"Open {folder / FIGURE_FILE}", err=True)


@settings_options
def spread(
    model: Annotated[str, argument(help="As for `evaluate`.")],
    corpus: Annotated[Path, argument(help="Corpus file; it needs no gold links.")],
    settings: Annotated[
        DifficultySettings,
        Fields(only=("text", "image", "word_vectors", "word_dim", "cache")),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("spread.html"),
    split: WholeSplit = None,
    count: Annotated[int, typer.Option(min=1, max=100, help="Number of documents of each level.")] = 1,
    k: Annotated[int, typer.Option("-k", min=1, max=20, help="Class names of a picture, in detection.")] = 10,
    force: Force = False,
    download: Download = False,
) -> None:
    """Write a page with what a model, and beside it object detection, link in documents of high, middle and low spread.

    Spread is how far the pictures, and the sentences, of a document lie apart. No gold links are needed (Fig. 5 of
    Hessel 2019, an article of WIKI).

    **Example**

    - `iconotext papers analyze spread models/wiki wiki.jsonl --split train`
    """
    with known_errors(download=download):
        from iconotext.corpus.store import read_corpus
        from iconotext.encoders.load import load_bridge
        from iconotext.evaluate.score_documents import corpus_part, score_documents
        from iconotext.system.files import check_overwrite, write_text
        from iconotext_papers.analyses.difficulty import by_level, detected, spreads
        from iconotext_papers.analyses.examples import examples_of, examples_page, shown_documents

        check_overwrite(output, force)
        linking = LinkSettings(evidence=("picture",))
        check_names(linking, model)
        chosen = corpus_part(corpus, split)
        encoder = load_bridge(
            **_with_features(settings, corpus).model_dump(exclude={"dimensions"}),
            texts=(sentence.text for document in read_corpus(corpus) for sentence in document.sentences),
        )
        levels = by_level(list(spreads(chosen.documents(), encoder)), count)
        documents = shown_documents([s.id for _, s in levels], chosen.documents())
        scored = score_documents(model, documents, with_feature_table(linking, model, corpus), say=complain)
        sides = {model: examples_of(documents, scored)}
        try:
            sides[f"object detection, K = {k}"] = examples_of(documents, detected(documents, encoder, k))
        except FeatureError as error:
            complain(f"without object detection: {error}")
        renamed = []
        for number, (level, measured) in enumerate(levels):
            for side, examples in sides.items():
                example = examples[number]
                caption = f"{level.capitalize()} spread (images {measured.image:.2f}, text {measured.text:.2f}), {side}"
                title = f"{caption}: {example.document.title}" if example.document.title else caption
                renamed.append(replace(example, document=replace(example.document, title=title)))
        heading = "Links where spread is high, middle and low"
        page = examples_page(renamed, model=model, corpus=corpus.name, mean_auc=None, heading=heading)
        write_text(output, page, force=force)
        say(f"Open {output}", err=True)
