"""Reference evidence: the text points at the picture, as in 'Figure 3' or 'the photo above'."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from iconotext.links.deixis import Pointer, pointer
from iconotext.links.labels import Label, cited_labels, is_caption, own_labels
from iconotext.links.layout import Places, places
from iconotext.links.words import of_texts

if TYPE_CHECKING:
    from iconotext.types import Document, FloatMatrix

EXPLICIT = 1.0
"""A cross-reference link, or a label with its number: 'Figure 3'."""

DIRECTED = 0.6
"""'the photo above', with an image close above."""

VAGUE = 0.3
"""'in this picture', with an image close by."""

_FAR = 1
"""Text blocks that may stand between a deictic reference and its picture."""


def reference_evidence(document: Document) -> FloatMatrix:
    """How surely each sentence points at each image.

    Args:
        document: With S sentences and V images. Words like 'above' count only if it has a layout.

    Returns:
        (S, V) float32 of ``EXPLICIT``, ``DIRECTED``, ``VAGUE`` and 0. A caption never points at its own image.
    """
    evidence = np.zeros((len(document.sentences), len(document.images)), dtype=np.float32)
    if evidence.size == 0:
        return evidence

    @cache
    def place() -> Places | None:  # computed only if needed: few documents have such a sentence
        return places([document]) if document.has_layout else None

    labels = [own_labels(image.caption or "") or own_labels(image.alt or "") for image in document.images]
    anchors: dict[str, list[int]] = {}
    for j, image in enumerate(document.images):
        for anchor in image.anchors:
            anchors.setdefault(anchor, []).append(j)

    for i, sentence in enumerate(document.sentences):
        explicit = [j for target in sentence.targets for j in anchors.get(target, ())]
        cited, found = _said(sentence.text)
        for label in cited:
            explicit.extend(_images_labelled(document, labels, label, i, place))
        if explicit:
            evidence[i, explicit] = EXPLICIT
        elif found is not None and sentence.kind != "caption" and (stands := place()) is not None:
            evidence[i, _pointed(stands, i, found)] = VAGUE if found.direction == "near" else DIRECTED
        if sentence.kind == "caption":
            evidence[i, _captioned(document, i)] = 0.0
    return evidence


@of_texts
def _said(text: str) -> tuple[tuple[Label, ...], Pointer | None]:
    """The labels that a sentence cites (none if it is a caption), and its deictic reference."""
    return () if is_caption(text) else cited_labels(text), pointer(text)


def _images_labelled(
    document: Document, labels: list[tuple[Label, ...]], cited: Label, sentence: int, place: Callable[[], Places | None]
) -> list[int]:
    """The numbers of the images that a cited label means.

    'Figure 3' means 3, 3a and 3b; 'Figure 3a' means 3a, or 3 if there is no 3a. If several different images carry the
    label, because each chapter counts from 1, the nearest is meant; without layout none is returned.
    """
    same = [j for j, own in enumerate(labels) if any(o[:2] == cited[:2] for o in own)]
    if cited.part:
        exact = [j for j in same if cited in labels[j]]
        same = exact or [j for j in same if any(o[:2] == cited[:2] and not o.part for o in labels[j])]
    if len({document.images[j].caption or document.images[j].alt for j in same}) <= 1:
        return same
    if all(o.part for j in same for o in labels[j] if o[:2] == cited[:2]) and not _repeats(labels, same):
        return same
    if (stands := place()) is None:
        return []
    nearest = min(same, key=lambda j: (abs(int(stands.position[j]) - sentence), j))
    return [nearest]


def _repeats(labels: list[tuple[Label, ...]], images: list[int]) -> bool:
    every = [label for j in images for label in labels[j]]
    return len(every) != len(set(every))


def _pointed(place: Places, sentence: int, found: Pointer) -> list[int]:
    """The nearest image on the side that a sentence points to, or all images there if it means several; may be []."""
    after = np.where(place.position > sentence, place.position - 1 - sentence, np.iinfo(np.int64).max)
    before = np.where(place.position <= sentence, sentence - place.position, np.iinfo(np.int64).max)
    blocks_after = place.above - place.rank[sentence]
    blocks_before = place.rank[sentence] - place.below
    apart = ~place.cells.matrices(place.inside)[0][sentence]
    after[(blocks_after > _FAR) & apart] = np.iinfo(np.int64).max
    before[(blocks_before > _FAR) & apart] = np.iinfo(np.int64).max
    distance = {"below": after, "above": before, "near": np.minimum(after, before)}[found.direction]
    nearest = int(distance.min())
    if nearest == np.iinfo(np.int64).max:
        return []
    close = np.flatnonzero(distance == nearest)
    if found.several:
        return [int(j) for j in close]
    # Of several images between the same two sentences, the one next to the pointing sentence is meant.
    pick = min if place.position[close[0]] > sentence else max
    return [int(pick(close, key=lambda j: place.order[j]))]


def _captioned(document: Document, sentence: int) -> list[int]:
    """The numbers of the images whose caption contains a caption sentence."""
    text, block = document.sentences[sentence].text, document.sentences[sentence].block
    return [
        j
        for j, image in enumerate(document.images)
        if (block is not None and image.block == block) or (image.caption is not None and text in image.caption)
    ]
