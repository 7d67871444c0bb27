"""Example pages: a model's links in representative documents, right and wrong (Hessel 2019, section 6, Fig. 4).

A document is representative if its AUC is near the mean. Its edges are the strongest ones of the linear assignment, so
that no sentence or image has more than one. A page is one file that makes no network requests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.errors import CorpusError, ShapeError
from iconotext.evaluate.metrics import checked_scores, gold_matrix
from iconotext.evaluate.results import DocumentScores, Evaluation, Scored, score_document
from iconotext.features.word_vectors import Vocabulary, words_of
from iconotext.plain_text import readable
from iconotext.report.embedded import embed
from iconotext.report.flow import title
from iconotext.report.page import filled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.features.regions import RegionSource
    from iconotext.networks.recurrent import WordLSTM
    from iconotext.types import Document, FloatMatrix, Image


class WordWeight(NamedTuple):
    """The weight of a word, 0 to 1, with sum 1 in a sentence. Unknown words share one vector."""

    word: str
    known: bool
    weight: float


def attention_of(model: str) -> Callable[[str], list[WordWeight]] | None:
    """A function that weighs the words of a sentence with a model (see ``load_encoder``); None without attention."""
    from iconotext.encoders.stored_model import init_folder, is_model_folder, load_model
    from iconotext.networks.recurrent import WordLSTM

    stored = load_model(init_folder(model)) if is_model_folder(init_folder(model)) else None
    if stored is None or stored.vocabulary is None or stored.recipe.words is None:
        return None
    text = stored.model.text
    if not isinstance(text, WordLSTM) or text.attention is None:
        return None
    return partial(_word_weights, text, stored.vocabulary, stored.recipe.words.max_tokens)


def _word_weights(text: WordLSTM, vocabulary: Vocabulary, max_tokens: int, sentence: str) -> list[WordWeight]:
    import torch

    ids = vocabulary.ids(sentence, max_tokens=max_tokens)
    with torch.inference_mode():
        weights = text.attention_weights(torch.tensor(ids), torch.tensor([len(ids)])).tolist()
    words = words_of(sentence)[:max_tokens]
    return [WordWeight(word, number > 0, weight) for word, number, weight in zip(words, ids, weights, strict=False)]


EDGES = 5
CONCEPTS = 5
MOST_SENTENCES = 14
MOST_IMAGES = 10
"""Maximum number of sentences, and of images, that are shown; those with edges or gold links come first."""

IMAGE_SIDE = 320
"""Longer side of a picture on the page, in pixels."""

_SHADES = 9
_NUMBERS, _NUMBER_COLUMNS = 260, 20  # heat maps with more cells, or more columns, show no numbers


@dataclass(frozen=True, slots=True)
class Edge:
    """A predicted link; ``gold`` says whether the author linked them, None if unknown."""

    sentence: int
    image: int
    score: float
    gold: bool | None


@dataclass(frozen=True, slots=True)
class Example:
    """A document on the page.

    Attributes:
        document: With its gold links.
        scores: (sentences, images).
        auc: 0 to 1; None if undefined.
        concepts: The main concepts of each image; empty for a model that reads none.
    """

    document: Document
    scores: FloatMatrix
    auc: float | None
    concepts: Sequence[Sequence[str]] = ()


def representative(evaluation: Evaluation, count: int) -> list[DocumentScores]:
    """Select the documents whose AUC is nearest to the mean, nearest first; ties are broken by id."""
    mean = evaluation.means["auc"]
    if mean is None:
        raise CorpusError(
            "no document has a defined AUC, so none is representative: a corpus with gold links is needed"
        )
    return sorted(evaluation.defined, key=lambda d: (abs((d.auc or 0.0) - mean), d.id))[:count]


def shown_documents(identifiers: Sequence[str], documents: Iterable[Document]) -> list[Document]:
    """Find the documents with these ids, in order; ``CorpusError`` if one is missing."""
    by_id = {d.id: d for d in documents if d.id in identifiers}
    missing = [identifier for identifier in identifiers if identifier not in by_id]
    if missing:
        raise CorpusError(f"there is no document {missing[0]!r} in the corpus, or in this split")
    return [by_id[identifier] for identifier in identifiers]


def examples_of(
    documents: Sequence[Document], scored: Iterable[Scored], source: RegionSource | None = None
) -> list[Example]:
    """Combine documents with a model's scores, in the same order, and the concepts that it reads, if any."""
    return [
        Example(document, item.scores, score_document(item).auc, main_concepts(source, document.images))
        for document, item in zip(documents, scored, strict=True)
    ]


def concept_source(model: str, image: str | None = None) -> RegionSource | None:
    """The source of concepts for a model that reads regions; None for a model that reads none.

    Args:
        model: As for ``load_encoder``.
        image: Backbone or file of regions; None for the model's own.
    """
    from iconotext.encoders.stored_model import RECIPE, init_folder, is_model_folder
    from iconotext.features import load_regions
    from iconotext.recipe import load_recipe

    folder = init_folder(model)
    recipe = load_recipe(folder / RECIPE) if is_model_folder(folder) else None
    return load_regions(image or recipe.features.image) if recipe is not None and recipe.reads_concepts else None


def main_concepts(source: RegionSource | None, images: Sequence[Image]) -> list[tuple[str, ...]]:
    """The most certain concepts of each image, over all its regions (Li 2021, Fig. 6)."""
    if source is None or source.concepts is None:
        return []
    concepts = []
    for regions in source.regions(images):
        sure: Counter[str] = Counter()
        if not isinstance(regions, str):
            for concept, score in zip(regions.concepts.tolist(), regions.scores.tolist(), strict=True):
                if concept >= 0:
                    sure[source.concepts[concept]] += score
        concepts.append(tuple(name for name, _ in sure.most_common(CONCEPTS)))
    return concepts


def strongest_edges(
    scores: NDArray[np.floating], links: Sequence[tuple[int, int]] | None, *, count: int = EDGES
) -> list[Edge]:
    """The strongest edges of the assignment with at most one link for each row and column (Hessel 2019, §3.2 and §6).

    It maximises the sum of scores, so no link with a score of 0 or less is in it. The strongest edge comes first.

    Args:
        scores: (sentences, images).
        links: Gold links; None if unknown.
        count: Maximum number of edges.
    """
    from scipy.optimize import linear_sum_assignment

    matrix = checked_scores(scores)
    gold = None if links is None else gold_matrix((matrix.shape[0], matrix.shape[1]), links)
    # Negative scores count as none, else they would keep edges out that raise the sum.
    rows, columns = linear_sum_assignment(np.maximum(matrix, 0), maximize=True)
    edges = [
        Edge(int(i), int(j), float(matrix[i, j]), None if gold is None else bool(gold[i, j]))
        for i, j in zip(rows, columns, strict=True)
        if matrix[i, j] > 0
    ]
    return sorted(edges, key=lambda edge: (-edge.score, edge.sentence))[:count]


def examples_page(
    examples: Sequence[Example], *, model: str, corpus: str, mean_auc: float | None, heading: str = "Example links"
) -> str:
    """A page with a section for each document, and the mean AUC; ``ShapeError`` if a matrix does not fit."""
    return filled(
        "iconotext_papers.analyses",
        "examples.html",
        title=f"{heading}: {readable(model)}",
        heading=heading,
        styles=["examples.css"],
        model=readable(model),
        corpus=readable(corpus),
        mean_auc=mean_auc,
        parts=(parts := [_part(example) for example in examples]),
        unseen=_unseen(picture for part in parts for picture in part["pictures"]),
        concepts=any(example.concepts for example in examples),
        known=any(example.document.links is not None for example in examples),
    )


def _part(example: Example) -> dict[str, Any]:
    """The template's data for a document."""
    document, scores = example.document, checked_scores(example.scores)
    if scores.shape != (len(document.sentences), len(document.images)):
        raise ShapeError(
            f"document {document.id!r}: scores {scores.shape} do not fit {len(document.sentences)} sentences and "
            f"{len(document.images)} images"
        )
    edges = strongest_edges(scores, document.links)
    sentences, images = _selection(document, edges)
    embedded = embed(document.images, images, longer_side=IMAGE_SIDE)
    low, high = (float(scores.min()), float(scores.max())) if scores.size else (0.0, 0.0)
    gold, chosen = set(document.links or ()), {(edge.sentence, edge.image) for edge in edges}
    words = {word for sentence in document.sentences for word in words_of(sentence.text)}
    concepts = example.concepts or [()] * len(document.images)
    mentioned = {name for names in concepts for name in names if words.issuperset(words_of(name))}
    mentioned_words = {word for name in mentioned for word in words_of(name)}
    return {
        "title": readable(title(document)),
        "identifier": readable(document.id),
        "language": document.language,
        "auc": example.auc,
        "known": document.links is not None,
        "sentences": [
            {
                "number": i,
                "text": readable(document.sentences[i].text),
                "pieces": _text_parts(readable(document.sentences[i].text), mentioned_words),
                "linked": any(edge.sentence == i for edge in edges),
            }
            for i in sentences
        ],
        "pictures": [
            {
                "number": j,
                "name": readable(document.images[j].source),
                "concepts": [(readable(name), name in mentioned) for name in concepts[j]],
                "alt": readable(document.images[j].alt or document.images[j].caption or f"Picture {j + 1}"),
                "embedded": embedded[j],
                "linked": any(edge.image == j for edge in edges),
            }
            for j in images
        ],
        "more_sentences": len(document.sentences) - len(sentences),
        "more_pictures": len(document.images) - len(images),
        "edges": edges,
        "lines": [_line(edge, edges[0].score, sentences, images) for edge in edges],
        "rows": [
            (i, [_heat(value, i, j, (low, high), (i, j) in gold, (i, j) in chosen) for j, value in enumerate(row)])
            for i, row in enumerate(scores.tolist())
        ],
        "columns": range(scores.shape[1]),
        "numbers": scores.size <= _NUMBERS and scores.shape[1] <= _NUMBER_COLUMNS,
        "low": low,
        "high": high,
    }


def _text_parts(text: str, words: Container[str]) -> list[tuple[str, bool]]:
    """Divide a sentence into pieces, each with whether it is one of ``words``."""
    return [
        (piece, piece.lower().replace("’", "'") in words) for piece in re.split(r"((?:[^\W_]|['’])+)", text) if piece
    ]


def _unseen(pictures: Iterable[dict[str, Any]]) -> str | None:
    available = [picture["embedded"].uri is not None for picture in pictures]
    if all(available):
        return None
    if not any(available):
        return "No picture of these documents is at hand: their names stand for them."
    return f"Pictures that are not at hand, {available.count(False)} of {len(available)}, are shown by their names."


def _selection(document: Document, edges: Sequence[Edge]) -> tuple[list[int], list[int]]:
    """The sentences and pictures that fit on the page, in reading order; those with edges, then gold ones, first."""
    gold = sorted(document.links or ())
    images = [*(edge.image for edge in edges), *(image for _, image in gold), *range(len(document.images))]
    chosen = set(list(dict.fromkeys(images))[:MOST_IMAGES])
    linked = [*(edge.sentence for edge in edges), *(sentence for sentence, image in gold if image in chosen)]
    sentences = list(dict.fromkeys([*linked, *range(len(document.sentences))]))
    return sorted(sentences[:MOST_SENTENCES]), sorted(chosen)


def _line(edge: Edge, strongest: float, sentences: Sequence[int], images: Sequence[int]) -> dict[str, Any]:
    """Draw a curve from the middle of a sentence to the middle of its image; rows of both columns have equal height."""
    left = 100 * (sentences.index(edge.sentence) + 0.5) / len(sentences)
    right = 100 * (images.index(edge.image) + 0.5) / len(images)
    return {
        "path": f"M0 {left:.2f}C50 {left:.2f} 50 {right:.2f} 100 {right:.2f}",
        "width": round(1.5 + 7.5 * edge.score / strongest, 2),
        "kind": {True: "gold", False: "wrong", None: "unknown"}[edge.gold],
        "note": f"sentence {edge.sentence + 1} to picture {edge.image + 1}: {edge.score:.2f}",
    }


def _heat(value: float, i: int, j: int, ends: tuple[float, float], gold: bool, chosen: bool) -> dict[str, Any]:
    low, high = ends
    share = (value - low) / (high - low) if high > low else 0.0
    marks = [mark for mark, holds in (("the author's link", gold), ("predicted", chosen)) if holds]
    return {
        "text": f"sentence {i + 1}, picture {j + 1}: {value:.3f}" + (f" ({', '.join(marks)})" if marks else ""),
        "number": f"{value:.2f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.1f}",
        "shade": min(_SHADES - 1, int(share * _SHADES)),
        "gold": gold,
        "chosen": chosen,
    }
