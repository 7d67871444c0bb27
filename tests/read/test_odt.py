"""Texts of LibreOffice."""

from __future__ import annotations

import io
import zipfile

import pytest

from iconotext.errors import DocumentError
from iconotext.evidence.reference import reference_evidence
from tests.support.odt import SPACES, write_odt
from tests.support.pandoc import pandoc
from tests.support.reading import read_as

TEXT = """
<text:p text:style-name="P1">Trams</text:p>
<text:table-of-content><text:index-body><text:p>Contents</text:p></text:index-body></text:table-of-content>
<text:h text:outline-level="2">The start</text:h>
<text:p>The first<text:s text:c="3"/>sentence<text:note><text:note-citation>1</text:note-citation><text:note-body>
<text:p>A note.</text:p></text:note-body></text:note>. See <text:sequence-ref text:ref-name="refFigure0">Figure 1</text:sequence-ref>
and <text:bookmark-ref text:ref-name="new">the new one</text:bookmark-ref>.<office:annotation><text:p>Hm.</text:p></office:annotation></text:p>
<text:p><draw:frame><draw:text-box><text:p text:style-name="Figure"><draw:frame><draw:image xlink:href="Pictures/a.png"/>
<svg:title>A title</svg:title><svg:desc>A red tram</svg:desc></draw:frame>Figure <text:sequence text:ref-name="refFigure0"
text:name="Figure">1</text:sequence>: The old tram.</text:p></draw:text-box></draw:frame></text:p>
<text:list><text:list-item><text:p>An item.</text:p></text:list-item></text:list>
<table:table><table:table-row><table:table-cell><text:p>A cell</text:p></table:table-cell></table:table-row></table:table>
<text:p><text:bookmark-start text:name="new"/><draw:frame><draw:image xlink:href="Pictures/x.emf"/><draw:image xlink:href="Pictures/b.png"/>
</draw:frame><text:bookmark-end text:name="new"/></text:p>
<text:p text:style-name="P2">The new tram.</text:p>
<text:p><draw:frame><draw:image xlink:href="Pictures/gone.png"/></draw:frame><draw:frame><draw:image xlink:href="https://x.example/a.png"/>
</draw:frame><draw:frame><draw:image xlink:href="../../../secret.png"/></draw:frame> <text:a xlink:href="#new">Last</text:a> words.</text:p>
"""


@pytest.fixture
def document(tmp_path):
    return lambda data, name="a.odt": read_as(tmp_path / name, data)


def test_a_text_with_captions_and_cross_references(document, picture):
    media = {f"Pictures/{name}.png": picture(f"{name}.png", seed=n).read_bytes() for n, name in enumerate("ab")}
    meta = (
        f"<office:document-meta {SPACES}><office:meta><title>About trams</title></office:meta></office:document-meta>"
    )
    found = document(write_odt(TEXT, media, **{"meta.xml": meta}))
    assert found.title == "About trams"
    assert document(write_odt("<text:p>Words.</text:p>", **{"meta.xml": "<broken"})).title is None
    assert [(s.text, s.kind, s.level) for s in found.sentences] == [
        ("Trams", "heading", 1),
        ("The start", "heading", 2),
        ("The first sentence.", "paragraph", None),
        ("See Figure 1 and the new one.", "paragraph", None),
        ("An item.", "item", None),
        ("A cell", "cell", None),
        ("Last words.", "paragraph", None),
        ("A note.", "item", None),
    ]
    assert [(i.source, i.alt, i.caption, i.position) for i in found.images][:2] == [
        ("Pictures/a.png", "A red tram", "Figure 1: The old tram.", 4),
        ("Pictures/b.png", None, "The new tram.", 6),
    ]
    assert [i.problem for i in found.images][:4] == [
        None,
        None,
        "the file names it and does not hold it",
        "a picture on the web: the option fetch fetches it",
    ]
    assert "outside the folder" in (found.images[4].problem or "")
    assert found.images[0].file == media["Pictures/a.png"]
    evidence = reference_evidence(found)
    assert [(int(i), int(j)) for i, j in zip(*(evidence > 0).nonzero(), strict=True)] == [(3, 0), (3, 1), (6, 1)]


def test_what_another_program_writes(document, picture, tmp_path):
    data = picture("a.png").read_bytes()
    text = "---\ntitle: Trams\n---\n\nThe first sentence.\n\n![The old tram.](a.png)\n\nLast words.\n"
    found = document(pandoc(text, "odt", tmp_path))
    assert [s.text for s in found.sentences] == ["Trams", "The first sentence.", "Last words."]
    assert [(i.file, i.caption, i.position) for i in found.images] == [(data, "The old tram.", 2)]


def test_a_text_is_told_by_its_first_bytes(document):
    assert document(write_odt("<text:p>Words.</text:p>"), "a.bin").sentences


BOMB = io.BytesIO()
with zipfile.ZipFile(BOMB, "w", zipfile.ZIP_DEFLATED) as bomb:
    bomb.writestr("content.xml", bytes(50_000_000))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no zip at all", "cut off or damaged"),
        (BOMB.getvalue(), r"content\.xml in it unpacks to more than 200 times its size"),
        (write_odt("<text:p>"), "not well-formed XML"),
        (write_odt("<text:list>" * 5_000 + "</text:list>" * 5_000), "not well-formed XML"),
        (write_odt("", **{"META-INF/manifest.xml": "<a><encryption-data/></a>"}), "it has a password"),
        (b"PK\x05\x06" + bytes(18), "there is no text in its content"),
    ],
)
def test_bombs_and_broken_files(document, data, message):
    with pytest.raises(DocumentError, match=message):
        document(data)
