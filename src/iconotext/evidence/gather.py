"""Computes all kinds of evidence but layout, for a window of documents at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from iconotext.errors import SettingError, ShapeError
from iconotext.evidence.caption import Reading, caption_features, texts_of
from iconotext.evidence.cells import Cells, Columns
from iconotext.evidence.ocr import text_features, text_in
from iconotext.evidence.picture import image_features
from iconotext.evidence.reference import reference_evidence
from iconotext.types import EVIDENCE, Document, Evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.evidence.caption import Matcher
    from iconotext.types import FloatMatrix

Features = Mapping[str, "FloatMatrix"]
"""Name to (S, V) float32: the features of one kind of evidence, for a document."""


class Gathered(NamedTuple):
    """The evidence about a document without layout; it can be weighed again quickly, with other settings or habits.

    Attributes:
        document: Without images that have a problem: S sentences, V images.
        features: Kind of evidence to name to (S, V); no layout.
        reference: (S, V); None if references are no evidence.
        similarity: (S, V) cosines; None if pictures are no evidence.
        numbers: (V,) number of each image in the whole document.
        images: Number of images in the whole document.
    """

    document: Document
    features: dict[Evidence, Features]
    reference: FloatMatrix | None
    similarity: FloatMatrix | None
    numbers: NDArray[np.int64]
    images: int


class Written(NamedTuple):
    """Caption and reference evidence about a document, computed once for its habit and for its links.

    Attributes:
        images: Numbers of the images without a problem.
        captions: ``caption_features`` for these images; empty if captions are no evidence.
        reference: (S, V) for all images; None if references are no evidence.
    """

    images: tuple[int, ...]
    captions: Features
    reference: FloatMatrix | None

    @property
    def size(self) -> int:
        """How many numbers the arrays hold."""
        captions = Columns.of(self.captions).block.size if self.captions else 0
        return captions + (0 if self.reference is None else self.reference.size)


def what_is_written(
    documents: Sequence[Document],
    readings: Sequence[Reading],
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    matcher: Matcher | None = None,
) -> list[Written]:
    """Caption and reference evidence for each document; arguments as in ``gather_evidence``."""
    good = [sound_images(document) for document in documents]
    sound = [only_images(document, some) for document, some in zip(documents, good, strict=True)]
    captions: list[Features] = [{} for _ in documents]
    if "caption" in evidence:
        captions = _captions(sound, readings, matcher)
    # References see all images: if the nearest photo is broken, 'the photo above' must not mean another one.
    reference = [reference_evidence(document) if "reference" in evidence else None for document in documents]
    return list(map(Written, good, captions, reference))


def sound_images(document: Document) -> tuple[int, ...]:
    """Numbers of the images without a problem."""
    return tuple(j for j, image in enumerate(document.images) if image.problem is None)


def only_images(document: Document, numbers: Sequence[int]) -> Document:
    """The document with only the images of these numbers."""
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
    """Compute all evidence but layout; the result for a document does not depend on the others.

    Args:
        documents: Images with a ``problem`` are ignored.
        similarities: For each document the encoder's (S, V) cosines, or None without picture evidence.
        readings: For each document how its texts become vectors.
        evidence: The kinds to use; a kind that a document lacks is left out.
        matcher: Default: the matcher in the package.
        written: Results of ``what_is_written`` for the same documents and kinds, if available; saves time.

    Raises:
        SettingError: An unknown kind of evidence.
        ShapeError: An array does not fit its document.
    """
    if unknown := set(evidence) - set(EVIDENCE):
        raise SettingError(f"no evidence {', '.join(sorted(unknown))}; there is {', '.join(EVIDENCE)}")
    for document, similarity, reading in zip(documents, similarities, readings, strict=True):
        _check(document, similarity, reading)
    said = list(written or [None] * len(documents))
    # Compute again where an image has turned out to be broken since.
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
    """Raise ``ShapeError`` if an array does not fit its document."""
    shape = (len(document.sentences), len(document.images))
    if similarity is not None and similarity.shape != shape:
        raise ShapeError(f"image_similarity is {similarity.shape}, the document {shape} (sentences, images)")
    if reading.sentences is not None and len(reading.sentences) != shape[0]:
        raise ShapeError(f"sentence_vectors is {reading.sentences.shape}, the document has {shape[0]} sentences")


def _captions(documents: Sequence[Document], readings: Sequence[Reading], matcher: Matcher | None) -> list[Features]:
    return _of_those(
        [any(map(texts_of, document.images)) for document in documents],
        documents,
        lambda some, cells, numbers: caption_features(some, cells, [readings[n] for n in numbers], matcher=matcher),
    )


def _fitted(
    documents: Sequence[Document],
    similarities: Sequence[FloatMatrix | None],
    captions: Sequence[Features],
    readings: Sequence[Reading],
    evidence: Collection[Evidence],
) -> list[dict[Evidence, Features]]:
    every: dict[Evidence, Sequence[Features]] = {}
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
) -> list[Features]:
    """For each document name to (S, V) features; empty if it is not chosen, or has no sentences or no images."""
    every: list[Features] = [{} for _ in documents]
    numbers = [n for n, (d, own) in enumerate(zip(documents, chosen, strict=True)) if own and d.sentences and d.images]
    if numbers:
        some = [documents[n] for n in numbers]
        cells = Cells.of(some)
        for n, columns in zip(numbers, cells.columns(features(some, cells, numbers)), strict=True):
            every[n] = columns
    return every
