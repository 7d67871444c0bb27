"""What users get of a linked document: its contexts, its chunks, and its view in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from iconotext import types
from iconotext.excerpts import CONTEXT_WORDS

if TYPE_CHECKING:
    from iconotext.excerpts import Chunk, ChunkOptions
    from iconotext.report.context import Context


class LinkedDocument(types.LinkedDocument):
    """A document with the links found in it.

    Its attributes are those of ``types.LinkedDocument``.
    """

    __slots__ = ()

    @classmethod
    def of(cls, found: types.LinkedDocument, *, notes: tuple[str, ...], habit: str | None) -> LinkedDocument:
        """Make one of the links that were chosen."""
        return cls(found.document, found.links, found.similarity, found.model, notes, habit)

    def _repr_html_(self) -> str:
        from iconotext.report.reading_page import notebook_frame

        return notebook_frame(self)

    def context(self, image: int | types.Image, words: int = CONTEXT_WORDS) -> Context:
        """Make the context of one image: the sentences about it, of at most ``words`` words; see ``report.context``."""
        from iconotext.report.context import context

        return context(self, image, words)

    def chunks(self, words: int | None = None, **options: Unpack[ChunkOptions]) -> list[Chunk]:
        """Divide the document into chunks with their images, of at most so many words (300) or tokens.

        Args:
            options: ``tokens`` instead of words, and the ``tokenizer`` that counts them; ``once``, each image in its
                best chunk only. See ``report.chunks``.
        """
        from iconotext.report.chunks import chunks

        return chunks(self, words, **options)
