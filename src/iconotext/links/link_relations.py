"""How the sentence and the image of a link relate: the probabilities of the coherence relations."""

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
    """What the links' sentences say, of a document that the model knows the language of."""
    known = linked.document.language == LANGUAGE
    return [linked.document.sentences[link.sentence].text for link in linked.links] if known else []


def _pictures(
    several: Sequence[tuple[LinkedDocument, Mapping[int, NDArray[np.float32]]]], model: RelationModel
) -> tuple[dict[tuple[int, int], int], FloatMatrix]:
    """By number of document and image a row, and the (rows + 1, R) log-odds of these; the last, of no image, is 0."""
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
