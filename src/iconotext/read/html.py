"""HTML → blocks: the main text of a page in reading order, with its images and their captions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from lxml import etree
from lxml import html as lxml_html

from iconotext.errors import EmptyDocumentError, HostileDocumentError
from iconotext.read.blocks import SPACE, Block, BlockWriter, Flow, FlowImage, join_row
from iconotext.read.contents import without_contents
from iconotext.read.main_text import keep_main_text
from iconotext.read.positions import MARK, mark_html
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_text
from iconotext.types import Function, Kind

Element = Any  # lxml has no types of its own that mypy could check

INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s "
    "samp small span strike strong sub sup time tt u var wbr img picture source noscript".split()
)
SKIPPED = frozenset(
    "script style template head title meta link iframe object embed canvas audio video map math pre "
    "textarea select option button svg dialog".split()
)
ITALIC = frozenset(("em", "i", "cite"))
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
    **dict.fromkeys(("li", "dt", "dd", "summary"), "item"),
    **dict.fromkeys(("td", "th"), "cell"),
    "blockquote": "quote",
    "figcaption": "caption",
    "caption": "caption",
}
NAMES = ("aria-label", "aria-labelledby", "title")
"""Attributes that name a link or a button, besides its content."""
ONE_IMAGE = frozenset(("figure", "a", "p", "span", "picture", "center", "div", "td", "dt"))
"""Elements whose id names the image if they have only one; a figure's id names all of its images."""
CAPTION_CLASS = re.compile(
    r"(?:^|[\s_-])(?:fig(?:ure)?|image|img|photo|picture|media|thumb|gallery)?[_-]{0,3}(?:caption(?:[_-]{0,3}text)?|gallerytext)(?:$|\s)",
    re.IGNORECASE,
)
UNKNOWN_ALT = "data-iconotext-alt"
"""The attribute of an image whose alternative text is known only to code."""
LAZY = ("data-src", "data-original", "data-lazy-src", "data-lazy", "data-actualsrc", "data-hi-res-src", "data-url")
"""Attributes with the address of a picture, which scripts move to ``src`` when the picture comes into view."""
LAZY_SETS = ("srcset", "data-srcset", "data-lazy-srcset")
CANDIDATE = re.compile(r"([^\s,]\S*+)(?:(?<=,)|([^,]*+))")
SIZE = re.compile(r"\s*+(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})([wx])")
_PIXELS = re.compile(r"[0-9]{1,6}")
MAX_CANDIDATES = 100
"""Maximum number of addresses of an image, and of elements in its ``<picture>``; pages have some twenty sizes."""
TAG = re.compile(r"""<[a-z](?:[^>=]++|=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|))*+""", re.IGNORECASE)
VALUE = re.compile(r"""=\s*+(?:"[^"]*+"|'[^']*+')""")  # of an attribute; without values, words can be counted
MAX_ATTRIBUTES = 1_000  # maximum number of attributes of a tag, since the parser takes quadratic time for them
TOO_DEEP = "elements are nested more than 255 deep in it: close those that are never closed (tidy does)"
TOO_LONG = "one text or address in it has more than 10 million characters: put pictures beside it as files, or split it"
REMOVED_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")  # which XML forbids

ToTarget = Callable[[str], str | None]  # from an ``href`` to the identifier of its target in the document, or None


def parse_html(text: str) -> Element:
    """Parse HTML, also if it is not well-formed, as a browser would."""
    text = REMOVED_CHARACTERS.sub("", text)
    long_tags = (tag[0] for tag in TAG.finditer(text) if len(tag[0]) > 2 * MAX_ATTRIBUTES)  # "a " is the shortest
    if any(len(VALUE.sub("= ", tag).replace("/", " ").split()) > MAX_ATTRIBUTES for tag in long_tags):
        raise HostileDocumentError(f"a tag in it has more than {MAX_ATTRIBUTES:,} attributes: no page has that")
    parser = lxml_html.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = lxml_html.document_fromstring(text.encode(), parser=parser)
    except etree.ParserError as error:
        raise EmptyDocumentError("no text in it") from error
    finally:
        # At its own limits the parser stops without an exception, and the rest of the text would be missing.
        for entry in parser.error_log.filter_from_fatals():
            if entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT:
                raise HostileDocumentError(TOO_DEEP if "depth" in entry.message else TOO_LONG)
    return root


def same_page(href: str) -> str | None:
    """Return the identifier of a link's target in the same page: ``#fig-3`` and ``#chapter#fig-3`` give ``fig-3``."""
    return href.rpartition("#")[2] or None if href.startswith("#") else None


def html_blocks(root: Element, *, to_target: ToTarget = same_page, anchor_prefix: str = "") -> list[Block]:
    """Return the blocks of an element in reading order."""
    return _Walk(to_target, anchor_prefix).read(root)


def read_html(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read the main text of an HTML file, as one flow."""
    del settings  # nothing of it concerns HTML
    return [page_flow(decode_text(path, html=True), keep_main_text)]


def read_whole_page(path: Path) -> Flow:
    """Read all of an HTML file, with menus and footers."""
    flow = page_flow(decode_text(path, html=True), lambda tree: tree)
    return replace(flow, blocks=without_contents(flow.blocks))


def page_flow(text: str, select: Callable[[Element], Element]) -> Flow:
    """Return an HTML page as one flow; ``select`` returns the element of the page whose content is read."""
    tree = parse_html(mark_html(text))
    title = tree.findtext(".//title")
    language = language_code(tree.get("lang") or tree.get("{http://www.w3.org/XML/1998/namespace}lang") or "")
    return Flow(html_blocks(select(tree)), title.strip() if title else None, language)


class _Walk:
    def __init__(self, to_target: ToTarget, anchor_prefix: str) -> None:
        self.writer = BlockWriter()
        self.to_target = to_target
        self.anchor_prefix = anchor_prefix
        self.kinds: list[Kind] = ["paragraph"]
        self.level: int | None = None  # of the heading that was opened last
        self.italic = 0  # number of open elements in italics
        self.links: list[tuple[Element, int, str]] = []  # open <a>: where its text starts, and its target
        self.figures: list[tuple[Element, int]] = []  # open <figure>: number of blocks before it
        self.rows: list[int] = []  # open <tr>: number of blocks before it
        self.pending: list[str] = []  # ids of empty elements right before an image
        self.crowded: dict[Element, bool] = {}  # whether an element holds several images
        self.breaks = 0  # <br> in a row
        self.seen_sources: tuple[str, ...] = ()  # of the last image until a text follows: <noscript> repeats it

    def read(self, root: Element) -> list[Block]:
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            tag = element.tag if isinstance(element.tag, str) else ""
            if event == "start":
                if not tag or tag in SKIPPED:
                    if tag == "svg":
                        self.drawing(element)
                    elif tag == "button":  # its words are no text of the document
                        for picture in element.iter("img"):
                            self.image(picture)
                    walk.skip_subtree()
                else:
                    self.start(tag, element)
                    self.add(element.text)
            else:
                if tag and tag not in SKIPPED:
                    self.end(tag, element)
                if element is not root:
                    self.add(element.tail)
        self.close()
        return self.writer.blocks

    def add(self, text: str | None) -> None:
        if not text:
            return
        if text.strip():
            self.pending, self.seen_sources, self.breaks = [], (), 0
        self.writer.text(text, emphasised=self.italic > 0)

    def close(self) -> None:
        for _, start, target in self.links:  # a link that goes on in the next block counts in both
            self.writer.target(start, target)
        self.links = [(element, 0, target) for element, _, target in self.links]
        self.writer.close(self.kinds[-1], self.level)

    def start(self, tag: str, element: Element) -> None:
        identifier = element.get("id") or (element.get("name") if tag == "a" else None)
        if identifier and not len(element) and not (element.text or "").strip():
            self.pending.append(identifier)
        if tag == "br":
            self.breaks += 1
            if self.breaks > 1:  # two line breaks are how older pages end a paragraph
                self.close()
            else:
                self.writer.text(" ")
            return
        if tag in ITALIC:
            self.italic += 1
        if tag == "img" or (tag == "input" and (element.get("type") or "").lower() == "image"):
            self.image(element)
        elif tag == "a":
            target = self.to_target(element.get("href") or "")
            if target is not None:
                self.links.append((element, self.writer.offset, target))
        if tag not in INLINE:
            self.close()
            kind = KINDS.get(tag)
            if kind is None:
                kind = "caption" if CAPTION_CLASS.search(element.get("class") or "") else self.kinds[-1]
            self.kinds.append(kind)
            if KINDS.get(tag) == "heading":
                self.level = int(tag[1])
            if tag == "figure":
                self.figures.append((element, len(self.writer.blocks)))
            elif tag == "tr":
                self.rows.append(len(self.writer.blocks))

    def end(self, tag: str, element: Element) -> None:
        if tag == "br":
            return
        if tag in ITALIC:
            self.italic -= 1
        if self.links and self.links[-1][0] is element:
            _, start, target = self.links.pop()
            self.writer.target(start, target)
        if tag not in INLINE:
            self.close()
            self.kinds.pop()
            if tag == "figure":
                self.finish_figure()
            elif tag == "tr":
                first = self.rows.pop()
                self.writer.blocks[first:] = join_row(self.writer.blocks[first:])

    def finish_figure(self) -> None:
        """Give all images of a figure its caption, wherever it stands, before the captions of figures within it."""
        _, first = self.figures.pop()
        blocks = self.writer.blocks[first:]
        captions = [block for block in blocks if block.kind == "caption" and not block.images]
        images = [block for block in blocks if block.images]
        if not captions or not images:
            return
        caption = " ".join(block.text for block in captions)
        for block in images:
            block.images = [(o, replace(p, caption=f"{caption} {p.caption or ''}".rstrip())) for o, p in block.images]
            if block.kind == "caption":  # an image inside <figcaption>
                block.kind = "paragraph"
        self.writer.blocks[first:] = [block for block in blocks if block.kind != "caption"]

    def drawing(self, element: Element) -> None:
        """Read a drawing: within a figure it is one of its images; elsewhere it is an icon of the page."""
        if self.figures:
            title = element.findtext("{*}title") or element.get("aria-label")
            problem = "an SVG drawing inside the page, which is not read: save it as a file of its own"
            anchors, at, decorative = self.anchors(element), _place(element), is_decorative(element)
            image = FlowImage(("inline.svg",), title, anchors=anchors, problem=problem, at=at, decorative=decorative)
            self.writer.image(image)

    def image(self, element: Element) -> None:
        sources = image_sources(element)
        if not sources or sources == self.seen_sources:
            return
        self.seen_sources = sources
        alt = element.get("alt", element.get("aria-label"))
        title = SPACE.sub(" ", element.get("title") or "").strip().removeprefix("fig:")  # of pandoc, for a figure
        self.writer.image(
            FlowImage(
                sources,
                None if alt is None else SPACE.sub(" ", alt).strip(),
                title=title or None,
                anchors=self.anchors(element),
                at=_place(element),
                alt_unknown=UNKNOWN_ALT in element.attrib or bool(element.get("aria-labelledby")),
                decorative=is_decorative(element),
                function=function_of(element),
                sides=_sides(element),
            )
        )

    def anchors(self, element: Element) -> tuple[str, ...]:
        """Return the identifiers of an image: its own, those before it, and those of elements with only this image."""
        identifiers, self.pending = [*self.pending], []
        node = element
        while node is not None and (node is element or node.tag in ONE_IMAGE):
            if node is not element and node.tag != "figure" and self.holds_more(node):
                break
            if node.get("id"):
                identifiers.append(node.get("id"))
            node = node.getparent()
        return tuple(self.anchor_prefix + identifier for identifier in dict.fromkeys(identifiers))

    def holds_more(self, element: Element) -> bool:
        """Return whether an element contains more than one image; computed once for each element."""
        if element not in self.crowded:
            self.crowded[element] = any(True for _ in islice(element.iter("img"), 1, None))
        return self.crowded[element]


def is_decorative(element: Element) -> bool:
    """Return whether the markup says that a picture is decoration."""
    role = (element.get("role") or "").lower().split()
    return bool({"presentation", "none"} & {*role[:1]}) or (element.get("aria-hidden") or "").lower() == "true"


def function_of(element: Element) -> Function | None:
    """Return what a picture does whose alternative text is the only name of a link or a button; else None."""
    holder = element if element.tag == "input" else next(element.iterancestors("a", "button"), None)
    if holder is None or (holder.tag == "a" and not holder.get("href")) or any(map(holder.get, NAMES)):
        return None
    others = (image.get("alt") for image in holder.iter("img") if image is not element)
    if any(text and text.strip() for text in (*others, *holder.itertext())):
        return None
    return "link" if holder.tag == "a" else "button"


def _place(element: Element) -> int | None:
    """Return the place of an image in its file, from the mark that ``mark_html`` put in."""
    mark = element.get(MARK) or ""
    return int(mark) if mark.isascii() and mark.isdigit() else None


def _sides(element: Element) -> tuple[int | None, int | None] | None:
    lengths = ((element.get(name) or "").removesuffix("px") for name in ("width", "height"))
    width, height = (int(side) if _PIXELS.fullmatch(side) else None for side in lengths)
    return None if width is height is None else (width, height)


def image_sources(element: Element) -> tuple[str, ...]:
    """Return the addresses of an ``<img>``, the largest image first, without placeholders of lazy loading."""
    sets = [element.get(name) for name in LAZY_SETS]
    picture = next(element.iterancestors("picture"), None)
    if picture is not None:
        parts = islice(picture.iter(), MAX_CANDIDATES)  # the parser may put the rest of the page into a <source>
        sets += [part.get(name) for part in parts if part.tag == "source" for name in ("srcset", "data-srcset")]
    sized = sorted(islice((c for s in sets if s for c in _candidates(s)), MAX_CANDIDATES), key=lambda c: -c[0])
    lazy = [element.get(name) for name in LAZY]
    plain = element.get("src")
    if plain and plain.startswith("data:") and (sized or any(lazy)):  # a placeholder
        plain = None
    addresses = [address for _, address in sized] + [*lazy, plain]
    return tuple(dict.fromkeys(a.strip() for a in addresses if a and a.strip()))


def _candidates(srcset: str) -> Iterator[tuple[float, str]]:
    """Yield (size, address) of each candidate of a ``srcset``; a width in pixels, or a density times 1000."""
    for match in CANDIDATE.finditer(srcset):
        number = SIZE.match(match[2] or "")
        size = float(number[1]) if number else 1.0
        yield size if number and number[2] == "w" else size * 1000, match[1].rstrip(",")
