"""docling: links a ``DoclingDocument``, writes the links into it, or tells them to the model that describes pictures.

It needs ``iconotext[docling]``, not docling itself.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from pydantic import AnyUrl

from iconotext.alt_text.prompt import question
from iconotext.errors import DocumentError, ImageError
from iconotext.extras import require
from iconotext.images import decode
from iconotext.linked import LinkedDocument
from iconotext.linker import Linker
from iconotext.read import ReadSettings
from iconotext.read.address import Addresses
from iconotext.read.assemble import assemble
from iconotext.read.blocks import Block, Flow, FlowImage
from iconotext.report.as_json import plain_number
from iconotext.report.context import contexts
from iconotext.report.flow import links_by_image
from iconotext.types import Document, Kind

try:
    from docling_core.types.doc import (
        CodeItem,
        DocItemLabel,
        DoclingDocument,
        FormulaItem,
        ImageRef,
        InlineGroup,
        ListItem,
        NodeItem,
        PictureItem,
        PictureMeta,
        RefItem,
        SectionHeaderItem,
        TableItem,
        TextItem,
        TitleItem,
    )
except ModuleNotFoundError:
    require("docling", purpose="iconotext.adapters.docling")
    raise

LINKS_FIELD = "iconotext__links"  # the field of ``picture.meta`` with the links

LOWEST = 6
"""The largest level of a heading."""

Box = tuple[float, float, float, float]


def document(source: DoclingDocument, path: Path | str, settings: ReadSettings | None = None) -> Document:
    """Convert a docling document for linking: its running text, headings, lists, tables and pictures.

    Formulas, code, and headers and footers of pages are left out. A picture comes from its ``image``; if it has none,
    it is cut out of the image of its page.

    Args:
        source: The document. It is not changed.
        path: Its JSON file; paths of pictures are relative to it, and must not leave its folder.

    Returns:
        The document; its ``meta["docling"]`` says which items of docling its sentences and pictures are.

    Raises:
        DocumentError: Its references lead nowhere, or in a circle.
    """
    settings, path = settings or ReadSettings(), Path(path)
    within = settings.root or path.parent
    try:
        walk = _Walk(source, Addresses(path, within, settings), path.parent)
        flow = Flow(walk.blocks, walk.title)
    except (AttributeError, IndexError, RecursionError, RuntimeError, ValueError) as error:
        raise DocumentError(f"{path}: its references lead nowhere, or in a circle: {error}") from error
    assembled = assemble(flow, path=path, identifier=source.name or path.stem, within=within, settings=settings)
    refs = {
        "sentences": [list(sentence.targets) for sentence in assembled.sentences],
        "pictures": [list(image.anchors) for image in assembled.images],
    }
    # The blocks carried the references as targets and anchors, which must not count as evidence.
    return replace(
        assembled,
        sentences=tuple(replace(sentence, targets=()) for sentence in assembled.sentences),
        images=tuple(replace(image, anchors=()) for image in assembled.images),
        meta={**assembled.meta, "docling": refs},
    )


class _Walk:
    """The blocks of a docling document in reading order; each has the references of its items as targets."""

    def __init__(self, source: DoclingDocument, addresses: Addresses, folder: Path) -> None:
        self._source, self._addresses, self._folder = source, addresses, folder
        self._pages: dict[int, Any] = {}
        self.blocks: list[Block] = []
        self.title: str | None = None
        self._of_tables = {ref.cref for table in source.tables for ref in table.captions}
        self._of_pictures = {ref.cref for picture in source.pictures for ref in picture.captions}
        self._lines: dict[str, Block] = {}  # the block of a group of items on one line
        for item, _ in source.iterate_items(with_groups=True):
            self._add(item)

    def _add(self, item: NodeItem) -> None:
        ref, parent = item.self_ref, item.parent.cref if item.parent else ""
        match item:
            case InlineGroup():
                above = item.parent.resolve(self._source) if item.parent else None
                self._lines[ref] = Block(kind="item" if isinstance(above, ListItem) else "paragraph")
                self.blocks.append(self._lines[ref])
            case PictureItem():
                self.blocks.append(Block(images=[(0, self._picture(item))]))
            case TableItem():
                self.blocks += [_block(cell.text, "cell", ref) for cell in item.data.table_cells]
            case CodeItem() | FormulaItem():
                pass
            case TextItem() if ref in self._of_tables:  # a caption that is text like any other
                self.blocks.append(_block(item.text, "paragraph", ref))
            case TextItem() if parent in self._lines and ref not in self._of_pictures:
                _extend(self._lines[parent], item.text, ref)
            case TextItem() if ref not in self._of_pictures:
                self._text(item)

    def _text(self, item: TextItem) -> None:
        block = _block(item.text, _kind(item), item.self_ref)
        if isinstance(item, TitleItem):
            self.title = self.title or block.text or None
            block.level = 1
        elif isinstance(item, SectionHeaderItem):
            block.level = min(item.level + 1, LOWEST)  # below the title
        block.anchors = (item.self_ref,)  # becomes an anchor of its picture, if this is a caption
        self.blocks.append(block)

    def _picture(self, item: PictureItem) -> FlowImage:
        page, box = self._place(item)
        file, problem = None, None
        try:
            if item.image is not None:
                file = self._open(item.image)
            elif page is not None and box is not None:
                file = self._cut_out(page, box)
        except ImageError as error:
            problem = str(error)
        if file is None and problem is None:
            problem = "the document names no image for it, and no image of its page"
        caption = " ".join(item.caption_text(self._source).split()) or None
        return FlowImage(
            (item.self_ref,), caption=caption, anchors=(item.self_ref,), file=file, page=page, box=box, problem=problem
        )

    def _open(self, image: ImageRef) -> Path | bytes:
        """An image in the document, or at a path, which may be absolute but must not leave the document's folder."""
        address = str(image.uri)
        path = address
        if isinstance(image.uri, AnyUrl) and image.uri.scheme == "file":
            path = unquote(image.uri.path or "")
        if os.path.isabs(path):  # made relative, so that it is checked like any path that might leave the folder
            address = quote(Path(os.path.relpath(path, self._folder)).as_posix())
        return self._addresses.open(address)

    def _place(self, item: PictureItem) -> tuple[int | None, Box | None]:
        """The page of a picture, and its position there, as shares of width and height."""
        if not item.prov:
            return None, None
        number = item.prov[0].page_no
        page = self._source.pages.get(number)
        width, height = (page.size.width, page.size.height) if page is not None else (0, 0)
        if width <= 0 or height <= 0:
            return number, None
        box = item.prov[0].bbox.to_top_left_origin(height)
        shares = (box.l / width, box.t / height, box.r / width, box.b / height)
        left, top, right, bottom = (min(max(share, 0.0), 1.0) for share in shares)
        return number, (left, top, right, bottom)

    def _cut_out(self, number: int, box: Box) -> bytes | None:
        image = self._source.pages[number].image
        if image is None:
            return None
        if number not in self._pages:
            self._pages = {number: decode(self._open(image))}  # only one, since they are large
        page = self._pages[number]
        left, top, right, bottom = (
            round(share * side) for share, side in zip(box, (page.width, page.height) * 2, strict=True)
        )
        if left >= right or top >= bottom:
            raise ImageError("its box on the page is empty")
        file = io.BytesIO()
        page.crop((left, top, right, bottom)).save(file, "PNG")
        return file.getvalue()


def _kind(item: TextItem) -> Kind:
    if isinstance(item, TitleItem | SectionHeaderItem):
        return "heading"
    if isinstance(item, ListItem):
        return "item"
    return "caption" if item.label == DocItemLabel.CAPTION else "paragraph"


def _block(text: str, kind: Kind, ref: str) -> Block:
    block = Block(kind=kind)
    _extend(block, text, ref)
    return block


def _extend(block: Block, text: str, ref: str) -> None:
    text = " ".join(text.split())
    if text:
        block.text += " " if block.text else ""
        block.targets.append((len(block.text), len(block.text) + len(text), ref))
        block.text += text


def add_links(source: DoclingDocument, linked: LinkedDocument) -> None:
    """Write the links of pictures into a docling document, replacing those of an earlier call.

    - ``references`` of a picture: the texts with its sentences, most confident first, after existing references;
    - ``captions``, if it has none: the text that was recognised as its caption, which gets that label;
    - ``meta``: the links in ``iconotext__links``, each with ``text``, ``refs``, ``confidence``,
      ``paragraph_confidence`` and ``relations``.

    Args:
        source: The document; it is changed.
        linked: The linked result of ``document(source, ...)``.

    Raises:
        DocumentError: ``linked`` belongs to another document.
    """
    refs = linked.document.meta.get("docling")
    by_ref = {picture.self_ref: picture for picture in source.pictures}
    if not isinstance(refs, Mapping) or any(of[0] not in by_ref for of in refs["pictures"]):
        raise DocumentError(f"{linked.document.id}: not made of this document of docling")
    by_image = links_by_image(linked)
    for number, (ref, *captions) in enumerate(refs["pictures"]):
        picture = by_ref[ref]
        links = sorted(by_image.get(number, ()), key=lambda link: (-link.confidence, link.sentence))
        rows = [
            {
                "text": linked.document.sentences[link.sentence].text,
                "refs": refs["sentences"][link.sentence],
                "confidence": plain_number(link.confidence),
                "paragraph_confidence": plain_number(link.paragraph_confidence),
                "relations": None if link.relations is None else dict(link.relations),
            }
            for link in links
        ]
        _write(picture, rows)
        if captions and not picture.captions:
            picture.captions = [RefItem(cref=caption) for caption in captions]
            for caption in picture.captions:
                item = caption.resolve(source)
                if type(item) is TextItem:  # list items and headings have their own labels
                    item.label = DocItemLabel.CAPTION


def _write(picture: PictureItem, links: list[dict[str, Any]]) -> None:
    """Write links into a picture, in place of those of an earlier call."""
    meta = picture.meta or PictureMeta()
    before = {ref for entry in meta.get_custom_part().get(LINKS_FIELD, ()) for ref in entry["refs"]}
    foreign = [ref for ref in picture.references if ref.cref not in before]
    present = {ref.cref for ref in foreign}
    new = dict.fromkeys(ref for entry in links for ref in entry["refs"] if ref not in present)
    picture.references = [*foreign, *(RefItem(cref=ref) for ref in new)]
    if links or before:
        meta.set_custom_field(namespace="iconotext", name="links", value=links)
        picture.meta = meta


class DescribeInContext:
    """docling's step that describes pictures, with what the text says about each of them behind its prompt.

    It takes the place of that step in the ``enrichment_pipe`` of a pipeline.

    Args:
        step: The step of docling.
        linker: Default: that of the default model.
    """

    def __init__(self, step: Any, linker: Linker | None = None) -> None:
        self._step, self._linker = step, linker or Linker.load()
        self.elements_batch_size, self.progress_step = step.elements_batch_size, getattr(step, "progress_step", None)
        self.is_processable, self.prepare_element = step.is_processable, step.prepare_element
        self._last: tuple[DoclingDocument | None, dict[str, str]] = (None, {})  # a document has several batches

    def __call__(self, doc: DoclingDocument, element_batch: Iterable[Any]) -> Iterator[NodeItem]:
        """Yield the pictures that docling has described, one after the other."""
        last = self._last
        if last[0] is not doc:
            linked = self._linker.link(document(doc, doc.name))
            refs = (ref for ref, *_ in linked.document.meta["docling"]["pictures"])
            texts = (question(linked, context) for context in contexts(linked))
            self._last = last = doc, dict(zip(refs, texts, strict=True))
        for element in element_batch:
            step = copy(self._step)  # another thread may use it
            prompt = f"{step.options.prompt}\n\n{last[1][element.item.self_ref]}"
            step.options = step.options.model_copy(update={"prompt": prompt})
            yield from step(doc, [element])
