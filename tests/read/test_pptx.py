"""Presentations."""

from __future__ import annotations

import pytest

from iconotext.errors import DocumentError, HostileDocumentError
from tests.support.pandoc import pandoc
from tests.support.pptx import picture as shown
from tests.support.pptx import table, text, write_pptx
from tests.support.reading import packed_with, read_as


@pytest.fixture
def media(picture):
    return {f"{name}.png": picture(f"{name}.png", seed=seed).read_bytes() for seed, name in enumerate("abc")}


@pytest.fixture
def presentation(tmp_path):
    return lambda data, name="a.pptx": read_as(tmp_path / name, data)


def test_slides_are_sections_with_pictures_and_notes(presentation, media):
    slides = [
        text("Trams", holds="ctrTitle") + text("A talk", holds="subTitle"),
        # The heading is drawn last, and stands first all the same.
        text("They ran. They rang.", "They stopped.")
        + f"<p:grpSp>{shown('a', 'A red tram')}</p:grpSp>"
        + text("7", holds="sldNum")
        + text("The old line", holds="title")
        + text("Figure 1: The old tram.", holds=None),
        text("Never shown", holds="title"),
        text("Prices", holds="title") + table(("Tram", "2"), ("Bus", "3")) + shown("b") + shown("gone"),
    ]
    notes = {1: text("Tell of the bell here.") + text("1", holds="sldNum")}
    found = presentation(write_pptx(slides, media, notes, hidden=(2,)))
    assert [(s.text, s.kind, s.level) for s in found.sentences] == [
        ("Trams", "heading", 1),
        ("A talk", "paragraph", None),
        ("The old line", "heading", 2),
        ("They ran.", "item", None),
        ("They rang.", "item", None),
        ("They stopped.", "item", None),
        ("Tell of the bell here.", "paragraph", None),
        ("Prices", "heading", 2),
        *((cell, "cell", None) for cell in ("Tram", "2", "Bus", "3")),
    ]
    assert [(i.source, i.alt, i.caption, i.position, i.problem) for i in found.images] == [
        ("ppt/media/a.png", "A red tram", "Figure 1: The old tram.", 6, None),
        ("ppt/media/b.png", None, None, 12, None),
        ("gone", None, None, 12, "the file names it and does not hold it"),
    ]
    assert found.images[0].file == media["a.png"]
    assert found.title == "Trams"


def test_what_another_program_writes(presentation, media, tmp_path):
    source = "---\ntitle: Trams\n---\n\n## The old line\n\nThey ran.\n\n## The depot\n\n![](a.png)\n\n::: notes\nSaid aloud.\n:::\n"
    found = presentation(pandoc(source, "pptx", tmp_path))
    assert [s.text for s in found.sentences] == ["Trams", "The old line", "They ran.", "The depot", "Said aloud."]
    assert [(i.file, i.position) for i in found.images] == [(media["a.png"], 4)]


def test_a_presentation_is_told_by_its_first_bytes(presentation, media):
    assert presentation(write_pptx([text("Words")], media), "a.bin").sentences


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), r"a \.ppt file or one with a password: save it as \.pptx"),
        (b"PK, and no more", "cut off or damaged"),
        (write_pptx(["<p:broken>"], {}), "slide1.xml in it is not well-formed"),
    ],
)
def test_what_is_no_presentation(presentation, data, message):
    with pytest.raises(DocumentError, match=message):
        presentation(data)


def test_bombs_and_depths(presentation):
    with pytest.raises(HostileDocumentError, match="unpacks to more than 200 times"):
        presentation(write_pptx(["<!-- " + " " * 20_000_000 + " -->"], {}))
    with pytest.raises(DocumentError, match=r"slide1\.xml in it is not well-formed|nested"):
        presentation(write_pptx(["<p:grpSp>" * 5_000 + "</p:grpSp>" * 5_000], {}))
    entities = packed_with(
        write_pptx([text("Words &a;")], {}), r".*slide1\.xml", lambda xml: b'<!DOCTYPE a [<!ENTITY a "b">]>' + xml
    )
    with pytest.raises(HostileDocumentError, match="declares XML entities"):
        presentation(entities)
