"""The sampling bias in a corpus, and how much of the AUC the spread of documents explains (Li 2021)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import CorpusError
from iconotext.papers.analyses.bias import Pictures, in_words, measure, negative_distances, write_distances
from iconotext.papers.analyses.difficulty import spread
from iconotext.papers.analyses.explained import Explained, explained_by_spread
from iconotext.papers.published.li2021 import EXPLAINED_BY_SPREAD
from iconotext.papers.tables.baselines import word_vector_file
from iconotext.papers.tables.differences import BySeed
from iconotext.papers.tables.section import Section, figure_section, percent, points, table_section

if TYPE_CHECKING:
    from iconotext.evaluate.backbones import Encode
    from iconotext.papers.analyses.bias import Bias
    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared

FIGURE, FIGURE_PNG = "distances.svg", "distances.png"

DOCUMENTS = 2000
"""So many documents are drawn for the distances where there are more; they have some hundred thousand distances."""

BEFORE, AFTER = "MulLink", "Ours"


def bias_sections(
    corpus: Path,
    recipe: Recipe,
    prepared: Prepared,
    found: Mapping[str, BySeed],
    folder: Path,
    *,
    dataset: str | None,
    tell: Callable[[str], None],
) -> tuple[list[Section], dict[str, Any]]:
    """Measure the distances, draw them, and fit the regressions of the models that are there.

    Args:
        corpus: With gold links.
        recipe: Of MulLink; says which features.
        prepared: The corpus as MulLink reads it: with the pooled features of its pictures.
        found: Name of the row to its scores by seed.
        folder: Where the figure goes.
        dataset: Of the paper; None for all.
        tell: Told what is done.

    Returns:
        What is shown, and what ``results.json`` says under ``bias`` and ``explained``.
    """
    if prepared.images is None or prepared.images.ndim != 2:
        note = "The bias is not measured: it needs the features of an image backbone or a table of them."
        return [Section(note + "\n", f"<p>{note}</p>\n")], {"bias": None, "explained": None}
    tell("distances between pictures")
    bias = measure(negative_distances(_images(prepared), batch=recipe.training.batch))
    for name in (FIGURE, FIGURE_PNG):
        write_distances(bias, folder / name, force=True)
    sections = [
        figure_section(FIGURE, "Distances of gold images to the negatives of training and of evaluation"),
        _bias_table(bias),
    ]
    facts: dict[str, Any] = {"bias": bias.as_dict(), "explained": None}
    if BEFORE in found and AFTER in found:
        tell("spread of the documents")
        notes = []
        explained: Explained | None = None
        try:
            explained = _explained(corpus, recipe, prepared, found)
            facts["explained"] = {**explained.as_dict(), "published": _published(dataset)}
        except CorpusError as error:
            notes.append(f"The regression is not possible here: {error}.")
        sections.append(_explained_table(explained, corpus, dataset, [*_about_spread(recipe, prepared), *notes]))
    return sections, facts


def _bias_table(bias: Bias) -> Section:
    """The figures of the distances as a table."""
    rows = [
        [name, f"{each.count:,}", f"{each.mean:.2f}", f"{each.deviation:.2f}", *(f"{q:.2f}" for q in each.quartiles)]
        for name, each in (("training", bias.training), ("evaluation", bias.evaluation))
    ]
    columns = ["negatives of", "distances", "mean", "deviation", "lower quartile", "median", "upper quartile"]
    return table_section("L2 distances between gold and negative images", columns, rows, in_words(bias))


def _images(prepared: Prepared) -> list[Pictures]:
    """Documents with known links, a random part of them where there are many."""
    assert prepared.images is not None
    documents = np.flatnonzero(np.asarray(prepared.linked))
    if len(documents) > DOCUMENTS:
        documents = np.sort(np.random.default_rng(0).permutation(documents)[:DOCUMENTS])
    found = []
    for document in documents.tolist():
        rows = np.asarray(prepared.image_rows[prepared.image_offsets[document] : prepared.image_offsets[document + 1]])
        vectors = np.asarray(prepared.images[rows], np.float32)
        found.append(Pictures(prepared.ids[document], vectors, tuple(rows.tolist()), prepared.links_of(document)))
    return found


def _explained(corpus: Path, recipe: Recipe, prepared: Prepared, found: Mapping[str, BySeed]) -> Explained:
    """R² of both models on the documents that both have an AUC of."""
    from iconotext.corpus.store import read_corpus

    aucs = {
        name: {seed: {each.id: each.auc for each in scores.defined} for seed, scores in found[name].items()}
        for name in (BEFORE, AFTER)
    }
    of_all = [set(scores) for by_seed in aucs.values() for scores in by_seed.values()]
    wanted = set.intersection(*of_all)
    numbers = {prepared.ids[number]: number for number in prepared.documents("test").tolist()}
    encode = _sentence_vectors(corpus, recipe)
    ids, spreads = [], []
    assert prepared.images is not None
    for document in read_corpus(corpus):
        number = numbers.get(document.id) if document.id in wanted else None
        if number is None:
            continue
        rows = np.asarray(prepared.image_rows[prepared.image_offsets[number] : prepared.image_offsets[number + 1]])
        texts = encode([sentence.text for sentence in document.sentences])
        ids.append(document.id)
        spreads.append((spread(np.asarray(prepared.images[rows], np.float32)), spread(texts)))
    before, after = (
        {seed: [float(scores[each] or 0.0) for each in ids] for seed, scores in aucs[name].items()}
        for name in (BEFORE, AFTER)
    )
    return explained_by_spread(before, after, spreads)


def _sentence_vectors(corpus: Path, recipe: Recipe) -> Encode:
    """Mean word vectors, as in the paper, where the recipe names a file of them; else a text backbone."""
    from iconotext.corpus.store import read_corpus
    from iconotext.evaluate.backbones import mean_word_vectors
    from iconotext.features import FeatureCache, cached_text, load_text_backbone

    file = word_vector_file(recipe)
    if file is not None and recipe.words is not None:
        texts = (sentence.text for document in read_corpus(corpus) for sentence in document.sentences)
        return mean_word_vectors(file, recipe.words.word_dim, texts)
    words = recipe.features.text == "words"
    text = load_text_backbone() if words else load_text_backbone(recipe.features.text)
    return cached_text(text, FeatureCache()).encode


def _about_spread(recipe: Recipe, prepared: Prepared) -> list[str]:
    file = word_vector_file(recipe)
    text = recipe.features.text if recipe.features.text != "words" else "the text backbone that comes with the program"
    of_text = f"mean word vectors of {file.name}" if file else text
    image = recipe.features.image
    of_image = Path(image).name if image.endswith(".npy") else prepared.meta["backbones"]["image"]
    return [
        "R² of the least squares regression of the AUC of the test documents on image and text spread: the mean of the "
        "seeds' own; in brackets 95 % bootstrap intervals for which documents and seeds are drawn anew.",
        f"Spread of images by {of_image}, of sentences by {of_text}; the paper has "
        "DenseNet169 and mean word2vec vectors.",
    ]


def _explained_table(explained: Explained | None, corpus: Path, dataset: str | None, notes: list[str]) -> Section:
    rows = []
    if explained is not None:
        cells = [
            f"{percent(value)} ({percent(ends[0])}–{percent(ends[1])})"
            for value, ends in (
                (explained.before, explained.before_interval),
                (explained.after, explained.after_interval),
            )
        ]
        ends = f"({points(explained.interval[0])} to {points(explained.interval[1])})"
        rows.append([f"{corpus.stem} (ours)", *cells, f"{points(explained.difference)} {ends}"])
    for name, (before, after) in _published(dataset).items():
        rows.append([f"{name} (published)", f"{before}", f"{after}", points((after - before) / 100)])
    title = "Share of the variance of the AUC that spread explains, in percent"
    return table_section(title, ["", BEFORE, AFTER, "difference"], rows, notes)


def _published(dataset: str | None) -> dict[str, tuple[int, int]]:
    return {name: each for name, each in EXPLAINED_BY_SPREAD.items() if dataset in (None, name)}
