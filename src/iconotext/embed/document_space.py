"""A document held still while one of its sentences or pictures is changed.

What links are found by is not the cosine of two vectors alone: of each sentence and each image, something that the
whole document has in common may be taken away first. A space keeps what was taken away from the document as it is, so
that a changed sentence stands among the unchanged rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iconotext.features.concepts import centred, concept_vectors

if TYPE_CHECKING:
    from iconotext.features.backbone import ImageFeatures
    from iconotext.types import FloatMatrix

Encode = Callable[[Sequence[str]], "FloatMatrix"]
"""(n, features): texts to the vectors of a text backbone."""


@dataclass(frozen=True, slots=True)
class DocumentSpace:
    """Where sentences and images of one document meet: the product of two vectors is the similarity of the two.

    Attributes:
        sentences: n texts, of the document or put in place of one, to (n, D) float32.
        images: Features of n pictures, likewise, to (n, D) float32.
    """

    sentences: Encode
    images: Callable[[ImageFeatures], FloatMatrix]


def shared_space(encode: Encode) -> DocumentSpace:
    """The space of two backbones that were trained together; nothing of a document is taken away there."""
    return DocumentSpace(encode, lambda features: features.pooled)


def bridge_space(sentence_vectors: FloatMatrix, class_vectors: FloatMatrix, encode: Encode, *, k: int) -> DocumentSpace:
    """The space of the concept bridge.

    Args:
        sentence_vectors: (S, features) of the document's sentences.
        class_vectors: (C, features), the names of the image backbone's classes.
        encode: What gave both.
        k: As for ``concept_vectors``.
    """
    return DocumentSpace(
        lambda texts: centred(encode(texts), sentence_vectors),
        lambda features: concept_vectors(features, class_vectors, k=k),
    )
