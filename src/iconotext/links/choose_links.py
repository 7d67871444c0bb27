"""Chooses which pairs of a sentence and an image become links, by their confidence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from iconotext.errors import SettingError
from iconotext.links.combine import Combination
from iconotext.links.select import Selection, in_order, selection
from iconotext.types import Document, Link, LinkedDocument

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_CONFIDENCE = 0.1
"""Default of ``min_confidence``: nine of ten links below it would be wrong. If pictures are the only evidence and only
the best sentences are taken, the default is 0: all confidences are low then, and the best guess is better than none."""


def choose_links(
    document: Document,
    found: Combination,
    *,
    select: Selection = "top-k",
    k: int = 3,
    min_confidence: float | None = None,
    model: str = "",
) -> LinkedDocument:
    """Choose the links of a document; ``select`` and ``k`` as in ``LinkSettings``.

    Args:
        min_confidence: Drop links below this probability, 0 to 1; with 0 every image is linked. See ``MIN_CONFIDENCE``.

    Returns:
        The document with its links, and the (S, V) scores from which they were chosen.

    Raises:
        SettingError: An unknown selection, k below 1, a confidence outside 0 to 1.
    """
    choose = selection(select)
    if min_confidence is not None and not 0.0 <= min_confidence <= 1.0:
        raise SettingError(f"min_confidence is {min_confidence}, it must be between 0 and 1")
    if min_confidence is None:
        silent = all(
            not matrix.any() for kind, matrix in found.contributions.items() if kind not in ("picture", "text")
        )
        ranking = "picture" in found.contributions and silent and select != "threshold"
        min_confidence = 0.0 if ranking else MIN_CONFIDENCE
    takes_part = np.array([image.problem is None for image in document.images], dtype=np.bool_)
    if select == "order":
        confidence = found.confidence.copy()
        confidence[:, takes_part] = in_order(confidence[:, takes_part])
        found = replace(found, confidence=confidence)
    if takes_part.all():
        chosen = choose(found.confidence, k=k, min_confidence=min_confidence)
    else:
        chosen = np.zeros(found.confidence.shape, dtype=np.bool_)
        chosen[:, takes_part] = choose(found.confidence[:, takes_part], k=k, min_confidence=min_confidence)
    blocks = np.array([s.block for s in document.sentences]) if document.has_layout else None
    links = _links(found, chosen.nonzero(), blocks)
    return LinkedDocument(document, tuple(links), found.score, model)


def _links(found: Combination, cells: tuple[NDArray[np.intp], ...], blocks: NDArray[np.int64] | None) -> list[Link]:
    i, j = cells
    if not len(i):
        return []
    added = np.array([matrix[i, j] for matrix in found.contributions.values()]).reshape(-1, len(i)).T.tolist()
    paragraphs: list[Any] = [None] * len(i)
    if blocks is not None:
        same = (blocks[i][:, None] == blocks).astype(np.float32)  # (links, S)
        paragraphs = np.minimum((same * found.confidence.T[j]).sum(axis=1), 1.0).tolist()
    links = [
        Link(sentence, image, score, confidence, dict(zip(found.contributions, each, strict=True)), paragraph=paragraph)
        for sentence, image, score, confidence, each, paragraph in zip(
            i.tolist(),
            j.tolist(),
            found.score[i, j].tolist(),
            found.confidence[i, j].tolist(),
            added,
            paragraphs,
            strict=True,
        )
    ]
    return sorted(links, key=lambda link: (-link.score, link.image, link.sentence))
