"""Sections 4.1 and 5 of Hessel 2019: whether models fail on the same documents, and why documents are hard."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import CorpusError, SettingError
from iconotext.papers.analyses.difficulty import Difficulty, check_enough, correlations, explain
from iconotext.papers.published import published_facts
from iconotext.papers.render import Grid, Section, percent
from iconotext.papers.tables.baselines import word_vector_file
from iconotext.papers.tables.comparison import Comparison
from iconotext.papers.tables.results_grid import BySeed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.evaluate.results import Evaluation
    from iconotext.recipe import Recipe
    from iconotext.train.prepared import Prepared
    from iconotext.types import FloatMatrix


def vectors_of(
    corpus: Path, recipe: Recipe, prepared: Prepared, images: NDArray[np.floating], wanted: Collection[str]
) -> Iterator[tuple[str, FloatMatrix, FloatMatrix]]:
    """Yield id, (m, dim) images and (n, dim) sentences of test documents, in the order of the corpus."""
    from iconotext.corpus.store import read_corpus

    numbers = {prepared.ids[number]: number for number in prepared.documents("test").tolist()}
    encode = _sentence_vectors(corpus, recipe, prepared)
    for document in read_corpus(corpus):
        if document.id in wanted and document.id in numbers:
            vectors = np.asarray(images[rows_of(prepared, numbers[document.id])], np.float32)
            yield document.id, vectors, encode([sentence.text for sentence in document.sentences])


def rows_of(prepared: Prepared, document: int) -> NDArray[np.int64]:
    """Return the rows of a document's images."""
    return np.asarray(prepared.image_rows[prepared.image_offsets[document] : prepared.image_offsets[document + 1]])


def seen_through(recipe: Recipe, prepared: Prepared) -> str:
    """Describe the vectors in a sentence."""
    file = word_vector_file(recipe, prepared)
    text = recipe.features.text if recipe.features.text != "words" else "the text backbone that comes with the program"
    of_text = f"mean word vectors of {file.name}" if file else text
    image = recipe.features.image
    of_image = Path(image).name if image.endswith(".npy") else prepared.meta["backbones"]["image"]
    paper = "the paper has DenseNet169 and mean word2vec vectors"
    return f"Spread of images by {of_image}, of sentences by {of_text}; {paper}."


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


COMPARED = {"DC": "dense", "TK": "top-k", "AP": "assignment"}
"""The models of the paper's comparison, and the keys of their rows."""

Measured = tuple[Comparison, Mapping[str, BySeed]]
"""A comparison, and the scores by seed of its rows, by name."""


def agreement_sections(measured: Sequence[Measured]) -> tuple[list[Section], dict[str, Any]]:
    """Compute rank correlations of the models' AUC, and explain that of AP, for each corpus beside the paper's."""
    correlation, rho = _correlation(measured)
    difficulty, explained = _difficulty(measured)
    return [each for each in (correlation, difficulty) if each], {"correlation": rho, "difficulty": explained}


def _named(comparison: Comparison, found: Mapping[str, BySeed]) -> dict[str, BySeed]:
    """Return the scores of DC, TK and AP, as far as they were trained."""
    names = {row.key: row.name for row in comparison.rows}
    return {name: found[names[key]] for name, key in COMPARED.items() if names.get(key) in found}


def _correlation(measured: Sequence[Measured]) -> tuple[Grid | None, dict[str, Any]]:
    pairs = [("DC", "TK"), ("DC", "AP"), ("TK", "AP")]
    lowest = {name: (one, other, rho) for one, other, name, rho in published_facts("hessel2019")["lowest_correlation"]}
    facts: dict[str, Any] = {}
    rows, notes = [], []
    for comparison, found in measured:
        try:
            rhos = _rhos(_named(comparison, found))
        except CorpusError as error:
            notes.append(f"{comparison.corpus.name}: no correlation: {error}.")
            continue
        if not rhos:
            continue
        facts[comparison.called] = {", ".join(pair): rho for pair, rho in rhos.items()}
        one, other, rho = lowest.get(comparison.dataset or "", ("", "", None))
        cells = ["–" if rhos.get(pair) is None else f"{rhos[pair]:.2f}" for pair in pairs]
        rows.append([comparison.called, *cells, "–" if rho is None else f"{one}, {other}: {rho:.2f}"])
    if not rows:
        return None, facts
    note = (
        "Spearman's ρ of the AUC of the test documents; over several seeds the mean of the seeds' own. Published: of "
        "all pairs on crowd-labelled data the lowest, .89, is that of DC and AP on MSCOCO; on RQA theirs is .64."
    )
    columns = ["", *(", ".join(pair) for pair in pairs), "published"]
    return Grid("Do models have trouble with the same documents?", columns, rows, [note, *notes]), facts


def _rhos(models: Mapping[str, BySeed]) -> dict[tuple[str, str], float | None]:
    seeds = set.intersection(*(set(each) for each in models.values())) if len(models) > 1 else set()
    found: dict[tuple[str, str], list[float | None]] = {}
    for seed in sorted(seeds):
        for each in correlations({name: by_seed[seed] for name, by_seed in models.items()}):
            found.setdefault((each.first, each.second), []).append(each.rho)
    return {pair: None if None in rhos else float(np.mean(np.array(rhos, float))) for pair, rhos in found.items()}


def _difficulty(measured: Sequence[Measured]) -> tuple[Grid | None, dict[str, Any]]:
    published = published_facts("hessel2019")["explained_by_spread"]
    facts: dict[str, Any] = {}
    rows, notes = [], []
    for comparison, found in measured:
        by_seed = _named(comparison, found).get("AP")
        if not by_seed:
            continue
        try:
            explained = _explained(comparison, list(by_seed.values()))
        except (CorpusError, SettingError) as error:
            notes.append(f"{comparison.corpus.name}: what makes its documents hard is not measured: {error}.")
            continue
        spread, both = ([getattr(each, name).r2 for each in explained] for name in ("spread", "content"))
        facts[comparison.called] = {"spread": float(np.mean(spread)), "spread_and_content": float(np.mean(both))}
        theirs = [f"{each}" for each in published.get(comparison.dataset or "", ("–", "–"))]
        image, text = (
            np.mean([getattr(each, f"{side}_spread").r2 for each in explained]) for side in ("image", "text")
        )
        cells = [percent(float(np.mean(each))) for each in (image, text, spread, both)]
        rows.append([comparison.called, *cells, *theirs])
        notes.append(f"{comparison.called}: {seen_through(_recipe(comparison), comparison.prepared)}")
    if not rows and not notes:
        return None, facts
    note = "R² in percent: how much of the AUC of AP the spread and the content of the test documents explain."
    columns = ["", "image spread", "text spread", "both", "and content", "published: spread", "published: and content"]
    return Grid("What makes documents hard?", columns, rows, [note, *notes]), facts


def _explained(comparison: Comparison, scores: Sequence[Evaluation]) -> list[Difficulty]:
    """Explain the AUC of each seed."""
    prepared = comparison.prepared
    if prepared.images is None or prepared.images.ndim != 2:
        raise CorpusError("it needs the features of an image backbone or a table of them")
    aucs = [{each.id: each.auc or 0.0 for each in one.defined} for one in scores]
    wanted = set.intersection(*map(set, aucs))
    check_enough(len(wanted))
    comparison.notify("what makes documents hard")
    seen = list(vectors_of(comparison.corpus, _recipe(comparison), prepared, prepared.images, wanted))
    ids, images, sentences = zip(*seen, strict=True)
    return [explain([auc[each] for each in ids], images, sentences) for auc in aucs]


def _recipe(comparison: Comparison) -> Any:
    return next(row.recipe for row in comparison.rows if row.key == COMPARED["AP"])
