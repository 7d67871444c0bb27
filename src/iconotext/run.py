"""The linking run: documents in, linked documents out, one window at a time.

A window is a group of consecutive documents. The sentences and captions of a window are encoded in one batch, then its
images, in a background thread, one window ahead of the one that is being linked:

    documents → ``encode_texts`` → ``encode_images`` → ``gather`` → ``link_evidence`` → linked documents

Windows change only the speed: the result for a document does not depend on the other documents in its window. Memory
holds a few windows, however many documents there are. A document that fails does not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from iconotext.decide.choose import choose_links
from iconotext.decide.combine import places_by_evidence, weigh
from iconotext.errors import IconotextError
from iconotext.evidence.caption import PROBE, compared_text
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
from iconotext.features.cached_backbones import knowing
from iconotext.read import Failure
from iconotext.system.threads import in_threads
from iconotext.types import Document, Evidence

if TYPE_CHECKING:
    from iconotext.decide.combine import Combination
    from iconotext.decide.settings import LinkSettings
    from iconotext.encoders.backbone_encoder import EncodedDocument
    from iconotext.encoders.encoder import Encoder
    from iconotext.encoders.relation_model import RelationModel
    from iconotext.features.ocr import LineReader
    from iconotext.types import LinkedDocument

    Encoded = tuple[LinkedDocument, EncodedDocument | None]

T = TypeVar("T", Document, EncodedText)
R = TypeVar("R")

WINDOW = 2048
"""Size at which the first window ends: its documents, sentences, and ``OF_IMAGE`` for each image. The size doubles with
each further window."""

LARGEST = 8 * WINDOW
"""Largest size of a window. The first is small, so that results come soon; large ones have less overhead."""

OF_IMAGE = 16
"""Size of an image in sentences: it takes about as much time and memory."""

HELD = 64 << 20
"""A window also ends at this many bytes of images in memory, such as those that come from a table or a tar."""

KEPT = 1 << 24
"""Largest ``EncodedText.size`` that is kept of a document; what is larger is computed again when it is linked."""


def link_windows(
    documents: Iterable[EncodedText | Failure],
    encoder: Encoder,
    settings: LinkSettings,
    habits: Mapping[str, Habit],
    *,
    line_reader: Callable[[], LineReader],
    relation_model: Callable[[], RelationModel],
) -> Iterator[LinkedDocument | Failure]:
    """Link documents whose texts were encoded. Failures pass through; a document that fails does not stop the others.

    Args:
        habits: Of each collection (``collection_of``).
        line_reader: Loads the model for words in images; called only if they are evidence.
        relation_model: Loads the relation model; called only if relations are wanted.
    """
    for window in gather(documents, encoder, settings, line_reader=line_reader):
        yield from link_evidence(window, encoder, settings, habits, relation_model=relation_model)


def gather(
    documents: Iterable[EncodedText | Failure],
    encoder: Encoder,
    settings: LinkSettings,
    *,
    line_reader: Callable[[], LineReader],
) -> Iterator[list[DocumentEvidence | Failure]]:
    """Compute all evidence about documents but their habits, window by window; arguments as in ``link_windows``."""
    reader = line_reader() if "ocr" in settings.evidence else None
    for window in encode_images(documents, encoder):
        yield _gathered(window, encoder, settings, reader)


def link_evidence(
    several: Sequence[DocumentEvidence | Failure],
    encoder: Encoder,
    settings: LinkSettings,
    habits: Mapping[str, Habit],
    *,
    relation_model: Callable[[], RelationModel],
) -> Iterator[LinkedDocument | Failure]:
    """Link documents with evidence that was computed before; arguments as in ``link_windows``.

    Nothing is encoded again, except for relations and explanations. ``settings.evidence`` may leave out kinds.
    """
    linked = _linked(several, encoder, settings, habits)
    good = [
        (each, of.encoded)
        for each, of in zip(linked, several, strict=True)
        if not isinstance(each, Failure) and not isinstance(of, Failure)
    ]
    if settings.relations != "none":
        good = _with_relations(good, encoder, relation_model())
    complete = (_explained(*each) if settings.explain else each[0] for each in good)
    yield from (each if isinstance(each, Failure) else next(complete) for each in linked)


def _gathered(
    window: Sequence[tuple[EncodedText, EncodedDocument | None] | Failure],
    encoder: Encoder,
    settings: LinkSettings,
    reader: LineReader | None,
) -> list[DocumentEvidence | Failure]:
    from iconotext.features.ocr import with_lines

    good = [each for each in window if not isinstance(each, Failure)]
    documents = [encoded.document if encoded else text.document for text, encoded in good]
    documents = [with_lines(document, reader) for document in documents] if reader else documents
    try:
        gathered = gather_evidence(
            documents,
            [encoded.similarity if encoded else None for _, encoded in good],
            [text.reading(encoder) for text, _ in good],
            evidence=settings.evidence,
            texts=[text for text, _ in good],
        )
    except IconotextError as error:
        if len(good) > 1:  # of one of them, and the others do not suffer
            return [one for each in window for one in _gathered([each], encoder, settings, reader)]
        failed = failure_of(documents[0], error)
        return [each if isinstance(each, Failure) else failed for each in window]
    found = iter(
        replace(evidence, encoded=encoded, note=text.note(encoder, settings.evidence))
        for evidence, (text, encoded) in zip(gathered, good, strict=True)
    )
    return [each if isinstance(each, Failure) else next(found) for each in window]


def _linked(
    several: Sequence[DocumentEvidence | Failure],
    encoder: Encoder,
    settings: LinkSettings,
    habits: Mapping[str, Habit],
) -> list[LinkedDocument | Failure]:
    own = Habit(given=settings.habit) if settings.habit is not None else None
    good = [each for each in several if not isinstance(each, Failure)]
    usual = [own or habits.get(collection_of(each.document)) or Habit() for each in good]
    try:
        weighed = weigh(good, evidence=settings.evidence, habits=usual)
        chosen = [_chosen(*each, encoder, settings) for each in zip(good, weighed, usual, strict=True)]
    except IconotextError as error:
        if len(good) > 1:  # of one of them, and the others do not suffer
            return [one for each in several for one in _linked([each], encoder, settings, habits)]
        failed = failure_of(good[0].document, error)
        return [each if isinstance(each, Failure) else failed for each in several]
    found = iter(chosen)
    return [each if isinstance(each, Failure) else next(found) for each in several]


def _chosen(
    evidence: DocumentEvidence, weighed: Combination, habit: Habit, encoder: Encoder, settings: LinkSettings
) -> LinkedDocument:
    linked = choose_links(
        evidence.document,
        weighed,
        select=settings.select,
        k=settings.k,
        min_confidence=settings.min_confidence,
        model=encoder.name,
    )
    usual = habit.summary if "layout" in settings.evidence else None
    return replace(linked, notes=(evidence.note,) if evidence.note else (), habit=usual)


def _with_relations(found: Sequence[Encoded], encoder: Encoder, model: RelationModel) -> list[Encoded]:
    from iconotext.decide.choose import with_relations

    # Pictures count only if their features come from the relation model's own backbone.
    known = encoder.image_source.name == model.backbones["image"]
    related = with_relations([(linked, seen.pooled if seen and known else {}) for linked, seen in found], model)
    return [(linked, seen) for linked, (_, seen) in zip(related, found, strict=True)]


def _explained(linked: LinkedDocument, seen: EncodedDocument | None) -> LinkedDocument | Failure:
    from iconotext.decide.explanation import explained

    try:
        return explained(linked, seen) if seen else linked
    except IconotextError as error:
        return failure_of(linked.document, error)


def encode_texts(
    documents: Iterable[Document | Failure], encoder: Encoder, evidence: Collection[Evidence]
) -> Iterator[EncodedText | Failure]:
    """Encode the texts of documents, a window ahead; failures pass through."""
    return chain.from_iterable(_ahead(partial(_encoded_texts, encoder, evidence), documents))


def _encoded_texts(encoder: Encoder, evidence: Collection[Evidence], window: Sequence[Document]) -> list[EncodedText]:
    text, sees = encoder.text_backbone, "picture" in evidence
    read = [sees and not is_foreign(each, encoder.language) for each in window]
    sentences = [[sentence.text for sentence in each.sentences] for each in window]
    asked: list[str] = []
    for each, some in zip(window, sentences, strict=True):
        texts = [text for text in map(compared_text, each.images) if text]
        if "caption" in evidence and texts and not is_foreign(each, text.language):
            asked += [*some, *texts, PROBE]
    wanted = [one for some, is_read in zip(sentences, read, strict=True) if is_read for one in some]
    same = encoder.reader is text
    known = knowing(text, [*wanted, *asked] if same else asked)
    reader = known if same else knowing(encoder.reader, wanted)
    return [
        EncodedText(each, reader.encode(some) if is_read else None, known.encode)
        for each, some, is_read in zip(window, sentences, read, strict=True)
    ]


def encode_images(
    documents: Iterable[EncodedText | Failure], encoder: Encoder
) -> Iterator[Sequence[tuple[EncodedText, EncodedDocument | None] | Failure]]:
    """Encode the images of documents, a window ahead; None in place of an encoding where pictures are no evidence."""
    return _ahead(partial(_encoded_images, encoder), documents)


def _encoded_images(
    encoder: Encoder, window: Sequence[EncodedText]
) -> list[tuple[EncodedText, EncodedDocument | None]]:
    read = [(each.document, each.vectors) for each in window if each.vectors is not None]
    found = iter(encoder.read_all(read) if read else ())
    return [(each, None if each.vectors is None else next(found)) for each in window]


def add_places(
    documents: Iterable[EncodedText | Failure], encoder: Encoder, evidence: Collection[Evidence]
) -> Iterator[EncodedText | Failure]:
    """Add caption and reference evidence, from which habits are inferred; drop ``encode``, which cannot be pickled."""
    kinds = [kind for kind in evidence if kind in ("caption", "reference")]
    for window in _windows(documents):
        good = [each for each in window if isinstance(each, EncodedText)]
        readings = [each.reading(encoder) for each in good]
        texts = text_evidence(good, readings, evidence=evidence)
        gathered = gather_evidence(
            [each.document for each in good], [None] * len(good), readings, evidence=kinds, texts=texts
        )
        places = places_by_evidence(gathered, evidence=kinds) if kinds else [None] * len(good)
        found = iter(
            replace(text if text.size <= KEPT else each, encode=None, places=place)
            for each, text, place in zip(good, texts, places, strict=True)
        )
        for each in window:
            yield each if isinstance(each, Failure) else next(found)


def habits_of(
    documents: Iterable[EncodedText | Failure], judged: Mapping[str, Judged] = MappingProxyType({})
) -> dict[str, Habit]:
    """Infer for each collection (``collection_of``) where its authors put images.

    Args:
        documents: From ``add_places``.
    """
    found: dict[str, list[tuple[str, PlaceEvidence]]] = {}
    for each in documents:
        if isinstance(each, EncodedText) and each.places is not None:
            document, verdicts = each.document, judged.get(each.document.id, {})
            good = sound_images(document)
            sound = only_images(document, good)
            places = judged_evidence(sound, each.places, verdicts, good) if verdicts else each.places
            found.setdefault(collection_of(document), []).append((document.id, places))
    return {name: replace(infer_habit(some), judged=judged) for name, some in found.items()}


def size_of(text: EncodedText | Failure) -> int:
    """Return about how many bytes of memory an encoded text takes."""
    if isinstance(text, Failure):
        return 1000
    document = text.document
    texts = sum(200 + len(sentence.text) for sentence in document.sentences)
    pictures = sum(500 + (len(image.file) if isinstance(image.file, bytes) else 0) for image in document.images)
    return texts + pictures + 4 * text.size + (0 if text.vectors is None else text.vectors.nbytes)


def failure_of(document: Document, error: IconotextError) -> Failure:
    """Return the failure for a document that cannot be linked, with its file or else its id as path."""
    return Failure(Path(document.source or document.id), error)


def _ahead(
    work: Callable[[Sequence[T]], Sequence[R]], documents: Iterable[T | Failure]
) -> Iterator[Sequence[R | Failure]]:
    """Run ``work`` on each window, in a thread, one window ahead of the consumer.

    If a window fails, its documents are tried one by one, and those that fail alone become ``Failure``.
    """

    def done(window: Sequence[T | Failure]) -> Sequence[R | Failure]:
        good = [each for each in window if not isinstance(each, Failure)]
        try:
            found = iter(work(good))
        except IconotextError as error:
            if len(good) > 1:
                return [one for each in window for one in done([each])]
            found = iter([failure_of(_document(each), error) for each in good])  # type: ignore[misc]  # R may be a Failure, which a type variable cannot say
        return [each if isinstance(each, Failure) else next(found) for each in window]

    with closing(in_threads(done, _windows(documents), threads=1, ahead=2)) as windows:
        yield from windows


def _windows(items: Iterable[T | Failure]) -> Iterator[list[T | Failure]]:
    """Group items into windows, in order; each window has at least one item."""
    window: list[T | Failure] = []
    size, held, enough = 0, 0, WINDOW
    for item in items:
        window.append(item)
        size += 1
        if not isinstance(item, Failure):
            document = _document(item)
            size += len(document.sentences) + OF_IMAGE * len(document.images)
            held += sum(len(image.file) for image in document.images if isinstance(image.file, bytes))
        if size >= enough or held >= HELD:
            yield window
            window, size, held, enough = [], 0, 0, min(2 * enough, LARGEST)
    if window:
        yield window


def _document(of: Document | EncodedText) -> Document:
    return of if isinstance(of, Document) else of.document
