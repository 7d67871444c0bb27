"""The approximate index of a large library, and the background of a library: its cosines with made-up sentences.

``build_index`` builds the index when the library is large enough (``needs_index``), and tests it before it is used;
``measure_background`` measures the background.

The index divides the vectors into partitions around centres and keeps four bits of each number (RaBitQ; full vectors if
their length is not divisible by eight). A search looks into the partitions nearest to the query, and compares the most
promising pictures exactly. How many partitions and pictures are needed is chosen by trial, until enough of the results
of exact search are found. The recall on other queries is stored with the library.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.library.settings import Background, IndexSettings
from iconotext.library.store import TOP, Library

if TYPE_CHECKING:
    from iconotext.encoders.encoder import Encoder
    from iconotext.types import FloatMatrix


SENTENCES = 160
"""Number of made-up sentences."""

SAMPLE = 2000
"""Pictures that are sampled in a large library; other samples give the same background to the second digit."""

LEAST_DEVIATION = 0.01
"""Lower limit for standard deviations of cosines: a library may have only one picture."""


def sample_sentences(encoder: Encoder) -> FloatMatrix:
    """Return (``SENTENCES``, dim) vectors of short sentences about things of all kinds."""
    from iconotext.features import imagenet_classes

    draw = np.random.default_rng(0)
    names = [imagenet_classes()[i] for i in sorted(draw.choice(len(imagenet_classes()), SENTENCES, replace=False))]
    return encoder.encode_sentences([f"A photograph of {name.split(',')[0]}." for name in names])


def measure_background(library: Library, encoder: Encoder) -> Background:
    """Measure the cosines of made-up sentences with the pictures and texts of a library."""
    sentences = sample_sentences(encoder)
    sample = library.sample(SAMPLE)
    images = np.stack([item.vector for item in sample])
    texts = [item.text_vectors for item in sample if item.text_vectors is not None]
    text = _mean_and_deviation(sentences @ np.vstack(texts).T) if texts else (0.0, 1.0)
    return Background(_mean_and_deviation(sentences @ images.T), text)


def _mean_and_deviation(cosines: FloatMatrix) -> tuple[float, float]:
    return round(float(cosines.mean()), 4), round(max(LEAST_DEVIATION, float(cosines.std())), 4)


ABOVE = 50_000
"""An index is built above this number of pictures; below, exact search takes some hundredths of a second."""

GROWN = 4
"""The index is built again when the library has grown, or shrunk, by this factor; until then new pictures join the old
partitions. Up to a factor of eight recall stayed the same, also for new kinds (``benchmarks/library.py --grow``)."""

MAX_PARTS = 16
"""It is also built again above this many pieces: each run adds one, which costs every search half a millisecond."""

GOAL = 0.97
"""Recall to reach on the queries that choose the settings, so that other queries reach 0.95."""

PROBES = (16, 24, 36, 54, 80, 120, 180, 270, 400)
REFINE = (2, 3, 5, 10, 20)
"""The values of ``IndexSettings.probes`` and ``refine`` that are tried."""


def needs_index(library: Library) -> bool:
    """Return whether the index must be built, or built again."""
    count, index = library.count(), library.settings.index
    if count <= ABOVE:
        return False
    if index is None or not index.pictures / GROWN <= count <= GROWN * index.pictures:
        return True
    return library.index_parts("vector") > MAX_PARTS


def build_index(library: Library, queries: FloatMatrix) -> IndexSettings:
    """Build the index, choose its search settings, measure its recall, and use it for searches from now on.

    Args:
        library: More than some thousand pictures; the caller holds its ledger.
        queries: (n, dim) unit vectors like those of future queries; half of them choose the settings, the other half
            measure recall.
    """
    from lancedb.index import BTree, IvfFlat, IvfRq, LabelList

    count = library.count()
    partitions = max(1, round(math.sqrt(count)))
    # Ten rounds of k-means on 64 vectors per partition: more takes minutes and finds no more pictures.
    rounds: dict[str, Any] = {
        "distance_type": "l2",
        "num_partitions": partitions,
        "max_iterations": 10,
        "sample_rate": 64,
    }
    by_bits = library.settings.dim % 8 == 0  # a condition of RaBitQ
    library.create_index("vector", IvfRq(num_bits=4, **rounds) if by_bits else IvfFlat(**rounds))
    library.create_index("date", BTree())
    library.create_index("folders", LabelList())
    nearest = exact_nearest(library, queries, TOP)
    index = IndexSettings(count, partitions, PROBES[0], REFINE[0], 0.0, 0)
    choosing, measuring = slice(0, None, 2), slice(1, None, 2)
    for probes, refine in _trials(partitions):
        index = replace(index, probes=probes, refine=refine)
        if recall(library, index, queries[choosing], nearest[choosing]) >= GOAL:
            break
    share = recall(library, index, queries[measuring], nearest[measuring])
    index = replace(index, recall=round(share, 4), queries=len(queries[measuring]))
    library.save(index=index)
    return index


def index_queries(library: Library, encoder: Encoder) -> FloatMatrix:
    """Return queries for testing an index: ``SENTENCES`` made-up sentences, and up to a quarter as many pictures."""
    count = SENTENCES // 4
    pictures = [item.vector for item in library.sample(count)[:count]]
    return np.vstack([sample_sentences(encoder), np.array(pictures, np.float32).reshape(-1, encoder.dim)])


def _trials(partitions: int) -> list[tuple[int, int]]:
    """(probes, refine) pairs to try, cheapest first."""
    pairs = [(min(probes, partitions), refine) for probes in PROBES for refine in REFINE]
    return sorted(dict.fromkeys(pairs), key=lambda pair: (pair[0] + 10 * pair[1], pair))


def recall(library: Library, index: IndexSettings, queries: FloatMatrix, nearest: list[set[str]]) -> float:
    """Return the share of the nearest pictures that a search with these settings finds, mean over the queries."""
    shares = [
        len({near.digest for near in library.nearest(query, len(names), index=index)} & names) / len(names)
        for query, names in zip(queries, nearest, strict=True)
        if names
    ]
    return float(np.mean(shares)) if shares else 1.0


def exact_nearest(library: Library, queries: FloatMatrix, top: int) -> list[set[str]]:
    """Return digests of the ``top`` pictures nearest to each query, compared with all in one pass over the library."""
    best = np.full((len(queries), 0), -np.inf, np.float32)
    names = np.empty((len(queries), 0), object)
    for digests, vectors in library.vectors():
        cosines = queries @ vectors.T
        if len(digests) > top:
            columns = np.argpartition(-cosines, top - 1, axis=1)[:, :top]
        else:
            columns = np.tile(np.arange(len(digests)), (len(queries), 1))
        best = np.hstack([best, np.take_along_axis(cosines, columns, 1)])
        names = np.hstack([names, np.array(digests, object)[columns]])
        keep = np.argsort(-best, axis=1, kind="stable")[:, :top]
        best, names = np.take_along_axis(best, keep, 1), np.take_along_axis(names, keep, 1)
    return [set(row) for row in names]
