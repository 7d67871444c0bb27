"""Measures retrieval by a model: the rank of a text's own image among many (Alikhani 2021, Tables 4–8).

``measure_retrieval`` makes a ``RetrievalReport``, for an encoder from ``retrieval_encoder``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iconotext.corpus.convert import own_features
from iconotext.encoders.coherence import Refinement, read_refinement
from iconotext.encoders.folder import init_folder
from iconotext.errors import SettingError
from iconotext.evaluate.metrics import RelationPrecision
from iconotext.evaluate.retrieval import (
    DRAWS,
    Retrieval,
    of_relations,
    rank_pools,
    refined,
    retrieval,
    similarities,
    told_precisions,
)

if TYPE_CHECKING:
    from pathlib import Path

    from iconotext.encoders.encoder import Encoder
    from iconotext.evaluate.pair_vectors import PairVectors
    from iconotext.evaluate.retrieval import Score

NO_REFINEMENT = Refinement(0.0, 0.0)


@dataclass(frozen=True)
class Found:
    """The retrieval metrics of one score.

    Attributes:
        relations: Metrics over the queries with each relation, by its name; None if no pool has such a query.
    """

    all: Retrieval
    relations: dict[str, Retrieval | None]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        by_relation = {name: each and each.as_dict() for name, each in self.relations.items()}
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
    plain: Found
    refinement: Refinement
    refined: Found | None
    precisions: tuple[RelationPrecision, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "pairs": len(self.pairs.ids),
            "images": len(self.pairs.pictures),
            "left_out": [each._asdict() for each in self.pairs.left_out],
            **self.plain.as_dict(),
            "refined": self.refined and {**self.refinement._asdict(), **self.refined.as_dict()},
            "average_precision": {each.relation: each.as_dict() for each in self.precisions} or None,
        }


def retrieval_encoder(model: str, corpus: Path, *, image: str | None = None, cache: bool = True) -> Encoder:
    """Load the encoder of a model; one that looks images up does so in the features beside the corpus.

    Args:
        model: As for ``load_encoder``.
        image: Another image backbone or file of features; None for the model's own.
    """
    from iconotext.encoders.encoder import load_encoder

    if model in ("random", "object-detection"):
        raise SettingError(f"{model} has no vectors to search by; by chance, R@K of a pool of N is K / N")
    return load_encoder(model, image=image or own_features(model, corpus), cache=cache)


def chosen_refinement(model: str, encoder: Encoder, wanted: Refinement | None = None) -> Refinement:
    """Return the wanted refinement, else the one in the model's folder; T = 0 refines no query."""
    if encoder.coherence is None:
        if wanted is not None and wanted.threshold:
            given = f"{wanted.strength:g},{wanted.threshold:g}"
            raise SettingError(f"refine={given}: the model {model} tells no relations to refine by")
        return NO_REFINEMENT
    return wanted or read_refinement(init_folder(model)) or NO_REFINEMENT


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
    resamplings: int = 2000,
    seed: int = 0,
) -> RetrievalReport:
    """Measure the ranks of the texts' images, and the average precision of the relations."""

    def found(score: Score) -> Found:
        ranks = rank_pools(score, pairs.image_of, pool=pool, draws=draws, seed=seed)
        return Found(retrieval(ranks), of_relations(ranks, pairs.labels, pairs.relations))

    better = None
    if encoder.coherence is not None and refinement.threshold:
        better = found(refined(pairs, encoder.coherence, refinement))
    precisions = told_precisions(encoder.coherence, pairs, resamplings=resamplings, seed=seed)
    return RetrievalReport(pairs, found(similarities(pairs)), refinement, better, precisions)
