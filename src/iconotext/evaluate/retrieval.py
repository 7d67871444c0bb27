"""Retrieval metrics: how far down the right image stands when a text asks for it (Alikhani 2021, "Evaluation Metrics").

A pool is a number of images drawn at random from all of them, 500 in the paper. Every text whose own image is in the
pool is a query, and all images of the pool are its candidates. Several pairs may share an image: it is one candidate,
and the right one for each of them. The draws are repeated; what is reported is the mean over the draws and their
standard deviation, which says how much the choice of the pool matters, not how much another training run would.

Equal similarities are never broken by the order of the images. The rank is the mean over all orders of them, and R@K
the share of those orders in which the right image is among the first K. So a model that finds all images equally good
has a median rank of (pool + 1) / 2 and R@K of K / pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.errors import CorpusError, SettingError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    Numbers = NDArray[np.intp]

    Score = Callable[[Numbers, Numbers], Floats]
    """Numbers of Q queries and of N images to (Q, N) similarities."""

POOL = 500
DRAWS = 10
RECALLS = (1, 5, 10)
"""The K of R@K."""

CELLS = 1_000_000
"""Similarities that are in memory at once; those of one query always are."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """Where the right images of Q queries stand.

    Attributes:
        above: (Q,) images that are more similar than the right one.
        tied: (Q,) other images that are as similar as the right one.
    """

    above: Numbers
    tied: Numbers

    @property
    def mean(self) -> NDArray[np.float64]:
        """(Q,) rank from 1; among equal images the mean of their places."""
        return np.asarray(1 + self.above + self.tied / 2, np.float64)

    def recall(self, k: int) -> NDArray[np.float64]:
        """(Q,) how likely the right image is among the first k when equal ones stand in random order, 0 to 1."""
        return np.asarray(np.clip((k - self.above) / (self.tied + 1), 0, 1), np.float64)

    def of(self, chosen: NDArray[np.bool_]) -> Ranks:
        """Those of some of the queries, (Q,) bool."""
        return Ranks(self.above[chosen], self.tied[chosen])

    def where(self, condition: NDArray[np.bool_], other: Ranks) -> Ranks:
        """These where the condition, (Q,) bool, holds, the other ones elsewhere."""
        return Ranks(np.where(condition, self.above, other.above), np.where(condition, self.tied, other.tied))


class Draw(NamedTuple):
    """One pool: the (Q,) numbers of the pairs that asked, and where their images stand in it."""

    queries: Numbers
    ranks: Ranks


class Figure(NamedTuple):
    """A metric over several draws: mean, and standard deviation (n − 1), which is None for a single one."""

    mean: float
    deviation: float | None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Retrieval metrics of one model.

    Attributes:
        median_rank: Median over the queries of a draw, from 1.
        mean_rank: Mean over the queries of a draw.
        recall: K to R@K, 0 to 1.
        queries: In a draw, on average.
        draws: That have any query.
    """

    median_rank: Figure
    mean_rank: Figure
    recall: Mapping[int, Figure]
    queries: float
    draws: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        figures = {"median_rank": self.median_rank, "mean_rank": self.mean_rank}
        figures |= {f"r@{k}": figure for k, figure in self.recall.items()}
        return {
            **{name: figure.mean for name, figure in figures.items()},
            "deviations": {name: figure.deviation for name, figure in figures.items()},
            "queries": self.queries,
            "draws": self.draws,
        }


def ranks_of(similarities: Floats, true: Numbers) -> Ranks:
    """Where the right image of each query stands among all of them.

    Args:
        similarities: (Q, N), no NaN.
        true: (Q,) column of the right image of each query.

    Raises:
        ShapeError: The shapes do not fit, a column is none, or a similarity is not a number.
    """
    similarities, true = np.asarray(similarities), np.asarray(true)
    if similarities.ndim != 2 or true.shape != similarities.shape[:1]:
        raise ShapeError(f"similarities {similarities.shape} must be (queries, images), the right images {true.shape}")
    if len(true) and (true.min() < 0 or true.max() >= similarities.shape[1]):
        raise ShapeError(f"a right image is not among the {similarities.shape[1]} of the similarities")
    if np.isnan(similarities).any():
        query, image = np.argwhere(np.isnan(similarities))[0]
        raise ShapeError(f"the similarity of query {query} and image {image} is not a number")
    own = np.take_along_axis(similarities, true[:, None].astype(np.intp), axis=1)
    return Ranks((similarities > own).sum(axis=1), (similarities == own).sum(axis=1) - 1)


def draw_pools(images: int, *, pool: int = POOL, draws: int = DRAWS, seed: int = 0) -> Iterator[Numbers]:
    """Draw images without replacement, several times.

    Args:
        pool: Images in a pool.

    Yields:
        (pool,) ascending numbers of images. Where the pool has all images, one: the others would be the same.

    Raises:
        CorpusError: There are fewer images than a pool has.
        SettingError: A number is below 1.
    """
    if pool < 1 or draws < 1:
        raise SettingError(f"pool is {pool} and draws is {draws}; both are at least 1")
    if images < pool:
        raise CorpusError(
            f"a pool of {pool:,} images cannot be drawn from {images:,}; take a smaller one (pool={max(images, 1)}) "
            "or more images, and compare only figures of equal pools"
        )
    return _pools(images, pool, 1 if pool == images else draws, seed)


def _pools(images: int, pool: int, draws: int, seed: int) -> Iterator[Numbers]:
    random = np.random.default_rng(seed)
    for _ in range(draws):
        yield np.sort(random.choice(images, pool, replace=False))


def pool_queries(image_of: Numbers, pool: Numbers, images: int) -> tuple[Numbers, Numbers]:
    """(Q,) ascending numbers of the pairs whose own image is in a pool, and (Q,) the places of these images there."""
    place = np.full(images, -1)
    place[pool] = np.arange(len(pool))
    queries = np.flatnonzero(place[image_of] >= 0)
    return queries, place[image_of[queries]]


def chunks(queries: int, pool: int) -> Iterator[slice]:
    """Slices of the queries of a pool, so that the similarities of each fit into memory."""
    rows = max(1, CELLS // max(pool, 1))
    return (slice(start, min(start + rows, queries)) for start in range(0, queries, rows))


def rank_pools(
    score: Score, image_of: Numbers, *, pool: int = POOL, draws: int = DRAWS, seed: int = 0
) -> tuple[Draw, ...]:
    """The ranks of the right images in several pools; see ``draw_pools``.

    Args:
        score: Similarities of some queries with some images, by number; a row must not depend on the other rows.
        image_of: (P,) number of each pair's image, 0 to the number of images less 1.

    Raises:
        CorpusError: There are fewer images than a pool has.
        ShapeError: The scores are of another shape, or not numbers.
    """
    images = int(image_of.max()) + 1 if len(image_of) else 0
    found = []
    for drawn in draw_pools(images, pool=pool, draws=draws, seed=seed):
        queries, true = pool_queries(image_of, drawn, images)
        parts = [ranks_of(score(queries[some], drawn), true[some]) for some in chunks(len(queries), pool)]
        found.append(Draw(queries, joined(parts)))
    return tuple(found)


def joined(parts: Sequence[Ranks]) -> Ranks:
    """The ranks of several groups of queries as one."""
    none = np.zeros(0, np.intp)
    return Ranks(
        np.concatenate([none, *(part.above for part in parts)]), np.concatenate([none, *(part.tied for part in parts)])
    )


def retrieval(draws: Sequence[Draw]) -> Retrieval:
    """Median rank, mean rank and R@K over some draws, what ``rank_pools`` gives.

    Raises:
        CorpusError: There is no query in them.
    """
    found = retrieval_of(draws, None)
    if found is None:
        raise CorpusError("no text belongs to an image of the pools, so there is nothing to measure")
    return found


def retrieval_of(draws: Sequence[Draw], chosen: NDArray[np.bool_] | None) -> Retrieval | None:
    """The same over some of the queries.

    Args:
        draws: What ``rank_pools`` gives.
        chosen: (P,) pairs that count as queries, such as those with a relation (Table 7); None for all. The pools stay
            whole: every image remains a candidate.

    Returns:
        None where no draw has such a query. Draws without one are left out of mean and deviation.
    """
    ranks = [draw.ranks if chosen is None else draw.ranks.of(chosen[draw.queries]) for draw in draws]
    ranks = [each for each in ranks if len(each.above)]
    if not ranks:
        return None
    return Retrieval(
        median_rank=figure([float(np.median(each.mean)) for each in ranks]),
        mean_rank=figure([float(each.mean.mean()) for each in ranks]),
        recall={k: figure([float(each.recall(k).mean()) for each in ranks]) for k in RECALLS},
        queries=float(np.mean([len(each.above) for each in ranks])),
        draws=len(ranks),
    )


def of_relations(draws: Sequence[Draw], labels: Floats, relations: Sequence[str]) -> dict[str, Retrieval | None]:
    """The metrics over the queries that have each relation (Alikhani 2021, Table 7).

    Args:
        draws: What ``rank_pools`` gives.
        labels: (P, R): 1 where a pair has the relation, 0 where not, NaN where nobody answered.
        relations: R names.
    """
    return {name: retrieval_of(draws, labels[:, column] == 1) for column, name in enumerate(relations)}


def figure(values: Sequence[float]) -> Figure:
    """Mean and standard deviation of a metric's values, at least one."""
    return Figure(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)
