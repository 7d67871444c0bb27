"""A trained model at work: the sentences and images of a document to the matrix that links are found in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from iconotext.embed.document_space import DocumentSpace, Encode
from iconotext.errors import FeatureError
from iconotext.features.concepts import centred, concept_vectors

if TYPE_CHECKING:
    from torch import Tensor

    from iconotext.embed.folder import StoredModel
    from iconotext.features.backbone import ImageFeatures
    from iconotext.types import FloatMatrix

AT_ONCE = 1024
"""Sentences or images that are encoded together."""


def joint_cosines(
    stored: StoredModel,
    texts: Sequence[str],
    sentence_vectors: FloatMatrix | None,
    features: ImageFeatures,
    class_vectors: FloatMatrix | None,
) -> FloatMatrix:
    """How similar each sentence of a document is to each of its images.

    The cosine in the joint space, where the recipe's ``linking`` table says so after part of what all sentences, and
    all images, of the document have in common is taken away, and mixed with the concept bridge.

    Args:
        stored: The model.
        texts: S sentences.
        sentence_vectors: (S, features) of the model's text backbone; None for a model that reads words.
        features: Of V images, of the model's image backbone.
        class_vectors: (C, features), the names of the image backbone's classes as text; only the bridge needs them.

    Returns:
        (S, V) float32.
    """
    linking = stored.recipe.linking
    sentences = encode_sentences(stored, texts, sentence_vectors)
    images = encode_images(stored, features)
    cosines = _without_mean(sentences, linking.centre) @ _without_mean(images, linking.centre).T
    if linking.bridge:
        if sentence_vectors is None or class_vectors is None:
            raise FeatureError("linking.bridge needs sentence vectors and class names")
        bridge = concept_vectors(features, class_vectors, k=CONCEPTS)
        cosines = (1 - linking.bridge) * cosines + linking.bridge * (centred(sentence_vectors) @ bridge.T)
    return np.asarray(cosines, np.float32)


def joint_space(
    stored: StoredModel,
    texts: Sequence[str],
    sentence_vectors: FloatMatrix | None,
    features: ImageFeatures,
    class_vectors: FloatMatrix | None,
    encode: Encode,
) -> DocumentSpace:
    """The space whose products are ``joint_cosines``, but for rounding; there the document can be changed in parts.

    Args:
        stored: As for ``joint_cosines``, and so the four that follow.
        texts: S sentences.
        sentence_vectors: (S, features) or None.
        features: Of V images.
        class_vectors: (C, features) or None.
        encode: The text backbone, which gave the sentence vectors; not used by a model that reads words.
    """
    share, bridge = stored.recipe.linking.centre, stored.recipe.linking.bridge
    of_sentences = _common(encode_sentences(stored, texts, sentence_vectors), share)
    of_images = _common(encode_images(stored, features), share)

    def sentences(variants: Sequence[str]) -> FloatMatrix:
        vectors = None if stored.vocabulary is not None else encode(variants)
        joint = encode_sentences(stored, variants, vectors) - of_sentences
        if not bridge:
            return joint
        if vectors is None or sentence_vectors is None:
            raise FeatureError("linking.bridge needs sentence vectors")
        return np.hstack([(1 - bridge) * joint, bridge * centred(vectors, sentence_vectors)])

    def images(variants: ImageFeatures) -> FloatMatrix:
        joint = encode_images(stored, variants) - of_images
        if not bridge:
            return joint
        if class_vectors is None:
            raise FeatureError("linking.bridge needs class names")
        return np.hstack([joint, concept_vectors(variants, class_vectors, k=CONCEPTS)])

    return DocumentSpace(sentences, images)


CONCEPTS = 10
"""Class names that stand for an image in the bridge beside a trained model; see ``concept_vectors``."""


def encode_sentences(stored: StoredModel, texts: Sequence[str], sentence_vectors: FloatMatrix | None) -> FloatMatrix:
    """(S, dim) float32 unit rows in the joint space.

    Args:
        stored: The model.
        texts: S sentences.
        sentence_vectors: (S, features) of its text backbone; None for a model that reads words.
    """
    import torch

    parts = []
    words = stored.recipe.words
    with torch.inference_mode():
        for at in range(0, len(texts), AT_ONCE):
            if stored.vocabulary is not None and words is not None:
                ids = [stored.vocabulary.ids(text, max_tokens=words.max_tokens) for text in texts[at : at + AT_ONCE]]
                flat = torch.tensor([word for sentence in ids for word in sentence])
                parts.append(stored.model.text(flat, torch.tensor([len(sentence) for sentence in ids])))
            else:
                if sentence_vectors is None:
                    raise FeatureError(f"the model {stored.name} needs sentence vectors")
                parts.append(stored.model.text(torch.tensor(sentence_vectors[at : at + AT_ONCE], dtype=torch.float32)))
        return _joined(parts, stored.recipe.dim)


def encode_images(stored: StoredModel, features: ImageFeatures) -> FloatMatrix:
    """(V, dim) float32 unit rows in the joint space.

    Args:
        stored: The model; one that reads pixels or regions is given the vectors that it made of them.
        features: Of V images.
    """
    import torch

    if stored.recipe.image.kind != "projection":
        return features.pooled
    with torch.inference_mode():
        pooled = torch.tensor(features.pooled, dtype=torch.float32)
        parts = [stored.model.image(pooled[at : at + AT_ONCE]) for at in range(0, len(pooled), AT_ONCE)]
        return _joined(parts, stored.recipe.dim)


def _joined(parts: Sequence[Tensor], dim: int) -> FloatMatrix:
    return np.concatenate([np.zeros((0, dim), np.float32), *(part.numpy() for part in parts)])


def _without_mean(vectors: FloatMatrix, share: float) -> FloatMatrix:
    """(n, dim) less what they have in common."""
    return vectors - _common(vectors, share)


def _common(vectors: FloatMatrix, share: float) -> FloatMatrix:
    """(dim,) a share of the mean of n vectors; of few vectors less, of one nothing."""
    if not share or not len(vectors):
        return np.zeros(vectors.shape[1], np.float32)
    return np.asarray(np.float32(share * (1 - 1 / len(vectors))) * vectors.mean(0))
