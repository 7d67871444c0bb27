"""The data of a relation model: labelled pairs of text and image, and offsets of images learned from them.

``read_relation_data`` reads labelled pairs, and images with texts but without labels. ``folds_of`` divides them for
cross-validation. ``from_labels`` and ``from_texts`` fit the terms of images in the log-odds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from iconotext.corpus.row import SPLITS
from iconotext.corpus.split import connected
from iconotext.corpus.store import read_corpus
from iconotext.encoders.relation_model import LIMIT
from iconotext.errors import CorpusError
from iconotext.evaluate.metrics import average_precision
from iconotext.relations import in_order
from iconotext.train.relations.fit import fit_standardised, standard
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from iconotext.recipe.relations import RelationSettings
    from iconotext.types import FloatMatrix


class DescribedImage(NamedTuple):
    """An unlabelled image whose file exists, with the texts about it and the number of its corpus."""

    image: Image
    texts: tuple[str, ...]
    source: int


@dataclass(frozen=True, slots=True, eq=False)
class RelationData:
    """The training data of a relation model.

    Attributes:
        texts: N labelled texts.
        images: (N) the image of each text; its file may be missing.
        relations: Names of the R labelled relations.
        answers: (N, R) float32: 1 yes, 0 no, NaN not answered.
        described: Images without labels.
        splits: Number of labelled pairs of each split; ``none`` for pairs without a split.
    """

    texts: list[str]
    images: list[Image]
    relations: tuple[str, ...]
    answers: FloatMatrix
    described: list[DescribedImage]
    splits: dict[str, int]


def read_relation_data(corpora: Sequence[Path], splits: Sequence[str] = SPLITS) -> RelationData:
    """Read corpora; documents with ``relations`` are labelled pairs, all others give images without labels.

    By default all splits are read, also those for validation and test: published labels are few, and the model is
    evaluated by cross-validation.

    Relations are ordered as in the papers; others follow by name.

    An image without labels needs a file and a text: its linked sentences, its caption or its alternative text.

    Args:
        corpora: Corpus files.
        splits: Splits to read; documents without a split are always read.

    Raises:
        CorpusError: A labelled document does not have exactly one sentence and one image, no document has labels, or a
            file breaks the format.
    """
    texts: list[str] = []
    images: list[Image] = []
    found: list[Mapping[str, bool | None]] = []
    described: list[DescribedImage] = []
    counts = Counter(dict.fromkeys((*splits, "none"), 0))
    for number, path in enumerate(corpora):
        for document in read_corpus(path):
            if document.split is not None and document.split not in splits:
                continue
            labels = document.meta.get("relations")
            if labels is None:
                described += _described(document, number)
                continue
            if len(document.sentences) != 1 or len(document.images) != 1:
                raise CorpusError(
                    f"{path}, document {document.id!r}: relations need one sentence and one image, and it has "
                    f"{len(document.sentences)} and {len(document.images)}"
                )
            texts.append(document.sentences[0].text)
            images.append(document.images[0])
            found.append(labels)
            counts[document.split or "none"] += 1
    judged = {name for labels in found for name, answer in labels.items() if answer is not None}
    if not judged:
        named = ", ".join(map(str, corpora))
        where = "" if set(SPLITS) <= set(splits) else f" in the splits {', '.join(splits)}"
        raise CorpusError(
            f"{named}: no document{where} has relations; `iconotext corpus build clue` makes a corpus that has"
        )
    relations = tuple(in_order(judged))
    answers = np.array([[labels.get(name) for name in relations] for labels in found], np.float32)
    return RelationData(texts, images, relations, answers, described, dict(counts))


def _described(document: Document, source: int) -> Iterable[DescribedImage]:
    """Yield the images of a document whose files exist, with the texts about each."""
    linked: dict[int, list[str]] = {}
    for sentence, number in document.links or ():
        linked.setdefault(number, []).append(document.sentences[sentence].text)
    for number, image in enumerate(document.images):
        texts = [*linked.get(number, []), *(text for text in (image.caption, image.alt) if text)]
        if image.file is not None and image.problem is None and texts:
            yield DescribedImage(image, tuple(dict.fromkeys(texts)), source)


def groups_of(texts: Sequence[str], images: Sequence[Image]) -> NDArray[np.int64]:
    """Group pairs that share their text or image, directly or through other pairs.

    Texts are compared without case and white space, images by address.

    Returns:
        (n,) group numbers.
    """
    keys = (
        (("text", " ".join(text.casefold().split())), ("picture", image.source))
        for text, image in zip(texts, images, strict=True)
    )
    return np.array(connected(keys), np.int64)


def folds_of(groups: NDArray[np.int64], folds: int, seed: int) -> NDArray[np.int64]:
    """Divide pairs into folds of about equal size, without splitting groups.

    The largest groups are assigned first, each to the smallest fold so far; groups of equal size come in random order.

    Returns:
        (n,) fold of each pair, 0 to folds - 1.
    """
    numbers, counts = np.unique(groups, return_counts=True)
    shuffled = np.random.default_rng(seed).permutation(len(numbers))
    sizes = np.zeros(folds, np.int64)
    part: dict[int, int] = {}
    for group in shuffled[np.argsort(-counts[shuffled], kind="stable")]:
        smallest = int(sizes.argmin())
        part[int(numbers[group])] = smallest
        sizes[smallest] += counts[group]
    return np.array([part[int(group)] for group in groups], np.int64)


STRENGTH = 1e-3
"""Inverse regularisation of the weights of an image's features, which have standard deviation 1: C of the logistic
regression on labels, 1 / penalty of the ridge regression on texts."""

WEIGHT_OF_TEXTS = 0.5
"""Factor of offsets learned from texts: the text beside an image contains part of the same evidence already."""

LEAST_CORRELATION = 0.2
"""Smallest correlation between offset and texts on held-out images; below it the offset is 0."""

HELD_OUT = 5
"""One image in this many is held out to measure the reported correlation."""


class ImageOffsets(NamedTuple):
    """The terms of images in the log-odds: a linear function of an image's pooled features.

    Attributes:
        weight: (P, R), for unscaled pooled features.
        bias: (R,)
        figures: Values for each of the R relations, by the name of the figure. ``kept``: whether the relation has an
            offset. The others are measured on images not used for fitting: ``correlation``, or ``held_out`` with the
            average precision of the text alone and with the image.
    """

    weight: FloatMatrix
    bias: NDArray[np.float32]
    figures: dict[str, list[Any]]


def from_labels(
    pooled: FloatMatrix,
    answers: FloatMatrix,
    text: FloatMatrix,
    parts: NDArray[np.int64],
    strength: float = STRENGTH,
) -> ImageOffsets:
    """Fit offsets that, added to the text's log-odds, predict the labels: one logistic regression for each relation.

    Each part is also predicted with offsets learned from the other parts. A relation gets no offset if that lowers its
    average precision, or if the latter is unknown.

    Args:
        pooled: (n, P) features of labelled images.
        answers: (n, R) 1, 0 or NaN.
        text: (n, R) calibrated log-odds of their texts, by a model that was not fitted to them.
        parts: (n,) part of each image; images that share a text or are equal are in one part.
        strength: Inverse regularisation, see ``fit_logistic``.
    """
    both = text.copy()
    for own in (parts == part for part in np.unique(parts)):
        if not own.all():
            weight, bias = fit_standardised(pooled[~own], answers[~own], strength, known=text[~own])
            both[own] += np.clip(pooled[own] @ weight + bias, -LIMIT, LIMIT)
    held_out = [_held_out(answers[:, r], text[:, r], both[:, r]) for r in range(answers.shape[1])]
    kept = [None not in each.values() and each["text_and_image"] >= each["text"] for each in held_out]
    weight, bias = fit_standardised(pooled, answers, strength, known=text)
    used = np.array(kept, np.float32)
    return ImageOffsets(weight * used, bias * used, {"kept": kept, "held_out": held_out})


def _held_out(answers: FloatMatrix, text: FloatMatrix, both: FloatMatrix) -> dict[str, Any]:
    there = ~np.isnan(answers)
    gold = answers[there] > 0.5
    precisions = {"text": text, "text_and_image": both}
    return {"pairs": len(gold), **{name: average_precision(x[there], gold) for name, x in precisions.items()}}


def from_texts(
    pooled: FloatMatrix,
    texts: Sequence[FloatMatrix],
    sources: NDArray[np.int64],
    relations: Sequence[str],
    settings: RelationSettings,
    strength: float = STRENGTH,
) -> ImageOffsets:
    """Fit offsets that predict the text model's log-odds for the texts that people write about such an image.

    The target of an image is the mean log-odds of its n texts, minus the mean over all images of its corpus (so that
    differences between corpora are not learned), times n / (n + 1), since few texts say little about further ones.
    Ridge regression on the image's features. A relation gets no offset if its correlation on held-out images is too
    small, or if it is in ``picture_silent``.

    Args:
        pooled: (n, P) features.
        texts: For each image the (texts, R) calibrated log-odds.
        sources: (n,) number of each image's corpus.
        relations: R names.
    """
    means = np.stack([each.mean(0) for each in texts])
    for source in np.unique(sources):
        means[sources == source] -= means[sources == source].mean(0)
    targets = means * np.array([[len(each) / (len(each) + 1)] for each in texts], np.float32)
    held = np.random.default_rng(settings.seed).permutation(len(pooled)) % HELD_OUT == 0
    weight, bias = _ridge(pooled[~held], targets[~held], strength)
    correlation = _correlation(pooled[held] @ weight + bias, means[held])
    kept = [
        found >= LEAST_CORRELATION and name not in settings.picture_silent
        for found, name in zip(correlation, relations, strict=True)
    ]
    weight, bias = _ridge(pooled, targets, strength)
    share = np.array(kept, np.float32) * np.float32(WEIGHT_OF_TEXTS)
    return ImageOffsets(weight * share, bias * share, {"correlation": correlation, "kept": kept})


def _ridge(pooled: FloatMatrix, y: FloatMatrix, strength: float) -> tuple[FloatMatrix, NDArray[np.float32]]:
    """Return (P, R) weights and (R,) biases for unscaled features; the penalty is on standardised features."""
    mean, scale = standard(pooled)
    x = ((pooled - mean) / scale).astype(np.float64)
    found = np.linalg.solve(x.T @ x + np.eye(x.shape[1]) / strength, x.T @ (y - y.mean(0)))
    weight = (found / scale[:, None]).astype(np.float32)
    return weight, y.mean(0) - mean @ weight


def _correlation(x: FloatMatrix, y: FloatMatrix) -> list[float]:
    """Return Pearson's correlation of each column of both; 0 for a constant one."""
    x, y = x - x.mean(0), y - y.mean(0)
    spread = np.sqrt(np.square(x).sum(0) * np.square(y).sum(0))
    found: list[float] = np.where(spread > 0, (x * y).sum(0) / np.where(spread > 0, spread, 1), 0).tolist()
    return found
