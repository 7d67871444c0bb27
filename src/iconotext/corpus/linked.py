"""Adds a model's links to the documents of a corpus, in the form that other formats have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from iconotext.pipeline import Linker
from iconotext.read import Failure
from iconotext.report.as_json import plain_number
from iconotext.report.flow import links_by_image
from iconotext.types import Document, Link, LinkedDocument

if TYPE_CHECKING:
    from iconotext.corpus.store import FormatName


def linked_corpus(documents: Iterable[Document], model: str, to: FormatName) -> Iterator[Document]:
    """Replace the links of documents with a model's.

    - ``mmc4``: one sentence for each picture, the most likely (``matched_text_index``, with its score in
      ``matched_sim``), and in ``similarity_matrix`` the score of each picture with each sentence.
    - ``obelics`` stores no links but an order: each picture is put before the paragraph of its most likely sentence; a
      picture without links stays.
    - All others: every link.

    Raises:
        IconotextError: There is no such model, or a document cannot be linked.
    """
    for linked in Linker.load(model).link_all(documents):
        if isinstance(linked, Failure):
            raise linked.error
        yield as_format_has_it(linked, to)


def as_format_has_it(linked: LinkedDocument, to: FormatName) -> Document:
    """A linked document in the form of ``linked_corpus``."""
    best = {image: links[0] for image, links in links_by_image(linked).items()}
    if to == "mmc4":
        return _for_mmc4(linked, best)
    if to == "obelics":
        return _in_order(linked.document, best)
    return replace(linked.document, links=_sorted(linked.links))


def _sorted(links: Iterable[Link]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted((link.sentence, link.image) for link in links))


def _for_mmc4(linked: LinkedDocument, best: dict[int, Link]) -> Document:
    document = linked.document
    kept, infos = document.meta.get("mmc4"), document.meta.get("image_info")
    if not isinstance(infos, list) or len(infos) != len(document.images):
        infos = [{} for _ in document.images]
    matched: list[dict[str, Any]] = [{**info} for info in infos]
    for number, info in enumerate(matched):
        info["matched_sim"] = plain_number(best[number].score) if number in best else None
    matrix = [[plain_number(cell) for cell in row] for row in linked.similarity.T.tolist()]
    shard = {**(kept if isinstance(kept, dict) else {}), "similarity_matrix": matrix}
    return replace(document, links=_sorted(best.values()), meta={**document.meta, "mmc4": shard, "image_info": matched})


def _in_order(document: Document, best: dict[int, Link]) -> Document:
    images = []
    for number, image in enumerate(document.images):
        if number in best:
            position = _begin(document, best[number].sentence)
        else:
            position = len(document.sentences) if image.position is None else image.position
        images.append(replace(image, position=position))
    order = sorted(range(len(images)), key=lambda number: images[number].position or 0)
    meta = dict(document.meta)
    kept = meta.get("obelics")
    if isinstance(kept, dict) and isinstance(kept.get("images"), list) and len(kept["images"]) == len(order):
        meta["obelics"] = {**kept, "images": [kept["images"][number] for number in order]}
    return replace(document, images=tuple(images[number] for number in order), links=None, meta=meta)


def _begin(document: Document, sentence: int) -> int:
    """The first sentence of a sentence's paragraph."""
    block = document.sentences[sentence].block
    while sentence and block is not None and document.sentences[sentence - 1].block == block:
        sentence -= 1
    return sentence
