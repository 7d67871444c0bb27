"""The settings of chunks: their limit, where pictures go, and what the rows hold."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from iconotext.excerpts import SHIPPED_TOKENIZER, Chunk, SlimChunk
from iconotext.report.chunks import chunk_ruler, chunks
from iconotext.types import LinkedDocument


class ChunkSettings(BaseModel):
    """How documents are cut into chunks; the command ``chunks`` has an option for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    words: int | None = Field(None, ge=1)
    """Most words of a chunk (default: 300). With a limit in tokens, any number."""

    tokens: int | None = Field(None, ge=1)
    """Most tokens of a chunk, instead of words. With those that the tokenizer puts before and after a text."""

    tokenizer: str = SHIPPED_TOKENIZER
    """Tokeniser that counts. minilm, which ships; a file tokenizer.json or a folder with one; or a model of the Hugging
    Face hub whose files are on this machine."""

    once: bool = False
    """Put each picture into its best chunk only."""

    full: bool = False
    """Give all fields. Also the texts of linked sentences, scores, and the numbers of sentences and words."""

    def check(self) -> None:
        """Check the limit before documents are linked; raises as ``chunks``."""
        chunk_ruler(self.words, self.tokens, self.tokenizer)

    def of(self, linked: LinkedDocument) -> list[Chunk] | list[SlimChunk]:
        """Return the chunks of a document: with all fields, or slim."""
        found = chunks(linked, self.words, tokens=self.tokens, tokenizer=self.tokenizer, once=self.once)
        return found if self.full else [chunk.slim() for chunk in found]

    @property
    def kind(self) -> type[Chunk] | type[SlimChunk]:
        """The class of the chunks."""
        return Chunk if self.full else SlimChunk
