"""What can be promised of documents that are linked together: all of them walked, numbers alone kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from iconotext.errors import SettingError
from iconotext.links.calibration import Calibration, kind_of
from iconotext.links.decoys import DecoyPool
from iconotext.links.promise import Candidate, Promises, make_promises
from iconotext.types import Document, Evidence, LinkedDocument

if TYPE_CHECKING:
    from iconotext.links.settings import LinkSettings
    from iconotext.read import Failure

LinkAll = Callable[[Iterable["Document | Failure"], tuple[Evidence, ...]], Iterator["LinkedDocument | Failure"]]
"""Documents and kinds of evidence to the documents with the best sentence of each image."""


def collection_promises(
    documents: Iterable[Document | Failure], link_all: LinkAll, settings: LinkSettings, calibration: Calibration
) -> Promises:
    """What can be promised of documents that are linked together.

    Args:
        documents: Walked several times.
        settings: With ``max_false``.
        calibration: What the promises about sentences are made from.

    Raises:
        SettingError: Two documents have the same id, or ``max_false`` is not set.
    """
    if settings.max_false is None:
        raise SettingError("max_false is not set: say which share of the links may be wrong")
    pool = DecoyPool()
    ids: set[str] = set()
    for document in documents:
        if isinstance(document, Document):
            if document.id in ids:
                raise SettingError(f"two documents have the id {document.id!r}: promises need ids that differ")
            ids.add(document.id)
            pool.add(document)
    tested = list(candidates(documents, pool, link_all, settings.evidence))
    return make_promises(tested, calibration, settings.max_false, settings.promise)


def candidates(
    documents: Iterable[Document | Failure], pool: DecoyPool, link_all: LinkAll, evidence: tuple[Evidence, ...]
) -> Iterator[Candidate]:
    """What is tested of documents whose ids differ, image by image.

    Args:
        documents: Walked twice; what cannot be linked is passed over.
        pool: What decoys are drawn from.
    """
    rivals = _rivals(documents, pool, link_all, evidence)
    for linked in link_all(documents, evidence):
        if isinstance(linked, LinkedDocument):
            for link in linked.links:
                yield Candidate(
                    linked.document.id,
                    link.image,
                    kind_of(linked.document, link.image, evidence),
                    link.confidence,
                    link.paragraph,
                    *rivals.get((linked.document.id, link.image), ()),
                )


def _rivals(
    documents: Iterable[Document | Failure], pool: DecoyPool, link_all: LinkAll, evidence: tuple[Evidence, ...]
) -> dict[tuple[str, int], tuple[float, float, str | None]]:
    """Id of the document and number of each image that has a decoy, to the best score of both and their collection."""
    content = tuple(kind for kind in evidence if kind not in ("layout", "reference"))
    found: dict[tuple[str, int], tuple[float, float, str | None]] = {}
    pairs: dict[str, dict[int, tuple[int, str | None]]] = {}

    def joined() -> Iterator[Document]:
        for document in documents:
            if isinstance(document, Document):
                both, pairs[document.id] = pool.with_decoys(document)
                yield both

    for linked in link_all(joined(), content) if content else ():
        if isinstance(linked, LinkedDocument):
            best = {link.image: link.score for link in linked.links}
            for own, (decoy, collection) in pairs.pop(linked.document.id).items():
                if own in best and decoy in best:
                    found[linked.document.id, own] = best[own], best[decoy], collection
    return found
