"""EPUB → blocks: the chapters of a book in the order of its spine, each read as HTML."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read.archive import Archive, Element, open_archive, resolve
from iconotext.read.blocks import Flow, FlowImage
from iconotext.read.html import html_blocks, parse_html
from iconotext.read.main_text import remove
from iconotext.read.positions import MARK, mark_html
from iconotext.read.sentences import language_code
from iconotext.read.settings import ReadSettings
from iconotext.read.text_file import decode_bytes

PAGES = frozenset(("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document"))
PAGE_NAME = re.compile(r"\.x?html?$", re.IGNORECASE)
FONT_SCRAMBLING = frozenset(("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"))
NOT_TEXT = frozenset(
    "toc landmarks page-list pagebreak loi lot lov loa index titlepage halftitlepage footnote footnotes "
    "endnote endnotes rearnote rearnotes noteref".split()
)
"""Values of ``epub:type`` for elements that are no running text."""
NOT_TEXT_ROLES = frozenset(
    f"doc-{name}" for name in ("toc", "pagelist", "pagebreak", "endnotes", "footnote", "noteref")
)
ELSEWHERE = re.compile(r"^(?:[a-z][a-z0-9+.-]+:|//)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Package:
    """The contents of a book's package file (OPF)."""

    title: str | None
    language: str | None
    chapters: list[str]
    encrypted: frozenset[str]
    labels: dict[str, str]  # member to its title in the table of contents


def read_epub(path: Path, settings: ReadSettings) -> list[Flow]:
    """Read a book, as one flow or as one per chapter (``settings.epub``).

    Chapters without text and images are left out.
    """
    with open_archive(path, settings.max_bytes) as archive:
        package = read_package(archive)
        chapters = [chapter for name in package.chapters if (chapter := _chapter(archive, package, name)) is not None]
    if not chapters:
        raise DocumentError("none of its chapters has text or pictures")
    if settings.epub == "book":
        return [Flow([block for flow in chapters for block in flow.blocks], package.title, package.language)]
    width = max(2, len(str(len(chapters))))
    return [
        replace(flow, name=f"/{number:0{width}d}-{_slug(flow.title or flow.name) or _slug(flow.name)}")
        for number, flow in enumerate(chapters, 1)
    ]


def read_package(archive: Archive) -> Package:
    """Find and read the package file; ``DocumentError`` without one, or if it has no chapters or encrypted ones."""
    opf = _package_name(archive)
    root = archive.xml(opf)
    encrypted = frozenset(_encrypted(archive))
    items = {item.get("id"): item for item in root.iterfind("{*}manifest/{*}item")}
    # EPUB 3 marks its table of contents in the manifest. EPUB 2 has an NCX; the guide may also name a page with it.
    nav = next((i for i in items.values() if "nav" in (i.get("properties") or "").split()), None)
    spine = root.find("{*}spine")
    references = spine.iterfind("{*}itemref") if spine is not None else ()
    read = [items.get(r.get("idref")) for r in references if (r.get("linear") or "").lower() != "no"]
    chapters = list(_pages(archive, opf, root, [item for item in read if item is not None and item is not nav]))
    if not chapters:
        raise DocumentError(f"broken: {opf} in it names no chapter that is there; download or save it again")
    if any(name in encrypted for name in chapters):
        raise DocumentError("protected by DRM: its chapters are encrypted, and only its seller's program can open them")
    title = " ".join((root.findtext("{*}metadata/{*}title") or "").split())
    language = language_code(root.findtext("{*}metadata/{*}language") or "")
    ncx = items.get(spine.get("toc") or "") if spine is not None else None
    labels = {**_labels(archive, opf, ncx), **_labels(archive, opf, nav)}
    return Package(title or None, language, list(dict.fromkeys(chapters)), encrypted, labels)


def _pages(archive: Archive, opf: str, root: Element, items: list[Element]) -> Iterator[str]:
    """Yield the members of items that are pages of text, without a table of contents that the guide names."""
    contents = {
        archive.find(resolve(opf, unquote((r.get("href") or "").partition("#")[0])))
        for r in root.iterfind("{*}guide/{*}reference")
        if (r.get("type") or "").lower() == "toc"
    }
    for item in items:
        member = archive.find(resolve(opf, item.get("href") or ""))
        kind = (item.get("media-type") or "").lower()
        if member is not None and member not in contents and (kind in PAGES or PAGE_NAME.search(member)):
            yield member


def _package_name(archive: Archive) -> str:
    container = archive.find("META-INF/container.xml")
    for file in archive.xml(container).iterfind("{*}rootfiles/{*}rootfile") if container is not None else ():
        member = archive.find(file.get("full-path") or "")
        if member is not None:
            return member
    raise DocumentError("not an EPUB: META-INF/container.xml in it is missing, or names no package file that is there")


def _encrypted(archive: Archive) -> Iterator[str]:
    """Return the encrypted members; scrambled fonts do not count."""
    listing = archive.find("META-INF/encryption.xml")
    for data in archive.xml(listing).iter("{*}EncryptedData") if listing is not None else ():
        method = data.find("{*}EncryptionMethod")
        if method is not None and method.get("Algorithm") in FONT_SCRAMBLING:
            continue
        for reference in data.iter("{*}CipherReference"):
            member = archive.find(reference.get("URI") or "")
            if member is not None:
                yield member


def _labels(archive: Archive, opf: str, item: Element | None) -> dict[str, str]:
    """Return the title of each member in a table of contents (``nav`` or NCX); of several entries the first counts."""
    contents = archive.find(resolve(opf, item.get("href") or "")) if item is not None else None
    if contents is None:
        return {}
    labels: dict[str, str] = {}
    try:
        if contents.lower().endswith(".ncx"):
            points = archive.xml(contents).iter("{*}navPoint")
            entries = [(p.find("{*}content"), p.findtext("{*}navLabel/{*}text") or "") for p in points]
            pairs = [(e.get("src") or "", text) for e, text in entries if e is not None]
        else:
            tree = parse_html(decode_bytes(archive.read(contents), contents, html=True))
            pairs = [(a.get("href") or "", a.text_content()) for a in tree.iterfind(".//nav//a")]
    except HostileDocumentError:
        raise
    except DocumentError:
        return {}  # a broken table of contents costs names, not text
    for address, text in pairs:
        member = archive.find(resolve(contents, address.partition("#")[0]))
        if member is not None and text.strip():
            labels.setdefault(member, " ".join(text.split()))
    return labels


def _chapter(archive: Archive, package: Package, name: str) -> Flow | None:
    """Return one chapter, named by its file; None if it has neither text nor an image."""
    html = mark_html(decode_bytes(archive.read(name), name, html=True))
    try:
        tree = parse_html(html)
    except HostileDocumentError:
        raise
    except DocumentError:
        return None  # no text in it
    title = tree.findtext(".//title")
    _remove_boilerplate(tree)
    _unwrap_drawings(tree)
    blocks = html_blocks(tree, to_target=lambda href: _target(archive, name, href), anchor_prefix=f"{name}#")
    for block in blocks:
        block.images = [
            (offset, replace(_image(archive, package, name, image), part=name)) for offset, image in block.images
        ]
    if not blocks:
        return None
    heading = next((block.text for block in blocks if block.kind == "heading" and block.text), None)
    title = heading or package.labels.get(name) or " ".join((title or "").split()) or None
    language = language_code(tree.get("lang") or tree.get("xml:lang") or "") or package.language
    return Flow(blocks, title, language, PAGE_NAME.sub("", posixpath.basename(name)))


def _remove_boilerplate(tree: Element) -> None:
    """Remove what is no running text; of a page that is none, only its images stay."""
    boilerplate = []
    for element in list(tree.iter(etree.Element)):
        types = {*(element.get("epub:type") or "").lower().split(), *(element.get("role") or "").lower().split()}
        if element.tag == "nav" or element.get("hidden") is not None or types & (NOT_TEXT | NOT_TEXT_ROLES):
            if element.tag not in ("html", "body"):
                boilerplate.append(element)
                continue
            keep = list(element.iter("img", "svg"))  # such as the cover on a title page
            element.text = None
            for part in list(element):
                element.remove(part)
            element.extend(keep)
            for part in keep:
                part.tail = None
    remove(boilerplate)


def _unwrap_drawings(tree: Element) -> None:
    """Replace ``<svg><image href="cover.jpg"/></svg>``, which lets a cover fill the screen, by an ``<img>``."""
    for svg in list(tree.iter("svg")):
        images = [e for e in svg.iter("image", "img") if e.get("xlink:href") or e.get("href")]
        if len(images) != 1 or svg.getparent() is None:
            continue
        image = svg.makeelement("img", src=images[0].get("xlink:href") or images[0].get("href"))
        title = svg.findtext(".//title") or svg.findtext(".//desc") or svg.get("aria-label")
        if title:
            image.set("alt", title)
        for attribute in ("id", "class", "role", "aria-hidden", MARK):
            if svg.get(attribute):
                image.set(attribute, svg.get(attribute))
        image.tail = svg.tail
        svg.getparent().replace(svg, image)


def _target(archive: Archive, chapter: str, href: str) -> str | None:
    """Return the target of a link: ``chapter.xhtml#fig1`` gives ``OEBPS/chapter.xhtml#fig1``."""
    address, _, fragment = href.partition("#")
    if not fragment or ELSEWHERE.match(address):
        return None
    member = archive.find(resolve(chapter, address)) if address else chapter
    return None if member is None else f"{member}#{unquote(fragment)}"


def _image(archive: Archive, package: Package, chapter: str, image: FlowImage) -> FlowImage:
    """Return the image with its bytes, if it lies in the book."""
    if image.problem is not None:
        return image
    problem = None
    for source in image.sources:
        if ELSEWHERE.match(source):
            continue
        member = archive.find(resolve(chapter, re.split("[?#]", source, maxsplit=1)[0]))
        if member is None:
            problem = problem or "not in the book: its address leads to no file in it"
        elif member in package.encrypted:
            problem = "encrypted in the book"
        else:
            try:
                return replace(image, sources=(member,), file=archive.read(member))
            except HostileDocumentError:
                raise
            except DocumentError as error:
                problem = str(error)
    outside = tuple(source for source in image.sources if ELSEWHERE.match(source))
    return replace(image, sources=outside) if outside else replace(image, problem=problem)


def _slug(text: str) -> str:
    """Return a title as part of a name: letters and digits, everything else a hyphen."""
    return re.sub(r"[\W_]+", "-", text.casefold()).strip("-")[:60].rstrip("-")
