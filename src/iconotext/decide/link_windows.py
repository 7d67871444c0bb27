"""Links many documents, one window at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iconotext.decide.choose import choose_links
from iconotext.decide.combine import weigh_gathered
from iconotext.errors import IconotextError
from iconotext.evidence.gather import Gathered, gather_evidence
from iconotext.evidence.habit import Habit, collection_of
from iconotext.evidence.windows import Told, failure_of, see_images
from iconotext.read import Failure

if TYPE_CHECKING:
    from iconotext.decide.combine import Combination
    from iconotext.decide.settings import LinkSettings
    from iconotext.encoders.backbone_encoder import EncodedDocument
    from iconotext.encoders.encoder import Encoder
    from iconotext.encoders.relation_model import RelationModel
    from iconotext.features.ocr import LineReader
    from iconotext.types import Document, LinkedDocument

    Found = tuple[LinkedDocument, EncodedDocument | None]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A document with all that linking needs but the habit of its author.

    Attributes:
        document: With the problems of its images.
        gathered: The evidence, of all kinds that were asked for.
        seen: The encoded document; None if pictures are no evidence, or if it was not kept.
        note: See ``Told.note``.
    """

    document: Document
    gathered: Gathered
    seen: EncodedDocument | None = None
    note: str | None = None


def link_windows(
    documents: Iterable[Told | Failure],
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
    reader = line_reader() if "text" in settings.evidence else None
    for window in see_images(documents, encoder):
        known = _known(window, encoder, settings, reader)
        yield from link_known(known, encoder, settings, habits, relation_model=relation_model)


def know_windows(
    documents: Iterable[Told | Failure],
    encoder: Encoder,
    settings: LinkSettings,
    *,
    line_reader: Callable[[], LineReader],
) -> Iterator[Known | Failure]:
    """Compute all that linking documents needs; arguments as in ``link_windows``."""
    reader = line_reader() if "text" in settings.evidence else None
    for window in see_images(documents, encoder):
        yield from _known(window, encoder, settings, reader)


def link_known(
    known: Sequence[Known | Failure],
    encoder: Encoder,
    settings: LinkSettings,
    habits: Mapping[str, Habit],
    *,
    relation_model: Callable[[], RelationModel],
) -> Iterator[LinkedDocument | Failure]:
    """Link documents with evidence that was computed before; arguments as in ``link_windows``.

    Nothing is encoded again, except for relations and explanations. ``settings.evidence`` may leave out kinds.
    """
    linked = _linked(known, encoder, settings, habits)
    good = [
        (found, each.seen)
        for found, each in zip(linked, known, strict=True)
        if not isinstance(found, Failure) and not isinstance(each, Failure)
    ]
    if settings.relations != "none":
        good = _with_relations(good, encoder, relation_model())
    told = (_explained(*each) if settings.explain else each[0] for each in good)
    yield from (each if isinstance(each, Failure) else next(told) for each in linked)


def _known(
    window: Sequence[tuple[Told, EncodedDocument | None] | Failure],
    encoder: Encoder,
    settings: LinkSettings,
    reader: LineReader | None,
) -> list[Known | Failure]:
    from iconotext.features.ocr import with_lines

    good = [each for each in window if not isinstance(each, Failure)]
    documents = [seen.document if seen else told.document for told, seen in good]
    documents = [with_lines(document, reader) for document in documents] if reader else documents
    try:
        gathered = gather_evidence(
            documents,
            [seen.similarity if seen else None for _, seen in good],
            [told.reading(encoder) for told, _ in good],
            evidence=settings.evidence,
            written=[told.written for told, _ in good],
        )
    except IconotextError as error:
        if len(good) > 1:  # of one of them, and the others do not suffer
            return [one for each in window for one in _known([each], encoder, settings, reader)]
        failed = failure_of(documents[0], error)
        return [each if isinstance(each, Failure) else failed for each in window]
    found = iter(
        Known(document, evidence, seen, told.note(encoder, settings.evidence))
        for document, evidence, (told, seen) in zip(documents, gathered, good, strict=True)
    )
    return [each if isinstance(each, Failure) else next(found) for each in window]


def _linked(
    known: Sequence[Known | Failure], encoder: Encoder, settings: LinkSettings, habits: Mapping[str, Habit]
) -> list[LinkedDocument | Failure]:
    own = Habit(given=settings.habit) if settings.habit is not None else None
    good = [each for each in known if not isinstance(each, Failure)]
    usual = [own or habits.get(collection_of(each.document)) or Habit() for each in good]
    try:
        weighed = weigh_gathered([each.gathered for each in good], evidence=settings.evidence, habits=usual)
        chosen = [_chosen(*each, encoder, settings) for each in zip(good, weighed, usual, strict=True)]
    except IconotextError as error:
        if len(good) > 1:  # of one of them, and the others do not suffer
            return [one for each in known for one in _linked([each], encoder, settings, habits)]
        failed = failure_of(good[0].document, error)
        return [each if isinstance(each, Failure) else failed for each in known]
    found = iter(chosen)
    return [each if isinstance(each, Failure) else next(found) for each in known]


def _chosen(
    known: Known, weighed: Combination, habit: Habit, encoder: Encoder, settings: LinkSettings
) -> LinkedDocument:
    linked = choose_links(
        known.document,
        weighed,
        select=settings.select,
        k=settings.k,
        min_confidence=settings.min_confidence,
        model=encoder.name,
    )
    usual = habit.summary if "layout" in settings.evidence else None
    return replace(linked, notes=(known.note,) if known.note else (), habit=usual)


def _with_relations(found: Sequence[Found], encoder: Encoder, model: RelationModel) -> list[Found]:
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
