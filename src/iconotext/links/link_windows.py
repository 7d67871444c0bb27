"""Links of many documents, found a window at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from iconotext.errors import IconotextError
from iconotext.links.habit import Habit, collection_of
from iconotext.links.link_document import link_document
from iconotext.links.windows import Told, failure_of, see_images
from iconotext.read import Failure

if TYPE_CHECKING:
    from iconotext.embed.backbone_encoder import EncodedDocument
    from iconotext.embed.relation_model import RelationModel
    from iconotext.encoder import Encoder
    from iconotext.features.ocr import LineReader
    from iconotext.links.settings import LinkSettings
    from iconotext.types import LinkedDocument

    Found = tuple[LinkedDocument, EncodedDocument | None]


def link_windows(
    documents: Iterable[Told | Failure],
    encoder: Encoder,
    settings: LinkSettings,
    habits: Mapping[str, Habit],
    *,
    line_reader: Callable[[], LineReader],
    relation_model: Callable[[], RelationModel],
) -> Iterator[LinkedDocument | Failure]:
    """The links of documents whose texts were read; failures pass through, and what fails stops nothing.

    Args:
        documents: Of ``read_texts``.
        encoder: What read them.
        settings: See ``LinkSettings``; promises are made elsewhere.
        habits: By ``collection_of`` a document.
        line_reader: Asked for where the words in images are evidence.
        relation_model: Asked for where relations are wanted.
    """
    reader = line_reader() if "text" in settings.evidence else None
    for window in see_images(documents, encoder):
        found = [
            each if isinstance(each, Failure) else _found(*each, encoder, settings, habits, reader) for each in window
        ]
        good = [each for each in found if not isinstance(each, Failure)]
        if settings.relations != "none":
            good = _with_relations(good, encoder, relation_model())
        told = (_explained(*each) if settings.explain else each[0] for each in good)
        yield from (each if isinstance(each, Failure) else next(told) for each in found)


def _found(
    told: Told,
    seen: EncodedDocument | None,
    encoder: Encoder,
    settings: LinkSettings,
    habits: Mapping[str, Habit],
    reader: LineReader | None,
) -> Found | Failure:
    from iconotext.features.ocr import with_lines

    document = seen.document if seen else told.document
    own = Habit(given=settings.habit) if settings.habit is not None else None
    habit = own or habits.get(collection_of(document)) or Habit()
    try:
        linked = link_document(
            with_lines(document, reader) if reader else document,
            seen.similarity if seen else None,
            told.caption_encode(encoder),
            evidence=[kind for kind in settings.evidence if kind != "picture" or seen],
            select=settings.select,
            k=settings.k,
            min_confidence=settings.min_confidence,
            model=encoder.name,
            sentence_vectors=told.caption_vectors(encoder),
            habit=habit,
            written=told.written,
        )
    except IconotextError as error:
        return failure_of(document, error)
    note = told.note(encoder, settings.evidence)
    usual = habit.summary() if "layout" in settings.evidence else None
    return replace(linked, notes=(note,) if note else (), habit=usual), seen


def _with_relations(found: Sequence[Found], encoder: Encoder, model: RelationModel) -> list[Found]:
    from iconotext.links.link_relations import with_relations

    # A picture has its say if the relation model knows the features that there are of it.
    known = encoder.image_source.name == model.backbones["image"]
    related = with_relations([(linked, seen.pooled if seen and known else {}) for linked, seen in found], model)
    return [(linked, seen) for linked, (_, seen) in zip(related, found, strict=True)]


def _explained(linked: LinkedDocument, seen: EncodedDocument | None) -> LinkedDocument | Failure:
    from iconotext.links.explanation import explained

    try:
        return explained(linked, seen) if seen else linked
    except IconotextError as error:
        return failure_of(linked.document, error)
