"""LlamaIndex: a node parser that returns text nodes with their image nodes; ``iconotext[llama-index]``."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import Field

from iconotext.adapters import stable_id
from iconotext.errors import DocumentError
from iconotext.excerpts import CHUNK_WORDS, CONTEXT_WORDS, Chunk, ChunkImage
from iconotext.extras import require
from iconotext.linker import Linker
from iconotext.types import LinkedDocument

try:
    from llama_index.core.node_parser import NodeParser
    from llama_index.core.schema import BaseNode, ImageNode, NodeRelationship, TextNode
except ModuleNotFoundError:
    require("llama-index", purpose="iconotext.adapters.llama_index")
    raise

HIDDEN = ["document", "chunk", "image", "source", "words", "start", "end", "confidence", "by", "problem", "also_in"]
"""Metadata that is hidden from embeddings and language models."""


def nodes(linked: LinkedDocument, words: int = CHUNK_WORDS, context_words: int = CONTEXT_WORDS) -> list[BaseNode]:
    """The chunks of a linked document as text nodes, in order, then its images as image nodes.

    A text node has its images as ``CHILD``, an image node its chunk with the highest confidence as ``PARENT``; if an
    image belongs to two chunks, its metadata has the id of the other one (``also_in``). The text of an image node is
    its caption, else its alternative text, and its context.
    """
    cut = linked.chunks(words)
    texts = [_text_node(linked, chunk) for chunk in cut]
    images: dict[int, ImageNode] = {}
    homes: dict[int, list[tuple[float, TextNode, ChunkImage]]] = {}
    for chunk, text in zip(cut, texts, strict=True):
        for each in chunk.images:
            homes.setdefault(each.image, []).append((each.confidence or 0.0, text, each))
    for number, chunks in sorted(homes.items()):
        _, parent, home = max(chunks, key=lambda each: each[0])
        others = [text.node_id for _, text, _ in chunks if text is not parent]
        image = images[number] = _image_node(linked, home, context_words, others)
        image.relationships[NodeRelationship.PARENT] = parent.as_related_node_info()
    for chunk, text in zip(cut, texts, strict=True):
        if chunk.images:
            children = [images[each.image].as_related_node_info() for each in chunk.images]
            text.relationships[NodeRelationship.CHILD] = children
    for before, after in pairwise(texts):
        before.relationships[NodeRelationship.NEXT] = after.as_related_node_info()
        after.relationships[NodeRelationship.PREVIOUS] = before.as_related_node_info()
    return [*texts, *images.values()]


def _text_node(linked: LinkedDocument, chunk: Chunk) -> TextNode:
    metadata = {
        "title": linked.document.title,
        "headings": " › ".join(chunk.headings),
        "document": chunk.document,
        "chunk": chunk.chunk,
        "words": chunk.words,
        "start": chunk.start,
        "end": chunk.end,
    }
    return TextNode(
        id_=stable_id(linked.document, f"chunk-{chunk.chunk}"),
        text=chunk.text,
        metadata=metadata,
        start_char_idx=chunk.source_start,
        end_char_idx=chunk.source_end,
        excluded_embed_metadata_keys=HIDDEN,
        excluded_llm_metadata_keys=HIDDEN,
    )


def _image_node(linked: LinkedDocument, home: ChunkImage, words: int, also_in: list[str]) -> ImageNode:
    context = linked.context(home.image, words)
    file = linked.document.images[home.image].file
    metadata = {
        "headings": " › ".join(context.headings),
        "document": context.document,
        "image": context.image,
        "source": context.source,
        "confidence": home.confidence,
        "by": home.by,
        "problem": context.problem,
        "also_in": also_in[0] if also_in else None,
    }
    return ImageNode(
        id_=stable_id(linked.document, f"image-{home.image}"),
        text="\n".join(filter(None, (context.caption or context.alt, context.text))),
        image_path=context.file,
        image=b64encode(file).decode() if isinstance(file, bytes) else None,
        metadata=metadata,
        excluded_embed_metadata_keys=HIDDEN,
        excluded_llm_metadata_keys=HIDDEN,
    )


class PictureNodeParser(NodeParser):
    """Divides the files of loaded documents into text nodes, with image nodes for their pictures.

    Readers of LlamaIndex keep only the text of a file, without pictures: so each document must have its ``file_path``
    in the metadata, as from ``SimpleDirectoryReader``. A file that was loaded as several documents, such as the pages
    of a PDF, is read once. Ids are made by ``stable_id``, not by ``id_func``.
    """

    words: int = Field(default=CHUNK_WORDS, description="Most words of a chunk.", ge=1)
    context_words: int = Field(default=CONTEXT_WORDS, description="Most words of an image's sentences.", ge=1)
    model: str = Field(default="default", description="Name or folder of a model of iconotext.")
    include_prev_next_rel: bool = Field(default=False, description="Always there between text nodes; never images.")

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex stores it."""
        return "PictureNodeParser"

    @cached_property
    def linker(self) -> Linker:
        """The linker, loaded when first used."""
        return Linker.load(self.model)

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        return [made for first in _one_a_file(nodes) for made in self._nodes_of(first)]

    def _nodes_of(self, given: BaseNode) -> Iterator[BaseNode]:
        for node in nodes(self.linker.link(_file(given)), self.words, self.context_words):
            node.relationships[NodeRelationship.SOURCE] = given.as_related_node_info()
            yield node


def _one_a_file(given: Sequence[BaseNode]) -> list[BaseNode]:
    return list({_file(node): node for node in reversed(given)}.values())[::-1]


def _file(given: BaseNode) -> Path:
    """The file of a loaded document; ``DocumentError`` if it is not given."""
    path = given.metadata.get("file_path")
    if not path:
        raise DocumentError(f"document {given.node_id}: its metadata has no file_path, so its pictures are nowhere")
    return Path(path)
