"""Reference evidence: sentences that point at images by a label ('Figure 3', 'Abb. 3.2a') or by a place ('above').

In a table, the cell with words next to a picture in its row points at it: it names what the picture shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from iconotext.evidence.labels import Label, Pointer, cited_labels, is_caption, own_labels, pointer
from iconotext.evidence.layout import Places, places
from iconotext.evidence.words import of_texts

if TYPE_CHECKING:
    from iconotext.types import Document, FloatMatrix


_FIGURE_NAME = re.compile(r"fig(?:ure)?[-_:.]", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")

EXPLICIT = 1.0
"""Strength of a cross-reference link, or of a label with its number: 'Figure 3'."""

DIRECTED = 0.6
"""Strength of 'the photo above', with an image close above, and of the cell beside a picture in its row of a table."""

VAGUE = 0.3
"""Strength of 'in this picture', with an image close by."""

ELSEWHERE = -1.0
"""Strength of a sentence that cites other images of the document, and not this one."""

_FAR = 1
"""Number of text blocks that may stand between a deictic reference and its picture."""


def reference_evidence(document: Document) -> FloatMatrix:
    """Return how surely each sentence points at each image.

    Args:
        document: With S sentences and V images. Words like 'above' count only if it has a layout.

    Returns:
        (S, V) float32 of ``EXPLICIT``, ``DIRECTED``, ``VAGUE``, 0 and ``ELSEWHERE``. A caption never points at its own
        image.
    """
    evidence = np.zeros((len(document.sentences), len(document.images)), dtype=np.float32)
    if evidence.size == 0:
        return evidence

    @cache
    def place() -> Places | None:  # computed only if needed: few documents have a deictic reference
        return places([document]) if document.has_layout else None

    labels = [own_labels(image.caption or "") or own_labels(image.alt or "") for image in document.images]
    by_anchor: dict[str, list[int]] = {}
    for anchor, j in ((anchor, j) for j, image in enumerate(document.images) for anchor in image.anchors):
        by_anchor.setdefault(anchor, []).append(j)

    for i, sentence in enumerate(document.sentences):
        cited, pointing = _references(sentence.text)
        explicit = [j for target in sentence.targets for j in by_anchor.get(target, ())]
        explicit += [j for label in cited for j in _images_labelled(document, labels, label, i, place)]
        if explicit:  # in a sentence that cites a figure, pointing words say no more
            evidence[i] = 0 if pointing else ELSEWHERE
            evidence[i, explicit] = EXPLICIT
        elif any(map(_FIGURE_NAME.match, sentence.targets)):
            continue  # it speaks of a figure that is in another file
        elif pointing is not None and sentence.kind != "caption" and (layout := place()) is not None:
            evidence[i, _pointed(layout, i, pointing)] = VAGUE if pointing.direction == "near" else DIRECTED
        if sentence.kind == "caption":
            evidence[i, _images_captioned(document, i)] = 0.0
    for i, j in _cells_beside(document):
        evidence[i, j] = max(evidence[i, j], DIRECTED)
    return evidence


def _cells_beside(document: Document) -> Iterator[tuple[int, int]]:
    """Yield the cell with letters next to each image in its row of a table, and the image."""
    rows: dict[int | None, list[int]] = {}
    for i, sentence in enumerate(document.sentences):
        if sentence.kind == "cell" and _LETTER.search(sentence.text):
            rows.setdefault(sentence.block, []).append(i)
    for j, image in enumerate(document.images):
        if image.block is not None and image.position is not None and (cells := rows.get(image.block)):
            place = image.position - 0.5  # between two sentences
            yield min(cells, key=lambda i: (abs(i - place), -i)), j


@of_texts
def _references(text: str) -> tuple[tuple[Label, ...], Pointer | None]:
    """Return the labels that a sentence cites (none if it is a caption), and its deictic reference."""
    return () if is_caption(text) else cited_labels(text), pointer(text)


def _images_labelled(
    document: Document, labels: list[tuple[Label, ...]], cited: Label, sentence: int, place: Callable[[], Places | None]
) -> list[int]:
    """Return the numbers of the images that a cited label means.

    'Figure 3' means 3, 3a and 3b; 'Figure 3a' means 3a, or 3 if there is no 3a. If several different images carry the
    label, because each chapter counts from 1, the nearest is meant; without layout none is returned.
    """
    # [:2] are family and number, without the part.
    same = [j for j, image_labels in enumerate(labels) if any(label[:2] == cited[:2] for label in image_labels)]
    if cited.part:
        exact = [j for j in same if cited in labels[j]]
        same = exact or [j for j in same if any(label[:2] == cited[:2] and not label.part for label in labels[j])]
    if len({document.images[j].caption or document.images[j].alt for j in same}) <= 1:
        return same
    if all(label.part for j in same for label in labels[j] if label[:2] == cited[:2]) and not _repeats(labels, same):
        return same
    if (layout := place()) is None:
        return []
    nearest = min(same, key=lambda j: (abs(int(layout.position[j]) - sentence), j))
    return [nearest]


def _repeats(labels: list[tuple[Label, ...]], images: list[int]) -> bool:
    all_labels = [label for j in images for label in labels[j]]
    return len(all_labels) != len(set(all_labels))


def _pointed(place: Places, sentence: int, pointing: Pointer) -> list[int]:
    """Return the nearest image on the side to which a sentence points, or all at that place if it is plural; or []."""
    after = np.where(place.position > sentence, place.position - 1 - sentence, np.iinfo(np.int64).max)
    before = np.where(place.position <= sentence, sentence - place.position, np.iinfo(np.int64).max)
    blocks_after = place.above - place.rank[sentence]
    blocks_before = place.rank[sentence] - place.below
    apart = ~place.cells.matrices(place.inside)[0][sentence]
    after[(blocks_after > _FAR) & apart] = np.iinfo(np.int64).max
    before[(blocks_before > _FAR) & apart] = np.iinfo(np.int64).max
    distance = {"below": after, "above": before, "near": np.minimum(after, before)}[pointing.direction]
    nearest = int(distance.min())
    if nearest == np.iinfo(np.int64).max:
        return []
    close = np.flatnonzero(distance == nearest)
    if pointing.plural:
        return [int(j) for j in close]
    # Of several images between the same two sentences, the one next to the pointing sentence is meant.
    pick = min if place.position[close[0]] > sentence else max
    return [int(pick(close, key=lambda j: place.order[j]))]


def _images_captioned(document: Document, sentence: int) -> list[int]:
    """Return the numbers of the images whose caption a sentence is, or is a part of."""
    text, block = document.sentences[sentence].text, document.sentences[sentence].block
    return [
        j
        for j, image in enumerate(document.images)
        if (block is not None and image.block == block) or (image.caption is not None and text in image.caption)
    ]
