"""Restores the order of pictures: a document's images are shuffled, and put back by their content alone (COHERENCE).

Wang et al. 2026 (arXiv 2604.27389) shuffle the images of an article, and a model chooses an image for each gap; they
count articles with all images in place, and Kendall's tau. Here the evidence about the sentences around a gap is used
instead of a prompt, and the matching of images with gaps that has the largest sum. No gold links are needed. Their
ablations hide the images or the article's text, which leaves nothing to compare: that is our random order. Ours hide
the texts of the images, or the images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from iconotext.decide.combine import weigh_evidence
from iconotext.errors import CorpusError, SettingError
from iconotext.evaluate.metrics import Metric
from iconotext.evaluate.score_documents import UnseenImages, random_scores
from iconotext.evaluate.statistics import RESAMPLINGS, bootstrap_intervals
from iconotext.evidence.caption import Reading, texts_of
from iconotext.evidence.labels import unlabelled
from iconotext.evidence.layout import places
from iconotext.evidence.words import stems
from iconotext.features.ocr import with_lines
from iconotext.similarity.matching import best_matching
from iconotext.types import Document, Evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.encoders.encoder import EncodedDocument
    from iconotext.linker import Linker
    from iconotext.types import FloatMatrix, Image

CONTENT: tuple[Evidence, ...] = ("picture", "caption", "ocr")
"""The kinds of evidence that do not depend on the place."""

_PUT_BACK = f"{__name__}:put_back"

ORDER_METRICS = {metric.name: metric for metric in (
    Metric("exact", "All at their place", "order", "0 to 1; by chance 1 / number of orders", _PUT_BACK,
           "Share of the documents whose pictures all stand where they stood."),
    Metric("placed", "At its own place", "order", "0 to 1; by chance about 1 / number of places", _PUT_BACK,
           "Share of the pictures that stand where they stood."),
    Metric("tau", "Kendall's τ", "order", "0 to 1; by chance 0.5", _PUT_BACK,
           "Share of the pairs of pictures of different places in the right order, (τ + 1) / 2; mean over documents."),
)}  # fmt: skip

RULES = {
    "random": "random order",
    "words": "most shared caption words",
    "text": "text only",
    "image": "image only",
    "both": "text and image",
}
"""Ways to put images back, with their names: two simple rules, then the model's evidence."""


class Displaced(NamedTuple):
    """A document whose images no longer show where they stood.

    Attributes:
        document: Without places, labels ("Figure 3") and caption sentences, with its V images in another order.
        position: (V,) int, number of sentences before each image: its place. Images with equal numbers share a place.
        around: (V, S) bool, the sentences of the blocks before and after each image's place.
    """

    document: Document
    position: NDArray[np.int64]
    around: NDArray[np.bool_]


@dataclass(frozen=True)
class Reordering:
    """The result of putting pictures back.

    Attributes:
        images: Number of images of each document.
        undefined: Ids of documents that were left out, with the reason.
        totals: For each rule (documents, 3), each document's count for each metric: its share, the number of images in
            place, its share.
    """

    documents: tuple[str, ...]
    images: tuple[int, ...]
    undefined: dict[str, str]
    totals: dict[str, NDArray[np.float64]]
    resamplings: int = RESAMPLINGS
    seed: int = 0

    def figures(self, totals: NDArray[np.float64]) -> dict[str, tuple[float, float, float]]:
        """Return the value of each metric, 0 to 1, and its 95 % bootstrap interval over documents."""
        weights = np.ones_like(totals)
        weights[:, 1] = self.images
        bounds = bootstrap_intervals(totals, weights, resamplings=self.resamplings, seed=self.seed).tolist()
        means = (totals.sum(0) / weights.sum(0)).tolist()
        return {name: (mean, *pair) for name, mean, pair in zip(ORDER_METRICS, means, bounds, strict=True)}

    def beyond_words(self, rule: str) -> dict[str, tuple[float, float, float]]:
        """``figures`` of the difference to the rule of the most shared caption words."""
        return self.figures(self.totals[rule] - self.totals["words"])

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        rules = {
            rule: {"figures": self.figures(totals), "beyond_words": self.beyond_words(rule)}
            for rule, totals in self.totals.items()
        }
        return {
            "documents": len(self.documents),
            "images": sum(self.images),
            "undefined": self.undefined,
            "rules": rules,
        }


def reorder(
    linker: Linker,
    documents: Iterable[Document],
    *,
    draws: int = 10,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Reordering:
    """Shuffle the images of documents, put them back by the linker's encoder and ``CONTENT`` evidence, and measure."""
    if kinds := [kind for kind in linker.settings.evidence if kind not in CONTENT]:
        raise SettingError(f"evidence {kinds[0]} tells the places, which are to be found: name {', '.join(CONTENT)}")
    unseen = UnseenImages(say, from_file=linker.encoder.image_source.from_file)
    undefined: dict[str, str] = {}
    by_rule: dict[str, list[tuple[float, float, float]]] = {}
    measured: list[tuple[str, int]] = []
    for document in documents:
        shuffled = displaced(document, seed=seed)
        if isinstance(shuffled, str):
            undefined[document.id] = shuffled
            continue
        # By its id, so that the orders of a document do not depend on the documents before it.
        orders = random_scores(document.id, draws, len(shuffled.position), seed=seed).argsort(axis=1)
        for rule, scores in _scores(linker, shuffled, unseen):
            by_rule.setdefault(rule, []).append(put_back(scores, shuffled.position, orders))
        measured.append((document.id, len(shuffled.position)))
    unseen.finish()
    if not measured:
        reasons = ", ".join(sorted(set(undefined.values()))) or "there are none"
        raise CorpusError(f"no document can be measured ({reasons}); give a corpus as `iconotext corpus build` makes")
    names, images = zip(*measured, strict=True)
    return Reordering(names, images, undefined, {k: np.array(v) for k, v in by_rule.items()}, resamplings, seed)


def displaced(document: Document, *, seed: int = 0) -> Displaced | str:
    """Remove from images everything that shows their places; or return why the document cannot be measured."""
    captions = [image.caption for image in document.images if image.caption]
    text = np.array(
        [s.kind != "caption" and not any(s.text in caption for caption in captions) for s in document.sentences],
        np.bool_,
    )
    if not document.images or not text.any():
        return "it has no sentences or no pictures"
    if not document.has_layout:
        return "it does not say where its pictures stand"
    before = np.concatenate([[0], np.cumsum(text)])
    order = random_scores(document.id, 1, len(document.images), seed=seed)[0].argsort()
    images = [document.images[j] for j in order]
    body = tuple(sentence for sentence, is_text in zip(document.sentences, text, strict=True) if is_text)
    placed = tuple(replace(image, position=int(before[image.position or 0])) for image in images)
    place = places([replace(document, sentences=body, images=placed)])
    if len(set(place.position.tolist())) < 2:
        return "its pictures stand at one place"
    around = (place.rank == place.above[:, None]) | (place.rank == place.below[:, None])
    return Displaced(
        replace(document, sentences=body, images=tuple(map(_without_place, images)), links=None), place.position, around
    )


def _without_place(image: Image) -> Image:
    caption, alt = (text and unlabelled(text) for text in (image.caption, image.alt))
    return replace(image, caption=caption, alt=alt, position=None, block=None, anchors=(), page=None, box=None)


def _scores(linker: Linker, shuffled: Displaced, unseen: UnseenImages) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield (V, V) scores of every place with every image, for each rule."""
    document = shuffled.document
    encoded: EncodedDocument | None = None
    yield "random", np.zeros((len(document.images), len(document.images)))
    yield "words", _shared_words(shuffled)
    if "ocr" in linker.settings.evidence:
        document = with_lines(document, linker.line_reader)
    if "picture" in linker.settings.evidence:
        encoded = linker.encoder.read(document)
        document = encoded.document
        unseen.see(document)
    similarity, vectors = (encoded.similarity, encoded.caption_vectors) if encoded else (None, None)
    reading = Reading(linker.encoder.text_backbone.encode, vectors)
    text = tuple(kind for kind in linker.settings.evidence if kind == "caption")
    image = tuple(kind for kind in linker.settings.evidence if kind != "caption")
    for rule, kinds in {"text": text, "image": image, "both": (*image, *text) if image and text else ()}.items():
        if kinds:
            # A text counts even if its image cannot be read, which ``document`` notes.
            weighed = weigh_evidence(
                shuffled.document if rule == "text" else document, similarity, reading, evidence=kinds
            )
            zeros = np.zeros((len(document.sentences), len(document.images)), np.float32)
            yield rule, _around(sum(weighed.contributions.values(), zeros), shuffled.around)


def _shared_words(shuffled: Displaced) -> NDArray[np.float64]:
    """Return (V, V) numbers of words that the sentences around a place share with the texts of an image."""
    words = [stems(sentence.text) for sentence in shuffled.document.sentences]
    near = [set().union(*(words[i] for i in np.flatnonzero(row))) for row in shuffled.around]
    texts = [stems(" ".join(texts_of(image).values())) for image in shuffled.document.images]
    return np.array([[len(around & text) for text in texts] for around in near], dtype=np.float64)


def _around(log_odds: FloatMatrix, around: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return (V, V) log-odds that an image belongs to a sentence around a place: the logarithm of their sum."""
    # Less the largest of its column, so that no exponential overflows; 1e-30 keeps the logarithm finite.
    weight = np.exp(log_odds.astype(np.float64) - log_odds.max(axis=0))
    log: NDArray[np.float64] = np.log(around.astype(np.float64) @ weight + 1e-30)
    return log


def put_back(
    scores: NDArray[np.float64], position: NDArray[np.int64], orders: NDArray[np.int64]
) -> tuple[float, float, float]:
    """Match images with places by the largest sum of scores, and compare with their original places.

    Args:
        scores: (V, V) of the place of image g with image v.
        position: (V,) places.
        orders: (draws, V) orders of the images, which decide between equal scores.

    Returns:
        Whether all are in place, how many are, and the share of pairs from different places that are in the right order
        (half for a pair put at one place); means over the draws.
    """
    results = []
    apart = np.triu(position[:, None] != position)  # each pair of images from different places once
    for order in orders:
        rows, columns = best_matching(scores[:, order])
        put = np.empty_like(position)
        put[order[columns]] = position[rows]
        agreement = np.sign(position[:, None] - position) * np.sign(put[:, None] - put)
        right = put == position
        results.append((float(right.all()), float(right.sum()), float((agreement[apart].mean() + 1) / 2)))
    exact, placed, tau = np.mean(results, axis=0).tolist()
    return exact, placed, tau
