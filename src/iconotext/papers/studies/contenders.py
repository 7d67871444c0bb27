"""The best image of each of two models for the same texts, to be judged by people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import CorpusError
from iconotext.evaluate.retrieval import chunks
from iconotext.papers.studies.study import Contenders
from iconotext.relations import relation_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.evaluate.retrieval import Score


def best_images(score: Score, queries: NDArray[np.intp], images: NDArray[np.intp]) -> NDArray[np.intp]:
    """The most similar image of each query; of equal ones the first.

    Args:
        score: Similarities of some queries with some images, by number.
        queries: (Q,) numbers.
        images: (N,) numbers, at least one.

    Returns:
        (Q,) numbers of images.
    """
    best = [score(queries[some], images).argmax(axis=1) for some in chunks(len(queries), len(images))]
    return np.asarray(images[np.concatenate([np.zeros(0, np.intp), *best])], np.intp)


def chosen_queries(
    pairs: PairVectors, *, relations: Sequence[str] = (), count: int | None = None, seed: int = 0
) -> dict[int, tuple[str, ...]]:
    """Draw the texts of a study.

    Args:
        pairs: Of a corpus.
        relations: Names, or what people type for them; for each, texts that have it are drawn. () draws from all texts.
        count: How many to draw, for each relation; None takes all.
        seed: Equal seeds give equal draws.

    Returns:
        Number of the pair to the relations for which it was drawn, ascending.

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


def check_same_pairs(first: PairVectors, second: PairVectors) -> None:
    """Both models must search the same images by the same texts.

    Raises:
        CorpusError: One of them could read what the other could not.
    """
    if first.ids != second.ids or first.image_of.tolist() != second.image_of.tolist():
        raise CorpusError(
            f"the two models could not read the same pictures of the corpus: {len(first.left_out)} and "
            f"{len(second.left_out)} left out"
        )


def contenders(first: Score, second: Score, pairs: PairVectors, chosen: dict[int, tuple[str, ...]]) -> list[Contenders]:
    """The best images of two models among all of a corpus.

    Args:
        first: Similarities of the model that is asked about, numbers as in ``pairs``.
        second: Of the one it is compared with.
        pairs: Of the corpus.
        chosen: Number of each text to the relations for which it counts.

    Raises:
        CorpusError: A picture is no file; a page could not show it.
    """
    queries, images = np.array(list(chosen), np.intp), np.arange(len(pairs.pictures))
    found = []
    for query, one, other in zip(
        queries.tolist(),
        best_images(first, queries, images).tolist(),
        best_images(second, queries, images).tolist(),
        strict=True,
    ):
        files = [_file(pairs, image) for image in (one, other)]
        found.append(Contenders(pairs.ids[query], pairs.text[query], files[0], files[1], chosen[query]))
    return found


def _file(pairs: PairVectors, image: int) -> Path:
    file = pairs.pictures[image].file
    if not isinstance(file, Path):
        raise CorpusError(f"picture {pairs.pictures[image].source}: is not a file, so nobody could be shown it")
    return file
