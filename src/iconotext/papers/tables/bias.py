"""The sampling bias in a corpus, and how much of the AUC the spread of documents explains (Li 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import CorpusError
from iconotext.papers.analyses.bias import ImageVectors, bias_grid, measure, negative_distances, write_distances
from iconotext.papers.analyses.difficulty import Explained, explained_by_spread, spread
from iconotext.papers.published import published_facts
from iconotext.papers.render import Drawing, Grid, Note, Section, difference, percent, points
from iconotext.papers.tables.agreement import rows_of, seen_through, vectors_of
from iconotext.papers.tables.comparison import Comparison
from iconotext.papers.tables.results_grid import BySeed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared

FIGURE, FIGURE_PNG = "distances.svg", "distances.png"

DOCUMENTS = 2000
"""Largest number of documents for the distances; a larger corpus is sampled. They have some hundred thousand
distances."""

BEFORE, AFTER = "MulLink", "Ours"


def bias_sections(comparison: Comparison, found: Mapping[str, BySeed]) -> tuple[list[Section], dict[str, Any]]:
    """Measure the distances, draw them, and fit the regressions of the trained models.

    Returns:
        The parts of the report, and the entries ``bias`` and ``explained`` of ``results.json``.
    """
    prepared = comparison.prepared
    if prepared.images is None or prepared.images.ndim != 2:
        note = Note("The bias is not measured: it needs the features of an image backbone or a table of them.")
        return [note], {"bias": None, "explained": None}
    recipe = next(row.recipe for row in comparison.rows if row.recipe is not None)
    comparison.notify("distances between pictures")
    bias = measure(negative_distances(_linked(prepared, prepared.images), batch=recipe.training.batch))
    for name in (FIGURE, FIGURE_PNG):
        write_distances(bias, comparison.folder / name, force=True)
    caption = "Distances of gold images to the negatives of training and of evaluation"
    sections: list[Section] = [Drawing(FIGURE, caption), bias_grid(bias)]
    facts: dict[str, Any] = {"bias": asdict(bias), "explained": None}
    if BEFORE in found and AFTER in found:
        comparison.notify("spread of the documents")
        published = {
            name: each
            for name, each in published_facts("li2021")["explained_by_spread"].items()
            if comparison.dataset in (None, name)
        }
        notes = [
            "R² of the least squares regression of the AUC of the test documents on image and text spread: the mean of "
            "the seeds' own; in brackets 95 % bootstrap intervals for which documents and seeds are drawn anew.",
            seen_through(recipe, prepared),
        ]
        explained: Explained | None = None
        try:
            explained = _explained(comparison.corpus, recipe, prepared, prepared.images, found)
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
    found = []
    for document in documents.tolist():
        rows = rows_of(prepared, document)
        vectors = np.asarray(images[rows], np.float32)
        found.append(ImageVectors(prepared.ids[document], vectors, tuple(rows.tolist()), prepared.links_of(document)))
    return found


def _explained(
    corpus: Path, recipe: Recipe, prepared: Prepared, images: NDArray[np.floating], found: Mapping[str, BySeed]
) -> Explained:
    """Return R² of both models on the documents for which both have an AUC."""
    aucs = {
        name: {seed: {each.id: each.auc or 0.0 for each in scores.defined} for seed, scores in found[name].items()}
        for name in (BEFORE, AFTER)
    }
    wanted = set.intersection(*(set(scores) for by_seed in aucs.values() for scores in by_seed.values()))
    ids, spreads = [], []
    for identifier, vectors, texts in vectors_of(corpus, recipe, prepared, images, wanted):
        ids.append(identifier)
        spreads.append((spread(vectors), spread(texts)))
    before, after = (
        {seed: [scores[each] for each in ids] for seed, scores in aucs[name].items()} for name in (BEFORE, AFTER)
    )
    return explained_by_spread(before, after, spreads)


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
