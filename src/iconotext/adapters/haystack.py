"""Haystack: components for chunks with their pictures, and for pictures in answers; ``iconotext[haystack]``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from iconotext.adapters import described_chunks
from iconotext.errors import DocumentError
from iconotext.excerpts import SHIPPED_TOKENIZER, ChunkOptions, SlimChunk
from iconotext.extras import require
from iconotext.linked import LinkedDocument
from iconotext.linker import Linker
from iconotext.place.output import placed
from iconotext.place.pictures import of_row
from iconotext.place.settings import MIN_CONFIDENCE, PlaceSettings
from iconotext.read import Failure, ReadSettings, read_all

try:
    from haystack import Document, component
except ModuleNotFoundError:
    require("haystack", purpose="iconotext.adapters.haystack")
    raise

logger = logging.getLogger(__name__)


def documents(linked: LinkedDocument, words: int | None = None, **options: Unpack[ChunkOptions]) -> Iterator[Document]:
    """The chunks of a linked document, cut as ``LinkedDocument.chunks`` does.

    ``meta`` has the other fields of a slim chunk, ``file_path`` (the document's origin), its ``title`` and
    ``language``; ``images`` is a list of objects.
    """
    for name, text, meta in described_chunks(linked, "file_path", words, **options):
        yield Document(id=name, content=text, meta=meta)


_documents = documents  # under a name that no argument of ``run`` hides


@component
class PictureConverter:
    """Makes a document for each chunk, with its pictures in ``meta["images"]``, from files or loaded documents.

    Other converters keep only the text of a file, without pictures: so a loaded document must have its ``file_path`` in
    ``meta``. Its other ``meta`` are copied. Each file is read once. Chunks are cut as ``LinkedDocument.chunks`` does.
    """

    def __init__(
        self,
        words: int | None = None,
        model: str = "default",
        tokens: int | None = None,
        tokenizer: str = SHIPPED_TOKENIZER,
        once: bool = False,
    ) -> None:
        self.words, self.model = words, model  # Haystack saves attributes with the names of the parameters
        self.tokens, self.tokenizer, self.once = tokens, tokenizer, once

    @cached_property
    def _linker(self) -> Linker:
        return Linker.load(self.model)

    def warm_up(self) -> None:
        """Load the model."""
        _ = self._linker

    @component.output_types(documents=list[Document], failures=list[str])
    def run(self, sources: list[str | Path] | None = None, documents: list[Document] | None = None) -> dict[str, Any]:
        """Read, link and divide into chunks.

        Args:
            documents: Documents that were loaded from such files.

        Returns:
            ``documents``: the chunks. ``failures``: why files could not be read or linked, a line each, also logged as
            warnings.

        Raises:
            DocumentError: A document does not say from which file it was loaded.
        """
        meta_of: dict[Path, dict[str, Any]] = {Path(source): {} for source in sources or ()}
        for document in documents or ():
            path = document.meta.get("file_path")
            if not path:
                raise DocumentError(f"document {document.id}: its meta has no file_path, so its pictures are nowhere")
            meta_of.setdefault(Path(path), document.meta)
        chunks: list[Document] = []
        failures: list[str] = []
        for linked in self._linker.link_all(read_all(meta_of)):
            if isinstance(linked, Failure):
                failures.append(str(linked.error))
                logger.warning("left out: %s", linked.error)
                continue
            source = linked.document.source
            more = meta_of.get(source, {}) if source is not None else {}
            options = ChunkOptions(tokens=self.tokens, tokenizer=self.tokenizer, once=self.once)
            for document in _documents(linked, self.words, **options):
                chunks.append(replace(document, meta={**more, **document.meta}))
        return {"documents": chunks, "failures": failures}


@component
class PicturePlacer:
    """Places the pictures of retrieved chunks in the answers of a generator, each at its sentence or nowhere.

    The chunks are those of ``PictureConverter``.
    """

    def __init__(self, min_confidence: float = MIN_CONFIDENCE, most: int | None = None, model: str = "default") -> None:
        self.min_confidence, self.most, self.model = min_confidence, most, model
        self._settings = PlaceSettings(min_confidence=min_confidence, most=most)

    @cached_property
    def _linker(self) -> Linker:
        return Linker.load(self.model)

    def warm_up(self) -> None:
        """Load the model."""
        _ = self._linker

    @component.output_types(replies=list[str], placed=list[dict[str, Any]])
    def run(self, replies: list[str], documents: list[Document]) -> dict[str, Any]:
        """Place the pictures of the documents in each reply.

        Returns:
            ``replies``: the same texts as Markdown with pictures. ``placed``: for each the places and the reasons, as
            ``iconotext place --json`` prints them.

        Raises:
            DocumentError: A document is no chunk of ``PictureConverter``.
        """
        chunks = [_chunk(document) for document in documents]
        results = [placed(self._linker.place(reply, chunks, self._settings)).model_dump() for reply in replies]
        return {"replies": [result["markdown"] for result in results], "placed": results}


def _chunk(document: Document) -> SlimChunk:
    row = {f.name: document.meta.get(f.name) for f in fields(SlimChunk)} | {"text": document.content or ""}
    try:
        # PictureConverter wrote the names of files, not a stranger, so they may lie anywhere.
        chunk = of_row(row, Path(), ReadSettings(allow_outside=True))
    except ValueError as error:
        raise DocumentError(f"document {document.id}: no chunk of PictureConverter: {error}") from error
    assert isinstance(chunk, SlimChunk)  # the row has the field chunk
    return chunk
