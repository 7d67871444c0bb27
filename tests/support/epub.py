"""EPUBs for tests."""

from __future__ import annotations

import io
import zipfile

from tests.support.pdf import jpeg

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)


NCX = (
    '<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">'
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>From the contents</text></navLabel>'
    '<content src="text/three.xhtml"/></navPoint></navMap></ncx>'
)


NAV = '<nav epub:type="toc"><ol><li><a href="text/one.xhtml">One</a></li></ol></nav>'


def page(body: str, title: str = "") -> str:
    return (
        '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"'
        ' xmlns:epub="http://www.idpf.org/2007/ops" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<head><title>{title}</title><script src='a.js'/></head><body>{body}</body></html>"
    )


COVER = '<svg viewBox="0 0 1 1"><image xlink:href="../img/A%20b.JPG"/></svg>'


ONE = (
    '<section epub:type="chapter"><h1>The first</h1><p>A chapter<span epub:type="pagebreak" title="7">7</span> with text.'
    ' See <a href="two.xhtml#fig1">the figure</a>.<a epub:type="noteref" href="#n">1</a></p><aside epub:type="footnote" id="n">'
    "A note.</aside></section>"
)


TWO = (
    '<h1>The second</h1><p>Before it.</p><figure id="fig1"><img src="../img/a b.jpg" alt="colours"/>'
    "<figcaption>Figure 1: Colours.</figcaption></figure><p>After it, &nbsp;see <a href='#fig1'>above</a>.</p>"
)


THREE = "<p>No heading here.</p><img src='../img/lost.jpg' alt='lost'/>"
DEFAULT = {
    "cover": COVER,
    "title": '<section epub:type="titlepage"><h1>A Book</h1></section>',
    "one": ONE,
    "two": TWO,
    "three": THREE,
}


def book(chapters: dict[str, str] | None = None, *, members: dict[str, bytes | str] | None = None) -> bytes:
    """An EPUB. ``members`` are added to what it holds, or take its place; an empty one is left out."""
    chapters = DEFAULT if chapters is None else chapters
    items = "".join(
        f'<item id="{name}" href="text/{name}.xhtml" media-type="application/xhtml+xml"/>' for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        f"<dc:title>A Book</dc:title><dc:language>en-GB</dc:language></metadata><manifest>{items}"
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        '<item id="aside" href="text/aside.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="gone" href="text/gone.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>'
        f'<spine toc="ncx"><itemref idref="nav"/>{spine}<itemref idref="aside" linear="no"/><itemref idref="gone"/>'
        '<itemref idref="nothing"/></spine></package>'
    )
    held: dict[str, bytes | str] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/content.opf": opf,
        "OEBPS/toc.ncx": NCX,
        "OEBPS/nav.xhtml": page(NAV),
        "OEBPS/text/aside.xhtml": page("<p>Not in the line of reading.</p>"),
        "OEBPS/img/a b.jpg": jpeg(),
        **{f"OEBPS/text/{name}.xhtml": page(body, name) for name, body in chapters.items()},
        **(members or {}),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in held.items():
            if content:
                file.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
