"""Adapters to other programs: docling, Haystack, LangChain and LlamaIndex; each needs its extra."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

from iconotext.types import Document


def stable_id(document: Document, part: str) -> str:
    """A UUID, which every vector store accepts, for a part of a document, such as ``chunk-0``.

    It depends on the document's origin, so that a document that is read again replaces its earlier version.
    """
    return str(uuid5(NAMESPACE_URL, f"{document.place or ''}#{document.id}#{part}"))
