"""The sampling bias of Li 2021 (Fig. 2b): the difference between the negatives of training and of evaluation.

``corpus_bias`` measures it in a corpus; ``bias_grid``, ``in_words`` and ``write_distances`` show the result. Training
compares a sentence's linked image with images of *other* documents, evaluation with other images of the *same*
document. The distances between the frozen features of both images show how hard the comparison is. Both kinds of
distances are computed for the same sentences and linked images, so that only the negatives differ.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate.statistics import (
    RESAMPLINGS,
    Interval,
    as_interval,
    bootstrap_intervals,
    grouped,
    permutation_p,
)
from iconotext.report.tables import Grid
from iconotext_papers.analyses.settings import BATCH, BiasSettings
from iconotext_papers.charts import BLUE, ORANGE, legend_above, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from iconotext.encoders.image_source import ImageSource
    from iconotext.types import Document


@dataclass(frozen=True, slots=True, eq=False)
class ImageVectors:
    """The images of a document.

    Attributes:
        vectors: (images, dim) frozen features.
        names: (images,) equal for images that show the same picture.
        links: Gold links as (sentence, image).
    """

    id: str
    vectors: NDArray[np.floating]
    names: tuple[str | int, ...]
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """L2 distances between a sentence's gold image and negatives, one document after the other.

    Attributes:
        training: (T,) to images of other documents of the batch.
        evaluation: (E,) to images of the same document without a link to the sentence.
        training_counts: (D,) number of distances of each document in ``training``.
        evaluation_counts: (D,) number of distances of each document in ``evaluation``.
        golds: Number of pairs of a sentence and a gold image.
        contents: (D,) numbers of each document's pictures, from 1, equal in documents that share them.
    """

    training: NDArray[np.float64]
    evaluation: NDArray[np.float64]
    training_counts: NDArray[np.int64]
    evaluation_counts: NDArray[np.int64]
    golds: int
    contents: tuple[tuple[int, ...], ...]


def some_linked(documents: Iterable[Document], most: int, *, seed: int = 0) -> list[Document]:
    """Draw a random sample of the documents with gold links and images, in order; all if there are few.

    Only the sample is in memory (reservoir sampling).
    """
    random = np.random.default_rng(seed)
    sample: list[tuple[int, Document]] = []
    position = 0
    for document in documents:
        if not document.links or not document.images:
            continue
        if len(sample) < most:
            sample.append((position, document))
        elif (place := int(random.integers(position + 1))) < most:
            sample[place] = (position, document)
        position += 1
    if not sample:
        raise CorpusError(
            "no document has gold links, which say what a negative is: name a corpus, or a split, that has"
        )
    return [document for _, document in sorted(sample, key=lambda pair: pair[0])]


def image_vectors(documents: Iterable[Document], source: ImageSource) -> Iterator[ImageVectors]:
    """Yield the vectors of each document with any readable image; unreadable ones are left out, with their links."""
    for document in documents:
        image_features = source.features_of(document.images)
        rows = [row for row, problem in enumerate(image_features.features.problems) if problem is None]
        places = {image_features.numbers[row]: place for place, row in enumerate(rows)}
        if places:
            links = tuple((sentence, places[number]) for sentence, number in document.links or () if number in places)
            names = tuple(_name(document, number) for number in places)
            yield ImageVectors(document.id, image_features.features.pooled[rows], names, links)


def negative_distances(documents: Sequence[ImageVectors], *, batch: int = BATCH, seed: int = 0) -> Distances:
    """Distances of gold images to the negatives of training and of evaluation.

    The documents are put at random into batches, of ``batch`` or a few more. The negatives of a gold image are all
    images of the other documents in its batch, except documents that share a picture with its own.

    Args:
        batch: Documents in a batch, at least 2.
    """
    if batch < 2:
        raise SettingError(f"batch is {batch}; a document needs another to be compared with, so give 2 or more")
    if len(documents) < 2:
        raise CorpusError(f"{len(documents)} documents have images that can be read: the bias needs two or more")
    order = np.random.default_rng(seed).permutation(len(documents))
    training: list[NDArray[np.float64]] = [np.zeros(0)] * len(documents)
    evaluation = list(training)
    golds, numbers = 0, dict[str | int, int]()
    for batched in np.array_split(order, max(1, len(order) // batch)):
        together = [documents[number] for number in batched.tolist()]
        for number, far, near, pairs in zip(batched.tolist(), *_of_batch(together), strict=True):
            training[number], evaluation[number] = far, near
            golds += pairs
    distances = Distances(
        np.concatenate(training),
        np.concatenate(evaluation),
        np.array([len(values) for values in training]),
        np.array([len(values) for values in evaluation]),
        golds,
        tuple(tuple(numbers.setdefault(name, len(numbers) + 1) for name in d.names) for d in documents),
    )
    if not ((distances.training_counts > 0) & (distances.evaluation_counts > 0)).any():
        raise CorpusError(
            "no document has a sentence with a gold image, another image in the document, and images of other "
            "documents: the bias needs gold links in documents of several images"
        )
    return distances


def _name(document: Document, number: int) -> str:
    """Return a name that is equal for images of the same file."""
    image = document.images[number]
    return str(image.file) if image.file and not isinstance(image.file, bytes) else image.source


def _of_batch(
    documents: Sequence[ImageVectors],
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]], list[int]]:
    """Return for each document its distances to other documents, to its own images, and its number of gold pairs."""
    from scipy.spatial.distance import cdist

    counts = [len(d.names) for d in documents]
    owners = np.repeat(np.arange(len(documents)), counts)
    vectors = np.concatenate([np.asarray(d.vectors, np.float64) for d in documents])
    starts = np.cumsum([0, *counts])
    names = [set(d.names) for d in documents]
    training, evaluation, golds = [], [], []
    for number, document in enumerate(documents):
        # Not the distances of all pairs of the batch at once: their number grows with the square of its images.
        to_all = cdist(vectors[starts[number] : starts[number + 1]], vectors)
        negatives = np.array([other != number and not names[number] & names[other] for other in range(len(documents))])
        outside, to_own = negatives[owners], to_all[:, starts[number] : starts[number + 1]]
        far, near, pairs = [np.zeros(0)], [np.zeros(0)], 0
        linked: dict[int, set[int]] = {}
        for sentence, image in document.links:
            linked.setdefault(sentence, set()).add(image)
        for images in linked.values():
            linked_names = {document.names[image] for image in images}
            unlinked = np.array([name not in linked_names for name in document.names])
            for image in sorted(images):
                far.append(to_all[image, outside])
                near.append(to_own[image, unlinked])
                pairs += 1
        training.append(np.concatenate(far))
        evaluation.append(np.concatenate(near))
        golds.append(pairs)
    return training, evaluation, golds


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
    """The difference between the distances of training and of evaluation.

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
        histogram: Number of distances in each bin, under ``training`` and ``evaluation``.
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

    Return with it the number of documents that were left out because none of their images can be read.
    """
    from iconotext.encoders.image_source import image_source
    from iconotext.encoders.load import DEFAULT_IMAGE
    from iconotext.features import FeatureCache

    chosen = some_linked(documents, settings.documents, seed=settings.seed)
    source = image_source(settings.image or DEFAULT_IMAGE, FeatureCache() if settings.cache else None)
    vectors = list(image_vectors(progress(chosen), source))
    distances = negative_distances(vectors, batch=settings.batch, seed=settings.seed)
    return measure(distances, seed=settings.seed), len(chosen) - len(vectors)


def measure(distances: Distances, *, resamplings: int = RESAMPLINGS, seed: int = 0) -> Bias:
    """Compare both kinds of distances; at least one document must have one of each."""
    from scipy.stats import ks_2samp, mannwhitneyu

    far, near = distances.training, distances.evaluation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # if the exact p value is not available, scipy uses the asymptotic one
        test = ks_2samp(far, near)
        wins = mannwhitneyu(far, near, method="asymptotic").statistic
    defined = (distances.training_counts > 0) & (distances.evaluation_counts > 0)
    paired = (_means(far, distances.training_counts) - _means(near, distances.evaluation_counts))[defined]
    groups = grouped([distances.contents[number] for number in np.flatnonzero(defined)])
    columns = paired[:, None], np.ones((len(paired), 1))
    ends = bootstrap_intervals(*columns, groups, resamplings=resamplings, seed=seed)[0]
    edges = np.histogram_bin_edges(np.concatenate([far, near]), BINS)
    deviation = np.sqrt((far.var() * len(far) + near.var() * len(near)) / max(len(far) + len(near) - 2, 1))
    return Bias(
        documents=int(defined.sum()),
        golds=distances.golds,
        training=_distribution(far),
        evaluation=_distribution(near),
        ks=float(test.statistic),
        p=float(test.pvalue),
        larger=float(wins) / len(far) / len(near),
        cohen_d=float((far.mean() - near.mean()) / deviation) if deviation > 0 else None,
        difference=float(paired.mean()),
        interval=as_interval(ends),
        p_documents=permutation_p(paired, groups, seed=seed),
        edges=tuple(edges.tolist()),
        histogram={
            name: tuple(np.histogram(values, edges)[0].tolist())
            for name, values in (("training", far), ("evaluation", near))
        },
    )


def bias_grid(bias: Bias) -> Grid:
    """Make a table of the distances."""
    rows = [
        [name, f"{side.count:,}", f"{side.mean:.2f}", f"{side.deviation:.2f}", *(f"{q:.2f}" for q in side.quartiles)]
        for name, side in (("training", bias.training), ("evaluation", bias.evaluation))
    ]
    columns = ["negatives of", "distances", "mean", "deviation", "lower quartile", "median", "upper quartile"]
    return Grid("L2 distances between gold and negative images", columns, rows, in_words(bias))


def in_words(bias: Bias) -> list[str]:
    """Describe the result in about three sentences."""
    effect = "–" if bias.cohen_d is None else f"{bias.cohen_d:.2f}"
    sentences = [
        f"Two-sample Kolmogorov–Smirnov test: D = {bias.ks:.3f}, {_p(bias.p)} (published: p < 0.01). It takes all "
        "distances for independent, which those of one document are not.",
        f"A distance in training is larger than one in evaluation in {100 * bias.larger:.1f} % of all pairs of them "
        f"(50 %: no bias); Cohen's d = {effect}.",
        f"Mean over {bias.documents:,} documents of the difference of their mean distances: {bias.difference:.2f} "
        f"({bias.interval[0]:.2f} to {bias.interval[1]:.2f}), paired permutation test {_p(bias.p_documents)}.",
    ]
    return [re.sub(r"(?<![\w.])-(?=\d)", "−", sentence) for sentence in sentences]


def write_distances(bias: Bias, path: Path, *, force: bool = False) -> None:
    """Draw the two distributions over each other, as in Fig. 2b; see ``write_figure``."""

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
