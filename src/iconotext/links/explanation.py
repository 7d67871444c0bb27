"""Why this link: the words and the regions without which sentence and picture would be less alike.

Each part is left out in turn, and its weight is how far the similarity falls (leave one out, or occlusion: Zeiler and
Fergus 2014 for pictures, Li, Monroe and Jurafsky 2016 for words). That asks nothing of the model but an answer, so it
works for every model, and the weights have the unit of what is explained. It explains the picture evidence of a link,
not its caption, its place or its mentions.

Regions that are objects are left out each in turn. Cells of a grid are left out in squares: one cell of 36 is hardly
missed, since its neighbours have seen most of what it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from iconotext.features.regions import GRID, grid_boxes
from iconotext.links.word_spans import Span, without, word_spans
from iconotext.types import Explanation, Link, LinkedDocument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.embed.backbone_encoder import EncodedDocument
    from iconotext.types import FloatMatrix

MOST_WORDS = 128
"""Words of a sentence that are tried, from its beginning; text encoders read not much further."""

AT_ONCE = 1024
"""Sentences with a word left out that are in memory together."""

WINDOW = 2
"""Cells on each side of what is left out at a time; it moves by one cell. Over the default model and the concept
bridge, the cells found so carry as much of the similarity as those found by covering single cells (a little less with
the one, a little more with the other), for 25 looks instead of 36; windows of three are too coarse for the default
model. See ``benchmarks/explanation.py``."""


@dataclass(frozen=True, slots=True, eq=False)
class Coverable:
    """A picture of which parts can be taken away, R regions.

    Attributes:
        boxes: (R, 4) float: left, top, right, bottom, as shares of width and height from the top left.
        trials: (T, R) bool: which regions are taken away together in each trial.
        vectors: (n, R) bool, what is taken away each time, to (n, D) vectors of what is left of the picture, in the
            space of the sentences.
    """

    boxes: FloatMatrix
    trials: NDArray[np.bool_]
    vectors: Callable[[NDArray[np.bool_]], FloatMatrix]


def explained(linked: LinkedDocument, encoded: EncodedDocument) -> LinkedDocument:
    """The links with their explanations; a link whose image nobody saw has none.

    Raises:
        ImageError: A linked picture is not there any more.
    """
    vectors = dict(zip(encoded.seen.numbers, encoded.images(), strict=True))
    seen = [link for link in linked.links if link.image in vectors]

    def coverable(image: int) -> Coverable | None:
        parts = encoded.parts(image)
        if parts is None:
            return None
        return Coverable(parts.boxes, trials(parts.boxes), lambda left_out: encoded.images(parts.without(left_out)))

    texts = [sentence.text for sentence in linked.document.sentences]
    found = explain_links(seen, texts, vectors, encoded.sentences, coverable)
    by_cell = {(link.sentence, link.image): why for link, why in zip(seen, found, strict=True)}
    links = (replace(link, explanation=by_cell.get((link.sentence, link.image))) for link in linked.links)
    return replace(linked, links=tuple(links))


def trials(boxes: FloatMatrix, *, window: int = WINDOW) -> NDArray[np.bool_]:
    """(T, R) bool: which of R regions are left out together in each trial; never all of them.

    Args:
        boxes: (R, 4).
        window: Cells on each side of what is left out, where the regions are the cells of a grid: 1 to ``GRID``.
    """
    grid, count = grid_boxes(), len(boxes)
    if boxes.shape == grid.shape and np.allclose(boxes, grid):
        return grid_windows(GRID, window)
    return np.eye(count, dtype=bool) if count > 1 else np.zeros((0, count), bool)


def grid_windows(side: int, window: int) -> NDArray[np.bool_]:
    """(windows, side²): all squares of ``window`` cells a side that fit into a grid of ``side`` cells a side."""
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

    The trials of an image serve all its links, and so do those of a sentence. One image is in work at a time, and at
    most ``AT_ONCE`` sentences (or one sentence with all its trials).

    Args:
        image_vectors: Number of each linked image to its (D,) vector in the space of the sentences.
        sentence_vectors: Texts, and the number of the sentence that each replaces, to (n, D) vectors; the product of
            two vectors is the similarity to be explained.
        coverable: Number of an image to that image; None for one that nobody can look at, which then has no regions.
    """
    by_sentence, by_image = _grouped(link.sentence for link in links), _grouped(link.image for link in links)
    words: dict[int, list[tuple[int, int, float]]] = {}
    vectors: dict[int, FloatMatrix] = {}  # of the sentences as they are
    for sentence, spans, encoded in _word_trials(sorted(by_sentence), texts, sentence_vectors):
        vectors[sentence] = encoded[0].copy()
        for n in by_sentence[sentence]:
            scores = encoded @ image_vectors[links[n].image]
            words[n] = [(*span, float(fall)) for span, fall in zip(spans, scores[0] - scores[1:], strict=True)]
    regions: dict[int, list[tuple[float, float, float, float, float]]] = {}
    for image, own in sorted(by_image.items()):
        picture = coverable(image)
        weights = _region_weights(picture, np.stack([vectors[links[n].sentence] for n in own])) if picture else None
        for row, n in enumerate(own):
            regions[n] = []
            if picture is not None and weights is not None:
                boxes = picture.boxes.tolist()
                regions[n] = [(*box, float(w)) for box, w in zip(boxes, weights[row], strict=True)]
    return [Explanation(tuple(words[n]), tuple(regions[n])) for n in range(len(links))]


def _region_weights(picture: Coverable, sentences: FloatMatrix) -> FloatMatrix:
    """(links, R): the mean fall over the trials in which a region is taken away; 0 for one that never is."""
    whole = np.zeros((1, picture.trials.shape[1]), np.bool_)  # the same way through the encoder as the others
    scores = picture.vectors(np.concatenate([whole, picture.trials])) @ sentences.T  # (1 + T, links)
    falls = (scores[:1] - scores[1:]).T  # (links, T)
    times = picture.trials.sum(axis=0)
    return np.asarray(falls @ picture.trials / np.maximum(times, 1), np.float32)


def _word_trials(
    sentences: Sequence[int], texts: Sequence[str], encode: Callable[[Sequence[str], Sequence[int]], FloatMatrix]
) -> Iterator[tuple[int, list[Span], FloatMatrix]]:
    """Each sentence, its words, and the (1 + words, D) vectors of it whole and without each of them."""
    spans = {i: word_spans(texts[i])[:MOST_WORDS] for i in sentences}
    for some in _batches([(i, 1 + len(spans[i])) for i in sentences]):
        trials = [trial for i in some for trial in (texts[i], *(without(texts[i], [span]) for span in spans[i]))]
        encoded = encode(trials, [i for i in some for _ in range(1 + len(spans[i]))])
        bounds = np.cumsum([0, *(1 + len(spans[i]) for i in some)])
        for i, (begin, end) in zip(some, pairwise(bounds.tolist()), strict=True):
            yield i, spans[i], encoded[begin:end]


def _batches(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Items in batches of at most ``AT_ONCE`` in size, or of one item."""
    batch: list[int] = []
    total = 0
    for item, size in sizes:
        if batch and total + size > AT_ONCE:
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += size
    if batch:
        yield batch


def _grouped(keys: Iterator[int]) -> dict[int, list[int]]:
    """Key to the positions at which it stands."""
    found: dict[int, list[int]] = {}
    for n, key in enumerate(keys):
        found.setdefault(key, []).append(n)
    return found
