"""The images that several models find best for the same texts of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import CorpusError
from iconotext.evaluate.retrieval import chunks
from iconotext.relations import relation_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.encoder import Encoder
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.evaluate.retrieval import Score
    from iconotext.library.refinement import Refinement


class Search(NamedTuple):
    """A model that looks for images.

    Attributes:
        score: Similarities of some texts with some images, by number, refined as the model's folder says.
        refinement: What that is; None where nothing is refined.
    """

    model: str
    encoder: Encoder
    pairs: PairVectors
    score: Score
    refinement: Refinement | None = None


def check_same_pairs(searches: Sequence[Search]) -> None:
    """Raise ``CorpusError`` where one model could not read what another could: all must search the same images."""
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
        score: Similarities of some queries with some images, by number.
        queries: (Q,) numbers.
        images: (N,) numbers, at least one.
    """
    count = min(count, len(images))
    best, values = [np.zeros((0, count), np.intp)], [np.zeros((0, count))]
    for some in chunks(len(queries), len(images)):
        scores = np.asarray(score(queries[some], images), np.float64)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
        best.append(images[order])
        values.append(np.take_along_axis(scores, order, axis=1))
    return np.concatenate(best), np.concatenate(values)


def chosen_queries(
    pairs: PairVectors, *, relations: Sequence[str] = (), count: int | None = None, seed: int = 0
) -> dict[int, tuple[str, ...]]:
    """Draw texts of a corpus: the number of each pair to the relations for which it was drawn, ascending.

    Args:
        relations: Names, or what people type for them; for each, texts that have it are drawn. () draws from all texts.
        count: How many to draw, for each relation; None takes all.

    Raises:
        CorpusError: No pair of the corpus has a relation.
        SettingError: There is no such relation.
    """
    names = dict.fromkeys(relation_name(name, pairs.relations) for name in relations)
    random = np.random.default_rng(seed)
    found: dict[int, tuple[str, ...]] = {}
    for relation in names or (None,):
        if relation is None:
            there = np.arange(len(pairs.ids))
        else:
            there = np.flatnonzero(pairs.labels[:, pairs.relations.index(relation)] == 1)
        if not len(there):
            raise CorpusError(f"no pair has the relation {relation}; there are {', '.join(pairs.relations) or 'none'}")
        if count is not None and count < len(there):
            there = random.choice(there, count, replace=False)
        for number in there.tolist():
            found[number] = (*found.get(number, ()), *(() if relation is None else (relation,)))
    return dict(sorted(found.items()))


def held_relations(pairs: PairVectors) -> list[str]:
    """The relations that at least one pair has."""
    return [name for column, name in enumerate(pairs.relations) if (pairs.labels[:, column] == 1).any()]


def named_queries(pairs: PairVectors, names: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """The texts with these names, as ``chosen_queries`` gives them; ``CorpusError`` where one is not there."""
    missing = [name for name in names if name not in pairs.ids]
    if missing:
        raise CorpusError(f"there is no text {missing[0]!r} in the corpus, or in this split")
    return {pairs.ids.index(name): () for name in names}
