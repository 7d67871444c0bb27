"""Encodes documents in windows: groups of consecutive documents, one window ahead of the one that is being linked.

First the sentences and captions of a window are encoded in one batch, then its images, in a background thread. Windows
change only the speed: the result for a document does not depend on the other documents in its window. Memory holds a
few windows, however many documents there are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from iconotext.decide.combine import gathered_places
from iconotext.errors import IconotextError
from iconotext.evidence.caption import PROBE, Reading, compared_text
from iconotext.evidence.gather import Written, gather_evidence, only_images, sound_images, what_is_written
from iconotext.evidence.habit import Habit, Judged, PlaceEvidence, collection_of, infer_habit, judged_evidence
from iconotext.evidence.language import is_foreign, language_note, no_meaning
from iconotext.features.cached import knowing
from iconotext.read import Failure
from iconotext.system.threads import in_threads
from iconotext.types import Document, Evidence

if TYPE_CHECKING:
    from iconotext.encoders.backbone_encoder import EncodedDocument
    from iconotext.encoders.encoder import Encoder
    from iconotext.evidence.caption import Encode
    from iconotext.types import FloatMatrix

T = TypeVar("T", Document, "Told")
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
"""Largest ``Written.size`` that ``taught`` keeps of a document; what is larger is computed again when it is linked."""


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A document with its encoded texts.

    Attributes:
        vectors: (S, features) vectors of its S sentences from ``encoder.reader``; None if pictures are no evidence or
            the reader does not know the document's language.
        encode: Turns captions into vectors; None for ``encoder.text_backbone.encode``.
        written: Caption and reference evidence; None if not computed yet, or too large to keep (``KEPT``).
        places: Where this evidence puts its images; None if not computed yet or without layout.
    """

    document: Document
    vectors: FloatMatrix | None
    encode: Encode | None = None
    written: Written | None = None
    places: PlaceEvidence | None = None

    def reading(self, encoder: Encoder) -> Reading:
        """The ``Reading`` that compares the document's sentences with captions."""
        text = encoder.text_backbone
        if is_foreign(self.document, text.language):
            return Reading(no_meaning)
        return Reading(self.encode or text.encode, self.vectors if encoder.reader is text else None)

    def note(self, encoder: Encoder, evidence: Collection[Evidence]) -> str | None:
        """What to tell the user if the model does not know the document's language; None if it does."""
        unread = is_foreign(self.document, encoder.text_backbone.language)
        return language_note(
            self.document,
            picture="picture" in evidence and self.vectors is None,
            caption="caption" in evidence and unread,
        )


def read_texts(
    documents: Iterable[Document | Failure], encoder: Encoder, evidence: Collection[Evidence]
) -> Iterator[Told | Failure]:
    """Encode the texts of documents, a window ahead; failures pass through."""
    return chain.from_iterable(_ahead(partial(_texts_of_window, encoder, evidence), documents))


def _texts_of_window(encoder: Encoder, evidence: Collection[Evidence], window: Sequence[Document]) -> list[Told]:
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
        Told(each, reader.encode(some) if is_read else None, known.encode)
        for each, some, is_read in zip(window, sentences, read, strict=True)
    ]


def see_images(
    documents: Iterable[Told | Failure], encoder: Encoder
) -> Iterator[Sequence[tuple[Told, EncodedDocument | None] | Failure]]:
    """Encode the images of documents, a window ahead; None in place of an encoding where pictures are no evidence."""
    return _ahead(partial(_images_of_window, encoder), documents)


def _images_of_window(encoder: Encoder, window: Sequence[Told]) -> list[tuple[Told, EncodedDocument | None]]:
    read = [(each.document, each.vectors) for each in window if each.vectors is not None]
    found = iter(encoder.read_all(read) if read else ())
    return [(each, None if each.vectors is None else next(found)) for each in window]


def taught(
    documents: Iterable[Told | Failure], encoder: Encoder, evidence: Collection[Evidence]
) -> Iterator[Told | Failure]:
    """Add caption and reference evidence, from which habits are inferred; drop ``encode``, which cannot be pickled."""
    teachers = [kind for kind in evidence if kind in ("caption", "reference")]
    for window in _windows(documents):
        good = [told for told in window if isinstance(told, Told)]
        readings = [told.reading(encoder) for told in good]
        some = [told.document for told in good]
        written = what_is_written(some, readings, evidence=evidence)
        gathered = gather_evidence(some, [None] * len(some), readings, evidence=teachers, written=written)
        places = gathered_places(gathered, evidence=teachers) if teachers else [None] * len(some)
        known = iter(zip(written, places, strict=True))
        for told in window:
            if isinstance(told, Failure):
                yield told
                continue
            said, found = next(known)
            yield replace(told, encode=None, written=said if said.size <= KEPT else None, places=found)


def habits_of(
    documents: Iterable[Told | Failure], judged: Mapping[str, Judged] = MappingProxyType({})
) -> dict[str, Habit]:
    """Infer for each collection (``collection_of``) where its authors put images.

    Args:
        documents: From ``taught``.
        judged: Document id to what people said about its images.
    """
    found: dict[str, list[tuple[str, PlaceEvidence]]] = {}
    for told in documents:
        if isinstance(told, Told) and told.places is not None:
            document, said = told.document, judged.get(told.document.id, {})
            good = sound_images(document)
            places = judged_evidence(only_images(document, good), told.places, said, good) if said else told.places
            found.setdefault(collection_of(document), []).append((document.id, places))
    return {name: replace(infer_habit(some), judged=judged) for name, some in found.items()}


def size_of(told: Told | Failure) -> int:
    """About how many bytes of memory ``told`` takes."""
    if isinstance(told, Failure):
        return 1000
    document, said = told.document, told.written
    texts = sum(200 + len(sentence.text) for sentence in document.sentences)
    pictures = sum(500 + (len(image.file) if isinstance(image.file, bytes) else 0) for image in document.images)
    return texts + pictures + (4 * said.size if said else 0) + (0 if told.vectors is None else told.vectors.nbytes)


def failure_of(document: Document, error: IconotextError) -> Failure:
    """The failure for a document that cannot be linked, with its file or else its id as path."""
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


def _document(of: Document | Told) -> Document:
    return of if isinstance(of, Document) else of.document
