"""The best image of each of two models for the same texts, to be judged by people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import CorpusError
from iconotext.papers.analyses.searches import Search, best_images
from iconotext.papers.studies.study import Contenders

if TYPE_CHECKING:
    from iconotext.evaluate.pair_vectors import PairVectors


def contenders(first: Search, second: Search, chosen: Mapping[int, tuple[str, ...]]) -> list[Contenders]:
    """The best images of two models among all of a corpus.

    Args:
        first: The model that is asked about.
        second: The one it is compared with, on the same pairs.
        chosen: Number of each text to the relations for which it counts.

    Raises:
        CorpusError: A picture is no file; a page could not show it.
    """
    pairs = first.pairs
    queries, images = np.array(list(chosen), np.intp), np.arange(len(pairs.pictures))
    one, other = (best_images(search.score, queries, images)[0][:, 0].tolist() for search in (first, second))
    return [
        Contenders(first.model, pairs.ids[query], pairs.text[query], _file(pairs, a), _file(pairs, b), chosen[query])
        for query, a, b in zip(queries.tolist(), one, other, strict=True)
    ]


def _file(pairs: PairVectors, image: int) -> Path:
    file = pairs.pictures[image].file
    if not isinstance(file, Path):
        raise CorpusError(f"picture {pairs.pictures[image].source}: is not a file, so nobody could be shown it")
    return file
