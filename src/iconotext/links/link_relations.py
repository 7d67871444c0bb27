"""How the sentence and the image of a link relate: the probabilities of the coherence relations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from iconotext.types import Link

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.embed.relation_model import RelationModel
    from iconotext.types import LinkedDocument

LANGUAGE = "en"
"""The language that people judged texts of; of others the model knows nothing."""


def with_relations(
    several: Sequence[tuple[LinkedDocument, Mapping[int, NDArray[np.float32]]]], model: RelationModel
) -> list[LinkedDocument]:
    """The same links, each with the probability of every relation that the model knows.

    Links of documents in other languages than English stay without relations.

    Args:
        several: Documents with their links; and by number of the image, its (P,) pooled features by the model's image
            backbone; an image that is missing there adds nothing to what the sentence says.
        model: See ``RelationModel``.
    """
    texts = dict.fromkeys(text for linked, _ in several for text in _texts(linked))
    said = dict(zip(texts, model.text_logits(list(texts)), strict=True)) if texts else {}
    return [_related(linked, model, pooled, said) for linked, pooled in several]


def _texts(linked: LinkedDocument) -> list[str]:
    """What the links' sentences say, of a document that the model knows the language of."""
    known = linked.document.language == LANGUAGE
    return [linked.document.sentences[link.sentence].text for link in linked.links] if known else []


def _related(
    linked: LinkedDocument,
    model: RelationModel,
    pooled: Mapping[int, NDArray[np.float32]],
    said: Mapping[str, NDArray[np.float32]],
) -> LinkedDocument:
    texts = _texts(linked)
    if not texts:
        return linked
    images = sorted({link.image for link in linked.links} & set(pooled))
    added = dict(zip(images, model.image_offsets(np.stack([pooled[n] for n in images])), strict=True) if images else ())
    nothing = np.zeros(len(model.relations), np.float32)
    of_images = np.stack([added.get(link.image, nothing) for link in linked.links])
    logits = (np.stack([said[text] for text in texts]) + of_images).astype(np.float64)
    probable = (1 / (1 + np.exp(-logits))).tolist()
    links = tuple(
        Link(
            link.sentence,
            link.image,
            link.score,
            link.confidence,
            link.evidence,
            link.explanation,
            dict(zip(model.relations, each, strict=True)),
            link.paragraph,
        )
        for link, each in zip(linked.links, probable, strict=True)
    )
    return replace(linked, links=links)
