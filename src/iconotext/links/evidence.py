"""All kinds of evidence about a document, combined."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import SettingError, ShapeError
from iconotext.links.caption import Encode, caption_features, texts_of
from iconotext.links.combine import Coefficients, Combination, combine
from iconotext.links.habit import Habit, PlaceEvidence, habit_probability, judged_evidence, place_evidence
from iconotext.links.image import image_features
from iconotext.links.layout import Places, layout_features, places
from iconotext.links.reference import reference_evidence
from iconotext.links.text import text_features
from iconotext.types import EVIDENCE, Document, Evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.links.matcher import Matcher
    from iconotext.types import FloatMatrix


def weigh_evidence(
    document: Document,
    image_similarity: FloatMatrix | None,
    encode: Encode,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    sentence_vectors: FloatMatrix | None = None,
    coefficients: Mapping[str, Coefficients] | None = None,
    matcher: Matcher | None = None,
    habit: Habit | None = None,
    written: Written | None = None,
) -> Combination:
    """Everything known about which sentence belongs to which image.

    Args:
        document: With S sentences and V images. Images with a ``problem`` take no part: their columns are 0.
        image_similarity: (S, V) cosines of an encoder; None where there is no picture evidence.
        encode: Texts to unit vectors, for captions and words; called at most twice, and not if no image has any.
        evidence: The kinds to use. Kinds that the document does not have are left out.
        sentence_vectors: (S, d) what ``encode`` gives for the sentences, where the caller has it; saves time.
        coefficients: Fitted weights, those of the package by default.
        matcher: Of captions with sentences, that of the package by default.
        habit: Where the author puts images; from this document alone by default.
        written: What ``what_is_written`` gave for the document and these kinds, where the caller has it; saves time.

    Raises:
        SettingError: A kind has an unknown name.
        ShapeError: A matrix does not fit the document.
    """
    found = gather_evidence(
        document,
        image_similarity,
        encode,
        evidence=evidence,
        sentence_vectors=sentence_vectors,
        matcher=matcher,
        written=written,
    )
    return weigh_gathered(found, evidence=evidence, coefficients=coefficients, habit=habit)


class Gathered(NamedTuple):
    """What is known of a document but for the habit of its author: to be weighed as often as wanted, quickly.

    Attributes:
        document: Without the images that have a problem: S sentences, V images.
        features: Kind to name to (S, V); without the layout.
        reference: (S, V), None where references are no evidence.
        similarity: (S, V) cosines, None where pictures are no evidence.
        numbers: (V,) of the images in the whole document.
        images: How many images the whole document has.
    """

    document: Document
    features: dict[Evidence, dict[str, FloatMatrix]]
    reference: FloatMatrix | None
    similarity: FloatMatrix | None
    numbers: NDArray[np.int64]
    images: int


def weigh_gathered(
    found: Gathered,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    coefficients: Mapping[str, Coefficients] | None = None,
    habit: Habit | None = None,
) -> Combination:
    """What was gathered of a document, weighed; arguments as in ``weigh_evidence``. Kinds may be fewer."""
    sound, good = found.document, found.numbers
    shape = (len(sound.sentences), found.images)
    features = {kind: columns for kind, columns in found.features.items() if kind in evidence}
    reference = found.reference if "reference" in evidence else None
    if "layout" in evidence and has_places(sound):
        usual = habit or Habit()
        place = places(sound)
        found_at = places_by_evidence(sound, features, reference, coefficients, place)
        found_at = judged_evidence(sound, found_at, usual.judged.get(sound.id, {}), good.tolist())
        features["layout"] = layout_features(sound, habit_probability(sound, found_at, usual, place), place)
    weighed = combine(
        features,
        shape=(shape[0], len(good)),
        has_text=images_with_text(sound),
        reference=reference,
        image_similarity=found.similarity if "picture" in evidence else None,
        coefficients=coefficients,
    )
    return Combination(
        {kind: _spread(matrix, good, shape) for kind, matrix in weighed.contributions.items()},
        _spread(weighed.score, good, shape),
        _spread(weighed.confidence, good, shape),
    )


def document_places(
    document: Document,
    image_similarity: FloatMatrix | None,
    encode: Encode,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    sentence_vectors: FloatMatrix | None = None,
    coefficients: Mapping[str, Coefficients] | None = None,
    matcher: Matcher | None = None,
    written: Written | None = None,
) -> PlaceEvidence | None:
    """Where the images of a document stand by all evidence but the layout; arguments as in ``weigh_evidence``.

    Returns:
        What a habit is inferred from; None where there is no layout, no sentence or no image without a problem.
    """
    found = gather_evidence(
        document,
        image_similarity,
        encode,
        evidence=evidence,
        sentence_vectors=sentence_vectors,
        matcher=matcher,
        written=written,
    )
    return gathered_places(found, evidence=evidence, coefficients=coefficients)


def gathered_places(
    found: Gathered,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    coefficients: Mapping[str, Coefficients] | None = None,
) -> PlaceEvidence | None:
    """``document_places`` of what was gathered; kinds may be fewer."""
    if not has_places(found.document):
        return None
    features = {kind: columns for kind, columns in found.features.items() if kind in evidence}
    reference = found.reference if "reference" in evidence else None
    return places_by_evidence(found.document, features, reference, coefficients)


class Written(NamedTuple):
    """What is written of the images of a document, whatever they show: found once, for its habit and for its links.

    Attributes:
        images: Numbers of the images without a problem.
        captions: What ``caption_features`` gives for these; empty where captions are no evidence.
        reference: (S, V) of all images; None where references are no evidence.
    """

    images: tuple[int, ...]
    captions: dict[str, FloatMatrix]
    reference: FloatMatrix | None


def what_is_written(
    document: Document,
    encode: Encode,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    sentence_vectors: FloatMatrix | None = None,
    matcher: Matcher | None = None,
) -> Written:
    """What captions and references say; arguments as in ``weigh_evidence``."""
    good = sound_images(document)
    captions: dict[str, FloatMatrix] = {}
    if "caption" in evidence:
        captions = caption_features(
            only_images(document, good), encode, sentence_vectors=sentence_vectors, matcher=matcher
        )
    # References see the whole document: 'the photo above' must not mean the next one because that one is broken.
    return Written(good, captions, reference_evidence(document) if "reference" in evidence else None)


def sound_images(document: Document) -> tuple[int, ...]:
    """Numbers of the images without a problem."""
    return tuple(j for j, image in enumerate(document.images) if image.problem is None)


def only_images(document: Document, numbers: Sequence[int]) -> Document:
    """The document with some of its images, in their order."""
    if len(numbers) == len(document.images):
        return document
    return replace(document, images=tuple(document.images[j] for j in numbers))


def gather_evidence(
    document: Document,
    image_similarity: FloatMatrix | None,
    encode: Encode,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    sentence_vectors: FloatMatrix | None = None,
    matcher: Matcher | None = None,
    written: Written | None = None,
) -> Gathered:
    """What is known of a document but for its layout; arguments and errors as in ``weigh_evidence``."""
    shape = (len(document.sentences), len(document.images))
    if unknown := set(evidence) - set(EVIDENCE):
        raise SettingError(f"no evidence {', '.join(sorted(unknown))}; there is {', '.join(EVIDENCE)}")
    if image_similarity is not None and image_similarity.shape != shape:
        raise ShapeError(f"image_similarity is {image_similarity.shape}, the document {shape} (sentences, images)")
    if sentence_vectors is not None and len(sentence_vectors) != shape[0]:
        raise ShapeError(f"sentence_vectors is {sentence_vectors.shape}, the document has {shape[0]} sentences")
    known = written
    if known is None or known.images != sound_images(document):  # a picture turned out to be broken
        known = what_is_written(document, encode, evidence=evidence, sentence_vectors=sentence_vectors, matcher=matcher)
    good = np.array(known.images, dtype=np.int64)
    similarity = None
    if image_similarity is not None and "picture" in evidence:
        similarity = np.asarray(image_similarity, dtype=np.float32)[:, good]
    sound = only_images(document, known.images)
    features = _fitted(sound, similarity, known.captions, encode, evidence, sentence_vectors)
    reference = None if known.reference is None else known.reference[:, good]
    return Gathered(sound, features, reference, similarity, good, shape[1])


def fitted_features(
    document: Document,
    image_similarity: FloatMatrix | None,
    encode: Encode,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    sentence_vectors: FloatMatrix | None = None,
    matcher: Matcher | None = None,
) -> dict[Evidence, dict[str, FloatMatrix]]:
    """The features of the fitted kinds but the layout; arguments as in ``weigh_evidence``, every image takes part.

    The matcher is that of the package by default.

    Returns:
        Kind to name to (S, V) float32. A kind that is switched off, or that the document does not have, is missing.
    """
    captions: dict[str, FloatMatrix] = {}
    if "caption" in evidence:
        captions = caption_features(document, encode, sentence_vectors=sentence_vectors, matcher=matcher)
    return _fitted(document, image_similarity, captions, encode, evidence, sentence_vectors)


def _fitted(
    document: Document,
    image_similarity: FloatMatrix | None,
    captions: dict[str, FloatMatrix],
    encode: Encode,
    evidence: Collection[Evidence],
    sentence_vectors: FloatMatrix | None,
) -> dict[Evidence, dict[str, FloatMatrix]]:
    features: dict[Evidence, dict[str, FloatMatrix]] = {}
    if "picture" in evidence and image_similarity is not None:
        features["picture"] = image_features(image_similarity)
    features["caption"] = captions
    if "text" in evidence:
        features["text"] = text_features(document, encode, sentence_vectors=sentence_vectors)
    return {kind: columns for kind, columns in features.items() if columns}


def has_places(document: Document) -> bool:
    """Whether there is a layout with sentences and images in it."""
    return document.has_layout and bool(document.sentences and document.images)


def places_by_evidence(
    document: Document,
    features: Mapping[Evidence, Mapping[str, FloatMatrix]],
    reference: FloatMatrix | None,
    coefficients: Mapping[str, Coefficients] | None = None,
    place: Places | None = None,
) -> PlaceEvidence:
    """Where the images of a document stand by all evidence but the layout: what a habit is inferred from.

    Args:
        document: For which ``has_places`` is true.
        features: Of ``fitted_features``.
        reference: (S, V) of ``reference_evidence``, if references count.
        coefficients: Fitted weights, those of the package by default.
        place: What ``places`` gave for the document, where the caller has it; saves time.
    """
    shape = (len(document.sentences), len(document.images))
    has_text = images_with_text(document)
    known = combine(features, shape=shape, has_text=has_text, reference=reference, coefficients=coefficients)
    return place_evidence(document, sum(known.contributions.values(), np.zeros(shape, np.float32)), place)


def images_with_text(document: Document) -> NDArray[np.bool_]:
    """(V,) whether an image has a caption, an alt text or a file name that says something."""
    return np.array([bool(texts_of(image)) for image in document.images], dtype=np.bool_)


def _spread(matrix: FloatMatrix, columns: NDArray[np.int64], shape: tuple[int, int]) -> FloatMatrix:
    """The matrix with its columns at their places among columns of 0."""
    if matrix.shape == shape:
        return matrix
    spread = np.zeros(shape, dtype=np.float32)
    spread[:, columns] = matrix
    return spread
