"""The computation of all kinds of evidence but layout, for a batch of documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from iconotext.errors import ShapeError
from iconotext.evidence.caption import EvidenceInput, Reading, caption_evidence
from iconotext.evidence.cells import Columns
from iconotext.evidence.kinds import EVIDENCE, chosen_evidence
from iconotext.evidence.language import is_foreign, language_note, no_meaning
from iconotext.evidence.reference import reference_evidence
from iconotext.types import Document, Evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.encoders.encoder import EncodedDocument, Encoder
    from iconotext.evidence.caption import Encode
    from iconotext.evidence.cells import Features
    from iconotext.evidence.habit import PlaceEvidence
    from iconotext.types import FloatMatrix

COMPUTED_ELSEWHERE = ("caption", "layout", "reference")
"""Kinds that ``text_evidence`` computes before images are encoded, or ``combine.weigh`` once habits are inferred."""


@dataclass(frozen=True, slots=True, eq=False)
class EncodedText:
    """A document whose texts are encoded: S sentences; V images, of which U have no problem.

    Attributes:
        vectors: (S, features) vectors of its sentences from ``encoder.reader``; None if pictures are no evidence or the
            reader does not know the document's language.
        encode: Turns captions into vectors; None for ``encode_texts`` of ``encoder.text_backbone``.
        images: (U,) numbers of the images without a problem; None if the evidence below is not computed yet, or too
            large to keep.
        captions: Caption features, name to (S, U); empty if captions are no evidence.
        reference: (S, V) reference evidence; None if references are no evidence.
        places: Where this evidence puts the images; None if not computed yet or without layout.
        matches: (2, U) ``combine.caption_matches`` of its captions, and of captions of another document of its
            collection; None if not computed, or without another document.
        encoded: The document with its encoded images; None if pictures are no evidence, or are not encoded yet.
    """

    document: Document
    vectors: FloatMatrix | None = None
    encode: Encode | None = None
    images: tuple[int, ...] | None = None
    captions: Features = field(default_factory=dict)
    reference: FloatMatrix | None = None
    places: PlaceEvidence | None = None
    matches: NDArray[np.float64] | None = None
    encoded: EncodedDocument | None = None

    @property
    def size(self) -> int:
        """Number of elements of the caption and reference evidence."""
        captions = Columns.of(self.captions).block.size if self.captions else 0
        return captions + (0 if self.reference is None else self.reference.size)

    def reading(self, encoder: Encoder) -> Reading:
        """Return the ``Reading`` that compares the document's sentences with captions."""
        text = encoder.text_backbone
        if is_foreign(self.document, text):
            return Reading(no_meaning)
        from iconotext.features.languages import (
            encode_texts,
        )  # its package imports Pillow, which weighing does not need

        return Reading(
            self.encode or partial(encode_texts, text, language=self.document.language),
            self.vectors if encoder.reader is text else None,
        )

    def note(self, encoder: Encoder, evidence: Collection[Evidence]) -> str | None:
        """Return the message for the user if the model does not know the document's language; None if it does."""
        unread = is_foreign(self.document, encoder.text_backbone)
        return language_note(
            self.document,
            picture="picture" in evidence and self.vectors is None,
            caption="caption" in evidence and unread,
            layout="layout" in evidence,
        )


@dataclass(frozen=True, slots=True, eq=False)
class DocumentEvidence:
    """All evidence about a document but the habit of its author: S sentences; U images without a problem.

    It can be weighed again quickly, with other settings or another habit.

    Attributes:
        document: The whole document, with the problems of its images.
        sound: The document with only its U images without a problem.
        numbers: (U,) number of each of these images in the whole document.
        features: Kind of evidence to name to (S, U); layout only once a habit is known.
        reference: (S, U); None if references are no evidence.
        similarity: (S, U) cosines; None if pictures are no evidence.
        encoded: The encoded document; None if pictures are no evidence, or if it was not kept.
        note: A message for the user about the document's language; None without one.
    """

    document: Document
    sound: Document
    numbers: NDArray[np.int64]
    features: Mapping[Evidence, Features]
    reference: FloatMatrix | None = None
    similarity: FloatMatrix | None = None
    encoded: EncodedDocument | None = None
    note: str | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(S, U)."""
        return len(self.sound.sentences), len(self.sound.images)

    def only(self, kinds: Collection[Evidence]) -> DocumentEvidence:
        """Return the same evidence without the other kinds."""
        return replace(
            self,
            features={kind: columns for kind, columns in self.features.items() if kind in kinds},
            reference=self.reference if "reference" in kinds else None,
            similarity=self.similarity if "picture" in kinds else None,
        )


def text_evidence(
    texts: Sequence[EncodedText], readings: Sequence[Reading], *, evidence: Collection[Evidence] = EVIDENCE
) -> list[EncodedText]:
    """Add caption and reference evidence to each document, for the inference of its habit and for its links.

    Arguments as in ``gather_evidence``.
    """
    documents = [text.document for text in texts]
    image_numbers = [sound_images(document) for document in documents]
    sound = [only_images(document, readable) for document, readable in zip(documents, image_numbers, strict=True)]
    captions: list[Features] = [{} for _ in documents]
    if "caption" in evidence:
        captions = caption_evidence(sound, list(map(EvidenceInput, readings)))
    # References see all images: if the nearest photo is broken, 'the photo above' must not mean another one.
    reference = [reference_evidence(document) if "reference" in evidence else None for document in documents]
    return [
        replace(text, images=images, captions=caption, reference=matrix)
        for text, images, caption, matrix in zip(texts, image_numbers, captions, reference, strict=True)
    ]


def sound_images(document: Document) -> tuple[int, ...]:
    """Return the numbers of the images without a problem."""
    return tuple(j for j, image in enumerate(document.images) if image.problem is None)


def only_images(document: Document, numbers: Sequence[int]) -> Document:
    """Return the document with only the images of these numbers."""
    if len(numbers) == len(document.images):
        return document
    return replace(document, images=tuple(document.images[j] for j in numbers))


def gather_evidence(
    documents: Sequence[Document],
    similarities: Sequence[FloatMatrix | None],
    readings: Sequence[Reading],
    *,
    evidence: Collection[Evidence] = EVIDENCE,
    texts: Sequence[EncodedText] | None = None,
) -> list[DocumentEvidence]:
    """Compute all evidence but layout; the result for a document does not depend on the others.

    Args:
        documents: Images with a ``problem`` are ignored.
        similarities: For each document the encoder's (S, V) cosines, or None without picture evidence.
        readings: The vectors of the texts of each document.
        texts: Results of ``text_evidence`` for the same documents and kinds, if available; saves time.
    """
    kinds = chosen_evidence(evidence)
    for document, similarity, reading in zip(documents, similarities, readings, strict=True):
        _check(document, similarity, reading)
    image_numbers = [sound_images(document) for document in documents]
    encoded_texts = list(texts or map(EncodedText, documents))
    # Text evidence is computed where it is missing, and again where an image has turned out to be broken since.
    stale = [n for n, images in enumerate(image_numbers) if encoded_texts[n].images != images]
    without = [replace(encoded_texts[n], document=documents[n]) for n in stale]
    for n, text in zip(stale, text_evidence(without, [readings[n] for n in stale], evidence=evidence), strict=True):
        encoded_texts[n] = text
    numbers = [np.array(images, dtype=np.int64) for images in image_numbers]
    sound = [only_images(document, images) for document, images in zip(documents, image_numbers, strict=True)]
    cosines = [
        None if matrix is None or "picture" not in evidence else np.asarray(matrix, np.float32)[:, images]
        for matrix, images in zip(similarities, numbers, strict=True)
    ]
    inputs = [EvidenceInput(reading, cosine) for reading, cosine in zip(readings, cosines, strict=True)]
    by_kind = {"caption": [text.captions for text in encoded_texts]}
    by_kind |= {kind.name: kind.features(sound, inputs) for kind in kinds if kind.name not in COMPUTED_ELSEWHERE}
    features = [{kind: rows[n] for kind, rows in by_kind.items() if rows[n]} for n in range(len(documents))]
    reference = [
        None if text.reference is None else text.reference[:, images]
        for text, images in zip(encoded_texts, numbers, strict=True)
    ]
    return list(map(DocumentEvidence, documents, sound, numbers, features, reference, cosines))


def _check(document: Document, similarity: FloatMatrix | None, reading: Reading) -> None:
    shape = (len(document.sentences), len(document.images))
    if similarity is not None and similarity.shape != shape:
        raise ShapeError(f"image_similarity is {similarity.shape}, the document {shape} (sentences, images)")
    if reading.sentences is not None and len(reading.sentences) != shape[0]:
        raise ShapeError(f"sentence_vectors is {reading.sentences.shape}, the document has {shape[0]} sentences")
