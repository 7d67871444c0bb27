"""Retrieval: the rank of the right image when a text is the query (Alikhani 2021, Tables 4-8, "Evaluation Metrics").

``measure_retrieval`` measures a model and makes a ``RetrievalReport``; ``retrieval_encoder`` loads the model.

A pool is a number of random images, 500 in the paper. Every text whose own image is in the pool is a query, and all
images of the pool are its candidates. Several pairs may share an image, which is then one candidate, right for each of
them. Several pools are drawn; figures are the mean over them, with the standard deviation, which shows the influence of
the pool and not of training.

Ties do not depend on the order of the images: the rank is the mean over all orders, and R@K the share of orders in
which the right image is among the first K. So a model that finds all images equally good has a median rank of (pool +
1) / 2 and R@K of K / pool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.corpus.convert import own_features
from iconotext.encoders.coherence_relations import Refinement, read_refinement, refine
from iconotext.encoders.stored_model import init_folder
from iconotext.errors import CorpusError, SettingError, ShapeError
from iconotext.evaluate.metrics import RelationPrecision, relation_precisions
from iconotext.evaluate.statistics import RESAMPLINGS

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from iconotext.encoders.coherence_relations import Coherence
    from iconotext.encoders.encoder import Encoder
    from iconotext.evaluate.pair_vectors import PairVectors

    Floats = NDArray[np.floating]
    Numbers = NDArray[np.intp]
    Score = Callable[[Numbers, Numbers], Floats]
    """From numbers of Q queries and numbers of N images to (Q, N) similarities."""


BATCH = 64
"""Pairs whose own relations are predicted together: the model predicts those of every text with every image."""


def similarities(pairs: PairVectors) -> Score:
    """Return a function that multiplies the vectors of pairs and images."""
    return lambda queries, images: pairs.text_vectors[queries] @ pairs.image_vectors[images].T


def pair_probabilities(pairs: PairVectors, coherence: Coherence) -> Score:
    """(Q, N, R) probabilities of some pairs with some images, by number."""
    return lambda queries, images: coherence.probabilities(pairs.text_vectors[queries], pairs.image_vectors[images])


def refined(pairs: PairVectors, coherence: Coherence, refinement: Refinement) -> Score:
    """The products of the vectors, those of hard queries multiplied by the confidence in the relations."""
    plain, relations = similarities(pairs), pair_probabilities(pairs, coherence)

    def score(queries: NDArray[np.intp], images: NDArray[np.intp]) -> Floats:
        return refine(
            plain(queries, images),
            relations(queries, images),
            strength=refinement.strength,
            threshold=refinement.threshold,
        )

    return score


def own_probabilities(pairs: PairVectors, coherence: Coherence) -> NDArray[np.float64]:
    """Compute the (P, R) probabilities of the relations of each text with its own image."""
    parts = []
    for start in range(0, len(pairs.ids), BATCH):
        batch = slice(start, start + BATCH)
        all_pairs = coherence.probabilities(pairs.text_vectors[batch], pairs.image_vectors[pairs.image_of[batch]])
        diagonal = np.arange(len(all_pairs))
        parts.append(np.asarray(all_pairs, np.float64)[diagonal, diagonal])
    return np.concatenate(parts)


def coherence_precisions(
    coherence: Coherence | None, pairs: PairVectors, *, resamplings: int = RESAMPLINGS, seed: int = 0
) -> tuple[RelationPrecision, ...]:
    """Compute the average precision of the relations that a model predicts and the pairs have labels for; may be ()."""
    names = [] if coherence is None else [name for name in coherence.relations if name in pairs.relations]
    if coherence is None or not names:
        return ()
    predicted = own_probabilities(pairs, coherence)[:, [coherence.relations.index(name) for name in names]]
    labels = pairs.labels[:, [pairs.relations.index(name) for name in names]]
    return relation_precisions(predicted, labels, names, pairs.image_of, resamplings=resamplings, seed=seed)


POOL = 500
DRAWS = 10
RECALLS = (1, 5, 10)
"""The K of R@K."""

CELLS = 1_000_000
"""Similarities that are in memory at a time, at least those of one query."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """The ranks of the right images of Q queries.

    Attributes:
        above: (Q,) number of images that are more similar than the right one.
        tied: (Q,) number of other images that are equally similar.
    """

    above: Numbers
    tied: Numbers

    @property
    def mean(self) -> NDArray[np.float64]:
        """(Q,) rank from 1; with ties the mean."""
        return np.asarray(1 + self.above + self.tied / 2, np.float64)

    def recall(self, k: int) -> NDArray[np.float64]:
        """(Q,) probability, 0 to 1, that the right image is among the first k if ties are ordered at random."""
        return np.asarray(np.clip((k - self.above) / (self.tied + 1), 0, 1), np.float64)

    def of(self, chosen: NDArray[np.bool_]) -> Ranks:
        """Return the ranks of the chosen queries, (Q,) bool."""
        return Ranks(self.above[chosen], self.tied[chosen])

    def where(self, condition: NDArray[np.bool_], other: Ranks) -> Ranks:
        """Return these ranks where the (Q,) condition holds, the other ones elsewhere."""
        return Ranks(np.where(condition, self.above, other.above), np.where(condition, self.tied, other.tied))


class Draw(NamedTuple):
    """A pool: the (Q,) numbers of the pairs that are queries, and the ranks of their images."""

    queries: Numbers
    ranks: Ranks


class Figure(NamedTuple):
    """A metric over several pools: mean, and standard deviation (n - 1), None for a single pool."""

    mean: float
    deviation: float | None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Retrieval metrics of one model.

    Attributes:
        median_rank: Median over the queries of a pool, from 1.
        mean_rank: Mean over the queries of a pool.
        recall: K to R@K, 0 to 1.
        queries: Mean number of queries in a pool.
        draws: Number of pools with any query.
    """

    median_rank: Figure
    mean_rank: Figure
    recall: Mapping[int, Figure]
    queries: float
    draws: int

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        figures = {"median_rank": self.median_rank, "mean_rank": self.mean_rank}
        figures |= {f"r@{k}": figure for k, figure in self.recall.items()}
        return {
            **{name: figure.mean for name, figure in figures.items()},
            "deviations": {name: figure.deviation for name, figure in figures.items()},
            "queries": self.queries,
            "draws": self.draws,
        }


def ranks_of(similarities: Floats, true: Numbers) -> Ranks:
    """The rank of each query's right image among all images.

    Args:
        similarities: (Q, N), without NaN.
        true: (Q,) column of the right image of each query.
    """
    similarities, true = np.asarray(similarities), np.asarray(true)
    if similarities.ndim != 2 or true.shape != similarities.shape[:1]:
        raise ShapeError(f"similarities {similarities.shape} must be (queries, images), the right images {true.shape}")
    if len(true) and (true.min() < 0 or true.max() >= similarities.shape[1]):
        raise ShapeError(f"a right image is not among the {similarities.shape[1]} of the similarities")
    if np.isnan(similarities).any():
        query, image = np.argwhere(np.isnan(similarities))[0]
        raise ShapeError(f"the similarity of query {query} and image {image} is not a number")
    target = np.take_along_axis(similarities, true[:, None].astype(np.intp), axis=1)
    return Ranks((similarities > target).sum(axis=1), (similarities == target).sum(axis=1) - 1)  # not the right image


def draw_pools(images: int, *, pool: int = POOL, draws: int = DRAWS, seed: int = 0) -> Iterator[Numbers]:
    """Draw images without replacement, several times; yield their (pool,) ascending numbers.

    Only once if the pool has all images, since others would be the same.
    """
    if pool < 1 or draws < 1:
        raise SettingError(f"pool is {pool} and draws is {draws}; both are at least 1")
    if images < pool:
        raise CorpusError(
            f"a pool of {pool:,} images cannot be drawn from {images:,}; take a smaller one (pool={max(images, 1)}) "
            "or more images, and compare only figures of equal pools"
        )
    random = np.random.default_rng(seed)
    # No generator function, which would raise the errors above only when the first pool is taken.
    return (np.sort(random.choice(images, pool, replace=False)) for _ in range(1 if pool == images else draws))


def pool_queries(image_of: Numbers, pool: Numbers, images: int) -> tuple[Numbers, Numbers]:
    """Return the (Q,) ascending numbers of the pairs whose image is in a pool, and the images' (Q,) positions in it."""
    place = np.full(images, -1)
    place[pool] = np.arange(len(pool))
    queries = np.flatnonzero(place[image_of] >= 0)
    return queries, place[image_of[queries]]


def chunks(queries: int, pool: int) -> Iterator[slice]:
    """Divide a pool's queries into slices, so that the similarities of each slice fit into memory."""
    rows = max(1, CELLS // max(pool, 1))
    return (slice(start, min(start + rows, queries)) for start in range(0, queries, rows))


def rank_pools(
    score: Score, image_of: Numbers, *, pool: int = POOL, draws: int = DRAWS, seed: int = 0
) -> tuple[Draw, ...]:
    """Rank the right images, by each pair's (P,) number of its image, from 0, in several pools; see ``draw_pools``."""
    images = int(image_of.max()) + 1 if len(image_of) else 0
    ranked = []
    for drawn in draw_pools(images, pool=pool, draws=draws, seed=seed):
        queries, true = pool_queries(image_of, drawn, images)
        parts = [ranks_of(score(queries[chunk], drawn), true[chunk]) for chunk in chunks(len(queries), pool)]
        ranked.append(Draw(queries, joined(parts)))
    return tuple(ranked)


def joined(parts: Sequence[Ranks]) -> Ranks:
    """Join the ranks of several groups of queries."""
    zero = np.zeros(0, np.intp)
    return Ranks(
        np.concatenate([zero, *(part.above for part in parts)]), np.concatenate([zero, *(part.tied for part in parts)])
    )


def retrieval(draws: Sequence[Draw]) -> Retrieval:
    """Compute median rank, mean rank and R@K over the pools from ``rank_pools``."""
    metrics = retrieval_of(draws, None)
    if metrics is None:
        raise CorpusError("no text belongs to an image of the pools, so there is nothing to measure")
    return metrics


def retrieval_of(draws: Sequence[Draw], chosen: NDArray[np.bool_] | None) -> Retrieval | None:
    """Compute ``retrieval`` over the chosen queries.

    Args:
        draws: The result of ``rank_pools``.
        chosen: (P,) pairs to use as queries, such as those with a relation (Table 7); None for all. Every image remains
            a candidate.

    Returns:
        The metrics; None if no pool has such a query. Pools without one are left out of mean and deviation.
    """
    ranks = [draw.ranks if chosen is None else draw.ranks.of(chosen[draw.queries]) for draw in draws]
    ranks = [r for r in ranks if len(r.above)]
    if not ranks:
        return None
    return Retrieval(
        median_rank=figure([float(np.median(r.mean)) for r in ranks]),
        mean_rank=figure([float(r.mean.mean()) for r in ranks]),
        recall={k: figure([float(r.recall(k).mean()) for r in ranks]) for k in RECALLS},
        queries=float(np.mean([len(r.above) for r in ranks])),
        draws=len(ranks),
    )


def of_relations(draws: Sequence[Draw], labels: Floats, relations: Sequence[str]) -> dict[str, Retrieval | None]:
    """The metrics over the queries that have each relation (Alikhani 2021, Table 7).

    Args:
        draws: From ``rank_pools``.
        labels: (P, R): 1 if the pair has the relation, 0 if not, NaN without an answer.
    """
    return {name: retrieval_of(draws, labels[:, column] == 1) for column, name in enumerate(relations)}


def figure(values: Sequence[float]) -> Figure:
    """Mean and standard deviation of at least one value."""
    return Figure(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)


NO_REFINEMENT = Refinement(0.0, 0.0)


@dataclass(frozen=True)
class RetrievalFigures:
    """The retrieval metrics of one score.

    Attributes:
        relations: Metrics over the queries with each relation, by its name; None if no pool has such a query.
    """

    all: Retrieval
    relations: dict[str, Retrieval | None]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        by_relation = {name: figures and figures.as_dict() for name, figures in self.relations.items()}
        return {**self.all.as_dict(), "relations": by_relation}


@dataclass(frozen=True)
class RetrievalReport:
    """The result of a measurement.

    Attributes:
        plain: Metrics by the similarities of the vectors.
        refined: Metrics by the refined similarities; None without refinement.
        precisions: Average precisions of the relations that the model predicts and the pairs have labels for.
    """

    pairs: PairVectors
    plain: RetrievalFigures
    refinement: Refinement
    refined: RetrievalFigures | None
    precisions: tuple[RelationPrecision, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return {
            "pairs": len(self.pairs.ids),
            "images": len(self.pairs.images),
            "left_out": [item._asdict() for item in self.pairs.left_out],
            **self.plain.as_dict(),
            "refined": self.refined and {**self.refinement._asdict(), **self.refined.as_dict()},
            "average_precision": {p.relation: p.as_dict() for p in self.precisions} or None,
        }


def retrieval_encoder(model: str, corpus: Path, *, image: str | None = None, cache: bool = True) -> Encoder:
    """Load the encoder of a model; one that looks images up does so in the features beside the corpus.

    Args:
        model: As for ``load_encoder``.
        image: Another image backbone or file of features; None for the model's own.
    """
    from iconotext.encoders.load import load_encoder

    if model == "random":
        raise SettingError(f"{model} has no vectors to search by; by chance, R@K of a pool of N is K / N")
    return load_encoder(model, image=image or own_features(model, corpus), cache=cache)


def chosen_refinement(model: str, encoder: Encoder) -> Refinement:
    """Return the refinement in the model's folder; T = 0 refines no query."""
    if encoder.coherence is None:
        return NO_REFINEMENT
    return read_refinement(init_folder(model)) or NO_REFINEMENT


def retrieval_score(encoder: Encoder, pairs: PairVectors, refinement: Refinement) -> Score:
    """Similarities by the vectors of a model, refined or not."""
    if encoder.coherence is None or not refinement.threshold:
        return similarities(pairs)
    return refined(pairs, encoder.coherence, refinement)


def measure_retrieval(
    encoder: Encoder,
    pairs: PairVectors,
    *,
    pool: int,
    refinement: Refinement = NO_REFINEMENT,
    draws: int = DRAWS,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> RetrievalReport:
    """Measure the ranks of the texts' images, and the average precision of the relations."""

    def measured(score: Score) -> RetrievalFigures:
        ranks = rank_pools(score, pairs.image_of, pool=pool, draws=draws, seed=seed)
        return RetrievalFigures(retrieval(ranks), of_relations(ranks, pairs.labels, pairs.relations))

    by_refined = None
    if encoder.coherence is not None and refinement.threshold:
        by_refined = measured(refined(pairs, encoder.coherence, refinement))
    precisions = coherence_precisions(encoder.coherence, pairs, resamplings=resamplings, seed=seed)
    return RetrievalReport(pairs, measured(similarities(pairs)), refinement, by_refined, precisions)
