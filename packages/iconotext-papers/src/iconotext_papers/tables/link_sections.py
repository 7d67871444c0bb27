"""Sections beside the tables of links: agreement of models, hard documents, sampling bias, and shares of labels.

``agreement_sections`` follows Hessel 2019 (sections 4.1 and 5): whether models fail on the same documents, and why
documents are hard. ``bias_sections`` and ``share_sections`` follow Li 2021: the difference between the negatives of
training and of evaluation, and from which share of labelled documents on the supervised model is better.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.encoders.stored_model import VOCABULARY
from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate.metrics import LINK_METRICS
from iconotext.evaluate.results import Evaluation
from iconotext.features.word_vectors import MINILM, WORD2VEC, load_vocabulary, train_word2vec
from iconotext.report.tables import Drawing, Grid, Note, Section, difference, percent, points
from iconotext.system.files import write_text
from iconotext.train.prepared import TrainingSentences
from iconotext_papers.analyses.bias import ImageVectors, bias_grid, measure, negative_distances, write_distances
from iconotext_papers.analyses.difficulty import (
    Difficulty,
    Explained,
    check_enough,
    correlations,
    explain,
    explained_by_spread,
    spread,
)
from iconotext_papers.analyses.seeds import differences, over_seeds
from iconotext_papers.charts import BLUE, legend_above, write_figure
from iconotext_papers.published import published_facts
from iconotext_papers.tables.comparison import Comparison, run_title, runs_of
from iconotext_papers.tables.results_grid import COMPARED, BySeed
from iconotext_papers.tables.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared
    from iconotext.types import FloatMatrix


def word_vector_file(recipe: Recipe, prepared: Prepared) -> Path | None:
    """Return the file of a recipe's initial word vectors; None if it names none, or a text backbone.

    Vectors that word2vec learns from the training sentences are written beside the prepared corpus.
    """
    vectors = recipe.words.word_vectors if recipe.words else None
    if recipe.words is None or vectors is None or vectors == MINILM:
        return None
    if vectors != WORD2VEC or prepared.words is None:
        return Path(vectors)
    path = prepared.folder / f"{WORD2VEC}.txt"
    if not path.is_file():
        words = load_vocabulary(prepared.folder / VOCABULARY).words
        learned = TrainingSentences(prepared, prepared.words)
        table = train_word2vec(learned, len(words), dim=recipe.words.word_dim, seed=recipe.seed)
        lines = (
            f"{word} {' '.join(map(str, row))}" for word, row in zip(words, table.tolist(), strict=True) if any(row)
        )
        write_text(path, "\n".join(lines) + "\n", force=True)
    return path


def vectors_of(
    corpus: Path, recipe: Recipe, prepared: Prepared, images: NDArray[np.floating], ids: Collection[str]
) -> Iterator[tuple[str, FloatMatrix, FloatMatrix]]:
    """Yield id, (m, dim) images and (n, dim) sentences of test documents, in the order of the corpus."""
    from iconotext.corpus.store import read_corpus

    numbers = {prepared.ids[number]: number for number in prepared.documents("test").tolist()}
    encode = _sentence_vectors(corpus, recipe, prepared)
    for document in read_corpus(corpus):
        if document.id in ids and document.id in numbers:
            vectors = np.asarray(images[rows_of(prepared, numbers[document.id])], np.float32)
            yield document.id, vectors, encode([sentence.text for sentence in document.sentences])


def rows_of(prepared: Prepared, document: int) -> NDArray[np.int64]:
    """Return the rows of a document's images."""
    return np.asarray(prepared.image_rows[prepared.image_offsets[document] : prepared.image_offsets[document + 1]])


def spread_note(recipe: Recipe, prepared: Prepared) -> str:
    """Return a sentence that names the vectors of images and sentences whose spread is computed."""
    file = word_vector_file(recipe, prepared)
    text = recipe.features.text if recipe.features.text != "words" else "the text backbone that comes with the program"
    of_text = f"mean word vectors of {file.name}" if file else text
    paper = "the paper has DenseNet169 and mean word2vec vectors"
    return f"Spread of images by {_image_features(recipe, prepared)}, of sentences by {of_text}; {paper}."


def _image_features(recipe: Recipe, prepared: Prepared) -> str:
    image = recipe.features.image
    return Path(image).name if image.endswith(".npy") else str(prepared.meta["backbones"]["image"])


def _sentence_vectors(corpus: Path, recipe: Recipe, prepared: Prepared) -> Callable[[Sequence[str]], FloatMatrix]:
    """Use mean word vectors, as in the paper, if the recipe names a file of them; else a text backbone."""
    from iconotext.corpus.store import read_corpus
    from iconotext.features import FeatureCache, cached_text, load_text_backbone
    from iconotext.features.word_vectors import mean_words

    file = word_vector_file(recipe, prepared)
    if file is not None and recipe.words is not None:
        texts = (sentence.text for document in read_corpus(corpus) for sentence in document.sentences)
        return mean_words(file, recipe.words.word_dim, texts).encode
    words = recipe.features.text == "words"
    text = load_text_backbone() if words else load_text_backbone(recipe.features.text)
    return cached_text(text, FeatureCache()).encode


_COMPARED = {"DC": "dense", "TK": "top-k", "AP": "assignment"}
"""The models of the paper's comparison, and the keys of their rows."""


def compared_rows(comparison: Comparison) -> dict[str, Row]:
    """Return the rows of DC, TK and AP with hard negatives: where a table has both kinds, those named so."""
    rows = {row.key: row for row in comparison.rows}
    keys = {name: f"{key}-hard" if f"{key}-hard" in rows else key for name, key in _COMPARED.items()}
    return {name: rows[key] for name, key in keys.items() if key in rows}


Measured = tuple[Comparison, Mapping[str, BySeed]]
"""A comparison, and the scores by seed of its rows, by name."""


def agreement_sections(measured: Sequence[Measured]) -> tuple[list[Section], dict[str, Any]]:
    """Compute rank correlations of the models' AUC, and explain that of AP, for each corpus beside the paper's."""
    correlation, rho = _correlation(measured)
    difficulty, explained = _difficulty(measured)
    return [section for section in (correlation, difficulty) if section], {"correlation": rho, "difficulty": explained}


def _scores_by_model(comparison: Comparison, by_name: Mapping[str, BySeed]) -> dict[str, BySeed]:
    """Return the scores of DC, TK and AP, as far as they were trained and left their start."""
    by_model: dict[str, BySeed] = {}
    for name, row in compared_rows(comparison).items():
        scores = by_name.get(row.name, {})
        runs = {run.seed: run.key for run in runs_of(row, comparison.seeds)} if scores else {}
        if started := {seed: value for seed, value in scores.items() if not comparison.never_left_start(runs[seed])}:
            by_model[name] = started
    return by_model


def _left_out_note(measured: Sequence[Measured]) -> list[str]:
    """Return a note about the runs that are left out, if there are any."""
    left_out = [
        f"{run_title(row, run.seed, comparison.seeds)} on {comparison.label}"
        for comparison, _ in measured
        for row in compared_rows(comparison).values()
        for run in runs_of(row, comparison.seeds)
        if comparison.never_left_start(run.key)
    ]
    return [f"Left out, since training never left its start: {', '.join(left_out)}."] if left_out else []


def _correlation(measured: Sequence[Measured]) -> tuple[Grid | None, dict[str, Any]]:
    pairs = [("DC", "TK"), ("DC", "AP"), ("TK", "AP")]
    lowest = {name: (one, other, rho) for one, other, name, rho in published_facts("hessel2019")["lowest_correlation"]}
    facts: dict[str, Any] = {}
    rows, notes = [], _left_out_note(measured)
    for comparison, by_name in measured:
        try:
            rhos = _rhos(_scores_by_model(comparison, by_name))
        except CorpusError as error:
            notes.append(f"{comparison.label}: no correlation: {error}.")
            continue
        if not rhos:
            continue
        facts[comparison.label] = {", ".join(pair): rho for pair, rho in rhos.items()}
        one, other, rho = lowest.get(comparison.dataset or "", ("", "", None))
        cells = ["–" if rhos.get(pair) is None else f"{rhos[pair]:.2f}" for pair in pairs]
        rows.append([comparison.label, *cells, "–" if rho is None else f"{one}, {other}: {rho:.2f}"])
    if not rows:
        return None, facts
    note = (
        "Spearman's ρ of the AUC of the test documents; over several seeds the mean of the seeds' own. Published: of "
        "all pairs on crowd-labelled data the lowest, .89, is that of DC and AP on MSCOCO; on RQA theirs is .64."
    )
    columns = ["", *(", ".join(pair) for pair in pairs), "published"]
    return Grid("Do models have trouble with the same documents?", columns, rows, [note, *notes]), facts


def _rhos(models: Mapping[str, BySeed]) -> dict[tuple[str, str], float | None]:
    seeds = set.intersection(*(set(by_seed) for by_seed in models.values())) if len(models) > 1 else set()
    by_pair: dict[tuple[str, str], list[float | None]] = {}
    for seed in sorted(seeds):
        for correlation in correlations({name: by_seed[seed] for name, by_seed in models.items()}):
            by_pair.setdefault((correlation.first, correlation.second), []).append(correlation.rho)
    return {pair: None if None in rhos else float(np.mean(np.array(rhos, float))) for pair, rhos in by_pair.items()}


_REGRESSIONS = ("image_spread", "text_spread", "spread", "content")
"""The regressions of a ``Difficulty`` whose R² a table shows."""


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def _difficulty(measured: Sequence[Measured]) -> tuple[Grid | None, dict[str, Any]]:
    published = published_facts("hessel2019")["explained_by_spread"]
    facts: dict[str, Any] = {}
    rows, notes = [], list[str]()
    for comparison, by_name in measured:
        by_seed = _scores_by_model(comparison, by_name).get("AP")
        if not by_seed:
            continue
        try:
            explained = _explained_by_seed(comparison, list(by_seed.values()))
        except (CorpusError, SettingError) as error:
            notes.append(f"{comparison.label}: what makes its documents hard is not measured: {error}.")
            continue
        published_values = [f"{value}" for value in published.get(comparison.dataset or "", ("–", "–"))]
        shares = {name: _mean(getattr(each, name).r2 for each in explained) for name in _REGRESSIONS}
        facts[comparison.label] = {
            "documents": explained[0].documents,
            **shares,
            "coefficients": {side: _mean(each.coefficients[side] for each in explained) for side in ("image", "text")},
        }
        rows.append([comparison.label, *map(percent, shares.values()), *published_values])
        notes.append(f"{comparison.label}: {spread_note(_recipe(comparison), comparison.prepared)}")
    if not rows and not notes:
        return None, facts
    note = "R² in percent: how much of the AUC of AP the spread and the content of the test documents explain."
    columns = ["", "image spread", "text spread", "both", "and content", "published: spread", "published: and content"]
    return Grid("What makes documents hard?", columns, rows, [note, *notes]), facts


def _explained_by_seed(comparison: Comparison, scores: Sequence[Evaluation]) -> list[Difficulty]:
    prepared = comparison.prepared
    if prepared.images is None or prepared.images.ndim != 2:
        raise CorpusError("it needs the features of an image backbone or a table of them")
    aucs = [{d.id: d.auc or 0.0 for d in evaluation.defined} for evaluation in scores]
    common = set.intersection(*map(set, aucs))
    check_enough(len(common))
    comparison.notify("what makes documents hard")
    vectors = list(vectors_of(comparison.corpus, _recipe(comparison), prepared, prepared.images, common))
    ids, images, sentences = zip(*vectors, strict=True)
    return [explain([auc[key] for key in ids], images, sentences) for auc in aucs]


def _recipe(comparison: Comparison) -> Any:
    return compared_rows(comparison)["AP"].recipe


DISTANCES_FIGURE, DISTANCES_PNG = "distances.svg", "distances.png"

DOCUMENTS = 2000
"""Largest number of documents for the distances; a larger corpus is sampled. They have some hundred thousand
distances."""

BEFORE, AFTER = "MulLink", "Ours"


def bias_sections(comparison: Comparison, by_name: Mapping[str, BySeed]) -> tuple[list[Section], dict[str, Any]]:
    """Measure the distances, draw them, and fit the regressions of the trained models.

    Return the parts of the report, and the entries ``bias`` and ``explained`` of ``results.json``.
    """
    prepared = comparison.prepared
    if prepared.images is None or prepared.images.ndim != 2:
        note = Note("The bias is not measured: it needs the features of an image backbone or a table of them.")
        return [note], {"bias": None, "explained": None}
    recipe = next(row.recipe for row in comparison.rows if row.recipe is not None)
    comparison.notify("distances between pictures")
    bias = measure(negative_distances(_linked(prepared, prepared.images), batch=recipe.training.batch))
    for name in (DISTANCES_FIGURE, DISTANCES_PNG):
        write_distances(bias, comparison.folder / name, force=True)
    caption = "Distances of gold images to the negatives of training and of evaluation"
    grid = bias_grid(bias)
    of_which = f"{bias.documents:,} of the {len(np.flatnonzero(prepared.linked)):,} documents with gold links"
    seen = f"Features of {_image_features(recipe, prepared)} (the paper: 'pre-trained CNN features'), of {of_which}."
    sections: list[Section] = [Drawing(DISTANCES_FIGURE, caption), replace(grid, notes=[*grid.notes, seen])]
    facts: dict[str, Any] = {"bias": asdict(bias), "explained": None}
    if BEFORE in by_name and AFTER in by_name:
        comparison.notify("spread of the documents")
        published = {
            name: values
            for name, values in published_facts("li2021")["explained_by_spread"].items()
            if comparison.dataset in (None, name)
        }
        notes = [
            "R² of the least squares regression of the AUC of the test documents on image and text spread: the mean of "
            "the seeds' own; in brackets 95 % bootstrap intervals for which documents and seeds are drawn anew.",
            spread_note(recipe, prepared),
        ]
        explained: Explained | None = None
        try:
            explained = _explained(comparison.corpus, recipe, prepared, prepared.images, by_name)
            facts["explained"] = {**asdict(explained), "published": published}
        except CorpusError as error:
            notes.append(f"The regression is not possible here: {error}.")
        sections.append(_explained_grid(explained, comparison.corpus, published, notes))
    return sections, facts


def _linked(prepared: Prepared, images: NDArray[np.floating]) -> list[ImageVectors]:
    """Draw documents with known links, a random part if they are many."""
    documents = np.flatnonzero(np.asarray(prepared.linked))
    if len(documents) > DOCUMENTS:
        documents = np.sort(np.random.default_rng(0).permutation(documents)[:DOCUMENTS])
    linked = []
    for document in documents.tolist():
        rows = rows_of(prepared, document)
        vectors = np.asarray(images[rows], np.float32)
        linked.append(ImageVectors(prepared.ids[document], vectors, tuple(rows.tolist()), prepared.links_of(document)))
    return linked


def _explained(
    corpus: Path, recipe: Recipe, prepared: Prepared, images: NDArray[np.floating], by_name: Mapping[str, BySeed]
) -> Explained:
    """Return R² of both models on the documents for which both have an AUC."""
    aucs = {
        name: {seed: {d.id: d.auc or 0.0 for d in scores.defined} for seed, scores in by_name[name].items()}
        for name in (BEFORE, AFTER)
    }
    common = set.intersection(*(set(scores) for by_seed in aucs.values() for scores in by_seed.values()))
    ids, spreads = [], []
    for identifier, vectors, texts in vectors_of(corpus, recipe, prepared, images, common):
        ids.append(identifier)
        spreads.append((spread(vectors), spread(texts)))
    before, after = (
        {seed: [scores[key] for key in ids] for seed, scores in aucs[name].items()} for name in (BEFORE, AFTER)
    )
    contents = {d.id: d.contents for scores in by_name[BEFORE].values() for d in scores.defined}
    return explained_by_spread(before, after, spreads, [contents[key] for key in ids])


def _explained_grid(
    explained: Explained | None, corpus: Path, published: Mapping[str, Sequence[float]], notes: Sequence[str]
) -> Grid:
    rows = []
    if explained is not None:
        cells = [
            f"{percent(value)} ({percent(ends[0])}–{percent(ends[1])})"
            for value, ends in (
                (explained.before, explained.before_interval),
                (explained.after, explained.after_interval),
            )
        ]
        rows.append([f"{corpus.stem} (ours)", *cells, difference(explained.difference, *explained.interval)])
    for name, (before, after) in published.items():
        rows.append([f"{name} (published)", f"{before}", f"{after}", points((after - before) / 100)])
    title = "Share of the variance of the AUC that spread explains, in percent"
    return Grid(title, ["", BEFORE, AFTER, "difference"], rows, notes)


SHARES_FIGURE = "shares.svg"

_COLOURS = ("#b4470f", "#2f7d4f", "#7a4fa3", "#555555")


def share_sections(
    rows: Sequence[Row], by_name: Mapping[str, BySeed], folder: Path
) -> tuple[list[Section], dict[str, Any]]:
    """Draw the figure, and find the share from which on the supervised model is better, from scores by row and seed.

    Return the parts of the report, and the entry ``overtaking`` of ``results.json``.
    """
    supervised = {row.share: by_name[row.name] for row in rows if row.share is not None and row.name in by_name}
    unsupervised = {row.name: by_name[row.name] for row in rows if row.share is None and row.name in by_name}
    if not supervised:
        return [], {}
    means = {share: over_seeds(list(by_seed.values())) for share, by_seed in supervised.items()}
    means_of_others = {name: over_seeds(list(by_seed.values())) for name, by_seed in unsupervised.items()}
    write_shares(means, means_of_others, folder / SHARES_FIGURE)
    drawing = Drawing(SHARES_FIGURE, "AUC and p@1 of the supervised model by share of labelled training documents")
    facts: dict[str, Any] = {}
    lines = []
    notes = [
        "Share of the labelled training documents from which on, at it and at all larger ones tried, the supervised "
        "model has the better mean, and from which on the 95 % interval of the difference excludes 0."
    ]
    for name, by_seed in unsupervised.items():
        enough = published_facts("li2021")["enough_labels"].get(name)
        facts[name] = {"published": None if enough is None else enough / 100}
        try:
            by_share = {share: differences(of_share, by_seed) for share, of_share in supervised.items()}
        except CorpusError as error:
            by_share = None
            notes.append(f"{name} cannot be compared: {error}.")
        cells = []
        for metric in COMPARED:
            first, surely = _better_mean_from(means, means_of_others[name], metric), None
            if by_share is not None:
                surely = overtaking([(share, gains[metric].interval[0]) for share, gains in by_share.items()], 0)
            facts[name][metric] = {"from": first, "from_with_certainty": surely}
            cells += [_share_cell(first, means), _share_cell(surely, means)]
        lines.append([name, *cells, "–" if enough is None else f"more than {enough} %"])
    if not lines:
        return [drawing], facts
    columns = ["better than"]
    for metric in COMPARED:
        columns += [f"{LINK_METRICS[metric].label}: from", f"{LINK_METRICS[metric].label}: beyond chance from"]
    return [drawing, Grid("Labels that the supervised model needs", [*columns, "published"], lines, notes)], facts


def _better_mean_from(means: Mapping[float, Evaluation], other: Evaluation, metric: str) -> float | None:
    """Return the share from which on the supervised model has a better mean than another one; see ``overtaking``."""
    level = other.means[metric]
    values = [(share, value) for share, mean in means.items() if (value := mean.means[metric]) is not None]
    return None if level is None else overtaking(values, level)


def overtaking(values: Sequence[tuple[float, float]], level: float) -> float | None:
    """The smallest share from which on the supervised model is better.

    Args:
        values: Share and value, in any order.

    Returns:
        The smallest of the shares such that it, and every larger one, has a value above the level; None where the
        largest has not.
    """
    lowest = None
    for share, value in sorted(values, reverse=True):
        if value <= level:
            break
        lowest = share
    return lowest


def write_shares(supervised: Mapping[float, Evaluation], unsupervised: Mapping[str, Evaluation], path: Path) -> None:
    """Draw AUC and p@1 by share, and those of models without labels as dashed lines.

    Args:
        supervised: Share of the training documents whose links are used, 0 to 1, to scores; at least one.
        path: ``.svg``, ``.png`` or ``.pdf``, replaced; equal figures give equal SVG files.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(COMPARED), squeeze=False)[0]
        for panel, metric in zip(panels, COMPARED, strict=True):
            _share_panel(panel, supervised, unsupervised, metric)
        legend_above(figure)

    write_figure(draw, path, width=0.6 + 3.6 * len(COMPARED), height=3.1, force=True)


def _share_panel(
    axes: Axes, supervised: Mapping[float, Evaluation], unsupervised: Mapping[str, Evaluation], metric: str
) -> None:
    points = [
        (100 * share, 100 * mean, evaluation.intervals[metric])
        for share, evaluation in sorted(supervised.items())
        if (mean := evaluation.means[metric]) is not None
    ]
    shares, means = [share for share, _, _ in points], [mean for _, mean, _ in points]
    axes.plot(shares, means, color=BLUE, marker="o", markersize=4, label="supervised")
    if all(ends is not None for _, _, ends in points):
        low, high = ([100 * ends[end] for _, _, ends in points if ends is not None] for end in (0, 1))
        axes.fill_between(shares, low, high, color=BLUE, alpha=0.15, linewidth=0)
    for number, (name, evaluation) in enumerate(unsupervised.items()):
        mean = evaluation.means[metric]
        if mean is not None:
            colour = _COLOURS[number % len(_COLOURS)]
            axes.axhline(100 * mean, color=colour, linestyle="--", linewidth=1.3, label=name)
    axes.set_xlabel("labelled training documents (%)")
    axes.set_ylabel(f"{LINK_METRICS[metric].label} (%)")
    axes.set_xticks(shares)
    axes.grid(alpha=0.25)


def _share_cell(share: float | None, tried: Mapping[float, object]) -> str:
    return f"not with {100 * max(tried):.0f} %" if share is None else f"{100 * share:.0f} %"
