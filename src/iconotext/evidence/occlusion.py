"""The words and image regions that carry the similarity of sentence and picture: the explanation of a link.

Each part is left out in turn; its weight is how far the similarity falls (leave one out, or occlusion: Zeiler and
Fergus 2014 for pictures, Li, Monroe and Jurafsky 2016 for words). This works for every model, and the weights have the
unit of the similarity. Only the picture evidence of a link is explained, not the other kinds of evidence.

Regions that are objects are left out one by one. Cells of a grid are left out in squares: leaving out one cell of 36
changes little, since its neighbours show most of the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from iconotext.evidence.words import Span, without, word_spans
from iconotext.features.regions import GRID, grid_boxes
from iconotext.types import Explanation, Link, Linked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.encoders.encoder import EncodedDocument
    from iconotext.types import FloatMatrix

MOST_WORDS = 128
"""Number of words of a sentence that are left out in turn; text encoders do not read much further."""

TRIAL_TEXTS = 1024
"""Number of texts that are encoded together: sentences, each whole and without each of its words."""

WINDOW = 2
"""Side, in grid cells, of the square that is left out; it moves by one cell. The cells found with 2 carry as much of
the similarity as with 1 (a little less for the default model, a little more for the concept bridge), in 25 trials
instead of 36; 3 is too coarse for the default model. See ``benchmarks/explanation.py``."""


@dataclass(frozen=True, slots=True, eq=False)
class Coverable:
    """A picture with R regions that can be left out.

    Attributes:
        boxes: (R, 4) float: left, top, right, bottom, as shares of width and height from the top left.
        trials: (T, R) bool: which regions are left out together in each trial.
        vectors: Function from (n, R) bool, the regions to leave out, to (n, D) vectors of the rest of the picture, in
            the space of the sentences.
    """

    boxes: FloatMatrix
    trials: NDArray[np.bool_]
    vectors: Callable[[NDArray[np.bool_]], FloatMatrix]


def explained(linked: Linked, encoded: EncodedDocument) -> Linked:
    """Add an explanation to each link; links whose image was not encoded get none."""
    vectors = dict(zip(encoded.image_features.numbers, encoded.images(), strict=True))
    explainable = [link for link in linked.links if link.image in vectors]

    def coverable(image: int) -> Coverable | None:
        parts = encoded.parts(image)
        if parts is None:
            return None
        return Coverable(parts.boxes, trials(parts.boxes), lambda left_out: encoded.images(parts.without(left_out)))

    texts = [sentence.text for sentence in linked.document.sentences]
    explanations = explain_links(explainable, texts, vectors, encoded.sentences, coverable)
    by_cell = {(link.sentence, link.image): why for link, why in zip(explainable, explanations, strict=True)}
    links = (replace(link, explanation=by_cell.get((link.sentence, link.image))) for link in linked.links)
    return replace(linked, links=tuple(links))


def trials(boxes: FloatMatrix, *, window: int = WINDOW) -> NDArray[np.bool_]:
    """Return (T, R) bool: which of R regions are left out together in each trial; never all of them.

    Args:
        window: Side of the square that is left out if the regions are the cells of a grid: 1 to ``GRID`` - 1 cells.
    """
    grid, count = grid_boxes(), len(boxes)
    if boxes.shape == grid.shape and np.allclose(boxes, grid):
        return grid_windows(GRID, window)
    return np.eye(count, dtype=bool) if count > 1 else np.zeros((0, count), bool)


def grid_windows(side: int, window: int) -> NDArray[np.bool_]:
    """Return (windows, side²) bool: all positions of a square of ``window``² cells in a grid of ``side``² cells."""
    top, left = np.divmod(np.arange(side * side), side)
    starts = [(y, x) for y in range(side - window + 1) for x in range(side - window + 1)]
    return np.array([(top >= y) & (top < y + window) & (left >= x) & (left < x + window) for y, x in starts])


def explain_links(
    links: Sequence[Link],
    texts: Sequence[str],
    image_vectors: Mapping[int, FloatMatrix],
    sentence_vectors: Callable[[Sequence[str], Sequence[int]], FloatMatrix],
    coverable: Callable[[int], Coverable | None],
) -> list[Explanation]:
    """Explain the links of one document.

    The trials of an image serve all its links, and so do those of a sentence. At most one image, ``TRIAL_TEXTS`` texts
    or the trials of one sentence are encoded at a time.

    Args:
        image_vectors: Number of each linked image to its (D,) vector in the space of the sentences.
        sentence_vectors: Function from n texts, and the numbers of their sentences, to (n, D) vectors; the dot
            product with an image vector is the similarity to explain.
        coverable: Function from the number of an image to its regions; None if the image cannot be encoded.
    """
    by_sentence, by_image = _grouped(link.sentence for link in links), _grouped(link.image for link in links)
    words: dict[int, list[tuple[int, int, float]]] = {}
    vectors: dict[int, FloatMatrix] = {}  # of the whole sentences, which the trials of the images below need
    for sentence, spans, encoded in _word_trials(sorted(by_sentence), texts, sentence_vectors):
        vectors[sentence] = encoded[0].copy()  # a view would keep the whole batch in memory
        for n in by_sentence[sentence]:
            scores = encoded @ image_vectors[links[n].image]
            words[n] = [(*span, float(fall)) for span, fall in zip(spans, scores[0] - scores[1:], strict=True)]
    regions: dict[int, list[tuple[float, float, float, float, float]]] = {}
    for image, numbers in sorted(by_image.items()):
        if (picture := coverable(image)) is None:
            continue
        weights = _region_weights(picture, np.stack([vectors[links[n].sentence] for n in numbers]))
        for n, weights_of_link in zip(numbers, weights.tolist(), strict=True):
            regions[n] = [(*box, w) for box, w in zip(picture.boxes.tolist(), weights_of_link, strict=True)]
    return [Explanation(tuple(words[n]), tuple(regions.get(n, ()))) for n in range(len(links))]


def _region_weights(picture: Coverable, sentences: FloatMatrix) -> FloatMatrix:
    """Return (links, R): the mean fall of the similarity over the trials that leave out the region; 0 without any."""
    whole = np.zeros((1, picture.trials.shape[1]), np.bool_)  # encoded in the same way as the trials
    scores = picture.vectors(np.concatenate([whole, picture.trials])) @ sentences.T  # (1 + T, links)
    falls = (scores[:1] - scores[1:]).T  # (links, T)
    times = picture.trials.sum(axis=0)
    return np.asarray(falls @ picture.trials / np.maximum(times, 1), np.float32)


def _word_trials(
    sentences: Sequence[int], texts: Sequence[str], encode: Callable[[Sequence[str], Sequence[int]], FloatMatrix]
) -> Iterator[tuple[int, list[Span], FloatMatrix]]:
    """Yield the number, the words and the (1 + words, D) vectors of each sentence: whole, then without each word."""
    spans = {i: word_spans(texts[i])[:MOST_WORDS] for i in sentences}
    for batch in _batches([(i, 1 + len(spans[i])) for i in sentences]):
        trials = [trial for i in batch for trial in (texts[i], *(without(texts[i], [span]) for span in spans[i]))]
        encoded = encode(trials, [i for i in batch for _ in range(1 + len(spans[i]))])
        bounds = np.cumsum([0, *(1 + len(spans[i]) for i in batch)])
        for i, (begin, end) in zip(batch, pairwise(bounds.tolist()), strict=True):
            yield i, spans[i], encoded[begin:end]


def _batches(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Group items into batches of a total size of at most ``TRIAL_TEXTS``, or of one item."""
    batch: list[int] = []
    total = 0
    for item, size in sizes:
        if batch and total + size > TRIAL_TEXTS:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch


def _grouped(keys: Iterator[int]) -> dict[int, list[int]]:
    """Return the positions of each key in ``keys``."""
    positions: dict[int, list[int]] = {}
    for n, key in enumerate(keys):
        positions.setdefault(key, []).append(n)
    return positions
