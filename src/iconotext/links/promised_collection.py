"""Makes the promises for documents that are linked together; only numbers about each image are kept in memory."""

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
"""Links documents by some kinds of evidence, each image to its best sentence."""


def collection_promises(
    documents: Iterable[Document | Failure], link_all: LinkAll, settings: LinkSettings, calibration: Calibration
) -> Promises:
    """Make the promises for documents that are linked together.

    Args:
        documents: Iterated several times.
        settings: With ``max_false``.
        calibration: For the claims ``paragraph`` and ``sentence``.

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
    """Yield what is tested for each image.

    Args:
        documents: Iterated twice, with unique ids; those that cannot be linked are skipped.
        pool: From which decoys are drawn.
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
    """(document id, image number) to (score, score of the decoy, their collection), for images that have a decoy."""
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
