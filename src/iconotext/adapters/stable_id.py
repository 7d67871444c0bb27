"""Names for chunks and images that stay the same from run to run."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from iconotext.types import Document


def stable_id(document: Document, part: str) -> str:
    """A UUID, which every vector store takes, of a part of a document, such as ``chunk-0``.

    It is made of where the document comes from, so that a document that is read again replaces what it was.
    """
    return str(uuid5(NAMESPACE_URL, f"{document.place or ''}#{document.id}#{part}"))
