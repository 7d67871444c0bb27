"""Tables of links (Hessel 2019, Li 2021): how well each row's model finds the gold links of the test documents.

``score_links`` measures a trained model, ``score_baselines`` the rows without training: random scores and object
detection (Hessel 2019, section 3.3). ``report`` makes the table.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iconotext.encoders.stored_model import METRICS, load_model, read_metrics
from iconotext.errors import CorpusError, FeatureError
from iconotext.evaluate.metrics import LINK_METRICS
from iconotext.evaluate.results import Evaluation, Results, evaluate, read_results, write_results
from iconotext.report.tables import Drawing, Section
from iconotext.train.checkpoint import LOG
from iconotext.train.summary import describe_shares
from iconotext_papers.analyses.curves import read_curve, write_curves
from iconotext_papers.analyses.seeds import over_seeds
from iconotext_papers.tables.comparison import (
    CURVES,
    VALIDATION_K,
    Comparison,
    Notify,
    about_results,
    model_folder,
    results_path,
    run_title,
    runs_of,
)
from iconotext_papers.tables.link_sections import agreement_sections, bias_sections, share_sections, word_vector_file
from iconotext_papers.tables.results_grid import compare_rows, losses_grid, results_grid
from iconotext_papers.tables.rows import DETECTION, RANDOM, Row

if TYPE_CHECKING:
    from iconotext.encoders.stored_model import StoredModel
    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared
    from iconotext_papers.published import PublishedTable


def score_baselines(
    rows: Sequence[Row], prepared: Prepared, corpus: Path, recipe: Recipe, folder: Path, notify: Notify
) -> list[str]:
    """Score the rows without training, unless their scores exist; returns remarks for the report."""
    keys = {row.key for row in rows}
    if RANDOM in keys:
        score_random(corpus, folder)
    problem = None
    if DETECTION in keys:
        problem = score_object_detection(corpus, recipe, folder, notify, word_vector_file(recipe, prepared))
    return [] if problem is None else [f"Object detection: not possible here: {problem}."]


def score_random(corpus: Path, folder: Path) -> None:
    """Score random numbers on the test documents, unless these scores exist."""
    path = results_path(folder, RANDOM)
    if not path.is_file():
        score_links(RANDOM, corpus, path, about_results(corpus, RANDOM))


def score_object_detection(
    corpus: Path, recipe: Recipe, folder: Path, notify: Notify, vectors: Path | None = None
) -> str | None:
    """Score object detection on the test documents, unless its scores exist; returns the reason if it cannot."""
    from iconotext.corpus.store import read_corpus
    from iconotext.encoders.load import DEFAULT_TEXT, load_bridge
    from iconotext_papers.analyses.object_detection import evaluate_object_detection

    path = results_path(folder, DETECTION)
    if path.is_file():
        return None
    notify("object detection")
    # A table of features has no classifier, nor have pixels; where there are picture files, the default has one.
    own_image = recipe.features.image != "pixels" and not recipe.features.image.endswith(".npy")
    try:
        encoder = load_bridge(
            image=recipe.features.image if own_image else None,
            text=None if recipe.features.text == "words" else recipe.features.text,
            word_vectors=vectors,
            word_dim=300 if recipe.words is None else recipe.words.word_dim,
            texts=(sentence.text for document in read_corpus(corpus) for sentence in document.sentences),
        )
        detection = evaluate_object_detection(
            (document for document in read_corpus(corpus) if document.split == "test"),
            (document for document in read_corpus(corpus) if document.split == "validation"),
            encoder,
        )
    except FeatureError as error:
        return str(error)
    name = DEFAULT_TEXT if recipe.features.text == "words" else Path(recipe.features.text).name
    text = f"mean word vectors, {vectors.stem}" if vectors else name
    if detection.chosen is not None:
        about = {**about_results(corpus, VALIDATION_K), "k": detection.validation_k, "text": text}
        write_results(Results(detection.chosen, about), results_path(folder, VALIDATION_K), force=True)
    about = {**about_results(corpus, DETECTION), "k": detection.k, "text": text}
    write_results(Results(detection.best, about), path, force=True)
    return None


K_OF = {
    DETECTION: "is best on the test documents, which flatters it, as in the paper",
    VALIDATION_K: "is best on the validation documents",
}

Scores = Mapping[str, Mapping[int, Results]]
"""Scores by name of the line and seed; the seed is 0 for a row without training."""


def check_corpus(corpus: Path, prepared: Prepared, *, links: bool = True) -> None:
    """Check that a corpus has test documents, with gold links if ``links`` asks for them."""
    if not len(prepared.linked_documents("test") if links else prepared.documents("test")):
        lacks = "test documents with gold links" if links else "test documents"
        raise CorpusError(
            f"{corpus}: has no {lacks}, so there is nothing to fill the table with; "
            "`iconotext corpus split` makes a test split"
        )


def score_links(
    model: Path | str, corpus: Path, path: Path, about: Mapping[str, Any], *, prepared: Prepared | None = None
) -> None:
    """Score the test documents with gold links with a model, or at random, as ``iconotext evaluate`` does, as Parquet.

    With ``prepared``, the corpus as the model was trained on it, their mean loss (``test_loss``) is measured, too.
    """
    from iconotext.corpus.convert import own_features
    from iconotext.corpus.store import read_corpus
    from iconotext.decide.settings import LinkSettings
    from iconotext.evaluate.score_documents import score_documents

    documents = (d for d in read_corpus(corpus) if d.split == "test" and d.links is not None)
    linking = LinkSettings(evidence=("picture",), image=own_features(str(model), corpus))
    evaluation = evaluate(score_documents(str(model), documents, linking))
    if prepared is not None:
        about = {**about, "test_loss": _test_loss(load_model(Path(model)), prepared)}
    write_results(Results(evaluation, about), path, force=True)


def _test_loss(stored: StoredModel, prepared: Prepared) -> float:
    import torch

    from iconotext.train.validate import validate

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return validate(stored.model.to(device), prepared, stored.recipe, device, "test").loss


def report(comparison: Comparison) -> tuple[str, list[Section], dict[str, Any]]:
    """Return the title, sections (table, differences, training curves and more), and entries of ``results.json``."""
    table, scores = comparison.table, read_scores(comparison)
    means, by_seed = mean_scores(scores), scores_by_seed(comparison, scores)
    facts: dict[str, Any] = {"seeds": comparison.seeds}
    grid, compared = compare_rows(by_seed, comparison.reference, table.compared_with)
    sections: list[Section] = [grid] if grid else []
    if comparison.source is not None:
        facts["from"] = str(comparison.source)
    if "shares" in table.sections:
        added, facts["overtaking"] = share_sections(comparison.rows, by_seed, comparison.folder)
        sections = [*added, *sections]
    if "bias" in table.sections:
        added, more = bias_sections(comparison, by_seed)
        sections, facts = [*sections, *added], facts | more
    if "agreement" in table.sections:
        added, more = agreement_sections([(comparison, by_seed)])
        sections, facts = [*sections, *added], facts | more
    facts["rows"] = [
        _facts(comparison, line, scores[line.name], means[line.name], compared.get(line.name, {}))
        for line in _lines(comparison)
        if line.name in scores
    ]
    title = f"{table.title}, and {comparison.corpus.name}"
    published = {
        line.name: published_figures(table, line.name, comparison.dataset)
        for line in _lines(comparison)
        if line.name in table.published or line.name in means
    }
    measured = {name: {comparison.corpus.stem: evaluation} for name, evaluation in means.items()}
    notes = _notes(comparison, means, scores)
    if table.has_losses:
        losses = {name: {comparison.corpus.stem: loss} for name, loss in _mean_losses(scores).items()}
        grid = losses_grid(measured, losses, published, title=title, notes=notes)
    else:
        grid = results_grid(measured, published, title=title, notes=notes)
    runs = [run for row in comparison.rows for run in runs_of(row, comparison.seeds)]
    models = [
        (run_title(run.row, run.seed, comparison.seeds), model_folder(comparison.folder, run.key)) for run in runs
    ]
    caption = "Objective and AUC on the validation documents by epoch"
    return title, [grid, *sections, *draw_curves(models, comparison.folder, caption)], facts


def mean_scores(scores: Scores) -> dict[str, Evaluation]:
    """Average the scores of each line over the seeds."""
    return {name: over_seeds([result.evaluation for result in by_seed.values()]) for name, by_seed in scores.items()}


def _mean_losses(scores: Scores) -> dict[str, float]:
    """Return the mean loss over the seeds of each line whose loss on the test documents was measured."""
    losses = {
        name: [result.about["test_loss"] for result in by_seed.values() if "test_loss" in result.about]
        for name, by_seed in scores.items()
    }
    return {name: sum(values) / len(values) for name, values in losses.items() if values}


def scores_by_seed(comparison: Comparison, scores: Scores) -> dict[str, dict[int, Evaluation]]:
    """Return the scores by seed of each trained row, by its name."""
    return {
        row.name: {seed: result.evaluation for seed, result in scores[row.name].items()}
        for row in comparison.rows
        if row.recipe is not None and row.name in scores
    }


def _lines(comparison: Comparison) -> list[Row]:
    """Return the rows of our table: the published ones, and after object detection the other choice of K."""
    lines = []
    for row in comparison.shown:
        lines.append(row)
        if row.key == DETECTION:
            lines.append(Row("Object detection, K by validation", VALIDATION_K, None))
    return lines


def read_scores(comparison: Comparison) -> Scores:
    """Read the scores of the table's lines, of runs with valid figures."""
    scores: dict[str, dict[int, Results]] = {}
    for row in _lines(comparison):
        keys = {run.seed: run.key for run in runs_of(row, comparison.seeds)} or {0: row.key}  # 0: nothing is trained
        for seed, key in keys.items():
            path = results_path(comparison.folder, key)
            if path.is_file() and comparison.counts(key):
                scores.setdefault(row.name, {})[seed] = read_results(path)
    return scores


def line_names(comparison: Comparison) -> list[str]:
    """The lines of our table."""
    return [line.name for line in _lines(comparison)]


def published_figures(table: PublishedTable, name: str, dataset: str | None) -> dict[str, tuple[float, ...]]:
    """Return the published figures of a line by data set: of one, or of all if none is named."""
    return {row: figures for row, figures in table.published.get(name, {}).items() if dataset in (None, row)}


def _facts(
    comparison: Comparison, row: Row, scores: Mapping[int, Results], mean: Evaluation, compared: Mapping[str, Any]
) -> dict[str, Any]:
    first = next(iter(scores.values()))
    facts = {"row": row.name, **mean.as_dict(model=row.key, corpus=str(comparison.corpus), split="test")}
    facts |= {name: first.about[name] for name in ("k", "text", "trained_on", "test_loss") if name in first.about}
    if compared:  # it was trained
        facts["seeds"] = [
            {"seed": seed, "model": result.model, **{m: result.evaluation.means[m] for m in LINK_METRICS}}
            | _training(model_folder(comparison.folder, result.model))
            for seed, result in scores.items()
        ]
        facts |= compared
    if row.name in comparison.table.published:
        facts["published"] = {
            name: [None if math.isnan(value) else value for value in figures]
            for name, figures in published_figures(comparison.table, row.name, comparison.dataset).items()
        }
    return facts


def _training(model: Path) -> dict[str, Any]:
    """Return best epoch, epochs and seconds of a trained model."""
    if not (model / METRICS).is_file():
        return {}
    metrics = read_metrics(model)
    with (model / LOG).open(encoding="utf-8", newline="") as file:
        seconds = sum(float(row["seconds"]) for row in csv.DictReader(file))
    return {name: metrics[name] for name in ("best_epoch", "epochs", "validation_loss")} | {"seconds": seconds}


def draw_curves(models: Iterable[tuple[str, Path]], folder: Path, caption: str) -> list[Section]:
    """Draw the training curves of those of the named models that were trained."""
    curves = [replace(read_curve(model), name=name) for name, model in models if (model / LOG).is_file()]
    if not curves:
        return []
    write_curves(curves, folder / CURVES, force=True)
    return [Drawing(CURVES, caption)]


def _notes(comparison: Comparison, means: Mapping[str, Evaluation], scores: Scores) -> list[str]:
    notes, seeds = [], comparison.seeds
    if any(mean.defined for mean in means.values()):
        mean = next(iter(means.values()))
        of_seeds = "" if seeds == 1 else f" of the means over {seeds} seeds"
        notes.append(
            f"In percent. Ours: means over {len(mean.defined):,} test documents{of_seeds}, in brackets 95 % bootstrap "
            "intervals over them; bold is within one point of the best of its column."
        )
        if mean.undefined:
            notes.append(f"{len(mean.undefined):,} more test documents have no defined AUC and do not count.")
    trained = [row.name for row in comparison.rows if row.recipe is not None and row.name in scores]
    short = [f"{name} ({len(scores[name])})" for name in trained if len(scores[name]) < seeds]
    if short:
        notes.append(f"Fewer seeds than {seeds}: " + ", ".join(short) + ".")
    for row in comparison.rows:
        model = model_folder(comparison.folder, row.key)
        shares = read_metrics(model).get("concepts") if (model / METRICS).is_file() else None
        if shares is not None:
            notes.append(f"Rows with concepts: {describe_shares(shares)}.")
            break
    detected = [result for by_seed in scores.values() for result in by_seed.values() if "k" in result.about]
    if detected:
        texts = [f"K = {result.about['k']} {K_OF[result.model]}" for result in detected]
        by = detected[0].about.get("text", "an encoder that these scores do not name")
        notes.append(f"Object detection reads sentences and class names by {by}; {'; '.join(texts)}.")
    notes += comparison.table.notes
    if comparison.source is not None:
        notes.append(
            f"1 is trained on the gold links of {comparison.source} and knows its words only (published: MSCOCO); 2 on "
            "the documents of the table without any links."
        )
    if comparison.prepared.meta["images_left_out"]:
        notes.append(
            f"{comparison.prepared.meta['images_left_out']:,} pictures that cannot be read are left out in training "
            "and of Random; in all other rows they count with the score 0."
        )
    return [*notes, *comparison.problems]
