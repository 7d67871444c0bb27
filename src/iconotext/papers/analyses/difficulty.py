"""What makes a document hard: its content, or the similarity of its parts (Hessel 2019, section 4.1).

The *spread* of a set of vectors is the mean squared distance of the unit vectors to their centroid. The *content* of a
document is the mean of its image vectors and the mean of its sentence vectors, each reduced to 20 dimensions with a PCA
over the documents. Two ordinary least squares regressions explain the documents' AUC: by image and text spread, and by
spread and content.

The paper says "we mean-pool the image/sentence representations and reduce to 20 dimensions with PCA"; we read that as
20 dimensions for each side. It uses DenseNet169 features and mean word2vec vectors; any backbones can be used here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import CorpusError, SettingError, ShapeError
from iconotext.papers.analyses.settings import DIMENSIONS, DifficultySettings
from iconotext.papers.render import Grid
from iconotext.plain_text import counted, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.floating]
    from iconotext.encoder import Encoder
    from iconotext.evaluate.results import Evaluation
    from iconotext.types import Document, FloatMatrix


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
    """What explains the AUC of the documents.

    Attributes:
        spread: By image and text spread.
        coefficients: Of image and text spread in ``spread``, in AUC per unit of spread; 0 for a constant one.
        content: By spread and content.
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
    """Mean squared distance of the unit vectors to their centroid: 0 (all equal) to 1 (they cancel out).

    Args:
        vectors: (n, dim), at least one; zero vectors stay zero.

    Raises:
        ShapeError: There are no vectors.
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

    Raises:
        ShapeError: The three have different lengths.
        SettingError: The vectors have fewer dimensions than wanted.
        CorpusError: There are too few documents for the number of features, or all have the same AUC.
    """
    if not len(aucs) == len(image_vectors) == len(sentence_vectors):
        raise ShapeError(f"{len(aucs)} AUCs, {len(image_vectors)} image and {len(sentence_vectors)} sentence arrays")
    check_enough(len(aucs), dimensions)
    target = np.asarray(aucs, np.float64)
    if np.ptp(target) == 0:
        raise CorpusError("all documents have the same AUC, so there is nothing to explain")
    spreads = np.array(
        [[spread(images), spread(texts)] for images, texts in zip(image_vectors, sentence_vectors, strict=True)]
    )
    contents = [reduced([each.mean(axis=0) for each in side], dimensions) for side in (image_vectors, sentence_vectors)]
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
    """(documents, dimensions) principal components of some vectors.

    Args:
        means: (documents, dim).
        dimensions: How many components, 1 to the smaller of documents and dim.

    Raises:
        SettingError: There are fewer components.
    """
    matrix = np.asarray(means, np.float64)
    if not 1 <= dimensions <= min(matrix.shape):
        raise SettingError(f"dimensions is {dimensions}, expected 1 to {min(matrix.shape)}")
    left, sizes, _ = np.linalg.svd(matrix - matrix.mean(axis=0), full_matrices=False)
    components: NDArray[np.float64] = left[:, :dimensions] * sizes[:dimensions]
    return components


def difficulty_grid(found: Difficulty) -> Grid:
    """For people."""
    rows = [
        [name, percent(each.r2, 1), percent(each.adjusted_r2, 1), _number(each.f, ".2f"), _number(each.p, ".2g"),
         f"{each.features}"]
        for name, each in (
            ("image spread", found.image_spread),
            ("text spread", found.text_spread),
            ("image + text spread", found.spread),
            ("spread + content", found.content),
        )
    ]  # fmt: skip
    note = (
        f"{counted(found.documents, 'document')}. Content, added to spread: F = {_number(found.added_f, '.2f')}, "
        f"p = {_number(found.added_p, '.2g')}. "
        f"One unit of spread changes the AUC by {100 * found.coefficients['image']:+.1f} points (images) and "
        f"{100 * found.coefficients['text']:+.1f} points (text)."
    )
    return Grid("", ["AUC explained by", "R²", "adjusted", "F", "p", "features"], rows, [note])


class _Fit(NamedTuple):
    """A least squares fit: constant and weights, residual sum of squares, varying features, degrees of freedom."""

    weights: NDArray[np.floating]
    rest: float
    features: int
    freedom: int


def _fit(target: NDArray[np.float64], features: NDArray[np.float64]) -> _Fit:
    design = np.column_stack([np.ones(len(target)), features])
    weights, _, rank, _ = np.linalg.lstsq(design, target, rcond=None)
    rest = float(np.square(target - design @ weights).sum())
    return _Fit(weights, rest, int(rank) - 1, len(target) - int(rank))


def _regression(fit: _Fit, constant: _Fit) -> Regression:
    if fit.features == 0:
        return Regression(0.0, 0.0, None, None, 0)
    left = fit.rest / constant.rest
    f, p = _added(fit, constant)
    return Regression(1 - left, 1 - left * constant.freedom / fit.freedom, f, p, fit.features)


def _added(large: _Fit, small: _Fit) -> tuple[float | None, float | None]:
    """F and p of the larger model against the smaller one."""
    from scipy.stats import f as f_distribution

    more = large.features - small.features
    if not more:
        return None, None
    explained, left = (small.rest - large.rest) / more, large.rest / large.freedom
    f = explained / left if left > 0 else math.inf
    return f if math.isfinite(f) else None, float(f_distribution.sf(f, more, large.freedom))


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


@dataclass(slots=True)
class DocumentVectors:
    """The inputs of the regressions, one entry for each document.

    Attributes:
        aucs: 0 to 1.
        images: (readable images, dim) each.
        sentences: (sentences, dim) each.
        left_out: Ids of documents without readable images.
    """

    aucs: list[float] = field(default_factory=list)
    images: list[FloatMatrix] = field(default_factory=list)
    sentences: list[FloatMatrix] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def corpus_difficulty(
    evaluation: Evaluation,
    corpus: Path,
    settings: DifficultySettings,
    *,
    progress: Callable[[Iterable[Document]], Iterable[Document]] = iter,
) -> tuple[Difficulty, list[str]]:
    """Explain the AUC of the documents of a corpus.

    Returns:
        The result, and the ids of documents that were left out because none of their images can be read.

    Raises:
        CorpusError, FeatureError, SettingError: See ``document_vectors``, ``load_bridge``, ``explain``.
    """
    from iconotext.corpus.store import read_corpus
    from iconotext.encoder import load_bridge

    encoder = load_bridge(
        **settings.model_dump(exclude={"dimensions"}),
        texts=(sentence.text for document in read_corpus(corpus) for sentence in document.sentences),
    )
    scored = {each.id for each in evaluation.defined}
    documents = (each for each in read_corpus(corpus) if each.id in scored)
    vectors = document_vectors(evaluation, progress(documents), encoder)
    found = explain(vectors.aucs, vectors.images, vectors.sentences, dimensions=settings.dimensions)
    return found, vectors.left_out


def vectors_seen(document: Document, encoder: Encoder) -> tuple[FloatMatrix, FloatMatrix]:
    """(readable images, dim) pooled features of a document's images, and (n, dim) vectors of its sentences."""
    features = encoder.image_source.look(document.images).features
    good = [number for number, problem in enumerate(features.problems) if problem is None]
    return features.pooled[good], encoder.text_backbone.encode([sentence.text for sentence in document.sentences])


def document_vectors(evaluation: Evaluation, documents: Iterable[Document], encoder: Encoder) -> DocumentVectors:
    """Encode the documents that have an AUC.

    Args:
        documents: In any order; those without an AUC are skipped.
        encoder: Its text backbone encodes sentences, the pooled features of its image backbone are the images' vectors.

    Raises:
        CorpusError: A document is missing, or is not the one that was evaluated.
    """
    scored = {document.id: document for document in evaluation.defined}
    found = DocumentVectors()
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
            found.left_out.append(document.id)
            continue
        found.aucs.append(record.auc)
        found.images.append(images)
        found.sentences.append(sentences)
    if scored:
        raise CorpusError(
            f"the corpus lacks {len(scored)} of the documents in the results, such as {next(iter(scored))!r}: name the "
            "corpus they were made from"
        )
    return found
