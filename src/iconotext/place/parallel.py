"""Pictures for a text that says the same as their document in the same order, such as its translation.

``aligned`` pairs the sentences of two texts by their lengths alone, so the languages need not be known (Gale and
Church, A Program for Aligning Sentences in Bilingual Corpora, Computational Linguistics 19, 1993), and ``in_parallel``
takes the links of the documents over to the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext import types
from iconotext.decide.combine import paragraph_confidence
from iconotext.images import is_harmless
from iconotext.linked import LinkedDocument
from iconotext.place.pictures import from_elsewhere
from iconotext.place.text import joined
from iconotext.types import Document, Image, Link

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOVES = {(1, 1): 0.89, (1, 0): 0.00495, (0, 1): 0.00495, (2, 1): 0.0445, (1, 2): 0.0445, (2, 2): 0.011}
"""Sentences of the one and the other text that stand for each other, and how often they do, from the paper."""

VARIANCE = 6.8
"""Variance of the length of a translation, for each character, from the paper."""

LARGEST = 14.0
"""Largest cost of a pair, however much its lengths differ, so that one bad pair does not decide everything."""

_DEVIATIONS = np.linspace(0.0, 5.5, 5501)
_COSTS = np.array([min(-math.log(math.erfc(deviation / math.sqrt(2))), LARGEST) for deviation in _DEVIATIONS.tolist()])
"""Costs of deviations, interpolated between: the core has no erfc of arrays."""

PARALLEL = 2.0
"""Largest cost of texts that run in parallel; ``docs/results/records/place-translations.json`` says how many of the
others are below it."""

UNLIKE = "its document does not say the same in the same order as the text"
"""The problem of a picture whose document does not run in parallel."""


class Alignment(NamedTuple):
    """Sentences that stand for each other: n of the one text, m of the other.

    Attributes:
        one: Sentence of the one text of each pair.
        other: Sentence of the other text of each pair.
        share: How far the first becomes the second; the shares of a sentence of the one text sum to 1.
        cost: Mean negative log-probability of a sentence; the smaller, the more alike are the texts.
    """

    one: NDArray[np.intp]
    other: NDArray[np.intp]
    share: NDArray[np.float64]
    cost: float


def aligned(one: Sequence[str], other: Sequence[str]) -> Alignment:
    """Return the most probable alignment of two texts, given the sentences of each."""
    lengths = [np.array([len(sentence) + 1 for sentence in text], np.float64) for text in (one, other)]
    n, m = map(len, lengths)
    ratio = lengths[1].sum() / lengths[0].sum() if n and m else 1.0
    sums = [np.concatenate([[0.0], np.cumsum(values)]) for values in lengths]
    last = np.zeros((n + 1, m + 1), np.int8)  # of each cell the number of its last move
    rows: list[NDArray[np.float64]] = []  # smallest costs; of the rows above, a move needs no more than two
    moves = list(MOVES)
    alone = -np.log(MOVES[0, 1])
    steps = np.arange(m + 1) * alone
    for i in range(n + 1):
        best = np.full(m + 1, np.inf)
        if not i:
            best[0] = 0.0
        for k, (di, dj) in enumerate(moves):
            if di and di <= i and dj <= m:
                cost = -np.log(MOVES[di, dj]) + np.zeros(m + 1 - dj)
                if dj:
                    cost += _cost(sums[0][i] - sums[0][i - di], sums[1][dj:] - sums[1][: m + 1 - dj], ratio)
                cost += rows[-di][: m + 1 - dj]
                better = cost < best[dj:]
                best[dj:][better] = cost[better]
                last[i, dj:][better] = k
        # Sentences of the other text alone: the smallest of best[k] + (j - k) * alone over k up to j.
        skipped = np.minimum.accumulate(best - steps) + steps
        last[i][skipped < best - 1e-9] = moves.index((0, 1))  # less is rounding of the sums
        rows = [*rows[-1:], np.minimum(best, skipped)]
    pairs = []
    i, j = n, m  # back from the end, by the last move of each cell
    while i or j:
        di, dj = moves[last[i, j]]
        i, j = i - di, j - dj
        pairs += [(i + a, j + b, 1 / dj) for a in range(di) for b in range(dj)]
    of_one, of_other, share = np.array(pairs).reshape(-1, 3).T
    return Alignment(of_one.astype(np.intp), of_other.astype(np.intp), share, float(rows[-1][m]) / max((n + m) / 2, 1))


def _cost(length: float, lengths: NDArray[np.float64], ratio: float) -> NDArray[np.float64]:
    """Return the negative log-probability that sentences of these lengths translate some of this length."""
    deviation = np.abs(lengths - length * ratio) / np.sqrt(VARIANCE * (length * ratio + lengths) / 2)
    return np.asarray(np.interp(deviation, _DEVIATIONS, _COSTS), np.float64)


def in_parallel(text: Document, sources: Iterable[types.LinkedDocument]) -> LinkedDocument:
    """Link the pictures of documents with the sentences of a text that stand for those that their documents link.

    Args:
        text: The text that gets the pictures.
        sources: The documents, each image linked with its most probable sentence.

    Returns:
        The text with the pictures that it did not have before, each linked with its most probable sentence, or with
        a ``problem`` where its document does not run in parallel with the text.
    """
    sentences = [sentence.text for sentence in text.sentences]
    images: list[Image] = []
    columns: list[NDArray[np.float64]] = []
    for linked in sources:
        alignment = aligned([sentence.text for sentence in linked.document.sentences], sentences)
        problem = UNLIKE if alignment.cost > PARALLEL else None
        for image, column in zip(from_elsewhere(linked), _taken_over(linked, text, alignment).T, strict=True):
            if not (image.problem and is_harmless(image.problem)):
                images.append(replace(image, problem=image.problem or problem))
                columns.append(column)
    document = joined(text, images)
    links = [
        _best_link(text, number, column)
        for number, (image, column) in enumerate(zip(document.images, columns, strict=True))
        if image.problem is None and column.any()
    ]
    similarity = np.stack(columns, axis=1) if columns else np.zeros((len(sentences), 0))
    return LinkedDocument(document, tuple(links), similarity.astype(np.float32), "")


def _taken_over(linked: types.LinkedDocument, text: Document, alignment: Alignment) -> NDArray[np.float64]:
    """The (S, V) probabilities that sentences of the text belong to the images, from those of the document."""
    probability = np.zeros(linked.similarity.shape)
    if any(link.score == link.confidence for link in linked.links):  # else they are cosines
        probability[:] = linked.similarity
    for link in linked.links:
        probability[link.sentence, link.image] = link.confidence
    probability[[sentence.heading for sentence in linked.document.sentences]] = 0.0
    moved = np.zeros((len(text.sentences), len(linked.document.images)))
    np.add.at(moved, alignment.other, alignment.share[:, None] * probability[alignment.one])
    moved[[sentence.heading for sentence in text.sentences]] = 0.0  # a picture stands at the text below
    return np.minimum(moved, 1.0)


def _best_link(text: Document, image: int, column: NDArray[np.float64]) -> Link:
    """The link of an image to its most probable sentence, given its (S,) probabilities."""
    blocks = np.array([-1 if sentence.block is None else sentence.block for sentence in text.sentences])
    best = int(column.argmax())
    confidence = float(column[best])
    paragraph = confidence
    if blocks[best] >= 0:
        own = np.minimum(column[blocks == blocks[best]].sum(keepdims=True), 1.0)
        paragraph = max(float(paragraph_confidence(own)[0]), confidence)
    odds = float(np.log(confidence * len(column)))  # against a sentence at random
    return Link(best, image, confidence, confidence, paragraph, {"context": odds})
