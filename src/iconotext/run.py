"""The linking run: documents in, linked documents out, a batch of documents at a time.

The sentences and captions of a batch are encoded together, then its images, in a background thread, one batch ahead of
the one that is being linked:

    documents → ``encode_texts`` → ``encode_images`` → ``gather`` → ``link_evidence`` → linked documents

Batches change only the speed: the result for a document does not depend on the other documents in its batch. Memory
holds a few batches, however many documents there are. A document that fails does not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, cycle
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from iconotext.decide.choose import choose_links, with_relations
from iconotext.decide.combine import caption_matches, places_by_evidence, silent_share, weigh
from iconotext.errors import HostileDocumentError, IconotextError
from iconotext.evidence.caption import PROBE, Reading, compared_text
from iconotext.evidence.gather import (
    DocumentEvidence,
    EncodedText,
    gather_evidence,
    only_images,
    sound_images,
    text_evidence,
)
from iconotext.evidence.habit import Habit, Judged, PlaceEvidence, collection_of, infer_habit, judged_evidence
from iconotext.evidence.language import is_foreign
from iconotext.features.cached_backbones import encoded_once
from iconotext.features.languages import encode_texts
from iconotext.linked import LinkedDocument
from iconotext.read import Failure
from iconotext.system.threads import in_threads
from iconotext.types import Document

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.decide.settings import LinkSettings
    from iconotext.encoders.encoder import EncodedDocument, Encoder
    from iconotext.encoders.relation_model import RelationModel
    from iconotext.features.ocr import LineReader

    Linked = tuple[LinkedDocument, EncodedDocument | None]

T = TypeVar("T")
R = TypeVar("R")

FIRST_BATCH = 2048
"""Size at which the first batch ends: its documents, sentences, and ``IMAGE_SIZE`` for each image. The size doubles
with each further batch."""

MAX_BATCH = 8 * FIRST_BATCH
"""Largest size of a batch. The first is small, so that results come soon; large ones have less overhead."""

IMAGE_SIZE = 16
"""Size of an image in sentences: it takes about as much time and memory."""

MAX_BATCH_BYTES = 64 << 20
"""A batch also ends at this many bytes of images in memory, such as those that come from a table or a tar."""

MAX_PAIRS = 8_000_000
"""Largest number of pairs of a sentence and an image in a document. A pair takes up to 430 bytes while captions are
compared, so a document takes at most 3.5 GB: a book of 16,000 sentences may have 500 images."""

MAX_STORED = 1 << 24
"""Largest ``EncodedText.size`` that is stored of a document; larger evidence is computed again when it is linked."""


@dataclass(frozen=True)
class LinkingRun:
    """Links documents with one model and one group of settings.

    Attributes:
        line_reader: Loads the model for words in images; called only if they are evidence.
        relation_model: Loads the relation model; called only if relations are wanted.
    """

    encoder: Encoder
    settings: LinkSettings
    line_reader: Callable[[], LineReader]
    relation_model: Callable[[], RelationModel]

    def link(
        self, documents: Iterable[EncodedText | Failure], habits: Mapping[str, Habit]
    ) -> Iterator[LinkedDocument | Failure]:
        """Link documents whose texts were encoded; ``habits`` are those of each collection (``collection_of``)."""
        for batch in self.gather(documents):
            yield from self.link_evidence(batch, habits)

    def encode_texts(self, documents: Iterable[Document | Failure]) -> Iterator[EncodedText | Failure]:
        """Encode the texts of documents, a batch ahead."""
        return chain.from_iterable(_ahead(self._encode_texts, documents))

    def encode_images(self, documents: Iterable[EncodedText | Failure]) -> Iterator[Sequence[EncodedText | Failure]]:
        """Encode the images of documents where pictures are evidence, a batch ahead."""
        return _ahead(self._encode_images, documents)

    def gather(self, documents: Iterable[EncodedText | Failure]) -> Iterator[Sequence[DocumentEvidence | Failure]]:
        """Compute all evidence about documents but their habits, batch by batch."""
        reader = self.line_reader() if "ocr" in self.settings.evidence else None
        for batch in self.encode_images(documents):
            yield apply(partial(self._gather, reader), batch)

    def link_evidence(
        self, evidence: Sequence[DocumentEvidence | Failure], habits: Mapping[str, Habit]
    ) -> Iterator[LinkedDocument | Failure]:
        """Link documents with evidence that was computed before.

        Nothing is encoded again, except for relations and explanations. ``settings.evidence`` may leave out kinds.
        """
        for linked in apply(partial(self._link, habits), evidence):
            yield from apply(self._explain, [linked])  # alone, since an explanation takes long and may fail

    def add_places(self, documents: Iterable[EncodedText | Failure]) -> Iterator[EncodedText | Failure]:
        """Add caption and reference evidence, from which habits are inferred; drop ``encode``, which has no pickle."""
        for batch in _batches(documents):
            yield from apply(self._add_places, batch)

    def _encode_texts(self, documents: Sequence[Document]) -> list[EncodedText]:
        for document in documents:
            _check_pairs(document)
        text, evidence = self.encoder.text_backbone, self.settings.evidence
        is_read = ["picture" in evidence and not is_foreign(d, self.encoder.reader) for d in documents]
        sentences = [[sentence.text for sentence in d.sentences] for d in documents]
        compared: list[tuple[str, str | None]] = []  # the texts that captions are compared with, and the captions
        for document, document_sentences in zip(documents, sentences, strict=True):
            captioned = "caption" in evidence or "context" in evidence
            texts = [caption for caption in map(compared_text, document.images) if caption and captioned]
            if "context" in evidence:
                texts += [sentence.text for image in document.images for sentence in image.context]
            if texts and not is_foreign(document, text):
                compared += ((each, document.language) for each in (*document_sentences, *texts))
                compared.append((PROBE, "en"))
        read = [
            (each, document.language)
            for document, group, needed in zip(documents, sentences, is_read, strict=True)
            if needed
            for each in group
        ]
        same = self.encoder.reader is text  # then a text serves pictures and captions, and is encoded once
        captions_by = encoded_once(text, [*read, *compared] if same else compared)
        sentences_by = captions_by if same else encoded_once(self.encoder.reader, read)
        return [
            EncodedText(
                document,
                encode_texts(sentences_by, group, document.language) if needed else None,
                partial(encode_texts, captions_by, language=document.language),
            )
            for document, group, needed in zip(documents, sentences, is_read, strict=True)
        ]

    def _encode_images(self, texts: Sequence[EncodedText]) -> list[EncodedText]:
        read = [(t.document, t.vectors) for t in texts if t.vectors is not None]
        encoded = iter(self.encoder.read_all(read) if read else ())
        return [t if t.vectors is None else replace(t, encoded=next(encoded)) for t in texts]

    def _gather(self, reader: LineReader | None, texts: Sequence[EncodedText]) -> list[DocumentEvidence]:
        from iconotext.features.ocr import with_lines

        documents = [t.encoded.document if t.encoded else t.document for t in texts]
        gathered = gather_evidence(
            [with_lines(document, reader) for document in documents] if reader else documents,
            [t.encoded.similarity if t.encoded else None for t in texts],
            [t.reading(self.encoder) for t in texts],
            evidence=self.settings.evidence,
            texts=texts,
        )
        return [
            replace(evidence, encoded=text.encoded, note=text.note(self.encoder, self.settings.evidence))
            for evidence, text in zip(gathered, texts, strict=True)
        ]

    def _link(self, habits: Mapping[str, Habit], evidence: Sequence[DocumentEvidence]) -> list[Linked]:
        settings = self.settings
        fixed = Habit(name=settings.habit) if settings.habit is not None else None
        used = [fixed or habits.get(collection_of(e.document)) or Habit() for e in evidence]
        linked = [
            LinkedDocument.of(
                choose_links(item.document, weighed, settings, model=self.encoder.name),
                notes=(item.note,) if item.note else (),
                habit=habit.summary if "layout" in settings.evidence else None,
            )
            for item, weighed, habit in zip(
                evidence, weigh(evidence, evidence=settings.evidence, habits=used), used, strict=True
            )
        ]
        if settings.relations != "none":
            linked = self._with_relations(linked, [e.encoded for e in evidence])
        return [(document, item.encoded) for document, item in zip(linked, evidence, strict=True)]

    def _with_relations(
        self, documents: Sequence[LinkedDocument], encoded: Sequence[EncodedDocument | None]
    ) -> list[LinkedDocument]:
        model = self.relation_model()
        # Pictures count only if their features come from the relation model's own backbone.
        same = self.encoder.image_source.name == model.backbones["image"]
        pooled = [e.pooled if e and same else {} for e in encoded]
        return with_relations(list(zip(documents, pooled, strict=True)), model)

    def _explain(self, linked: Sequence[Linked]) -> list[LinkedDocument]:
        from iconotext.evidence.occlusion import explained

        return [explained(d, encoded) if encoded and self.settings.explain else d for d, encoded in linked]

    def _add_places(self, texts: Sequence[EncodedText]) -> list[EncodedText]:
        kinds = [kind for kind in self.settings.evidence if kind in ("caption", "reference")]
        readings = [t.reading(self.encoder) for t in texts]
        from_texts = text_evidence(texts, readings, evidence=kinds)
        gathered = gather_evidence(
            [t.document for t in texts], [None] * len(texts), readings, evidence=kinds, texts=from_texts
        )
        places = places_by_evidence(gathered, evidence=kinds) if kinds else [None] * len(texts)
        matches = self._caption_matches(gathered, readings) if "caption" in kinds else [None] * len(texts)
        return [
            replace(new if new.size <= MAX_STORED else old, encode=None, places=place, matches=match)
            for old, new, place, match in zip(texts, from_texts, places, matches, strict=True)
        ]

    def _caption_matches(
        self, gathered: Sequence[DocumentEvidence], readings: Sequence[Reading]
    ) -> list[NDArray[np.float64] | None]:
        """Return ``EncodedText.matches``; the decoys come from the document that stands half the collection away."""
        collections: dict[str, list[int]] = {}
        for number, item in enumerate(gathered):
            if item.features.get("caption"):
                collections.setdefault(collection_of(item.document), []).append(number)
        other = {
            number: numbers[(place + len(numbers) // 2) % len(numbers)]
            for numbers in collections.values()
            for place, number in enumerate(numbers)
            if len(numbers) > 1
        }
        decoys = [_with_captions_of(gathered[number].sound, gathered[donor].sound) for number, donor in other.items()]
        evidence = gather_evidence(decoys, [None] * len(decoys), [readings[n] for n in other], evidence=["caption"])
        matches, decoy_matches = caption_matches([gathered[number] for number in other]), caption_matches(evidence)
        stacked = dict(zip(other, map(np.stack, zip(matches, decoy_matches, strict=True)), strict=True))
        return [stacked.get(number) for number in range(len(gathered))]


def _check_pairs(document: Document) -> None:
    """Raise ``HostileDocumentError`` if a document has more than ``MAX_PAIRS`` pairs of a sentence and an image."""
    sentences, images = len(document.sentences), len(sound_images(document))
    if sentences * images > MAX_PAIRS:
        raise HostileDocumentError(
            f"{sentences:,} sentences and {images:,} pictures are {sentences * images:,} pairs to compare, more than "
            f"{MAX_PAIRS:,}: divide the document, an EPUB into its chapters (the option epub)"
        )


def habits_of(
    documents: Iterable[EncodedText | Failure],
    judged: Mapping[str, Judged] = MappingProxyType({}),
    silent: Mapping[str, float] | None = None,
) -> dict[str, Habit]:
    """Infer for each collection (``collection_of``) where its authors put images, and how far its captions count.

    Args:
        documents: From ``add_places``; iterated once.
        judged: Document id to human judgments of its images.
        silent: Collection to its ``Habit.silent``, if it was inferred before; then it is not inferred again.
    """
    places: dict[str, list[tuple[str, PlaceEvidence, Document | None]]] = {}
    matches: dict[str, list[NDArray[np.float64]]] = {}
    for item in documents:
        if isinstance(item, EncodedText):
            document, name = item.document, collection_of(item.document)
            if item.places is not None:
                judged_document = document if document.id in judged else None
                places.setdefault(name, []).append((document.id, item.places, judged_document))
            if item.matches is not None:
                matches.setdefault(name, []).append(item.matches)
    if silent is None:
        silent = {name: silent_share(*np.concatenate(pairs, axis=1)) for name, pairs in matches.items()}
    habits = {}
    for name in {**places, **matches}:
        share = silent.get(name, 0.0)
        evidence = [
            (key, _judged(place.mixed(share), document, judged)) for key, place, document in places.get(name, ())
        ]
        habits[name] = replace(infer_habit(evidence), judged=judged, silent=share)
    return habits


def _judged(places: PlaceEvidence, document: Document | None, judged: Mapping[str, Judged]) -> PlaceEvidence:
    """Replace the evidence about the images that people judged; ``document`` is None where they judged none."""
    if document is None:
        return places
    numbers = sound_images(document)
    return judged_evidence(only_images(document, numbers), places, judged[document.id], numbers)


def _with_captions_of(document: Document, donor: Document) -> Document:
    """Return the document with the captions, alternative texts and names of another one's images, in turn."""
    texts = [image for image in donor.images if compared_text(image)]
    images = [
        replace(image, caption=text.caption, alt=text.alt, source=text.source)
        for image, text in zip(document.images, cycle(texts), strict=False)
    ]
    return replace(document, images=tuple(images))


def size_of(text: EncodedText | Failure) -> int:
    """Return about how many bytes of memory an encoded text takes."""
    if isinstance(text, Failure):
        return 1000
    document = text.document
    texts = sum(200 + len(sentence.text) for sentence in document.sentences)
    pictures = sum(500 + (len(image.file) if isinstance(image.file, bytes) else 0) for image in document.images)
    return texts + pictures + 4 * text.size + (0 if text.vectors is None else text.vectors.nbytes)


def apply(work: Callable[[Sequence[T]], Sequence[R]], batch: Sequence[T | Failure]) -> list[R | Failure]:
    """Return the results of ``work`` for a batch; failures stay in their places.

    If ``work`` raises an error of ours, it is applied to one document at a time, so that only those that fail alone
    become a ``Failure``, with the file of the document or else its id.
    """
    sound = [item for item in batch if not isinstance(item, Failure)]
    try:
        results: Iterator[Any] = iter(work(sound) if sound else ())
    except IconotextError as error:
        if len(sound) > 1:
            return [result for item in batch for result in apply(work, [item])]
        document = _document(sound[0])
        results = iter([Failure(Path(document.source or document.id), error)])
    return [item if isinstance(item, Failure) else next(results) for item in batch]


def _ahead(
    work: Callable[[Sequence[T]], Sequence[R]], documents: Iterable[T | Failure]
) -> Iterator[Sequence[R | Failure]]:
    """Apply ``work`` to each batch, in a thread, one batch ahead of the consumer."""
    # Two batches: the one in use and the next. ``closing`` ends the thread if the consumer stops early.
    with closing(in_threads(partial(apply, work), _batches(documents), threads=1, ahead=2)) as batches:
        yield from batches


def _batches(items: Iterable[T | Failure]) -> Iterator[list[T | Failure]]:
    """Group items into batches, in order; each batch has at least one item."""
    batch: list[T | Failure] = []
    size, batch_bytes, enough = 0, 0, FIRST_BATCH
    for item in items:
        batch.append(item)
        size += 1
        if not isinstance(item, Failure):
            document = _document(item)
            size += len(document.sentences) + IMAGE_SIZE * len(document.images)
            batch_bytes += sum(len(image.file) for image in document.images if isinstance(image.file, bytes))
        if size >= enough or batch_bytes >= MAX_BATCH_BYTES:
            yield batch
            batch, size, batch_bytes, enough = [], 0, 0, min(2 * enough, MAX_BATCH)
    if batch:
        yield batch


def _document(item: Any) -> Document:
    """Return the document of any record of a run."""
    record = item[0] if isinstance(item, tuple) else item
    document: Document = record if isinstance(record, Document) else record.document
    return document
