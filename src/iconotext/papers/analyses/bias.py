"""How different the negatives of training and of evaluation are: the sampling bias of Li 2021 (Fig. 2b).

Training compares a sentence's linked image with images of *other* documents, evaluation with other images of the *same*
document. The distances between the frozen features of both images show how hard that is. Both kinds of distances are
computed for the same sentences and linked images, so that only the negatives differ.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.evaluate.intervals import RESAMPLINGS, Interval, as_interval, bootstrap_intervals
from iconotext.evaluate.significance import permutation_p
from iconotext.papers.analyses.distances import Distances, image_vectors, negative_distances, some_linked
from iconotext.papers.analyses.drawing import BLUE, ORANGE, legend_above, write_figure
from iconotext.papers.analyses.settings import BiasSettings
from iconotext.papers.render import Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from iconotext.types import Document

BINS = 60


@dataclass(frozen=True, slots=True)
class Distribution:
    """A sample of distances."""

    count: int
    mean: float
    deviation: float
    quartiles: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Bias:
    """How the distances of training and evaluation differ.

    Attributes:
        documents: Number of documents with both kinds of distances.
        golds: Number of pairs of a sentence and a gold image.
        training: Distances to the negatives of training.
        evaluation: Distances to the negatives of evaluation.
        ks: Statistic of the two-sample Kolmogorov-Smirnov test: the largest difference of the two empirical
            distribution functions, 0 to 1.
        p: Its two-sided p value. Distances in a document are dependent, which the test ignores: with many distances it
            is tiny even for the smallest bias.
        larger: Probability that a distance of training is larger than one of evaluation, ties half: 0.5 without bias, 1
            if all are.
        cohen_d: Difference of the means over the pooled standard deviation; None if no distance varies.
        difference: Mean over the documents of (mean distance in training - mean distance in evaluation).
        interval: Its 95 % bootstrap interval over documents.
        p_documents: Two-sided p value of the paired permutation test on the documents' differences.
        histogram: ``training`` and ``evaluation`` to the number of distances in each bin.
    """

    documents: int
    golds: int
    training: Distribution
    evaluation: Distribution
    ks: float
    p: float
    larger: float
    cohen_d: float | None
    difference: float
    interval: Interval
    p_documents: float
    edges: tuple[float, ...]
    histogram: dict[str, tuple[int, ...]]


def corpus_bias(
    documents: Iterable[Document],
    settings: BiasSettings,
    *,
    progress: Callable[[list[Document]], Iterable[Document]] = iter,
) -> tuple[Bias, int]:
    """Measure the bias of a corpus with gold links, by the features of its images.

    Returns:
        The bias, and how many documents were left out because none of their images can be read.

    Raises:
        FeatureError: The backbone or the table does not exist.
        CorpusError: There are no gold links, or too few documents.
    """
    from iconotext.embed.image_source import image_source
    from iconotext.encoder import DEFAULT_IMAGE
    from iconotext.features import FeatureCache

    chosen = some_linked(documents, settings.documents, seed=settings.seed)
    source = image_source(settings.image or DEFAULT_IMAGE, FeatureCache() if settings.cache else None)
    vectors = list(image_vectors(progress(chosen), source))
    distances = negative_distances(vectors, batch=settings.batch, seed=settings.seed)
    return measure(distances, resamplings=settings.resamplings, seed=settings.seed), len(chosen) - len(vectors)


def measure(distances: Distances, *, resamplings: int = RESAMPLINGS, seed: int = 0) -> Bias:
    """Compare both kinds of distances; at least one document must have one of each."""
    from scipy.stats import ks_2samp, mannwhitneyu

    far, near = distances.training, distances.evaluation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # if the exact p value is not available, scipy uses the asymptotic one
        test = ks_2samp(far, near)
        wins = mannwhitneyu(far, near, method="asymptotic").statistic
    both = (distances.training_counts > 0) & (distances.evaluation_counts > 0)
    paired = (_means(far, distances.training_counts) - _means(near, distances.evaluation_counts))[both]
    ends = bootstrap_intervals(paired[:, None], np.ones((len(paired), 1)), resamplings=resamplings, seed=seed)[0]
    edges = np.histogram_bin_edges(np.concatenate([far, near]), BINS)
    deviation = np.sqrt((far.var() * len(far) + near.var() * len(near)) / max(len(far) + len(near) - 2, 1))
    return Bias(
        documents=int(both.sum()),
        golds=distances.golds,
        training=_distribution(far),
        evaluation=_distribution(near),
        ks=float(test.statistic),
        p=float(test.pvalue),
        larger=float(wins) / len(far) / len(near),
        cohen_d=float((far.mean() - near.mean()) / deviation) if deviation > 0 else None,
        difference=float(paired.mean()),
        interval=as_interval(ends),
        p_documents=permutation_p(paired, seed=seed),
        edges=tuple(edges.tolist()),
        histogram={
            name: tuple(np.histogram(each, edges)[0].tolist())
            for name, each in (("training", far), ("evaluation", near))
        },
    )


def bias_grid(bias: Bias) -> Grid:
    """The figures of the distances, as a table."""
    rows = [
        [name, f"{each.count:,}", f"{each.mean:.2f}", f"{each.deviation:.2f}", *(f"{q:.2f}" for q in each.quartiles)]
        for name, each in (("training", bias.training), ("evaluation", bias.evaluation))
    ]
    columns = ["negatives of", "distances", "mean", "deviation", "lower quartile", "median", "upper quartile"]
    return Grid("L2 distances between gold and negative images", columns, rows, in_words(bias))


def in_words(bias: Bias) -> list[str]:
    """The result in words, in about three sentences."""
    effect = "–" if bias.cohen_d is None else f"{bias.cohen_d:.2f}"
    said = [
        f"Two-sample Kolmogorov–Smirnov test: D = {bias.ks:.3f}, {_p(bias.p)} (published: p < 0.01). It takes all "
        "distances for independent, which those of one document are not.",
        f"A distance in training is larger than one in evaluation in {100 * bias.larger:.1f} % of all pairs of them "
        f"(50 %: no bias); Cohen's d = {effect}.",
        f"Mean over {bias.documents:,} documents of the difference of their mean distances: {bias.difference:.2f} "
        f"({bias.interval[0]:.2f} to {bias.interval[1]:.2f}), paired permutation test {_p(bias.p_documents)}.",
    ]
    return [re.sub(r"(?<![\w.])-(?=\d)", "−", sentence) for sentence in said]


def write_distances(bias: Bias, path: Path, *, force: bool = False) -> None:
    """Draw the two distributions over each other, as in Fig. 2b (``.svg``, ``.png`` or ``.pdf``, see ``write_figure``).

    Raises:
        OutputError: See ``write_figure``.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        sides = (
            ("training: images of other documents", "training", ORANGE, bias.training.mean),
            ("evaluation: images of the same document", "evaluation", BLUE, bias.evaluation.mean),
        )
        widths = np.diff(bias.edges)
        for label, name, colour, mean in sides:
            counts = np.array(bias.histogram[name], np.float64)
            axes.stairs(counts / (counts.sum() * widths), bias.edges, fill=True, color=colour, alpha=0.35, label=label)
            axes.stairs(counts / (counts.sum() * widths), bias.edges, color=colour, linewidth=1.2)
            axes.axvline(mean, color=colour, linestyle="--", linewidth=1, label=f"mean in {name}")
        axes.set_xlabel("L2 distance between the features of the gold image and of a negative")
        axes.set_ylabel("density")
        axes.set_title(f"Kolmogorov–Smirnov D = {bias.ks:.3f}", fontsize=10)
        legend_above(figure)

    write_figure(draw, path, width=6.2, height=3.6, force=force)


def _means(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(D,) mean of the values of each document; 0 without values."""
    owners = np.repeat(np.arange(len(counts)), counts)
    sums = np.bincount(owners, values, len(counts))
    return np.divide(sums, counts, out=np.zeros(len(counts)), where=counts > 0)


def _distribution(values: NDArray[np.float64]) -> Distribution:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return Distribution(len(values), float(values.mean()), float(values.std()), (low, middle, high))


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
