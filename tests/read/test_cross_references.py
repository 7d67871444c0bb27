"""What stands for a reference by label, in every format that has such references: never the caption of the figure."""

from __future__ import annotations

import json

import pytest

from iconotext.evidence.reference import EXPLICIT, reference_evidence
from iconotext.report.source_offsets import source_spans
from tests.support.docx import Making, blip, run
from tests.support.odt import write_odt
from tests.support.reading import read_as, texts

CAPTION = "Phases of the old tram. It ran in winter"
MYST = f"```{{figure}} a.png\n:name: fig:tram\n\n{CAPTION}\n```\n"
QUARTO = f"![{CAPTION}](a.png){{#fig-tram}}\n"
CROSSREF = f"![{CAPTION}](a.png){{#fig:tram}}\n"
RST = f".. _fig-tram:\n\n.. figure:: a.png\n\n   {CAPTION}\n"
ADOC = f"[[fig-tram]]\n.{CAPTION}\nimage::a.png[]\n"
TEX = rf"\begin{{figure}}\includegraphics{{a.png}}\caption{{{CAPTION}}}\label{{fig:tram}}\end{{figure}}"
DOCBOOK = (
    '<article xmlns="http://docbook.org/ns/docbook" version="5.0"><para>{}</para><figure xml:id="fig-tram"><title>'
    f'{CAPTION}</title><mediaobject><imageobject><imagedata fileref="a.png"/></imageobject></mediaobject></figure></article>'
)
TYPST = f'\n\n#figure(image("a.png"), caption: [{CAPTION}]) <fig-tram>\n'
ORG = f"\n\n#+CAPTION: {CAPTION}\n#+NAME: fig:tram\n[[file:a.png]]\n"

REFERENCES = {
    "MyST, an empty link": ("md", f"See [](#fig:tram) here.\n\n{MYST}", "See Figure 1 here."),
    "MyST, an empty link before a point": ("md", f"Look at [](#fig:tram).\n\n{MYST}", "Look at Figure 1."),
    "MyST, after its name": ("md", f"See Figure [](#fig:tram) here.\n\n{MYST}", "See Figure 1 here."),
    "MyST, numref": ("md", f"See {{numref}}`fig:tram` here.\n\n{MYST}", "See Fig. 1 here."),
    "MyST, ref": ("md", f"See {{ref}}`fig:tram` here.\n\n{MYST}", "See Figure 1 here."),
    "MyST, the author's words": (
        "md",
        f"See {{ref}}`that <fig:tram>` and [it](#fig:tram).\n\n{MYST}",
        "See that and it.",
    ),
    "MyST, without a number": ("md", "(fig:tram)=\n![A](a.png)\n\nSee [](#fig:tram) here.\n", "See the figure here."),
    "MyST, without a sign": ("md", f"See [](fig:tram) here.\n\n{MYST}", "See Figure 1 here."),
    "MyST, the author's words without a sign": ("md", f"See [it](fig:tram) here.\n\n{MYST}", "See it here."),
    "MyST, a role with its domain": ("md", f"See {{std:numref}}`fig:tram` here.\n\n{MYST}", "See Fig. 1 here."),
    "MyST, pictures in a figure": (
        "md",
        f"See [](#fig:tram) here.\n\n:::{{figure}}\n:label: fig:tram\n\n![A](a.png)\n\n{CAPTION}\n:::\n",
        "See Figure 1 here.",
    ),
    "MyST, at the beginning": ("md", "(fig:tram)=\n![A](a.png)\n\nSo. {ref}`fig:tram` is it.\n", "The figure is it."),
    "Quarto": ("qmd", f"See @fig-tram here.\n\n{QUARTO}", "See Figure 1 here."),
    "Quarto, the number": ("qmd", f"See Fig. -@fig-tram here.\n\n{QUARTO}", "See Fig. 1 here."),
    "pandoc-crossref": ("md", f"See @fig:tram here.\n\n{CROSSREF}", "See Figure 1 here."),
    "pandoc-crossref, after its name": ("md", f"See fig. @fig:tram here.\n\n{CROSSREF}", "See fig. 1 here."),
    "bookdown": (
        "Rmd",
        f'See Figure \\@ref(fig:tram) here.\n\n```{{r tram, fig.cap="{CAPTION}"}}\nknitr::include_graphics("a.png")\n```\n',
        "See Figure 1 here.",
    ),
    "d2lbook": ("md", f"See :numref:`fig_tram` here.\n\n![{CAPTION}](a.png)\n:label:`fig_tram`\n", "See Fig. 1 here."),
    "Sphinx, numref": ("rst", f"See :numref:`fig-tram` here.\n\n{RST}", "See Fig. 1 here."),
    "Sphinx, a role with its domain": ("rst", f"See :std:ref:`fig-tram` here.\n\n{RST}", "See Figure 1 here."),
    "Sphinx, ref": ("rst", f"See :ref:`fig-tram` here.\n\n{RST}", "See Figure 1 here."),
    "Sphinx, any": ("rst", f"See :any:`fig-tram` here.\n\n{RST}", "See Figure 1 here."),
    "AsciiDoc": ("adoc", f"See <<fig-tram>> here.\n\n{ADOC}", "See Figure 1 here."),
    "AsciiDoc, xref": ("adoc", f"See xref:fig-tram[] here.\n\n{ADOC}", "See Figure 1 here."),
    "AsciiDoc, the author's words": ("adoc", f"See <<fig-tram,that>> here.\n\n{ADOC}", "See that here."),
    "LaTeX": ("tex", rf"See Figure~\ref{{fig:tram}} here. {TEX}", "See Figure 1 here."),
    "LaTeX, autoref": ("tex", rf"See \autoref{{fig:tram}} here. {TEX}", "See Figure 1 here."),
    "LaTeX, nameref": ("tex", rf"See \nameref{{fig:tram}} here. {TEX}", "See Figure 1 here."),
    "Org": ("org", f"See Figure [[fig:tram]] here.{ORG}", "See Figure 1 here."),
    "DocBook": ("dbk", DOCBOOK.format('See <xref linkend="fig-tram"/> here.'), "See Figure 1 here."),
    "Typst": ("typ", f"See @fig-tram here.{TYPST}", "See Figure 1 here."),
    "a number in the caption": (
        "md",
        f"See {{numref}}`fig:tram` here.\n\n{MYST.replace('Phases', 'Fig. 4.2: Phases')}",
        "See Fig. 4.2 here.",
    ),
}


@pytest.mark.parametrize("form", REFERENCES)
def test_a_reference_shows_a_number_or_a_name_and_keeps_its_target(tmp_path, picture, form):
    suffix, text, expected = REFERENCES[form]
    picture()
    check(read_as(tmp_path / f"a.{suffix}", text), expected)


def check(found, expected):
    assert expected in texts(found)
    assert [text for text in texts(found) if "Phases" in text or "winter" in text] == []
    evidence = reference_evidence(found)
    assert evidence[texts(found).index(expected)].tolist() == [EXPLICIT]


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ('<a href="#fig-tram"><span class="std std-numref">Fig. 4.2</span></a>', "See Fig. 4.2 here."),
        (f'<a href="#fig-tram"><span class="std std-ref">{CAPTION}</span></a>', "See Fig. 4.2 here."),
        ('<a href="#document-trams#fig-tram">Fig. 4.2</a>', "See Fig. 4.2 here."),  # of its single page
        ('<a href="#fig-tram">the old tram</a>', "See the old tram here."),
    ],
)
def test_in_pages_of_sphinx(tmp_path, picture, link, expected):
    picture()
    page = (
        f'<html><body><main><p>See {link} here.</p><figure id="id1"><span id="fig-tram"></span><img src="a.png">'
        '<figcaption><p><span class="caption-number">Fig. 4.2 </span><span class="caption-text">'
        f"{CAPTION}</span></p></figcaption></figure></main></body></html>"
    )
    found = read_as(tmp_path / "a.html", page)
    check(found, expected)
    assert found.images[0].caption == f"Fig. 4.2 {CAPTION}"


def test_a_short_caption_may_be_the_words_of_the_author(tmp_path, picture):
    picture()
    page = '<main><p>The <a href="#a">Tram</a> waits.</p><figure id="a"><img src="a.png"><figcaption>Tram</figcaption></figure></main>'
    assert texts(read_as(tmp_path / "a.html", f"<html><body>{page}</body></html>")) == ["The Tram waits."]


def test_in_a_notebook(tmp_path, picture):
    picture()
    cells = [{"cell_type": "markdown", "metadata": {}, "source": text} for text in ("See [](#fig:tram) here.", MYST)]
    content = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    check(read_as(tmp_path / "a.ipynb", content), "See Figure 1 here.")


@pytest.mark.parametrize(
    ("shown", "label", "expected"),
    [
        (f"Figure 1: {CAPTION}", "Figure 1: ", "See Figure 1 here."),
        (CAPTION, "Figure 1: ", "See Figure 1 here."),
        (CAPTION, "", "See the figure here."),
        ("Figure 1", "Figure 1: ", "See Figure 1 here."),
    ],
)
def test_in_word_and_libreoffice(tmp_path, picture, shown, label, expected):
    data = picture().read_bytes()
    word = Making()
    mark = '<w:bookmarkStart w:id="1" w:name="_Ref1"/>{}<w:bookmarkEnd w:id="1"/>'
    reference = f'<w:fldSimple w:instr=" REF _Ref1 \\h ">{run(shown)}</w:fldSimple>'
    style = '<w:pPr><w:pStyle w:val="Caption"/></w:pPr>'
    word.add(run("See ") + reference + run(" here."))
    word.add(f"<w:r>{blip(word.embed(data))}</w:r>", style + mark.format(run(label + CAPTION)))
    check(read_as(tmp_path / "a.docx", word.bytes()), expected)
    text = (
        f'<text:p>See <text:bookmark-ref text:ref-name="m">{shown}</text:bookmark-ref> here.</text:p><text:p>'
        '<draw:frame><draw:image xlink:href="Pictures/a.png"/></draw:frame></text:p><text:p text:style-name="Figure">'
        f'<text:bookmark-start text:name="m"/>{label}{CAPTION}<text:bookmark-end text:name="m"/></text:p>'
    )
    check(read_as(tmp_path / "a.odt", write_odt(text, {"Pictures/a.png": data})), expected)


def test_figures_of_other_files(tmp_path, picture):
    text = (
        "See {numref}`fig:map`. In Figure \\@ref(fig:map) it is. {numref}`all-table` has all. So do [](#sec-all) and {ref}`install`.\n\n"
        "![A tram](a.png)\n"
    )
    picture()
    found = read_as(tmp_path / "a.md", text)
    assert texts(found) == [
        "See the figure.",
        "In Figure it is.",
        "The table has all.",
        "So do the section and install.",
    ]
    assert not reference_evidence(found).any()  # "the figure" is not the picture that happens to stand here
    assert all(source_spans(found))


def test_figures_of_other_files_in_latex(tmp_path):
    found = read_as(tmp_path / "a.tex", r"See Figure~\ref{fig:gone} or \cref{fig:lost}. In \ref{gone} it is.")
    assert texts(found) == ["See Figure or the figure.", "In [gone] it is."]
