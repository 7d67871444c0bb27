"""docling: a chunker whose chunks keep their pictures; docling brings what it needs, or ``docling-core[chunking]``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from iconotext.adapters.docling import document
from iconotext.errors import MissingPackageError
from iconotext.excerpts import SHIPPED_TOKENIZER, Chunk
from iconotext.linker import Linker
from iconotext.report.chunks import chunk_ruler, chunks
from iconotext.report.length import cut_text

try:
    from docling_core.transforms.chunker import BaseChunker, DocChunk, DocMeta
except ModuleNotFoundError as error:
    raise MissingPackageError(
        f"iconotext.adapters.docling_chunks needs {error.name}, which is not installed: pip install "
        '"docling-core[chunking]"'
    ) from error
from docling_core.types.doc import DocItem, DoclingDocument, PictureItem, RefItem


class PictureMeta(DocMeta):
    """The metadata of a chunk by docling, and its pictures.

    Attributes:
        pictures: For each picture ``ref`` (of the item in the document), ``caption``, ``paragraph_confidence`` (that it
            belongs to a paragraph of the chunk; None if it only stands there) and ``sentences``, those of the chunk
            that it belongs to.
    """

    pictures: list[dict[str, Any]] = Field(default_factory=list)
    excluded_embed: ClassVar[list[str]] = [*DocMeta.excluded_embed, "pictures"]
    excluded_llm: ClassVar[list[str]] = [*DocMeta.excluded_llm, "pictures"]


class PictureChunk(DocChunk):
    """A chunk of docling with the pictures that belong to it."""

    meta: PictureMeta


class PictureChunker(BaseChunker):
    """Divides a document of docling into chunks, each picture in the chunk of its sentences, as ``report.chunks`` does.

    Attributes:
        words: Maximum length of a chunk in words; 300, if ``tokens`` is not given.
        tokens: Maximum length in tokens, instead of words.
        tokenizer: Name of the tokeniser; see ``features.tokenizer_files``.
        once: Whether a picture is in its best chunk only.
        folder: Folder to which paths of pictures are relative, if they are not inside the document.
    """

    words: int | None = None
    tokens: int | None = None
    tokenizer: str = SHIPPED_TOKENIZER
    once: bool = False
    folder: Path = Path()

    @cached_property
    def _linker(self) -> Linker:
        return Linker.load()

    def chunk(self, dl_doc: DoclingDocument, **kwargs: Any) -> Iterator[PictureChunk]:
        """Yield the chunks; those without any text have the captions of their pictures as text, as far as they fit.

        Raises:
            DocumentError: The references of the document lead nowhere.
        """
        linked = self._linker.link(document(dl_doc, self.folder / f"{dl_doc.name}.json"))
        refs = linked.document.meta["docling"]
        ruler = chunk_ruler(self.words, self.tokens, self.tokenizer)
        for chunk in chunks(linked, self.words, tokens=self.tokens, tokenizer=self.tokenizer, once=self.once):
            names = [name for of in refs["sentences"][chunk.first : chunk.last + 1] for name in of]
            names += [refs["pictures"][image.image][0] for image in chunk.images]
            items = [RefItem(cref=name).resolve(dl_doc) for name in dict.fromkeys(names)]
            yield PictureChunk(
                text=chunk.text or cut_text("\n".join(image.caption or "" for image in chunk.images).strip(), ruler),
                meta=PictureMeta(
                    doc_items=[item for item in items if isinstance(item, DocItem)],
                    headings=list(chunk.headings) or None,
                    origin=dl_doc.origin,
                    pictures=list(_pictures(chunk, refs["pictures"])),
                ),
            )


def pictures_of(chunk: DocChunk) -> list[PictureItem]:
    """Return the pictures of a chunk of docling, in the order of the document."""
    return [item for item in chunk.meta.doc_items if isinstance(item, PictureItem)]


def _pictures(chunk: Chunk, refs: list[list[str]]) -> Iterator[dict[str, Any]]:
    for image in chunk.images:
        yield {
            "ref": refs[image.image][0],
            "caption": image.caption,
            "paragraph_confidence": image.paragraph_confidence,
            "sentences": [quote.text for quote in image.sentences],
        }
