"""The combination of all kinds of evidence into one probability for each pair of sentence and image.

For every image the model chooses among the sentences and a null option, 'none of them':

    P(sentence i | image j) = exp(s_ij) / (exp(null) + sum over k of exp(s_kj)),   s_ij = sum over kinds of w . x_ij

This is a conditional logistic regression. Unlike a yes-or-no question for each cell it models that sentences compete
for an image, so its probabilities stay calibrated in documents of any length. The probabilities of an image's sentences
and of the null option sum to 1. ``python -m fitting evidence`` fits one set of weights for caption alone, one for
layout alone and one for both, since either kind may be switched off or missing (an image without any text has no
caption evidence). An image that comes from another document with its context is linked by this context instead, with
weights from ``python -m fitting context``.

Picture and OCR evidence (``ADDED``) have no part in these sets, whose number they would multiply: their weights are
fitted on top of the other kinds. An image that belongs to no sentence should be equally similar to all sentences; so a
sentence's odds against the null option are its odds against the mean of all sentences. An image without words is
linked as if OCR evidence were off. Kinds of other packages are added likewise, with the weights that they state.

Some captions say nothing about the text: they are in another language, or name files. ``silent_share`` infers the share
of such captions in a collection, without labels, and the odds by the caption become

    (1 - silent) exp(w . x_i) + silent * exp(even)

where ``even`` leaves a sentence as probable as it is without captions. This bounds the weight of such captions against
the layout.

On publishers that were not in the fit, high probabilities are too high. So a probability p of the softmax is reported
as the confidence p - ``OVERRATED`` p ** 4, which does not change the order of the sentences. Most wrong sentences stand
in the right paragraph, so the sum over a block is reported, too, corrected by ``paragraph_confidence``.

Reference weights are not fitted, since the labels of the fit come from references; they follow from how often
references are right.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from iconotext.evidence.caption import compared_text, texts_of
from iconotext.evidence.cells import Cells, Columns
from iconotext.evidence.gather import DocumentEvidence, gather_evidence
from iconotext.evidence.habit import (
    Habit,
    PlaceEvidence,
    habit_probability,
    joined_places,
    judged_evidence,
    place_evidence,
)
from iconotext.evidence.kinds import EVIDENCE, EVIDENCE_KINDS, chosen_evidence
from iconotext.evidence.layout import Places, layout_features, places
from iconotext.evidence.reference import DIRECTED, ELSEWHERE, EXPLICIT, VAGUE
from iconotext.types import Document, Evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.evidence.caption import Reading
    from iconotext.types import FloatMatrix

Floating = TypeVar("Floating", np.float32, np.float64)

FITTED: tuple[Evidence, ...] = tuple(kind.name for kind in EVIDENCE_KINDS if kind.fitted == "together")
"""The kinds whose weights are fitted together, in the order of their names in ``coefficients.json``."""

ADDED: tuple[Evidence, ...] = tuple(kind.name for kind in EVIDENCE_KINDS if kind.fitted == "top")
"""The kinds whose log-odds are added to those of any fitted combination."""

NOWHERE = 0.25
"""Assumed ratio of images that belong to no sentence to images that belong to one, if there is no fitted evidence."""

EXPLICIT_PRECISION = 0.97
"""Share of explicit references that are right. All 17 in the three original textbook pages are; 17 show no more."""

# Explicit: log-odds of its precision minus those of the share of cells that are links, 1 in 150 sentences.
# Pointing words ('the photo above') mean the nearest image, which layout alone gets right in some 3 of 10 cases;
# their precision is an estimate: 0.8 with a direction, 0.5 without.
# Elsewhere: an estimate, too; on cited figures of three languages, weights of -1.5 to -2.5 fit best, although sentences
# that cite two figures together count against it.
REFERENCE_WEIGHTS: Mapping[float, float] = {EXPLICIT: 8.5, DIRECTED: 2.2, VAGUE: 0.85, ELSEWHERE: -1.5}
"""Log-odds that each strength of reference adds."""

OVERRATED = 0.2
"""Share of the sentences with a probability of 1 that are wrong, on publishers that were left out of the fit.

``python -m fitting confidence`` fits it; above 0.25 the order of sentences would change.
"""

UNDERRATED = 0.06
"""How far the sum over a paragraph is corrected; ``python -m fitting confidence`` fits it."""

PRIOR_CAPTIONS = 50
"""Weight, in captions, of the prior assumption of ``silent_share`` that no caption is silent."""

LONG = 12
"""Number of sentences from which the layout does not count if all images stand before or after the text."""

_NOTHING = 10.0  # log-odds of the null option without evidence of a fitted kind: only a reference can make a link


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Weights of one combination of kinds of evidence.

    Attributes:
        null: Log-odds of the null option.
        weights: Feature name to weight.
    """

    null: float
    weights: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """The combined evidence of a document with S sentences and V images.

    Attributes:
        contributions: Kind to (S, V) float32, what it adds to the log-odds of each cell.
        score: (S, V) float32: the cosine if pictures are the only evidence, else the confidence.
        confidence: (S, V) float32, 0 to 1, probability that the cell is a link. A column sums to at most 1, unless
            several sentences cite the image explicitly: all of them can be right.
        paragraph: (S, V) float32, 0 to 1, probability that any sentence of the cell's block is a link; at least the
            confidence, and equal to it for a sentence without a block.
        share: (S, V) float32, the confidence without the correction by ``OVERRATED``.
    """

    contributions: dict[Evidence, FloatMatrix]
    score: FloatMatrix
    confidence: FloatMatrix
    paragraph: FloatMatrix
    share: FloatMatrix


def subset_name(kinds: Collection[Evidence]) -> str:
    """Return the name of a combination in ``coefficients.json``: 'caption+layout'."""
    return "+".join(kind for kind in FITTED if kind in kinds)


@cache
def load_coefficients() -> Mapping[str, Coefficients]:
    """Return the fitted weights in the package, by ``subset_name`` and the names in ``ADDED``."""
    text = files("iconotext.decide").joinpath("coefficients.json").read_text(encoding="utf-8")
    return {name: Coefficients(entry["null"], entry["weights"]) for name, entry in json.loads(text).items()}


def kinds_of(evidence: DocumentEvidence) -> list[Evidence]:
    """Return the kinds of evidence that a document has, in the order in which they are summed."""
    more = [kind for kind in evidence.features if kind not in FITTED + ADDED]
    kinds: list[Evidence] = [kind for kind in (*FITTED, *ADDED, *more) if evidence.features.get(kind)]
    return kinds if evidence.reference is None else [*kinds, "reference"]


def combine(
    evidence: Sequence[DocumentEvidence],
    coefficients: Mapping[str, Coefficients] | None = None,
    silent: Sequence[float] | None = None,
) -> list[Combination]:
    """Combine the evidence of each document; ``silent`` is the share of silent captions in the collection of each."""
    combinations = [
        Combination(
            {kind: np.zeros(item.shape, np.float32) for kind in kinds_of(item)}, *np.zeros((4, *item.shape), np.float32)
        )
        for item in evidence
    ]
    numbers = [number for number, item in enumerate(evidence) if item.shape[0] and item.shape[1]]
    if numbers:
        shares = [silent[number] if silent else 0.0 for number in numbers]
        full = _combined([evidence[number] for number in numbers], coefficients or load_coefficients(), shares)
        for number, combination in zip(numbers, full, strict=True):
            combinations[number] = combination
    return combinations


def _combined(
    evidence: Sequence[DocumentEvidence], coefficients: Mapping[str, Coefficients], silent: Sequence[float]
) -> list[Combination]:
    """Combine the evidence of documents that all have sentences and images."""
    cells = Cells(*np.array([item.shape for item in evidence]).T)
    odds, null = _fitted(cells, evidence, coefficients, silent)
    others = [kind for item in evidence for kind in kinds_of(item) if kind not in (*FITTED, "reference")]
    for kind in dict.fromkeys(others):
        if kind in ADDED:
            odds[kind] = _against_mean(cells, _weighed(cells, evidence, kind, coefficients[kind]))
        else:
            odds[kind] = _weighed(cells, evidence, kind, stated_weight(kind))
        # Images with evidence of this kind and of no fitted one: the null option gets its assumed share.
        alone = (null == _NOTHING) & (cells.image_sums(odds[kind] != 0) > 0)
        null[alone] = np.log(cells.sentences * NOWHERE)[cells.of_image[alone]]
    reference = cells.joined([item.reference for item in evidence])
    odds["reference"] = _reference_weight(reference)
    log_odds = -null[cells.image]
    for summand in odds.values():
        log_odds += summand
    share = _share(cells, log_odds)
    confidence = share - np.float32(OVERRATED) * share**4
    # All sentences that cite an image can be right: one is wrong only if its citation and the rest are both wrong.
    explicit = reference >= EXPLICIT
    paragraph = _paragraph(cells, evidence, share, explicit)
    for probability in (share, confidence):
        probability[explicit] = _cited(probability[explicit])
    paragraph = np.maximum(paragraph, confidence)  # which it is for a sentence without a block
    matrices = {kind: cells.matrices(values) for kind, values in odds.items()}
    results = zip(*map(cells.matrices, (confidence, paragraph, share)), strict=True)
    combinations = []
    for number, (item, own) in enumerate(zip(evidence, results, strict=True)):
        kinds = kinds_of(item)
        score = own[0] if kinds != ["picture"] or item.similarity is None else item.similarity
        combinations.append(Combination({kind: matrices[kind][number] for kind in kinds}, score, *own))
    return combinations


def paragraph_confidence(share: NDArray[Floating], underrated: float = UNDERRATED) -> NDArray[Floating]:
    """Return the confidence of paragraphs, 0 to 1, given their sums of the softmax, 0 to 1, in the same order.

    On publishers that were not in the fit, small sums are too small, and those near 1 too large. The result is never
    below the confidence of a single sentence with this probability.
    """
    return (1 - underrated) * share ** (1 - 6 * underrated)


def _cited(probability: FloatMatrix) -> FloatMatrix:
    """Return the probability of what is also cited explicitly."""
    return np.asarray(1 - (1 - probability) * np.float32(1 - EXPLICIT_PRECISION), np.float32)


def _paragraph(
    cells: Cells, evidence: Sequence[DocumentEvidence], share: FloatMatrix, explicit: NDArray[np.bool_]
) -> FloatMatrix:
    """Return (cells,) the probability that a sentence of the cell's block is a link; 0 without a block."""
    number = np.array([-1 if s.block is None else s.block for item in evidence for s in item.sound.sentences])
    own = number[cells.sentence]
    begins = np.diff(own, prepend=-1) != 0
    begins[cells.begin] = True
    block = np.cumsum(begins) - 1
    probability = paragraph_confidence(np.minimum(np.bincount(block, share), 1).astype(np.float32))[block]
    cited = np.bincount(block, explicit)[block] > 0
    return np.where(own < 0, np.float32(0), np.where(cited, _cited(probability), probability))


def stated_weight(name: Evidence) -> Coefficients:
    """Return the weight that another package states for its kind of evidence."""
    (kind,) = chosen_evidence([name])
    return Coefficients(0.0, {name: kind.weight or 0.0})


def _fitted(
    cells: Cells,
    evidence: Sequence[DocumentEvidence],
    coefficients: Mapping[str, Coefficients],
    silent: Sequence[float],
) -> tuple[dict[Evidence, FloatMatrix], FloatMatrix]:
    """Return each fitted kind's (cells,) summand of the log-odds, and (images,) the log-odds of the null option."""
    null = np.full(len(cells.of_image), _NOTHING, np.float32)
    odds: dict[Evidence, FloatMatrix] = {kind: np.zeros(len(cells.image), np.float32) for kind in FITTED}
    for chosen, kinds in _by_subset(cells, evidence):
        entry = coefficients[subset_name(kinds)]
        null[chosen] = entry.null
        for kind in kinds:
            np.copyto(odds[kind], _weighed(cells, evidence, kind, entry), where=chosen[cells.image])
        if "caption" in kinds and any(silent):
            without_caption = subset_name([kind for kind in kinds if kind != "caption"])
            assumed = np.log(cells.sentences * NOWHERE)[cells.of_image]
            even = entry.null - (coefficients[without_caption].null if without_caption else assumed[cells.image])
            np.copyto(
                odds["caption"],
                _mixed(odds["caption"], np.array(silent)[cells.of_image][cells.image], even),
                where=chosen[cells.image],
            )
    return odds, null


def _by_subset(
    cells: Cells, evidence: Sequence[DocumentEvidence]
) -> list[tuple[NDArray[np.bool_], tuple[Evidence, ...]]]:
    """Group the images by the weights that apply: for each group an (images,) mask, and the kinds of the weights."""
    takes_part = [np.array([bool(item.features.get(kind)) for item in evidence])[cells.of_image] for kind in FITTED]
    caption, layout, context = takes_part
    caption &= np.concatenate([_compared(item) for item in evidence])
    context &= np.array([bool(image.context) for item in evidence for image in item.sound.images])
    # An image from elsewhere has no place of its own in the text, and its caption is part of its context.
    layout &= ~context
    caption &= ~context
    subsets = np.stack(takes_part, axis=1) @ (1 << np.arange(len(FITTED)))  # a bit for each kind
    return [
        (subsets == subset, tuple(kind for bit, kind in enumerate(FITTED) if subset >> bit & 1))
        for subset in np.unique(subsets[subsets > 0]).tolist()
    ]


def _compared(item: DocumentEvidence) -> NDArray[np.bool_]:
    """Return (U,) whether an image has a text that was compared with the sentences: its features are not all 0."""
    features = item.features.get("caption")
    has_features = Columns.of(features).block.any(axis=(0, 2)) if features else False
    return images_with_text(item.sound) & has_features


def _weighed(cells: Cells, evidence: Sequence[DocumentEvidence], kind: Evidence, entry: Coefficients) -> FloatMatrix:
    """Return (cells,) the weighted sum of the features of a kind."""
    columns = [Columns.of(features) if (features := item.features.get(kind)) else None for item in evidence]
    return cells.summed(columns, entry.weights)


def _reference_weight(reference: FloatMatrix) -> FloatMatrix:
    weight = np.zeros(reference.shape, dtype=np.float32)
    for strength, added in REFERENCE_WEIGHTS.items():
        weight[reference == np.float32(strength)] = added
    return weight


def _against_mean(cells: Cells, log_odds: FloatMatrix) -> FloatMatrix:
    """Return the log-odds of each cell against its image's mean odds; 0 for an image whose log-odds are all 0."""
    # The fit has only cited figures, so every picture with words has a sentence there. Relative to the mean odds, words
    # say only which sentence it is, and nothing for or against the null option.
    return np.asarray(log_odds - _log_mean_odds(cells, log_odds)[cells.image], np.float32)


def _log_mean_odds(cells: Cells, log_odds: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return (images,) the log of the mean odds of the sentences, without overflow."""
    top = cells.image_tops(log_odds)
    return np.asarray(top + np.log(cells.image_means(np.exp(log_odds - top[cells.image]))), np.float64)


def _mixed(log_odds: FloatMatrix, silent: NDArray[np.float64], even: FloatMatrix | float) -> FloatMatrix:
    """Return (cells,) log-odds by a kind of evidence that says nothing with the probability ``silent``, (cells,).

    ``even`` are log-odds that leave a cell as probable as it is without this kind.
    """
    # The bounds avoid the logarithm of 0 where all or no captions are silent.
    informative = log_odds + np.log1p(-np.minimum(silent, 1 - 1e-9))
    mixed = np.logaddexp(informative, np.log(np.maximum(silent, 1e-300)) + even)
    return np.where(silent > 0, mixed, log_odds).astype(np.float32)


def caption_matches(
    evidence: Sequence[DocumentEvidence], coefficients: Mapping[str, Coefficients] | None = None
) -> list[NDArray[np.float64]]:
    """Return for each document how well its sentences match the captions: (U,) logs of the mean odds of a sentence.

    U counts the images without a problem. The log is nan for an image without a text or with the text of an earlier
    image, often a placeholder ("logo text"), and for all images of a document without sentences.
    """
    entry = (coefficients or load_coefficients())[subset_name(["caption"])]
    matches = [np.full(item.shape[1], np.nan) for item in evidence]
    for number, item in enumerate(evidence):
        if item.shape[0] and item.features.get("caption"):
            cells = Cells(*np.array([item.shape]).T)
            match = _log_mean_odds(cells, _weighed(cells, [item], "caption", entry).astype(np.float64))
            texts = [compared_text(image) for image in item.sound.images]
            first = {text: j for j, text in reversed(list(enumerate(texts)))}
            new = np.array([bool(text) and first[text] == j for j, text in enumerate(texts)], np.bool_)
            matches[number] = np.where(new & _compared(item), match, np.nan)
    return matches


def silent_share(matches: NDArray[np.float64], decoys: NDArray[np.float64]) -> float:
    """Infer which share of a collection's captions says nothing about the sentences, without labels.

    A caption that says nothing matches its own document as well as a decoy, a caption of another document. So half of
    such captions match worse than the median decoy, and hardly any other caption does (Storey 2002, A direct approach
    to false discovery rates, with the tail at 1/2). The share that follows is doubled, since a caption may match the
    document and yet none of its sentences, and shrunk towards 0 with the weight of ``PRIOR_CAPTIONS`` captions.

    Args:
        matches: (n,) ``caption_matches`` of the captions with their documents; nan is left out.
        decoys: (m,) ``caption_matches`` of the documents with captions of other documents of the collection.

    Returns:
        0 to 1; 0 where there is nothing to compare with.
    """
    matches, decoys = matches[~np.isnan(matches)], decoys[~np.isnan(decoys)]
    if not len(matches) or not len(decoys):
        return 0.0
    silent = 2 * float((matches <= np.median(decoys)).sum()) / (len(matches) + PRIOR_CAPTIONS)
    return min(2 * silent, 1.0)


def _share(cells: Cells, log_odds: FloatMatrix) -> FloatMatrix:
    """Return exp(x) / (1 + sum of exp over the image), without overflow; the 1 is the null option."""
    top = np.maximum(cells.image_tops(log_odds), 0.0)
    mass = np.exp(log_odds - top[cells.image])
    return np.asarray(mass / (cells.image_sums(mass) + np.exp(-top))[cells.image], np.float32)


def weigh_evidence(
    document: Document,
    image_similarity: FloatMatrix | None,
    reading: Reading,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    coefficients: Mapping[str, Coefficients] | None = None,
    habit: Habit | None = None,
) -> Combination:
    """Weigh all evidence about which sentence of a document belongs to which image.

    Args:
        document: With S sentences and V images. Images with a ``problem`` are ignored: their columns are 0.
        image_similarity: (S, V) cosines of an encoder; None without picture evidence.
        habit: Where the author puts images; inferred from this document alone by default.
    """
    (gathered,) = gather_evidence([document], [image_similarity], [reading], evidence=evidence)
    (weighed,) = weigh([gathered], evidence=evidence, coefficients=coefficients, habits=[habit or Habit()])
    return weighed


def weigh(
    gathered: Sequence[DocumentEvidence],
    *,
    habits: Sequence[Habit],
    evidence: Collection[Evidence] = EVIDENCE,
    coefficients: Mapping[str, Coefficients] | None = None,
) -> list[Combination]:
    """Weigh the evidence of each document with its habit; kinds that ``evidence`` does not name are left out."""
    chosen = [item.only(evidence) for item in gathered]
    placed = [n for n, item in enumerate(chosen) if "layout" in evidence and has_places(item.sound)]
    silent = [habit.silent for habit in habits]
    if placed:
        documents, own_habits = [chosen[n].sound for n in placed], [habits[n] for n in placed]
        place = places(documents)
        places_of_images = []
        for n, likely in zip(placed, _places([chosen[n] for n in placed], place, coefficients), strict=True):
            item, habit = chosen[n], habits[n]
            judged = habit.judged.get(item.sound.id, {})
            places_of_images.append(
                judged_evidence(item.sound, likely.mixed(habit.silent), judged, item.numbers.tolist())
            )
        for n, columns in zip(placed, layouts(documents, places_of_images, own_habits, place), strict=True):
            chosen[n] = replace(chosen[n], features={**chosen[n].features, "layout": columns})
    return [_spread(*pair) for pair in zip(combine(chosen, coefficients, silent), gathered, strict=True)]


def places_by_evidence(
    gathered: Sequence[DocumentEvidence],
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    coefficients: Mapping[str, Coefficients] | None = None,
) -> list[PlaceEvidence | None]:
    """Return the likely places of the images of each document by all evidence but layout, for inferring a habit.

    None for a document without layout, sentences or usable images.
    """
    by_document: list[PlaceEvidence | None] = [None] * len(gathered)
    placed = [n for n, item in enumerate(gathered) if has_places(item.sound)]
    if placed:
        place = places([gathered[n].sound for n in placed])
        inferred = _places([gathered[n].only(evidence) for n in placed], place, coefficients)
        for n, likely in zip(placed, inferred, strict=True):
            by_document[n] = likely
    return by_document


def _places(
    evidence: Sequence[DocumentEvidence], place: Places, coefficients: Mapping[str, Coefficients] | None
) -> list[PlaceEvidence]:
    weighed = combine(evidence, coefficients)
    log_odds = [
        sum(combination.contributions.values(), np.zeros(item.shape, np.float32))
        for combination, item in zip(weighed, evidence, strict=True)
    ]
    joined = place_evidence(place, place.cells.joined(log_odds))
    ends = np.cumsum(place.cells.images)[:-1]
    return list(map(PlaceEvidence, np.split(joined.likelihood, ends), np.split(joined.sentences, ends)))


def layouts(
    documents: Sequence[Document],
    evidence: Sequence[PlaceEvidence],
    habits: Sequence[Habit],
    place: Places | None = None,
) -> list[Columns]:
    """Return the layout features of each document; ``has_places`` must be true for all."""
    place = place or places(documents)
    usual = habit_probability(documents, place, joined_places(evidence), habits)
    return place.cells.columns(layout_features(documents, place, usual))


def has_places(document: Document) -> bool:
    """Return whether the layout of the document says where its images belong.

    It does not if the document has no layout, or if it is long and all its images stand before or after the text, as in
    galleries and in the output of many converters: their places then say nothing about single sentences.
    """
    count = len(document.sentences)
    if not (count and document.images and document.has_layout):
        return False
    return count < LONG or any(0 < (image.position or 0) < count for image in document.images)


def images_with_text(document: Document) -> NDArray[np.bool_]:
    """Return (V,) whether the image has a caption, an alt text or a meaningful file name."""
    return np.array([bool(texts_of(image)) for image in document.images], dtype=np.bool_)


def _spread(weighed: Combination, item: DocumentEvidence) -> Combination:
    """Return the combination with a column for every image of the document, 0 for an image with a problem."""
    shape = (item.shape[0], len(item.document.images))
    if item.shape == shape:
        return weighed

    def whole(matrix: FloatMatrix) -> FloatMatrix:
        columns = np.zeros(shape, np.float32)
        columns[:, item.numbers] = matrix
        return columns

    contributions = {kind: whole(matrix) for kind, matrix in weighed.contributions.items()}
    return Combination(
        contributions, *map(whole, (weighed.score, weighed.confidence, weighed.paragraph, weighed.share))
    )
