"""Documents read and encoded many at a time, a little ahead of the one that is linked.

Of a window of documents all sentences and captions, and then all images, are encoded together, each once, on threads
of their own while the window before is linked. Nothing but speed depends on the windows: what is found of a document
does not depend on the others. Memory is that of a few windows, however many documents there are.
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

from iconotext.errors import IconotextError
from iconotext.features.cached import knowing
from iconotext.features.cores import in_threads
from iconotext.links.caption import Reading, compared_text
from iconotext.links.evidence import (
    Written,
    gather_evidence,
    only_images,
    sound_images,
    what_is_written,
)
from iconotext.links.habit import Habit, Judged, PlaceEvidence, collection_of, infer_habit, judged_evidence
from iconotext.links.language import is_foreign, language_note, no_meaning
from iconotext.links.matcher import PROBE
from iconotext.links.weighing import gathered_places
from iconotext.read import Failure
from iconotext.types import Document, Evidence

if TYPE_CHECKING:
    from iconotext.embed.backbone_encoder import EncodedDocument
    from iconotext.encoder import Encoder
    from iconotext.links.caption import Encode
    from iconotext.types import FloatMatrix

T = TypeVar("T", Document, "Told")
R = TypeVar("R")

WINDOW = 2048
"""Sentences and images in the first window, each image counting as ``OF_IMAGE``; in each next one twice as many."""

LARGEST = 8 * WINDOW
"""In a window at most: the first is small, so that work begins soon; of larger ones less time goes into small steps."""

OF_IMAGE = 16
"""For how many sentences an image counts, in time and in memory."""

HELD = 64 << 20
"""Bytes of pictures in memory that end a window: pictures in the rows of a table, or in a tar."""

KEPT = 1 << 24
"""Numbers of a document's captions that are kept from its habit to its links; of more they are found again."""


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A document, and what its texts tell.

    Attributes:
        vectors: (S, features) of its sentences by the encoder's reader; None where the picture is no evidence, or the
            reader does not know the language.
        encode: Texts to vectors, for captions; None for the encoder's own.
        written: What captions and references say; None where that was not asked yet.
        places: Where its images stand by these; None likewise, and where it has no layout.
    """

    document: Document
    vectors: FloatMatrix | None
    encode: Encode | None = None
    written: Written | None = None
    places: PlaceEvidence | None = None

    def reading(self, encoder: Encoder) -> Reading:
        """How its texts are compared with captions."""
        text = encoder.text_backbone
        if is_foreign(self.document, text.language):
            return Reading(no_meaning)
        return Reading(self.encode or text.encode, self.vectors if encoder.reader is text else None)

    def note(self, encoder: Encoder, evidence: Collection[Evidence]) -> str | None:
        """What a user should know of the document's language."""
        unread = is_foreign(self.document, encoder.text_backbone.language)
        return language_note(
            self.document,
            picture="picture" in evidence and self.vectors is None,
            caption="caption" in evidence and unread,
        )


def read_texts(
    documents: Iterable[Document | Failure], encoder: Encoder, evidence: Collection[Evidence]
) -> Iterator[Told | Failure]:
    """The documents with their texts encoded; failures pass through."""
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
    """Windows of documents as the encoder sees them; None for those whose pictures are no evidence."""
    return _ahead(partial(_images_of_window, encoder), documents)


def _images_of_window(encoder: Encoder, window: Sequence[Told]) -> list[tuple[Told, EncodedDocument | None]]:
    read = [(each.document, each.vectors) for each in window if each.vectors is not None]
    found = iter(encoder.read_all(read) if read else ())
    return [(each, None if each.vectors is None else next(found)) for each in window]


def taught(
    documents: Iterable[Told | Failure], encoder: Encoder, evidence: Collection[Evidence]
) -> Iterator[Told | Failure]:
    """The documents with what captions and references say, which teaches habits; ready to be put aside."""
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
    """Where the authors of each collection put images; by ``collection_of`` a document.

    Args:
        documents: Of ``taught``.
        judged: By the id of a document what people said of its images.
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
    """About how many bytes of memory it takes."""
    if isinstance(told, Failure):
        return 1000
    document, said = told.document, told.written
    texts = sum(200 + len(sentence.text) for sentence in document.sentences)
    pictures = sum(500 + (len(image.file) if isinstance(image.file, bytes) else 0) for image in document.images)
    return texts + pictures + (4 * said.size if said else 0) + (0 if told.vectors is None else told.vectors.nbytes)


def failure_of(document: Document, error: IconotextError) -> Failure:
    """What became of a document that cannot be linked."""
    return Failure(Path(document.source or document.id), error)


def _ahead(
    work: Callable[[Sequence[T]], Sequence[R]], documents: Iterable[T | Failure]
) -> Iterator[Sequence[R | Failure]]:
    """What becomes of each window; of one while what came of the window before is used.

    Where a window fails, each of its documents is tried alone.
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
    """Items in order, some together, until they are large enough; one at least."""
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
