"""What people meet who use the package from Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from iconotext import Document, Image, Linker, LinkSettings, Sentence
from iconotext.errors import DocumentError
from iconotext.read import Failure
from tests.support.linked import photograph


@pytest.fixture(scope="module")
def linker() -> Linker:
    return Linker.load(settings=LinkSettings(cache=False, evidence=("layout",), relations="none"))


@pytest.fixture
def article(tmp_path):
    (tmp_path / "a.jpg").write_bytes(photograph(0, (200, 200)))
    (tmp_path / "a.md").write_text("A cat.\n\n![](a.jpg)\n")
    return tmp_path / "a.md"


def test_link_takes_the_name_of_a_file(linker, article):
    for given in (article, str(article)):
        linked = linker.link(given)
        assert linked.document.source == article
        assert len(linked.links) == 1


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ("A cat sleeps.", TypeError, r"no file is called 'A cat sleeps\.'.*Document\("),
        ("x\0" + "y" * 10_000, TypeError, "Document"),
        ({"sentences": []}, TypeError, "not a dict"),
        ("", TypeError, "not an empty text"),
        (None, TypeError, "not None"),
        (Path("A cat sleeps."), DocumentError, "A cat sleeps"),
        (Path("/nowhere/none.md"), DocumentError, "none.md"),
        ("/nowhere/none.md", DocumentError, "none.md"),
        ("https://example.org/a", DocumentError, "the option fetch"),
    ],
)
def test_link_says_what_is_wrong_with_what_it_gets(linker, given, kind, message):
    with pytest.raises(kind, match=message):
        linker.link(given)


def test_link_all_takes_names_of_files_and_a_list_only(linker, article):
    good, bad = linker.link_all([str(article), article.with_name("none.md")])
    assert good.document.id == "a"
    assert isinstance(bad, Failure)
    assert bad.path == article.with_name("none.md")
    with pytest.raises(TypeError, match="list"):
        next(linker.link_all(str(article)))


def test_a_document_needs_no_pictures():
    assert Document("d", ["One."]).images == ()


def test_a_document_takes_plain_texts_and_names_of_pictures():
    made = Document("d", ["One.", Sentence("Two.")], ["a.jpg", Path("b.jpg")])
    assert made.sentences == (Sentence("One."), Sentence("Two."))
    assert made.images == (Image("a.jpg", Path("a.jpg")), Image("b.jpg", Path("b.jpg")))
    assert replace(made, title="T").sentences is made.sentences


@pytest.mark.parametrize(
    ("sentences", "images", "named"),
    [("One.", (), "sentences"), ([1], (), "int"), ((), "a.jpg", "images"), ((), [b"GIF"], "Image or str or Path")],
)
def test_a_document_refuses_what_is_neither(sentences, images, named):
    with pytest.raises(TypeError, match=named):
        Document("d", sentences, images)


def test_a_repr_is_one_short_line(linked, linker):
    large = Image("a.jpg", photograph(0, (600, 400)))
    shown = [repr(each) for each in (linked, linked.document, linked.links[0], linker, large)]
    assert all(len(text) < 160 and "\n" not in text for text in shown), shown
    assert shown[:3] == [
        "LinkedDocument('doc', 3 links, 3 images, 'default')",
        "Document('doc', 9 sentences, 3 images)",
        "Link(sentence=1, image=0, score=0.900, confidence=0.900, paragraph_confidence=0.950)",
    ]
    assert repr(Document("d", ["a"], ["b"])) == "Document('d', 1 sentence, 1 image)"


def test_a_notebook_shows_the_page_and_nothing_of_it_outside_the_frame(hostile):
    from lxml import html

    _, made = hostile
    view = html.fragments_fromstring(made._repr_html_())
    (frame,) = view
    assert (frame.tag, len(frame)) == ("iframe", 0)
    assert set(frame.keys()) == {"srcdoc", "sandbox", "title", "style"}
    assert frame.get("sandbox") == "allow-scripts"  # not the origin of the notebook
    assert frame.get("srcdoc").startswith("<!doctype html>")
