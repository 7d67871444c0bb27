"""The object detection baseline (Hessel 2019, section 3.3): no training, only class names and word vectors.

``evaluate_object_detection`` measures it on a corpus. An image is the unweighted mean of the word vectors of its K most
probable class names, a sentence the mean of its words' vectors, and their score the cosine. The paper reports the K of
1 to 20 that is best on the test data. Since this K is not known beforehand, we also give the figures of the K that is
best on the validation data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import FeatureError, SettingError
from iconotext.evaluate.results import DocumentScores, Evaluation, Scored, score_document
from iconotext.evaluate.statistics import RESAMPLINGS

if TYPE_CHECKING:
    from iconotext.encoders.encoder import Encoder
    from iconotext.types import Document, FloatMatrix

LARGEST_K = 20


@dataclass(frozen=True)
class ObjectDetection:
    """The baseline on the evaluated documents, with both choices of K.

    Attributes:
        k: The K with the highest mean AUC on these documents, as the paper reports it.
        validation_k: The K with the highest mean AUC on the validation documents; None without validation documents.
        chosen: Scores of ``validation_k`` on the evaluated documents.
    """

    k: int
    best: Evaluation
    validation_k: int | None
    chosen: Evaluation | None


def object_detection_scores(
    sentence_vectors: FloatMatrix, probabilities: FloatMatrix, class_vectors: FloatMatrix, *, largest: int = LARGEST_K
) -> FloatMatrix:
    """Scores of one document for every K from 1 to ``largest``.

    Args:
        sentence_vectors: (n, dim), the mean vector of each sentence's words; need not have unit length, and is zero if
            no word has a vector.
        probabilities: (m, C) class probabilities; a row of zeros for a picture that could not be read. Of classes
            with equal probability the first counts as the more probable one.
        class_vectors: (C, dim), vectors of the class names.

    Returns:
        (largest, n, m) float32 cosines; 0 where a side has no vector.
    """
    if not 1 <= largest <= len(class_vectors):
        raise SettingError(f"the largest K is {largest}, expected 1 to {len(class_vectors)}")
    order = np.argsort(-probabilities, axis=1, kind="stable")[:, :largest]  # (m, largest)
    images = np.cumsum(class_vectors[order], axis=1)  # a mean and a sum have the same direction
    images[~probabilities.any(axis=1)] = 0
    scores = np.einsum("nd,mkd->knm", _unit(sentence_vectors), _unit(images), optimize=True)
    return np.asarray(scores, np.float32)


def evaluate_object_detection(
    documents: Iterable[Document],
    validation: Iterable[Document],
    encoder: Encoder,
    *,
    largest: int = LARGEST_K,
    resamplings: int = RESAMPLINGS,
    seed: int = 0,
) -> ObjectDetection:
    """Evaluate the baseline on a corpus.

    Args:
        validation: Documents on which K is chosen; may be empty.
        encoder: Its image backbone has a classifier; its text backbone reads sentences and class names. See
            ``load_bridge``.
    """
    class_vectors = encoded_classes(encoder)

    def evaluate_each_k(part: Iterable[Document]) -> dict[int, Evaluation]:
        records: dict[int, list[DocumentScores]] = {k: [] for k in range(1, largest + 1)}
        readable = total = 0
        for document in part:
            scored, number = detected_in(document, encoder, class_vectors, largest)
            total += len(document.images)
            readable += number
            for k, scores in enumerate(scored, start=1):
                records[k].append(score_document(Scored.of(document, scores)))
        if total and not readable:
            raise FeatureError(
                f"object detection needs picture files, and none of the {total:,} pictures can be read; models that "
                "were trained on the features beside a corpus need none"
            )
        return {k: Evaluation(tuple(results), resamplings, seed) for k, results in records.items()}

    tested = evaluate_each_k(documents)
    validated = evaluate_each_k(validation)
    k = best_k(tested)
    validation_k = best_k(validated) if validated[1].defined else None  # which documents are defined is equal for all K
    return ObjectDetection(k, tested[k], validation_k, None if validation_k is None else tested[validation_k])


def encoded_classes(encoder: Encoder) -> FloatMatrix:
    """(C, dim) vectors of the class names of an image backbone; ``FeatureError`` where it has no classifier."""
    if not encoder.image_source.classes:
        name = encoder.image_source.name
        raise FeatureError(f"{name} has no classifier, which object detection needs: use another image backbone")
    return encoder.text_backbone.encode(encoder.image_source.classes)


def detected_in(
    document: Document, encoder: Encoder, class_vectors: FloatMatrix, largest: int
) -> tuple[FloatMatrix, int]:
    """Compute a document's scores for every K, see ``object_detection_scores``, and count its readable images."""
    images = encoder.image_source.features_of(document.images)
    probabilities = np.zeros((len(document.images), len(class_vectors)), np.float32)
    if images.features.probabilities is not None:
        probabilities[images.numbers] = images.features.probabilities
    sentences = encoder.text_backbone.encode([sentence.text for sentence in document.sentences])
    return object_detection_scores(sentences, probabilities, class_vectors, largest=largest), len(images.numbers)


def best_k(by_k: dict[int, Evaluation]) -> int:
    """The K with the highest mean AUC, the smallest of equal ones; 1 where no document has an AUC."""
    return max(by_k, key=lambda k: (by_k[k].means["auc"] or 0.0, -k))


def _unit(vectors: FloatMatrix) -> FloatMatrix:
    """Scale (..., dim) vectors to length 1, as ``unit_rows`` does for matrices; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)
