"""Explains why documents are hard: by their content, or by the similarity of their parts (Hessel 2019, section 4.1).

``corpus_difficulty`` explains the AUC of a corpus's documents, ``correlations`` compares models by document, and
``explained_by_spread`` compares two models' regressions.

The *spread* of a set of vectors is the mean squared distance of the unit vectors to their centroid. The *content* of a
document is the mean of its image vectors and the mean of its sentence vectors, each reduced to 20 dimensions with a PCA
over the documents. Two ordinary least squares regressions explain the documents' AUC: by image and text spread, and by
spread and content.

The paper uses DenseNet169 features and mean word2vec vectors; any backbones can be used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iconotext.errors import CorpusError, SettingError, ShapeError
from iconotext.evaluate.results import Evaluation, Scored, matched, read_results
from iconotext.evaluate.statistics import RESAMPLINGS, Interval, as_interval, grouped, interval_ends
from iconotext.plain_text import counted, percent
from iconotext.report.tables import Grid
from iconotext_papers.analyses.object_detection import detected_in, encoded_classes
from iconotext_papers.analyses.seeds import drawn_anew
from iconotext_papers.analyses.settings import DIMENSIONS, DifficultySettings

if TYPE_CHECKING:
    from iconotext.encoders.encoder import Encoder
    from iconotext.types import Document, FloatMatrix

    Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Correlation:
    """Rank correlation of two models.

    Attributes:
        rho: Spearman's ρ of their AUC per document, -1 to 1; None if a model gives every document the same AUC.
    """

    first: str
    second: str
    rho: float | None
    documents: int


def correlations(evaluations: Mapping[str, Evaluation]) -> list[Correlation]:
    """Spearman's ρ of the per-document AUC for every pair of models, in the order of the names.

    Args:
        evaluations: Name of a model to its scores, at least two, all of the same documents.
    """
    if len(evaluations) < 2:
        raise SettingError("a correlation needs the results of at least two models")
    return [_correlation(first, second, evaluations) for first, second in combinations(evaluations, 2)]


def named_results(paths: Sequence[Path]) -> dict[str, Evaluation]:
    """Results by name of their model, or of their file if models have no names or the same one."""
    read = {path: read_results(path) for path in paths}
    if len(read) < len(paths):
        raise CorpusError("a results file is named twice")
    models = [results.model for results in read.values()]
    stems = [path.stem for path in read]
    unique = all(models) and len(set(models)) == len(models)
    names = models if unique else stems if len(set(stems)) == len(stems) else [str(path) for path in read]
    return {name: results.evaluation for name, results in zip(names, read.values(), strict=True)}


def as_dict(correlations: list[Correlation]) -> dict[str, Any]:
    """Return the fields as a JSON object."""
    pairs = [{"models": [c.first, c.second], "spearman": c.rho, "documents": c.documents} for c in correlations]
    return {"pairs": pairs}


def correlation_grid(correlations: list[Correlation]) -> Grid:
    """Make a table of the correlations."""
    rows = [[f"{c.first}, {c.second}", _number(c.rho, ".3f"), f"{c.documents:,}"] for c in correlations]
    return Grid("", ["Models", "Spearman's ρ", "Documents"], rows)


def _correlation(first: str, second: str, evaluations: Mapping[str, Evaluation]) -> Correlation:
    from scipy.stats import rankdata

    try:
        one, other = matched(evaluations[first], evaluations[second])
    except CorpusError as error:
        raise CorpusError(f"{first} and {second}: {error}") from error
    if len(one) < 3:
        raise CorpusError(
            f"{first} and {second}: a correlation needs three documents with an AUC, there are {len(one)}"
        )
    ranks = np.stack([rankdata([document.auc for document in side]) for side in (one, other)])
    flat = bool((np.ptp(ranks, axis=1) == 0).any())
    rho = None if flat else float(np.clip(np.corrcoef(ranks)[0, 1], -1, 1))
    return Correlation(first, second, rho, len(one))


FEWEST = 5
"""Smallest number of documents for a regression on spread: its two features, a constant, and two more."""


@dataclass(frozen=True, slots=True)
class Explained:
    """R² of the regression of the AUC on image and text spread, for two models.

    Attributes:
        before: R² of the first model, 0 to 1.
        before_interval: 95 % interval over resampled documents and seeds.
        after: R² of the second model.
        after_interval: The same interval for the second model.
        difference: R² of the second model minus that of the first.
        interval: Interval of the difference, with the same resamplings for both models.
    """

    before: float
    after: float
    before_interval: Interval
    after_interval: Interval
    difference: float
    interval: Interval
    documents: int
    seeds: int


def explained_by_spread(
    before: Mapping[int, Sequence[float]],
    after: Mapping[int, Sequence[float]],
    spreads: Sequence[tuple[float, float]],
    contents: Sequence[Sequence[int]],
    *,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> Explained:
    """Compare how much of two models' AUC is explained by spread.

    Args:
        before: Seed to the AUC of each document, for the first model.
        after: The same for the second model, documents in the same order; only common seeds are used.
        spreads: Image and text spread of each document.
        contents: Of each document, as in ``Scored``: those that share something are drawn together.
    """
    features = np.asarray(spreads, np.float64).reshape(-1, 2)
    common = [key for key in before if key in after]
    if not common:
        raise CorpusError("the two models have no seed in common, so there is nothing to compare")
    sides = [np.array([side[key] for key in common], np.float64) for side in (before, after)]
    if len(features) < FEWEST:
        raise CorpusError(f"{len(features)} documents are too few to explain their AUC: take at least {FEWEST}")

    def shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([[r2(targets, features, counts) for targets in side] for side in sides]).transpose(1, 2, 0)

    r2_before, r2_after = shares(np.ones((1, len(features))))[:, 0].mean(axis=0).tolist()
    first, second = drawn_anew(shares, len(common), grouped(contents), resamplings=resamplings, seed=seed).T
    of_first, of_second, gain = (as_interval(interval_ends(draws)) for draws in (first, second, second - first))
    difference = r2_after - r2_before
    return Explained(r2_before, r2_after, of_first, of_second, difference, gain, len(features), len(common))


def r2(target: NDArray[np.float64], features: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(draws,) R², 0 to 1, of regressions of a target on features and a constant; 0 if the target is constant.

    Args:
        target: (documents,).
        features: (documents, features).
        counts: (draws, documents) how often each document was drawn.
    """
    # Centred and scaled: products of the raw columns would lose significant digits.
    deviation = features.std(axis=0)
    columns = (features - features.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    design = np.column_stack([np.ones(len(columns)), columns])
    centred = target - target.mean()
    width = design.shape[1]
    products = (counts @ (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)).reshape(-1, width, width)
    moments = counts @ (design * centred[:, None])
    drawn = counts.sum(axis=1)
    total = counts @ centred**2 - moments[:, 0] ** 2 / drawn
    # A pseudo-inverse, since a feature may be constant in a resampling.
    weights = np.einsum("rij,rj->ri", np.linalg.pinv(products, rcond=1e-10, hermitian=True), moments)
    explained = np.einsum("ri,ri->r", weights, moments) - moments[:, 0] ** 2 / drawn
    varies = total > 1e-12 * np.maximum(counts @ target**2, 1e-300)
    shares: NDArray[np.float64] = np.where(varies, explained / np.where(varies, total, 1), 0.0)
    return np.clip(shares, 0.0, 1.0)


LEVELS = ("high", "middle", "low")


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread of a document's images, and of its sentences, 0 to 1."""

    id: str
    image: float
    text: float

    @property
    def both(self) -> float:
        """The sum of both, by which documents are sorted."""
        return self.image + self.text


def spreads(documents: Iterable[Document], encoder: Encoder) -> Iterator[Spread]:
    """The spread of each document with at least two readable images."""
    for document in filter(lambda d: d.sentences, documents):
        images, sentences = vectors_seen(document, encoder)
        if len(images) > 1:
            yield Spread(document.id, spread(images), spread(sentences))


def by_level(spreads: Sequence[Spread], count: int) -> list[tuple[str, Spread]]:
    """``count`` documents each of the highest, middle and lowest spread, each once; ``CorpusError`` for none."""
    if not spreads:
        raise CorpusError("no document has two pictures that can be seen, so none has a spread")
    ordered = sorted(spreads, key=lambda spread: (-spread.both, spread.id))
    middle = max(0, (len(ordered) - count) // 2)
    places = (range(count), range(middle, middle + count), range(len(ordered) - count, len(ordered)))
    chosen: dict[str, tuple[str, Spread]] = {}
    for level, positions in zip(LEVELS, places, strict=True):
        for document in (ordered[place] for place in positions if 0 <= place < len(ordered)):
            chosen.setdefault(document.id, (level, document))
    return list(chosen.values())


def detected(documents: Iterable[Document], encoder: Encoder, k: int) -> Iterator[Scored]:
    """Yield object detection's scores of documents, with k class names an image."""
    classes = encoded_classes(encoder)
    for document in documents:
        yield Scored.of(document, detected_in(document, encoder, classes, k)[0][k - 1])


@dataclass(frozen=True, slots=True)
class Regression:
    """An ordinary least squares regression of the AUC.

    Attributes:
        r2: Share of the variance that is explained, 0 to 1.
        adjusted_r2: The same, adjusted for the number of features.
        f: F statistic against a constant; None if no feature varies, or no variance is left unexplained.
        features: Number of features that vary independently, without the constant.
    """

    r2: float
    adjusted_r2: float
    f: float | None
    p: float | None
    features: int


@dataclass(frozen=True, slots=True)
class Difficulty:
    """The regressions that explain the AUC of the documents.

    Attributes:
        spread: Regression on image and text spread.
        coefficients: Coefficients of image and text spread in ``spread``, in AUC per unit of spread; 0 for a constant
            one.
        content: Regression on spread and content.
        added_f: F statistic of adding content to spread; None if not defined.
    """

    documents: int
    spread: Regression
    image_spread: Regression
    text_spread: Regression
    coefficients: dict[str, float]
    content: Regression
    added_f: float | None
    added_p: float | None


def spread(vectors: Floats) -> float:
    """Mean squared distance of (n, dim) unit vectors to their centroid: 0 (all equal) to 1 (they cancel out).

    It needs at least one vector; zero vectors stay zero.
    """
    if vectors.ndim != 2 or not len(vectors):
        raise ShapeError(f"a spread needs (n, dim) vectors with n at least 1, got {vectors.shape}")
    vectors = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1)
    return float(np.square(unit - unit.mean(axis=0)).sum(axis=1).mean())


def explain(
    aucs: Sequence[float],
    image_vectors: Sequence[Floats],
    sentence_vectors: Sequence[Floats],
    *,
    dimensions: int = DIMENSIONS,
) -> Difficulty:
    """Regress the AUC of documents on their spread and their content.

    Args:
        aucs: One for each document, 0 to 1.
        image_vectors: For each document (m, dim), at least one.
        sentence_vectors: For each document (n, dim), at least one.
    """
    check_enough(len(aucs), dimensions)
    target = np.asarray(aucs, np.float64)
    if np.ptp(target) == 0:
        raise CorpusError("all documents have the same AUC, so there is nothing to explain")
    spreads = np.array(
        [[spread(images), spread(texts)] for images, texts in zip(image_vectors, sentence_vectors, strict=True)]
    )
    contents = [reduced([v.mean(axis=0) for v in side], dimensions) for side in (image_vectors, sentence_vectors)]
    nothing = _fit(target, spreads[:, :0])
    by_spread = _fit(target, spreads)
    by_both = _fit(target, np.hstack([spreads, *contents]))
    added_f, added_p = _added(by_both, by_spread)
    varies = np.ptp(spreads, axis=0) > 0
    return Difficulty(
        documents=len(target),
        spread=_regression(by_spread, nothing),
        image_spread=_regression(_fit(target, spreads[:, :1]), nothing),
        text_spread=_regression(_fit(target, spreads[:, 1:]), nothing),
        coefficients={
            side: float(by_spread.weights[i + 1]) if varies[i] else 0.0 for i, side in enumerate(("image", "text"))
        },
        content=_regression(by_both, nothing),
        added_f=added_f,
        added_p=added_p,
    )


def check_enough(documents: int, dimensions: int = DIMENSIONS) -> None:
    """Raise ``CorpusError`` if there are too few documents to explain their AUC."""
    needed = 2 * dimensions + 2 + 2  # features, constant, and one degree of freedom to spare
    if documents < needed:
        raise CorpusError(
            f"{documents} documents are too few to explain by 2 × {dimensions} dimensions of content: take a corpus of "
            f"at least {needed}, or fewer dimensions"
        )


def reduced(means: Sequence[Floats], dimensions: int) -> NDArray[np.float64]:
    """Reduce the (documents, dim) means to their (documents, dimensions) principal components.

    There are 1 to the smaller of documents and dim.
    """
    matrix = np.asarray(means, np.float64)
    if not 1 <= dimensions <= min(matrix.shape):
        raise SettingError(f"dimensions is {dimensions}, expected 1 to {min(matrix.shape)}")
    left, sizes, _ = np.linalg.svd(matrix - matrix.mean(axis=0), full_matrices=False)
    components: NDArray[np.float64] = left[:, :dimensions] * sizes[:dimensions]
    return components


def difficulty_grid(result: Difficulty) -> Grid:
    """Make a table of the regressions."""
    rows = [
        [name, percent(fit.r2, 1), percent(fit.adjusted_r2, 1), _number(fit.f, ".2f"), _number(fit.p, ".2g"),
         f"{fit.features}"]
        for name, fit in (
            ("image spread", result.image_spread),
            ("text spread", result.text_spread),
            ("image + text spread", result.spread),
            ("spread + content", result.content),
        )
    ]  # fmt: skip
    note = (
        f"{counted(result.documents, 'document')}. Content, added to spread: F = {_number(result.added_f, '.2f')}, "
        f"p = {_number(result.added_p, '.2g')}. "
        f"One unit of spread changes the AUC by {100 * result.coefficients['image']:+.1f} points (images) and "
        f"{100 * result.coefficients['text']:+.1f} points (text)."
    )
    return Grid("", ["AUC explained by", "R²", "adjusted", "F", "p", "features"], rows, [note])


class _Fit(NamedTuple):
    """A least squares fit: constant and weights, residual sum of squares, varying features, degrees of freedom."""

    weights: NDArray[np.floating]
    residual: float
    features: int
    freedom: int


def _fit(target: NDArray[np.float64], features: NDArray[np.float64]) -> _Fit:
    design = np.column_stack([np.ones(len(target)), features])
    # The rank counts what varies independently: a feature that is constant, or follows from others, takes no freedom.
    weights, _, rank, _ = np.linalg.lstsq(design, target, rcond=None)
    residual = float(np.square(target - design @ weights).sum())
    return _Fit(weights, residual, int(rank) - 1, len(target) - int(rank))


def _regression(fit: _Fit, constant: _Fit) -> Regression:
    if fit.features == 0:
        return Regression(0.0, 0.0, None, None, 0)
    left = fit.residual / constant.residual
    f, p = _added(fit, constant)
    return Regression(1 - left, 1 - left * constant.freedom / fit.freedom, f, p, fit.features)


def _added(large: _Fit, small: _Fit) -> tuple[float | None, float | None]:
    """F and p of the larger model against the smaller one."""
    from scipy.stats import f as f_distribution

    more = large.features - small.features
    if not more:
        return None, None
    explained, left = (small.residual - large.residual) / more, large.residual / large.freedom
    f = explained / left if left > 0 else math.inf
    return f if math.isfinite(f) else None, float(f_distribution.sf(f, more, large.freedom))


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def corpus_difficulty(
    evaluation: Evaluation,
    corpus: Path,
    settings: DifficultySettings,
    *,
    progress: Callable[[Iterable[Document]], Iterable[Document]] = iter,
) -> tuple[Difficulty, list[str]]:
    """Explain the AUC of the documents of a corpus.

    Return with it the ids of documents that were left out because none of their images can be read.
    """
    from iconotext.corpus.store import read_corpus
    from iconotext.encoders.load import load_bridge

    encoder = load_bridge(
        **settings.model_dump(exclude={"dimensions"}),
        texts=(sentence.text for document in read_corpus(corpus) for sentence in document.sentences),
    )
    scored = {d.id for d in evaluation.defined}
    documents = (d for d in read_corpus(corpus) if d.id in scored)
    aucs, images, sentences, left_out = document_vectors(evaluation, progress(documents), encoder)
    return explain(aucs, images, sentences, dimensions=settings.dimensions), left_out


def vectors_seen(document: Document, encoder: Encoder) -> tuple[FloatMatrix, FloatMatrix]:
    """(readable images, dim) pooled features of a document's images, and (n, dim) vectors of its sentences."""
    features = encoder.image_source.features_of(document.images).features
    good = [number for number, problem in enumerate(features.problems) if problem is None]
    return features.pooled[good], encoder.text_backbone.encode([sentence.text for sentence in document.sentences])


def document_vectors(
    evaluation: Evaluation, documents: Iterable[Document], encoder: Encoder
) -> tuple[list[float], list[FloatMatrix], list[FloatMatrix], list[str]]:
    """Encode the documents that have an AUC.

    Args:
        documents: In any order; those without an AUC are skipped.

    Returns:
        AUC, (readable images, dim) and (sentences, dim) vectors of each document; the ids of those left out because
        they have no readable image.
    """
    scored = {document.id: document for document in evaluation.defined}
    aucs: list[float] = []
    image_vectors: list[FloatMatrix] = []
    sentence_vectors: list[FloatMatrix] = []
    left_out: list[str] = []
    for document in documents:
        record = scored.pop(document.id, None)
        if record is None or record.auc is None:
            continue
        if (record.sentences, record.images) != (len(document.sentences), len(document.images)):
            raise CorpusError(
                f"document {document.id!r} had {record.sentences} sentences and {record.images} images when it was "
                f"evaluated, now it has {len(document.sentences)} and {len(document.images)}: evaluate it again"
            )
        images, sentences = vectors_seen(document, encoder)
        if not len(images):
            left_out.append(document.id)
            continue
        aucs.append(record.auc)
        image_vectors.append(images)
        sentence_vectors.append(sentences)
    if scored:
        raise CorpusError(
            f"the corpus lacks {len(scored)} of the documents in the results, such as {next(iter(scored))!r}: name the "
            "corpus they were made from"
        )
    return aucs, image_vectors, sentence_vectors, left_out
