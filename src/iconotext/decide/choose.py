"""The choice of links from confidences, and the relations of the chosen links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from iconotext.decide.combine import ADDED, Combination
from iconotext.decide.settings import MIN_CONFIDENCE
from iconotext.types import Document, Link, Linked, LinkedDocument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.decide.settings import LinkSettings
    from iconotext.encoders.relation_model import RelationModel
    from iconotext.types import FloatMatrix


def chosen_cells(confidence: FloatMatrix, *, k: int = 3, min_confidence: float = 0.0) -> NDArray[np.bool_]:
    """Return the (S, V) cells that become links: of each column of (S, V) confidences the ``k`` largest.

    Cells below ``min_confidence`` never become links, so an image may stay without one. Ties go to the first sentence.
    """
    chosen = np.zeros(confidence.shape, dtype=np.bool_)
    first = np.argsort(-confidence, axis=0, kind="stable")[:k]
    chosen[first, np.arange(confidence.shape[1])] = True
    return chosen & (confidence >= min_confidence)


def choose_links(
    document: Document, combination: Combination, settings: LinkSettings, *, model: str = ""
) -> LinkedDocument:
    """Choose the links of a document.

    Args:
        settings: Of these, ``k`` and ``min_confidence`` count; the latter is ``MIN_CONFIDENCE`` if it is not given, but
            0 where pictures are the only evidence.

    Returns:
        The document with its links, and the (S, V) scores from which they were chosen.
    """
    min_confidence = settings.min_confidence
    if min_confidence is None:
        by_kind = combination.contributions
        without_others = all(not matrix.any() for kind, matrix in by_kind.items() if kind not in ADDED)
        min_confidence = 0.0 if "picture" in by_kind and without_others else MIN_CONFIDENCE
    takes_part = np.array([image.problem is None for image in document.images], dtype=np.bool_)
    chosen = np.zeros(combination.confidence.shape, dtype=np.bool_)
    chosen[:, takes_part] = chosen_cells(
        combination.confidence[:, takes_part], k=settings.k, min_confidence=min_confidence
    )
    return LinkedDocument(document, tuple(_links(combination, chosen.nonzero())), combination.score, model)


def _links(combination: Combination, cells: tuple[NDArray[np.intp], ...]) -> list[Link]:
    """Make the links of chosen cells, best first."""
    i, j = cells
    if not len(i):
        return []
    by_kind = combination.contributions
    rows = np.array([matrix[i, j] for matrix in by_kind.values()]).reshape(-1, len(i)).T.tolist()
    contributions = [dict(zip(by_kind, row, strict=True)) for row in rows]
    numbers = (matrix[i, j].tolist() for matrix in (combination.score, combination.confidence, combination.paragraph))
    links = [Link(*values) for values in zip(i.tolist(), j.tolist(), *numbers, contributions, strict=True)]
    return sorted(links, key=lambda link: (-link.score, link.image, link.sentence))


LANGUAGE = "en"
"""The only language that the relation model was trained on."""


def with_relations(
    documents: Sequence[tuple[Linked, Mapping[int, NDArray[np.float32]]]], model: RelationModel
) -> list[Linked]:
    """Add the probability of every relation that the model knows to each link of English documents.

    ``documents`` holds each document's links, and image number to (P,) pooled features from the model's image backbone;
    for an image without features the sentence alone decides.
    """
    rows = [
        (number, link)
        for number, (linked, _) in enumerate(documents)
        if linked.document.language == LANGUAGE
        for link in linked.links
    ]
    if not rows:
        return [linked for linked, _ in documents]
    texts = [documents[number][0].document.sentences[link.sentence].text for number, link in rows]
    text_row = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    logits = model.text_logits(list(text_row))[[text_row[text] for text in texts]]
    pictures = sorted({(number, link.image) for number, link in rows if link.image in documents[number][1]})
    if pictures:
        offsets = model.image_offsets(np.stack([documents[number][1][image] for number, image in pictures]))
        picture_row = {picture: row for row, picture in enumerate(pictures)}
        for row, (number, link) in enumerate(rows):
            if (number, link.image) in picture_row:
                logits[row] += offsets[picture_row[number, link.image]]
    probabilities = iter((1 / (1 + np.exp(-logits.astype(np.float64)))).tolist())

    def related(linked: Linked) -> Linked:
        by_link = (dict(zip(model.relations, next(probabilities), strict=True)) for _ in linked.links)
        links = (replace(link, relations=values) for link, values in zip(linked.links, by_link, strict=True))
        return replace(linked, links=tuple(links))

    return [related(linked) if linked.document.language == LANGUAGE else linked for linked, _ in documents]
