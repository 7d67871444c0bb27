"""LlamaIndex: a node parser for texts with their images, and pictures in answers; ``iconotext[llama-index]``."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

from pydantic import Field

from iconotext.adapters import stable_id
from iconotext.errors import DocumentError
from iconotext.excerpts import CONTEXT_WORDS, SHIPPED_TOKENIZER, Chunk, ChunkImage, ChunkOptions
from iconotext.extras import require
from iconotext.linked import LinkedDocument
from iconotext.linker import Linker
from iconotext.place.settings import PlaceSettings
from iconotext.plain_text import json_text
from iconotext.system.strict_json import parse_json
from iconotext.types import Image, LinkedSentence

try:
    from llama_index.core.base.response.schema import Response
    from llama_index.core.node_parser import NodeParser
    from llama_index.core.schema import BaseNode, ImageNode, NodeRelationship, TextNode
    from llama_index.core.storage.docstore.types import BaseDocumentStore
except ModuleNotFoundError:
    require("llama-index", purpose="iconotext.adapters.llama_index")
    raise

HIDDEN = [
    *"document chunk image source words tokens cut start end paragraph_confidence by".split(),
    *"problem also_in caption alt linked".split(),
]
"""Metadata that is hidden from embeddings and language models."""


def nodes(
    linked: LinkedDocument,
    words: int | None = None,
    context_words: int = CONTEXT_WORDS,
    **options: Unpack[ChunkOptions],
) -> list[BaseNode]:
    """The chunks of a linked document as text nodes, in order, then its images as image nodes.

    The chunks are cut as ``LinkedDocument.chunks`` does; a context is limited by ``context_words`` alone.

    A text node has its images as ``CHILD``, an image node its surest chunk as ``PARENT``; if an
    image belongs to two chunks, its metadata has the id of the other one (``also_in``). The text of an image node is
    its caption, else its alternative text, and its context.
    """
    cut = linked.chunks(words, **options)
    texts = [_text_node(linked, chunk) for chunk in cut]
    images: dict[int, ImageNode] = {}
    homes: dict[int, list[tuple[float, TextNode, ChunkImage]]] = {}
    for chunk, text in zip(cut, texts, strict=True):
        for entry in chunk.images:
            homes.setdefault(entry.image, []).append((entry.paragraph_confidence or 0.0, text, entry))
    for number, chunks in sorted(homes.items()):
        _, parent, home = max(chunks, key=lambda chunk: chunk[0])
        other_ids = [text.node_id for _, text, _ in chunks if text is not parent]
        image = images[number] = _image_node(linked, home, context_words, other_ids)
        image.relationships[NodeRelationship.PARENT] = parent.as_related_node_info()
    for chunk, text in zip(cut, texts, strict=True):
        if chunk.images:
            children = [images[image.image].as_related_node_info() for image in chunk.images]
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
        "tokens": chunk.tokens,
        "cut": chunk.cut,
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
        "paragraph_confidence": home.paragraph_confidence,
        "by": home.by,
        "problem": context.problem,
        "also_in": also_in[0] if also_in else None,
        "caption": context.caption,
        "alt": context.alt,
        "linked": json_text([[s.text, s.confidence] for s in context.sentences if s.confidence is not None]),
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


def place(
    response: Response, linker: Linker, docstore: BaseDocumentStore | None = None, settings: PlaceSettings | None = None
) -> LinkedDocument:
    """Place the pictures of the retrieved nodes in the answer of a query engine, each at its sentence or nowhere.

    Args:
        response: With its ``source_nodes``, made by ``nodes`` or ``PictureNodeParser``.
        docstore: Has the image nodes of retrieved text nodes; without it only retrieved image nodes count.

    Returns:
        As ``Linker.place``; ``iconotext.place.output.markdown`` writes it.

    Raises:
        DocumentError: An image node is not one of ``nodes``.
    """
    by_id: dict[str, BaseNode] = {}
    for scored in response.source_nodes:
        by_id[scored.node.node_id] = scored.node
        for child in scored.node.child_nodes or ():
            node = docstore.get_document(child.node_id, raise_error=False) if docstore is not None else None
            if node is not None:
                by_id[node.node_id] = node
    images = [_image(node) for node in by_id.values() if isinstance(node, ImageNode)]
    return linker.place(response.response or "", images, settings)


def _image(node: ImageNode) -> Image:
    metadata = node.metadata
    file = Path(node.image_path) if node.image_path else b64decode(node.image) if node.image else None
    try:
        return Image(
            source=metadata["source"],
            file=file,
            alt=metadata["alt"],
            caption=metadata["caption"],
            problem=metadata["problem"],
            context=tuple(LinkedSentence(text, confidence) for text, confidence in parse_json(metadata["linked"])),
        )
    except KeyError as error:
        message = f"node {node.node_id}: no image node of PictureNodeParser: its metadata has no {error}"
        raise DocumentError(message) from error


class PictureNodeParser(NodeParser):
    """Divides the files of loaded documents into text nodes, with image nodes for their pictures.

    Readers of LlamaIndex keep only the text of a file, without pictures: so each document must have its ``file_path``
    in the metadata, as from ``SimpleDirectoryReader``. A file that was loaded as several documents, such as the pages
    of a PDF, is read once. Ids are made by ``stable_id``, not by ``id_func``.
    """

    words: int | None = Field(default=None, description="Most words of a chunk; 300, if tokens is not given.", ge=1)
    tokens: int | None = Field(default=None, description="Most tokens of a chunk, instead of words.", ge=1)
    tokenizer: str = Field(default=SHIPPED_TOKENIZER, description="The tokeniser: see the command chunks.")
    once: bool = Field(default=False, description="Whether a picture is a child of its best chunk only.")
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
        return [node for first in _one_per_file(nodes) for node in self._nodes_of(first)]

    def _nodes_of(self, source: BaseNode) -> Iterator[BaseNode]:
        options = ChunkOptions(tokens=self.tokens, tokenizer=self.tokenizer, once=self.once)
        for node in nodes(self.linker.link(_file(source)), self.words, self.context_words, **options):
            node.relationships[NodeRelationship.SOURCE] = source.as_related_node_info()
            yield node


def _one_per_file(sources: Sequence[BaseNode]) -> list[BaseNode]:
    """Return the first document of each file."""
    firsts: dict[Path, BaseNode] = {}
    for node in sources:
        firsts.setdefault(_file(node), node)
    return list(firsts.values())


def _file(node: BaseNode) -> Path:
    """The file of a loaded document; ``DocumentError`` if it is not given."""
    path = node.metadata.get("file_path")
    if not path:
        raise DocumentError(f"document {node.node_id}: its metadata has no file_path, so its pictures are nowhere")
    return Path(path)
