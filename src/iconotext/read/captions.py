"""Captions: which blocks are captions, and the images that they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice, takewhile

from iconotext.read.blocks import Block, FlowImage

_NUMBER = r"\d+(?:[.\-–－]\d+)*"
_EAST = rf"(?:図|图|圖|그림|写真|照片)\s*\(?(?:{_NUMBER}|[一二三四五六七八九十]{{1,3}})"
CAPTION_LABEL = re.compile(
    r"^(?:(?:fig(?:ure|\.)?|abb(?:ildung|\.)|image|photo(?:graph)?|picture|plate|illustration|ill\.|bild|foto|figura|afbeelding"
    r"|рис(?:унок|\.)|rys(?:unek|\.)|obr(?:áz[eo]k|\.)|şekil|resim|hình|imagem|imagen|immagine|figur|(?:ال)?شكل|(?:ال)?صورة"
    r"|мал(?:юнок|\.)|фиг(?:ура|\.)|сл(?:ика|\.)|slika|ryc(?:ina|\.)|zdjęcie|fotografi[ae]|fotoğraf|görsel|kuva|gambar|εικ(?:όνα|\.)"
    rf"|σχ(?:ήμα|\.)|चित्र|आकृति|איור)\s*\(?{_NUMBER}|{_EAST}|\d+\.\s*(?:ábra|attēls|irudia))[a-z]?\)?\s*(?:[.:：．。|–—-]|$)",
    re.IGNORECASE,
)
"""The beginning of a paragraph that is a caption: ``Figure 3: ...``, ``Abb. 2 – ...``."""

_NAMED_EAST = re.compile(rf"{_EAST}\s(?!.*[。．.！？!?:：]$)")
"""The same in East Asia, where white space is enough, and a sentence is told from a caption by the mark at its end."""

MAX_CAPTION_WORDS = 60


def shown_caption(image: FlowImage, alt: str | None) -> str | None:
    """Return the caption of an image: its own, else its title, unless that repeats the alternative text."""
    return image.caption or (image.title if image.title != alt else None)


def attach_captions(blocks: Iterable[Block]) -> list[Block]:
    """Move every caption from the text to its image.

    A block is a caption if the format says so, if it begins like "Figure 3:" beside an image, or if directly below an
    image it is short and in italics or repeats the image's alternative text. A caption belongs to the image
    directly above it that has none yet, else to the one directly below; with a label, to all images above it that stand
    one below the other and have none. A caption without an image (of a table or a listing) becomes a paragraph. The
    title of a figure whose images have captions of their own is added to each.
    """
    attached: list[Block] = []
    waiting: Block | None = None  # a caption above its image
    for block in _with_titles(list(blocks)):
        above = _uncaptioned(attached[-1]) if attached and waiting is None else None
        if block.images:
            _take_italics_as_caption(block)
        if waiting is not None:
            if _is_bare(block):
                _add_caption(block, waiting)
            else:
                attached.append(replace(waiting, kind="paragraph"))
            waiting = None
        if above is not None and not block.images and _is_caption(block, above):
            for pictures in _sharing(attached, block):
                _add_caption(pictures, block)
        elif not block.images and _may_stand_above(block):
            waiting = block
        else:
            attached.append(block)
    if waiting is not None:
        attached.append(replace(waiting, kind="paragraph"))
    return attached


def _with_titles(blocks: list[Block]) -> list[Block]:
    """Put the title above a figure, if each image of the figure has a caption below, into these captions.

    Title, image, caption, image, caption is such a figure. Caption, image, caption, image is not: each caption stands
    above its image there.
    """
    result: list[Block] = []
    start = 0
    while start < len(blocks):
        title = blocks[start]
        end = start + 1
        if not title.images and _may_stand_above(title):
            while end + 1 < len(blocks) and _is_bare(blocks[end]) and _is_below(blocks[end + 1]):
                end += 2
        # A figure has at least two images (5 blocks): of two captions around one image, the second may be that of a
        # table. If an image follows, each caption may stand above its image.
        if end < start + 5 or (end < len(blocks) and _is_bare(blocks[end])):
            result += blocks[start:end]  # a run from a later block of these would end here too, and be no figure either
        else:
            for image, caption in zip(blocks[start + 1 : end : 2], blocks[start + 2 : end : 2], strict=True):
                text = f"{title.text} {caption.text}" if title.text[-1:] in ".:!?" else f"{title.text}. {caption.text}"
                result += [image, Block(text, "caption", anchors=title.anchors + caption.anchors)]
        start = end
    return result


def _sharing(attached: list[Block], caption: Block) -> Iterator[Block]:
    """Yield the blocks of images that share a caption below them, from the last one on."""
    yield attached[-1]
    if _has_label(caption) and not attached[-1].text:
        yield from takewhile(_is_bare, islice(reversed(attached), 1, None))


def _is_bare(block: Block) -> bool:
    """Tell whether a block is images alone, the last one without a caption."""
    return not block.text and _uncaptioned(block) is not None


def _is_below(block: Block) -> bool:
    """Tell whether a block can be the caption of an image in a figure with a title: it has no label of its own."""
    return not block.images and not _has_label(block) and (block.kind == "caption" or block.emphasised)


def _may_stand_above(block: Block) -> bool:
    """Tell whether a block can be the caption of what comes after it."""
    return block.kind == "caption" or (block.kind == "paragraph" and _has_label(block))


def _has_label(block: Block) -> bool:
    label = CAPTION_LABEL.match(block.text) or _NAMED_EAST.match(block.text)
    return label is not None and len(block.text.split()) <= MAX_CAPTION_WORDS


def _uncaptioned(block: Block) -> FlowImage | None:
    """Return the last image of a block, if the block ends with it and it has no caption yet."""
    if not block.images:
        return None
    offset, image = block.images[-1]
    at_end = offset >= len(block.text)
    return image if at_end and image.caption is None else None


def _is_caption(block: Block, above: FlowImage) -> bool:
    if block.kind == "caption":
        return True
    if block.kind != "paragraph" or len(block.text.split()) > MAX_CAPTION_WORDS:
        return False
    repeats = bool(above.alt) and block.text.strip(" .:").casefold() == (above.alt or "").strip(" .:").casefold()
    return block.emphasised or repeats or _has_label(block)


def _take_italics_as_caption(block: Block) -> None:
    """Make a text in italics the caption of the image before it in its paragraph, as often in Markdown."""
    if block.emphasised and block.images[-1][0] == 0 and block.images[-1][1].caption is None:
        _add_caption(block, block)
        block.text, block.targets, block.emphasised = "", [], False


def _add_caption(block: Block, caption: Block) -> None:
    """Set the caption of the images at the end of a block: two side by side share the line below them."""
    last = block.images[-1][0]
    block.images = [
        (offset, replace(image, caption=caption.text, anchors=tuple(dict.fromkeys(image.anchors + caption.anchors))))
        if offset == last and image.caption is None
        else (offset, image)
        for offset, image in block.images
    ]


def separate_caption(block: Block) -> list[Block]:
    """Divide a block with images and their caption into one of images and one of the caption; others stay whole."""
    if not block.images or not block.text or not (block.kind == "caption" or CAPTION_LABEL.match(block.text)):
        return [block]
    images = Block(images=[(0, image) for _, image in block.images])
    caption = replace(block, kind="caption", images=[])
    image_is_above = block.images[0][0] < len(block.text) / 2
    return [images, caption] if image_is_above else [caption, images]


def name_cited_captions(blocks: Iterable[Block]) -> None:
    """Let references whose result is the text of a caption show its label, or "the figure" if it has none.

    Word, LibreOffice and Sphinx put the whole caption into the sentence where their authors ask for it. One of one or
    two words stays: it may be the author's own.
    """
    blocks = list(blocks)
    captions = {name: block.text for block in blocks if block.kind == "caption" for name in block.anchors}
    captions |= {n: i.caption for block in blocks for _, i in block.images if i.caption for n in i.anchors}
    for block in blocks:
        for start, end, name in sorted(block.targets, reverse=True):
            caption, text = captions.get(name, ""), block.text[start:end].strip()
            before = caption.removesuffix(text).strip()  # "" if it shows all of the caption
            label = CAPTION_LABEL.fullmatch(before) if before else CAPTION_LABEL.match(text)
            if caption.endswith(text) and len(text.split()) > 2 and (label or not before):
                block.replace(start, end, label[0].rstrip(" .:|–—-") if label else "the figure")
