"""A page with the best images of several models for the same texts (Alikhani 2021, Fig. 1, 6, 7, 9 and 10).

``ask`` lets the models search, ``top_images_page`` makes the page. It shows with each text its own image and the
labels of their relations and, for each model, the rank of that image, the predicted relations and, if the model has
attention, the weight of each word. The page is one file that makes no network requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.errors import CorpusError
from iconotext.evaluate.retrieval import chunks, ranks_of
from iconotext.plain_text import readable
from iconotext.relations import relation_name
from iconotext.report.embedded import embed
from iconotext.report.page import filled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.encoders.coherence_relations import Refinement
    from iconotext.encoders.encoder import Encoder
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.evaluate.retrieval import Score
    from iconotext_papers.analyses.examples import WordWeight


class Search(NamedTuple):
    """A model that searches images.

    Attributes:
        score: Similarities of texts with images, by number, refined with the settings in the model's folder.
        refinement: The settings of the refinement; None without refinement.
    """

    model: str
    encoder: Encoder
    pairs: PairVectors
    score: Score
    refinement: Refinement | None = None


def check_same_pairs(searches: Sequence[Search]) -> None:
    """Check that all models search the same images."""
    first = searches[0].pairs
    for search in searches[1:]:
        other = search.pairs
        if first.ids != other.ids or first.image_of.tolist() != other.image_of.tolist():
            raise CorpusError(
                f"{searches[0].model} and {search.model} could not read the same pictures of the corpus: "
                f"{len(first.left_out)} and {len(other.left_out)} left out"
            )


def best_images(
    score: Score, queries: NDArray[np.intp], images: NDArray[np.intp], count: int = 1
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """(Q, count) the most similar images of each query, best first, and their similarities; of equal ones the first.

    Args:
        queries: (Q,) numbers.
        images: (N,) numbers, at least one.
    """
    count = min(count, len(images))
    best, values = [np.zeros((0, count), np.intp)], [np.zeros((0, count))]
    for chunk in chunks(len(queries), len(images)):
        scores = np.asarray(score(queries[chunk], images), np.float64)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        best.append(images[order])
        values.append(np.take_along_axis(scores, order, axis=1))
    return np.concatenate(best), np.concatenate(values)


def chosen_queries(
    pairs: PairVectors, *, relations: Sequence[str] = (), count: int | None = None, seed: int = 0
) -> dict[int, tuple[str, ...]]:
    """Draw texts of a corpus: for each number of a pair, ascending, the relations for which it was drawn.

    Args:
        relations: Names, or what people type for them; for each, texts that have it are drawn. () draws from all texts.
        count: Number of texts for each relation; None for all.
    """
    names = dict.fromkeys(relation_name(name, pairs.relations) for name in relations)
    random = np.random.default_rng(seed)
    relations_of: dict[int, tuple[str, ...]] = {}
    for relation in names or (None,):
        if relation is None:
            candidates = np.arange(len(pairs.ids))
        else:
            candidates = np.flatnonzero(pairs.labels[:, pairs.relations.index(relation)] == 1)
        if not len(candidates):
            raise CorpusError(f"no pair has the relation {relation}; there are {', '.join(pairs.relations) or 'none'}")
        if count is not None and count < len(candidates):
            candidates = random.choice(candidates, count, replace=False)
        for number in candidates.tolist():
            relations_of[number] = (*relations_of.get(number, ()), *(() if relation is None else (relation,)))
    return dict(sorted(relations_of.items()))


def held_relations(pairs: PairVectors) -> list[str]:
    """The relations that at least one pair has."""
    return [name for column, name in enumerate(pairs.relations) if (pairs.labels[:, column] == 1).any()]


def named_queries(pairs: PairVectors, names: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Find the texts with these names, in the form of ``chosen_queries``; ``CorpusError`` if one is missing."""
    missing = [name for name in names if name not in pairs.ids]
    if missing:
        raise CorpusError(f"there is no text {missing[0]!r} in the corpus, or in this split")
    return {pairs.ids.index(name): () for name in names}


IMAGE_SIDE = 240
"""Pixels of the longer side of a picture on the page."""

_SHADES = 9

Attention = Callable[[str], "Sequence[WordWeight]"]
"""The words of a text and their weights."""


class Ranking(NamedTuple):
    """The result of a model's search for a text.

    Attributes:
        images: Numbers of the best images, best first.
        similarities: Similarities of these images, refined or not.
        rank: Rank of the text's own image among all, from 1; the mean rank among equal ones.
        relations: Probabilities of the relations of the text and its own image; empty if the model predicts none.
        words: Weight of each word; empty if the model has no attention over words.
        refinement: The refinement of the similarities; None if they are cosines.
    """

    model: str
    images: tuple[int, ...]
    similarities: tuple[float, ...]
    rank: float
    relations: Mapping[str, float]
    words: Sequence[WordWeight]
    refinement: Refinement | None


class QueryResults(NamedTuple):
    """A text, the relations for which it was drawn, and the images that each model ranks highest for it."""

    number: int
    relations: tuple[str, ...]
    results: tuple[Ranking, ...]


def ask(
    searches: Sequence[Search],
    chosen: Mapping[int, tuple[str, ...]],
    attention: Mapping[str, Attention],
    *,
    count: int = 5,
) -> list[QueryResults]:
    """Let models search the images of a corpus for texts."""
    numbers = np.array(list(chosen), np.intp)
    by_model = [_rankings(search, numbers, attention.get(search.model), count) for search in searches]
    per_query = zip(chosen, zip(*by_model, strict=True), strict=True)
    return [QueryResults(number, chosen[number], results) for number, results in per_query]


def _rankings(search: Search, numbers: np.ndarray[Any, Any], attention: Attention | None, count: int) -> list[Ranking]:
    pairs, coherence = search.pairs, search.encoder.coherence
    images = np.arange(len(pairs.images))
    best, values = best_images(search.score, numbers, images, count)
    results = []
    for row, number in enumerate(numbers.tolist()):
        own_image = pairs.image_of[[number]]
        # A text at a time: memory need not hold the similarities of all texts and images.
        rank = ranks_of(search.score(numbers[[row]], images), own_image).mean[0]
        relations: dict[str, float] = {}
        if coherence is not None:
            probabilities = coherence.probabilities(pairs.text_vectors[[number]], pairs.image_vectors[own_image])[0, 0]
            relations = dict(zip(coherence.relations, probabilities.tolist(), strict=True))
        words = [] if attention is None else attention(pairs.texts[number])
        ranked = (tuple(best[row].tolist()), tuple(values[row].tolist()), float(rank))
        results.append(Ranking(search.model, *ranked, relations, words, search.refinement))
    return results


def top_images_page(queries: Sequence[QueryResults], pairs: PairVectors, *, corpus: str, drawn: str) -> str:
    """A whole HTML page with a part for each text; ``drawn`` is a sentence that says how they were chosen."""
    image_numbers = {int(pairs.image_of[query.number]) for query in queries}
    image_numbers |= {image for query in queries for result in query.results for image in result.images}
    embedded = embed(pairs.images, sorted(image_numbers), longer_side=IMAGE_SIDE)
    pictures = {
        number: {"name": readable(PurePath(pairs.images[number].source).name), "embedded": picture}
        for number, picture in embedded.items()
    }
    return filled(
        "iconotext_papers.analyses",
        "top_images.html",
        title=f"Best pictures: {readable(corpus)}",
        styles=["examples.css", "top_images.css"],
        corpus=readable(corpus),
        drawn=drawn,
        candidates=len(pairs.images),
        pictures=pictures,
        parts=[_part(query, pairs) for query in queries],
    )


def _part(query: QueryResults, pairs: PairVectors) -> dict[str, Any]:
    number, own_image = query.number, int(pairs.image_of[query.number])
    labels = pairs.labels[number]
    return {
        "identifier": readable(pairs.ids[number]),
        "text": readable(pairs.texts[number]),
        "own": own_image,
        "drawn_for": query.relations,
        "holds": [name for name, label in zip(pairs.relations, labels.tolist(), strict=True) if label == 1],
        "results": [_model(result, own_image) for result in query.results],
        "words": _words(query.results),
    }


def _model(result: Ranking, own_image: int) -> dict[str, Any]:
    return {
        "model": readable(result.model),
        "rank": f"{result.rank:g}",
        "refinement": result.refinement,
        "relations": sorted(result.relations.items(), key=lambda pair: -pair[1]),
        "images": [
            {"number": image, "similarity": similarity, "right": image == own_image}
            for image, similarity in zip(result.images, result.similarities, strict=True)
        ],
    }


def _words(results: Sequence[Ranking]) -> list[dict[str, Any]]:
    """Show the attention of each model that has it, with the highest weight in the darkest shade (Fig. 7)."""
    rows = []
    for result in results:
        highest = max((word.weight for word in result.words), default=0.0)
        cells = [
            {
                "word": readable(word.word) if word.known else f"({readable(word.word)})",
                "weight": word.weight,
                "shade": min(_SHADES - 1, int(word.weight / highest * _SHADES)),
            }
            for word in result.words
        ]
        if cells:
            rows.append({"model": readable(result.model), "words": cells})
    return rows
