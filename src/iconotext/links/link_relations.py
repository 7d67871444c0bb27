"""Adds to each link the probabilities of the coherence relations between its sentence and its image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from iconotext.types import Link

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.embed.relation_model import RelationModel
    from iconotext.types import FloatMatrix, LinkedDocument

LANGUAGE = "en"
"""The only language that the relation model was trained on."""


def with_relations(
    several: Sequence[tuple[LinkedDocument, Mapping[int, NDArray[np.float32]]]], model: RelationModel
) -> list[LinkedDocument]:
    """Add the probability of every relation that the model knows to each link of English documents.

    Args:
        several: For each document its links, and image number to (P,) pooled features from the model's image backbone.
            For an image without features the sentence alone decides.
        model: See ``RelationModel``.
    """
    texts = [_texts(linked) for linked, _ in several]
    rows = {text: row for row, text in enumerate(dict.fromkeys(chain.from_iterable(texts)))}
    if not rows:
        return [linked for linked, _ in several]
    said = model.text_logits(list(rows))
    pictures, added = _pictures(several, model)
    of_texts = [rows[text] for some in texts for text in some]
    of_pictures = [
        pictures.get((number, link.image), -1)
        for number, ((linked, _), some) in enumerate(zip(several, texts, strict=True))
        if some
        for link in linked.links
    ]
    logits = (said[of_texts] + added[of_pictures]).astype(np.float64)
    probable = iter((1 / (1 + np.exp(-logits))).tolist())
    return [
        _related(linked, model.relations, probable) if some else linked
        for (linked, _), some in zip(several, texts, strict=True)
    ]


def _texts(linked: LinkedDocument) -> list[str]:
    """The sentence of each link; empty if the model does not know the document's language."""
    known = linked.document.language == LANGUAGE
    return [linked.document.sentences[link.sentence].text for link in linked.links] if known else []


def _pictures(
    several: Sequence[tuple[LinkedDocument, Mapping[int, NDArray[np.float32]]]], model: RelationModel
) -> tuple[dict[tuple[int, int], int], FloatMatrix]:
    """(number of document, image) to row; and the images' (rows + 1, R) log-odds, whose last row is 0, for no image."""
    found = {
        (number, image): pooled[image]
        for number, (linked, pooled) in enumerate(several)
        for image in {link.image for link in linked.links} & set(pooled)
    }
    nothing = np.zeros((1, len(model.relations)), np.float32)
    added = np.concatenate([model.image_offsets(np.stack(list(found.values()))), nothing]) if found else nothing
    return {key: row for row, key in enumerate(found)}, added


def _related(linked: LinkedDocument, relations: Sequence[str], probable: Iterator[list[float]]) -> LinkedDocument:
    links = tuple(
        Link(
            link.sentence,
            link.image,
            link.score,
            link.confidence,
            link.evidence,
            link.explanation,
            dict(zip(relations, next(probable), strict=True)),
            link.paragraph,
        )
        for link in linked.links
    )
    return replace(linked, links=links)
