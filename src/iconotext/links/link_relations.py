"""How the sentence and the image of a link relate: the probabilities of the coherence relations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.embed.relation_model import RelationModel
    from iconotext.types import LinkedDocument

LANGUAGE = "en"
"""The language that people judged texts of; of others the model knows nothing."""


def with_relations(
    linked: LinkedDocument, model: RelationModel, pooled: Mapping[int, NDArray[np.float32]]
) -> LinkedDocument:
    """The same links, each with the probability of every relation that the model knows.

    Links of documents in other languages than English stay without relations.

    Args:
        linked: With L links.
        model: See ``RelationModel``.
        pooled: By number of the image, its (P,) pooled features by the model's image backbone; an image that is missing
            here adds nothing to what the sentence says.
    """
    if not linked.links or linked.document.language != LANGUAGE:
        return linked
    sentences = sorted({link.sentence for link in linked.links})
    texts = model.text_logits([linked.document.sentences[number].text for number in sentences])
    said = dict(zip(sentences, texts, strict=True))
    images = sorted({link.image for link in linked.links} & set(pooled))
    added = dict(zip(images, model.image_offsets(np.stack([pooled[n] for n in images])), strict=True) if images else ())
    nothing = np.zeros(len(model.relations), np.float32)
    links = []
    for link in linked.links:
        logits = (said[link.sentence] + added.get(link.image, nothing)).astype(np.float64)
        probable = 1 / (1 + np.exp(-logits))
        links.append(replace(link, relations=dict(zip(model.relations, probable.tolist(), strict=True))))
    return replace(linked, links=tuple(links))
