"""Small documents of every format, with all that its reader knows in them: what mutation starts from."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from docx.shared import Inches
from PIL import Image

from tests.support.articles import ASCIIDOC as ASCIIDOC_PAGE
from tests.support.docx import Making
from tests.support.pandoc import DOCUMENTS, pandoc
from tests.support.pptx import picture, table, text, write_pptx

MDX = """import map, {x} from './img/a.png';
export const url = "/img/b.png"; export const f = () => { return `}` }

# The map {#map}

{/* <img src="no.png"/> */} See <B color="red">this *red*</B>{" "}word and {x.y && <img src={url} alt={y} />}.

<Tabs>
  <TabItem value="a" label="Linux">
    - one

    <Image src={map} alt='A map' width={400} {...more} />
  </TabItem>
</Tabs>

:::note[Care]
<Frame caption="Old."><img src={require('./img/c.png').default} style={{zoom: '50%'}}/></Frame>
:::

<ThemedImage sources={{light: useBaseUrl('/a.svg'), dark: useBaseUrl('/b.svg')}} />
"""

MARKDOWN = """---
title: &name "Trams: old & new"
lang: en-GB
tags: [a, *name, {b: 1, c: 0x1f, d: 1_000, e: 2020-01-01}]
---
# Heading *one* {#one}

First *sentence*, [link](#fig-a) and [another][pic]. `code` Second one! <b>Bold</b> &amp; &#x41; done.

![A tram](img/a.png "Title"){: .center #fig-a width=300}
*The old tram.*

![[img/b.png|A tram]] and ![x]({{ '/img/a.png' | relative_url }}) and ![a b](my tram.png)

{% include figure image_path="img/a.png" alt="this" caption="that" %}
{{< figure src="img/a.png" title="That \\"tram\\"" >}} {% highlight py %}code{% endhighlight %}

- item one
  1. within
- item two :material-pencil:

> Quoted text. “Really?” he said.

<figure id='f'><img src='img/c.png' srcset='a.png 1x, b.png 480w'><figcaption>In HTML.</figcaption></figure>

| a | b |
|---|:-:|
| c one | d two |

Term
: Its meaning.

!!! note "Take care"
    Here.

Text[^1] ~~gone~~.

[^1]: A footnote.

```
code here
```

[pic]: img/b.png 'Title'
"""
LABELLED = """# Trams {#sec-a}

(one)=
```{figure} img/a.*
:name: old tram
:alt: A tram

The *old* tram.

It ran.
```

::::{note} Care
:::{figure-md} fig-b
![B](b.png)

Two.
:::
See {numref}`Figure {number} <old tram>`, {ref}`one`, @fig-c, [-@fig-d], \\@ref(fig:map), [](#one) and `r code`.
::::

(ref:cap) A caption.

![The *c*.](c.png){#fig-c fig-alt="C"}

::: {#fig-d layout-ncol=2}

![L](l.png){#fig-l}

Both.
:::

```{r map, fig.cap=c("(ref:cap)", 'b'), out.width = "1%"}
#| fig-alt: [a, b]
knitr::include_graphics(c("a.png", "b.png"))
```

```{code-cell}
---
mystnb:
  figure:
    caption: x
---
plot()
```
"""
ASCIIDOC = f"""{ASCIIDOC_PAGE}include::other.adoc[tag=a]
ifdef::x,y[]
,===
a,b
,===
endif::[]
:!town: no
====
--
1. one
--
====
"""
RST = """.. _one:

Heading *one*
=============

:author: nobody

First *sentence*, |pic|, `link <https://example.org>`_, :ref:`one` and :numref:`Figure %s <fig-a>`. ``code`` Second one! H\\ :sub:`2`\\ O

.. figure:: img/a.png
   :name: fig-a
   :alt: A tram
   :figwidth: 50%

   The *old* tram [1]_.

   It ran.

.. |pic| image:: img/b.*
.. [1] A footnote.
.. only:: html or not latex

   Shown.

- item one

  1. within

Term : class
   Meaning.

+---+---+
| a | b |
+===+===+
| c | d |
+---+---+

.. list-table:: Prices
   :header-rows: 1

   * - a
     - b
   * - c
     - d

.. note:: Take care.
.. include:: other.txt
   :start-after: x
.. graphviz::
   :caption: Graph

   a -> b
.. raw:: html

   <p>HTML <img src="c.png"></p>
.. math:: a

   Quoted.

   -- Somebody

| line
| block

>>> code()
1
"""
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "raw", "source": "---\ntitle: Trams\n---\n", "metadata": {}},
            {
                "cell_type": "markdown",
                "source": ["# A heading\n", "Running *text*. ![alt](attachment:a.png)"],
                "attachments": {"a.png": {"image/png": "iVBORw0KGgo="}},
                "metadata": {"tags": ["hide-input"]},
            },
            {
                "cell_type": "code",
                "source": "#| label: fig-a\n#| fig-cap: A caption.\nplot()",
                "metadata": {"mystnb": {"figure": {"caption": "c", "name": "n"}}},
                "outputs": [
                    {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=", "text/plain": "x"}},
                    {"output_type": "display_data", "data": {"text/html": ["<img src='a.png'>"], "image/svg+xml": ""}},
                    {"output_type": "stream", "text": "printed"},
                ],
            },
        ],
        "metadata": {"title": "Trams"},
        "nbformat": 4,
        "nbformat_minor": 5,
    },
    indent=1,
)
HTML = """<!DOCTYPE html><html lang="de-AT"><head><meta charset="utf-8"><title>Bread &amp; butter</title></head><body>
<nav class="menu"><ul><li><a href="/">Home</a></li><li><a href="/b">About</a></li></ul></nav>
<div class="cookie-banner" hidden>We use cookies.</div><header role="banner"><h1>Bread</h1></header>
<div class="content"><main><h2 id="one">Heading</h2><p>See <a href="#fig-1">Figure 1</a>. <i>Nothing</i> here.<br><br>More.</p>
<figure id="fig-1"><picture><source srcset="big.webp 2000w, small.webp 1.5x"><img src="a.png" alt="A  tram" id="one"></picture>
<svg><title>Sales</title></svg><figcaption>Figure 1: Two <i>things</i>.</figcaption></figure>
<p class="wp-caption-text">A caption.</p><img data-src="b.png" src="data:image/gif;base64,R0lGOD"><noscript><img src="b.png"></noscript>
<table><caption>Prices.</caption><tr><th>One</th><td>1 euro</td></tr></table><blockquote><p>“Said,” he said.</p></blockquote>
<dl><dt>Flour</dt><dd>White.</dd></dl><pre>code</pre><script>var a = "<p>";</script><p>%s</p></main></div>
<footer><p>Copyright.</p></footer></body></html>""" % ("Ein langer Satz über die Mühle am Fluss. " * 6)
CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'
PACKAGE = """<?xml version="1.0" encoding="utf-8"?><package xmlns="http://www.idpf.org/2007/opf"><metadata>
<dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">A book</dc:title><dc:language xmlns:dc="http://purl.org/dc/elements/1.1/">en</dc:language>
</metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/><item id="b" href="b%20c.xhtml"
media-type="application/xhtml+xml"/><item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="x" href="toc.ncx" media-type="application/x-dtbncx+xml"/><item id="p" href="p.png" media-type="image/png"/></manifest>
<spine toc="x"><itemref idref="a"/><itemref idref="b" linear="yes"/></spine><guide><reference type="toc" href="nav.xhtml"/></guide></package>"""
NAV = """<html xmlns:epub="http://www.idpf.org/2007/ops"><body><nav epub:type="toc"><ol><li><a href="a.xhtml#one">One</a></li></ol></nav></body></html>"""
NCX = """<ncx><navMap><navPoint><navLabel><text>Two</text></navLabel><content src="b%20c.xhtml"/></navPoint></navMap></ncx>"""
ENCRYPTION = """<encryption><EncryptedData><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/><CipherData>
<CipherReference URI="OEBPS/font.otf"/></CipherData></EncryptedData></encryption>"""
CHAPTER = """<?xml version="1.0" encoding="iso-8859-1"?><html xmlns:epub="http://www.idpf.org/2007/ops" lang="en"><head><title>One</title></head><body>
<section epub:type="chapter"><h1 id="one">Chapter one</h1><p>Words. See <a href="b%20c.xhtml#two">two</a>.<a epub:type="noteref" href="#n">1</a></p>
<svg viewBox="0 0 9 9"><image xlink:href="p.png"/><desc>Cover</desc></svg><img src="p.png" alt="It"/><aside epub:type="footnote" id="n">Note.</aside>
<span epub:type="pagebreak" id="two">4</span></section></body></html>"""


def seeds(format_: str) -> list[bytes]:
    """Documents of one format."""
    match format_:
        case "markdown":
            toml = '+++\ntitle = "T"\nlang = "fr"\ndate = 2020-01-01\n+++\n\nDu texte.\n'
            return [MARKDOWN.encode(), LABELLED.encode(), MDX.encode(), toml.encode(), MARKDOWN.encode("utf-16")]
        case "html":
            return [HTML.encode(), HTML.replace("utf-8", "iso-8859-1").encode("latin-1", "replace")]
        case "asciidoc":
            return [ASCIIDOC.encode(), ASCIIDOC.encode("utf-16")]
        case "rst":
            return [RST.encode(), RST.encode("utf-16")]
        case "docx":
            return [_docx()]
        case "notebook":
            return [NOTEBOOK.encode()]
        case "pptx":
            shapes = text("Trams", holds="title") + text("They ran.", "They rang.") + picture("a", "A tram")
            return [write_pptx([shapes, table(("a", "b"))], {"a.png": _png()}, {0: text("Said aloud.")})]
        case "odt" | "rtf":
            with TemporaryDirectory() as folder:
                (Path(folder) / "a.png").write_bytes(_png())
                return [pandoc(MARKDOWN.replace("img/a.png", "a.png"), format_, Path(folder))]
        case _ if format_ in DOCUMENTS:
            return [DOCUMENTS[format_].encode()]
        case "epub":
            members: dict[str, str | bytes] = {
                "META-INF/container.xml": CONTAINER, "META-INF/encryption.xml": ENCRYPTION, "OEBPS/content.opf": PACKAGE,
                "OEBPS/nav.xhtml": NAV, "OEBPS/toc.ncx": NCX, "OEBPS/a.xhtml": CHAPTER, "OEBPS/b c.xhtml": CHAPTER,
                "OEBPS/p.png": _png(),
            }  # fmt: skip
            return [packed({"mimetype": "application/epub+zip", **members})]
        case _:
            raise KeyError(f"{format_}: write a small document of this format with all that its reader knows")


def packed(members: Mapping[str, str | bytes]) -> bytes:
    """A zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content)
    return buffer.getvalue()


def real_seeds(folder: Path, suffixes: tuple[str, ...]) -> list[bytes]:
    """Files with one of the suffixes, below 200 kB so that a run is not spent on a few."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in suffixes and path.is_file())
    return [path.read_bytes() for path in files if path.stat().st_size < 200_000]


def _png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (90, 80), (200, 90, 10)).save(buffer, "PNG")
    return buffer.getvalue()


def _docx() -> bytes:
    made = Making()
    file = made.file
    file.add_heading("A heading", 1)
    file.add_paragraph("Running text. Of two sentences.").add_run(" In italics.").italic = True
    file.add_paragraph("an item", style="List Bullet")
    table = file.add_table(2, 2)
    table.cell(0, 0).text = "one"
    table.cell(0, 1).merge(table.cell(1, 1)).text = "two"
    file.add_picture(io.BytesIO(_png()), width=Inches(2))
    relation = file.inline_shapes[0]._inline.graphic.graphicData.pic.blipFill.blip.embed
    file.add_paragraph("Figure 1. A caption.", style="Caption")
    field = (
        '<w:bookmarkStart w:id="1" w:name="_Ref1"/><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> REF _Ref1 \\h '
        '</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>Figure 1</w:t></w:r><w:r><w:fldChar '
        'w:fldCharType="end"/></w:r><w:hyperlink w:anchor="_Ref1"><w:r><w:t>here</w:t><w:br/><w:br/></w:r></w:hyperlink>'
        '<w:fldSimple w:instr=" SEQ Figure "><w:r><w:t>1</w:t></w:r></w:fldSimple>'
    )
    box = (
        '<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wp:anchor><wp:docPr id="3" name="x" descr="An alt"/>'
        "<w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></w:txbxContent></wp:anchor></w:drawing></mc:Choice>"
        f'<mc:Fallback><w:pict><v:shape alt="y"><v:imagedata r:id="{relation}"/></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>'
    )
    made.add(field, box, "<w:sdt><w:sdtContent><w:r><w:t>In a control.</w:t></w:r></w:sdtContent></w:sdt>")
    return made.bytes()
