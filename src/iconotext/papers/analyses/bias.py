"""How unlike the negatives of training are to those of evaluation: the sampling bias of Li 2021 (Fig. 2b).

Training compares an image that a sentence is linked to with the images of *other* documents, evaluation with the
other images of the *same* document. The distances between the frozen features of the two images say how hard that is.
Both kinds of distances are taken for the same sentences and the same linked images, so that only the negatives differ.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import CorpusError, SettingError, ShapeError
from iconotext.evaluate.drawing import BLUE, ORANGE, write_figure
from iconotext.evaluate.intervals import RESAMPLINGS, bootstrap_intervals
from iconotext.evaluate.significance import permutation_p

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

BATCH = 11
"""Documents in a batch, as both papers have it."""

BINS = 60


@dataclass(frozen=True, slots=True, eq=False)
class ImageVectors:
    """The images of a document.

    Attributes:
        id: Of the document.
        vectors: (images, dim) frozen features.
        names: (images,) what is equal where two places show the same picture.
        links: Gold links as (sentence, image).
    """

    id: str
    vectors: NDArray[np.floating]
    names: tuple[str | int, ...]
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """L2 distances between a sentence's gold image and negatives, document after document.

    Attributes:
        training: (T,) to images of other documents of the batch.
        evaluation: (E,) to images of the same document that the sentence has no link to.
        training_counts: (D,) how many of the first are of each document.
        evaluation_counts: (D,) how many of the second.
        golds: Pairs of a sentence and a gold image that they belong to.
    """

    training: NDArray[np.float64]
    evaluation: NDArray[np.float64]
    training_counts: NDArray[np.int64]
    evaluation_counts: NDArray[np.int64]
    golds: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """Some distances."""

    count: int
    mean: float
    deviation: float
    quartiles: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Bias:
    """How the distances of training and evaluation differ.

    Attributes:
        documents: That have both kinds of distances.
        golds: Pairs of a sentence and a gold image.
        training: Distances to the negatives of training.
        evaluation: Distances to those of evaluation.
        ks: Statistic of the two-sample Kolmogorov–Smirnov test: the largest distance of the two empirical
            distribution functions, 0 to 1.
        p: Its two-sided p value. Distances within a document hang together, which the test does not know: with many
            distances it is tiny for the smallest bias.
        larger: How often a distance of training is larger than one of evaluation, ties half: 0.5 where there is no
            bias, 1 where all of them are.
        cohen_d: Difference of the means over the pooled standard deviation; None where no distance varies.
        difference: Mean over the documents of (mean distance in training − mean distance in evaluation).
        low: Lower end of its 95 % bootstrap interval over documents.
        high: Upper end.
        p_documents: Two-sided p value of the paired permutation test on the documents' differences.
        edges: Of the histogram's bins.
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
    low: float
    high: float
    p_documents: float
    edges: tuple[float, ...]
    histogram: dict[str, tuple[int, ...]]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found = asdict(self)
        found["interval"] = [found.pop("low"), found.pop("high")]
        return found


def negative_distances(documents: Sequence[ImageVectors], *, batch: int = BATCH, seed: int = 0) -> Distances:
    """Distances of gold images to the negatives of training and of evaluation.

    The documents are put at random into batches, of ``batch`` or a few more. The negatives of a gold image are all
    images of the other documents of its batch, except of those that share a picture with its own.

    Args:
        documents: With gold links; one without links serves as a negative only.
        batch: Documents in a batch, at least 2.
        seed: Equal seeds give equal batches.

    Raises:
        SettingError: The batch is too small.
        ShapeError: Vectors do not fit each other, or a link leads out of its document.
        CorpusError: There are fewer than two documents, or no sentence has a gold image and a negative of each kind.
    """
    if batch < 2:
        raise SettingError(f"batch is {batch}; a document needs another to be compared with, so give 2 or more")
    if len(documents) < 2:
        raise CorpusError(f"{len(documents)} documents have images that can be read: the bias needs two or more")
    _check(documents)
    order = np.random.default_rng(seed).permutation(len(documents))
    training: list[NDArray[np.float64]] = [np.zeros(0)] * len(documents)
    evaluation = list(training)
    golds = 0
    for numbers in np.array_split(order, max(1, len(order) // batch)):
        together = [documents[number] for number in numbers.tolist()]
        for number, far, near, pairs in zip(numbers.tolist(), *_of_batch(together), strict=True):
            training[number], evaluation[number] = far, near
            golds += pairs
    found = Distances(
        np.concatenate(training),
        np.concatenate(evaluation),
        np.array([len(each) for each in training]),
        np.array([len(each) for each in evaluation]),
        golds,
    )
    if not ((found.training_counts > 0) & (found.evaluation_counts > 0)).any():
        raise CorpusError(
            "no document has a sentence with a gold image, another image in the document, and images of other "
            "documents: the bias needs gold links in documents of several images"
        )
    return found


def measure(distances: Distances, *, bins: int = BINS, resamplings: int = RESAMPLINGS, seed: int = 0) -> Bias:
    """Compare the two kinds of distances.

    Args:
        distances: At least one of each kind, in one document.
        bins: Of the histogram.
        resamplings: For the interval.
        seed: For interval and permutations.
    """
    from scipy.stats import ks_2samp

    far, near = distances.training, distances.evaluation
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the exact p value cannot be had, scipy takes the asymptotic one
        test = ks_2samp(far, near)
    both = (distances.training_counts > 0) & (distances.evaluation_counts > 0)
    paired = (_means(far, distances.training_counts) - _means(near, distances.evaluation_counts))[both]
    interval = bootstrap_intervals(paired[:, None], np.ones((len(paired), 1)), resamplings=resamplings, seed=seed)[0]
    edges = np.histogram_bin_edges(np.concatenate([far, near]), bins)
    deviation = np.sqrt((far.var() * len(far) + near.var() * len(near)) / max(len(far) + len(near) - 2, 1))
    return Bias(
        documents=int(both.sum()),
        golds=distances.golds,
        training=_distribution(far),
        evaluation=_distribution(near),
        ks=float(test.statistic),
        p=float(test.pvalue),
        larger=_larger(far, near),
        cohen_d=float((far.mean() - near.mean()) / deviation) if deviation > 0 else None,
        difference=float(paired.mean()),
        low=float(interval[0]),
        high=float(interval[1]),
        p_documents=permutation_p(paired, seed=seed),
        edges=tuple(edges.tolist()),
        histogram={
            name: tuple(np.histogram(each, edges)[0].tolist())
            for name, each in (("training", far), ("evaluation", near))
        },
    )


def in_words(bias: Bias) -> list[str]:
    """What the figures say, for people: three sentences or so."""
    effect = "–" if bias.cohen_d is None else f"{bias.cohen_d:.2f}"
    said = [
        f"Two-sample Kolmogorov–Smirnov test: D = {bias.ks:.3f}, {_p(bias.p)} (published: p < 0.01). It takes all "
        "distances for independent, which those of one document are not.",
        f"A distance in training is larger than one in evaluation in {100 * bias.larger:.1f} % of all pairs of them "
        f"(50 %: no bias); Cohen's d = {effect}.",
        f"Mean over {bias.documents:,} documents of the difference of their mean distances: {bias.difference:.2f} "
        f"({bias.low:.2f} to {bias.high:.2f}), paired permutation test {_p(bias.p_documents)}.",
    ]
    return [re.sub(r"(?<![\w.])-(?=\d)", "−", sentence) for sentence in said]


def write_distances(bias: Bias, path: Path, *, force: bool = False) -> None:
    """Draw the two distributions over each other, as in Fig. 2b.

    Args:
        bias: What to draw.
        path: ``.svg``, ``.png`` or ``.pdf``; equal figures give equal SVG files.
        force: Replace a file that is there.

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
            axes.axvline(mean, color=colour, linestyle="--", linewidth=1)
        axes.set_xlabel("L2 distance between the features of the gold image and of a negative")
        axes.set_ylabel("density")
        axes.set_title(f"Kolmogorov–Smirnov D = {bias.ks:.3f}; dashed: means", fontsize=10)
        top = axes.get_ylim()[1]
        axes.set_ylim(0, 1.25 * top)  # room for the legend
        axes.legend(loc="upper left", fontsize=8, framealpha=1, edgecolor="none")

    write_figure(draw, path, width=6.2, height=3.6, force=force)


def _check(documents: Sequence[ImageVectors]) -> None:
    dim = documents[0].vectors.shape[-1]
    for each in documents:
        images = len(each.names)
        if each.vectors.shape != (images, dim):
            raise ShapeError(f"document {each.id!r}: vectors {each.vectors.shape}, expected ({images}, {dim})")
        if not np.isfinite(each.vectors).all():
            raise ShapeError(f"document {each.id!r}: a feature is not a number")
        for sentence, image in each.links:
            if sentence < 0 or not 0 <= image < images:
                raise ShapeError(f"document {each.id!r}: link ({sentence}, {image}) leads out of its {images} images")


def _of_batch(
    documents: Sequence[ImageVectors],
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]], list[int]]:
    """For each document of a batch its distances to strangers, to its own images, and its gold pairs."""
    from scipy.spatial.distance import cdist

    counts = [len(each.names) for each in documents]
    owners = np.repeat(np.arange(len(documents)), counts)
    vectors = np.concatenate([np.asarray(each.vectors, np.float64) for each in documents])
    starts = np.cumsum([0, *counts])
    names = [set(each.names) for each in documents]
    training, evaluation, golds = [], [], []
    for number, each in enumerate(documents):
        to_all = cdist(vectors[starts[number] : starts[number + 1]], vectors)
        strangers = np.array([other != number and not names[number] & names[other] for other in range(len(documents))])
        outside, own = strangers[owners], to_all[:, starts[number] : starts[number + 1]]
        far, near, pairs = [np.zeros(0)], [np.zeros(0)], 0
        linked: dict[int, set[int]] = {}
        for sentence, image in each.links:
            linked.setdefault(sentence, set()).add(image)
        for images in linked.values():
            shown = {each.names[image] for image in images}
            others = np.array([name not in shown for name in each.names])
            for image in sorted(images):
                far.append(to_all[image, outside])
                near.append(own[image, others])
                pairs += 1
        training.append(np.concatenate(far))
        evaluation.append(np.concatenate(near))
        golds.append(pairs)
    return training, evaluation, golds


def _means(values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """(D,) mean of the values of each document; 0 where it has none."""
    owners = np.repeat(np.arange(len(counts)), counts)
    sums = np.bincount(owners, values, len(counts))
    return np.divide(sums, counts, out=np.zeros(len(counts)), where=counts > 0)


def _distribution(values: NDArray[np.float64]) -> Distribution:
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
    return Distribution(len(values), float(values.mean()), float(values.std()), (low, middle, high))


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _larger(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """How often a value of the first is larger than one of the second, ties half."""
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, "left").sum(dtype=np.float64)
    up_to = np.searchsorted(ordered, first, "right").sum(dtype=np.float64)
    return float((below + up_to) / 2 / len(first) / len(second))
