"""All kinds of evidence about a document, combined."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import SettingError, ShapeError
from iconotext.links.caption import Encode, Reading, caption_features, texts_of
from iconotext.links.cells import Cells
from iconotext.links.combine import Coefficients, Combination, combine
from iconotext.links.habit import Habit, PlaceEvidence, habit_probability, judged_evidence, place_evidence
from iconotext.links.image import image_features
from iconotext.links.layout import Places, layout_features, places
from iconotext.links.reference import reference_evidence
from iconotext.links.text import text_features, text_in
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

    Raises:
        SettingError: A kind has an unknown name.
        ShapeError: A matrix does not fit the document.
    """
    (found,) = gather_evidence(
        [document],
        [image_similarity],
        [Reading(encode, sentence_vectors)],
        evidence=evidence,
        matcher=matcher,
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


def gathered_places(
    found: Gathered,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    coefficients: Mapping[str, Coefficients] | None = None,
) -> PlaceEvidence | None:
    """Where the images of a document stand by all evidence but the layout; kinds may be fewer.

    Returns:
        What a habit is inferred from; None where there is no layout, no sentence or no image without a problem.
    """
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
    documents: Sequence[Document],
    readings: Sequence[Reading],
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    matcher: Matcher | None = None,
) -> list[Written]:
    """What captions and references say in each of some documents; arguments as in ``gather_evidence``."""
    good = [sound_images(document) for document in documents]
    sound = [only_images(document, some) for document, some in zip(documents, good, strict=True)]
    captions = _captions(sound, readings, matcher) if "caption" in evidence else [{} for _ in documents]
    # References see the whole document: 'the photo above' must not mean the next one because that one is broken.
    reference = [reference_evidence(document) if "reference" in evidence else None for document in documents]
    return list(map(Written, good, captions, reference))


def sound_images(document: Document) -> tuple[int, ...]:
    """Numbers of the images without a problem."""
    return tuple(j for j, image in enumerate(document.images) if image.problem is None)


def only_images(document: Document, numbers: Sequence[int]) -> Document:
    """The document with some of its images, in their order."""
    if len(numbers) == len(document.images):
        return document
    return replace(document, images=tuple(document.images[j] for j in numbers))


def gather_evidence(
    documents: Sequence[Document],
    similarities: Sequence[FloatMatrix | None],
    readings: Sequence[Reading],
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    matcher: Matcher | None = None,
    written: Sequence[Written | None] | None = None,
) -> list[Gathered]:
    """What is known of documents but for their layout; of each the same, whatever the others are.

    Args:
        documents: Images with a ``problem`` take no part.
        similarities: Of each (S, V) cosines of an encoder; None where there is no picture evidence.
        readings: Of each how its texts become vectors.
        evidence: The kinds to use. Kinds that a document does not have are left out.
        matcher: Of captions with sentences, that of the package by default.
        written: What ``what_is_written`` gave for the documents and these kinds, where the caller has it; saves time.

    Raises:
        SettingError, ShapeError: As for ``weigh_evidence``.
    """
    if unknown := set(evidence) - set(EVIDENCE):
        raise SettingError(f"no evidence {', '.join(sorted(unknown))}; there is {', '.join(EVIDENCE)}")
    for document, similarity, reading in zip(documents, similarities, readings, strict=True):
        _check(document, similarity, reading)
    said = list(written or [None] * len(documents))
    # A picture may have turned out to be broken since.
    new = [n for n, d in enumerate(documents) if (known := said[n]) is None or known.images != sound_images(d)]
    some, their = [documents[n] for n in new], [readings[n] for n in new]
    for n, found in zip(new, what_is_written(some, their, evidence=evidence, matcher=matcher), strict=True):
        said[n] = found
    all_said = [each for each in said if each is not None]
    numbers = [np.array(each.images, dtype=np.int64) for each in all_said]
    sound = [only_images(document, each.images) for document, each in zip(documents, all_said, strict=True)]
    seen = [
        None if matrix is None or "picture" not in evidence else np.asarray(matrix, np.float32)[:, good]
        for matrix, good in zip(similarities, numbers, strict=True)
    ]
    features = _fitted(sound, seen, [each.captions for each in all_said], readings, evidence)
    reference = [
        None if s.reference is None else s.reference[:, good] for s, good in zip(all_said, numbers, strict=True)
    ]
    images_of = [len(document.images) for document in documents]
    return list(map(Gathered, sound, features, reference, seen, numbers, images_of))


def _check(document: Document, similarity: FloatMatrix | None, reading: Reading) -> None:
    """Raises where a matrix does not fit a document."""
    shape = (len(document.sentences), len(document.images))
    if similarity is not None and similarity.shape != shape:
        raise ShapeError(f"image_similarity is {similarity.shape}, the document {shape} (sentences, images)")
    if reading.sentences is not None and len(reading.sentences) != shape[0]:
        raise ShapeError(f"sentence_vectors is {reading.sentences.shape}, the document has {shape[0]} sentences")


def fitted_features(
    document: Document,
    image_similarity: FloatMatrix | None,
    reading: Reading,
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    matcher: Matcher | None = None,
) -> dict[Evidence, dict[str, FloatMatrix]]:
    """The features of the fitted kinds but the layout; arguments as in ``gather_evidence``, every image takes part.

    Returns:
        Kind to name to (S, V) float32. A kind that is switched off, or that the document does not have, is missing.
    """
    captions = _captions([document], [reading], matcher) if "caption" in evidence else [{}]
    (found,) = _fitted([document], [image_similarity], captions, [reading], evidence)
    return found


def _captions(
    documents: Sequence[Document], readings: Sequence[Reading], matcher: Matcher | None
) -> list[dict[str, FloatMatrix]]:
    return _of_those(
        [any(map(texts_of, document.images)) for document in documents],
        documents,
        lambda some, cells, numbers: caption_features(some, cells, [readings[n] for n in numbers], matcher=matcher),
    )


def _fitted(
    documents: Sequence[Document],
    similarities: Sequence[FloatMatrix | None],
    captions: Sequence[dict[str, FloatMatrix]],
    readings: Sequence[Reading],
    evidence: Collection[Evidence],
) -> list[dict[Evidence, dict[str, FloatMatrix]]]:
    every: dict[Evidence, Sequence[dict[str, FloatMatrix]]] = {}
    if "picture" in evidence:
        every["picture"] = _of_those(
            [similarity is not None for similarity in similarities],
            documents,
            lambda _, cells, numbers: image_features(cells, cells.joined([similarities[n] for n in numbers])),
        )
    every["caption"] = captions
    if "text" in evidence:
        every["text"] = _of_those(
            [any(map(text_in, document.images)) for document in documents],
            documents,
            lambda some, cells, numbers: text_features(some, cells, [readings[n] for n in numbers]),
        )
    return [{kind: found[n] for kind, found in every.items() if found[n]} for n in range(len(documents))]


def _of_those(
    chosen: Sequence[bool],
    documents: Sequence[Document],
    features: Callable[[Sequence[Document], Cells, Sequence[int]], dict[str, FloatMatrix]],
) -> list[dict[str, FloatMatrix]]:
    """Of each document name to (S, V): the features of those that are chosen and have cells, nothing of the others."""
    every: list[dict[str, FloatMatrix]] = [{} for _ in documents]
    numbers = [n for n, (d, own) in enumerate(zip(documents, chosen, strict=True)) if own and d.sentences and d.images]
    if numbers:
        some = [documents[n] for n in numbers]
        cells = Cells.of(some)
        for name, values in features(some, cells, numbers).items():
            for n, matrix in zip(numbers, cells.matrices(values), strict=True):
                every[n][name] = matrix
    return every


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
