"""Adapters to other programs: docling, Haystack, LangChain and LlamaIndex; each needs its extra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Unpack
from uuid import NAMESPACE_URL, uuid5

from iconotext.excerpts import ChunkOptions
from iconotext.linked import LinkedDocument
from iconotext.report.as_excerpts import row
from iconotext.types import Document


def stable_id(document: Document, part: str) -> str:
    """A UUID, which every vector store accepts, for a part of a document, such as ``chunk-0``.

    It depends on the document's origin, so that a document that is read again replaces its earlier version.
    """
    return str(uuid5(NAMESPACE_URL, f"{document.place or ''}#{document.id}#{part}"))


def described_chunks(
    linked: LinkedDocument, origin: str, words: int | None, **options: Unpack[ChunkOptions]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield id, text and metadata of each chunk of a linked document.

    The metadata are the other fields of the slim chunk, the document's ``title`` and ``language``, and its origin under
    the name that a program has for it.
    """
    document = linked.document
    about = {origin: document.place or document.id, "title": document.title, "language": document.language}
    for chunk in linked.chunks(words, **options):
        fields = row(chunk.slim())
        text = fields.pop("text")
        yield stable_id(document, f"chunk-{chunk.chunk}"), text, about | fields
