"""The files of ImageCLEF's Wikipedia collection, and what is wrong with some."""

from __future__ import annotations

import pytest

from iconotext.errors import CorpusError, DocumentError
from iconotext_papers.datasets.wiki import article_images, article_markup, files_in, image_place, part_of, read_image

HEAD = '<?xml version="1.0" encoding="UTF-8" ?>\n'


def metadata(identifier=5, name="a_b.jpg", file="images/1/5.jpg", english="", rest=""):
    return (
        f'{HEAD}<image id="{identifier}" file="{file}">\n<name>{name}</name>\n<text xml:lang="en">\n<description />\n'
        f"<comment />\n{english}\n</text>\n{rest}<comment>({{{{Information}}}})</comment><license>GFDL</license></image>"
    )


def test_a_picture_with_its_articles(tmp_path):
    captions = (
        '<caption article="text/en/1/12">One &amp; two</caption><caption article="text/en/3/77.xml" />'
        '<caption article="text/en/1/12">again</caption><caption>of none</caption>'
    )
    german = '<text xml:lang="de"><caption article="text/de/1/9">Eins</caption></text>'
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "5.xml").write_text(metadata(english=captions, rest=german), encoding="utf-8")
    assert read_image("1/5.xml", folder=str(tmp_path)) == {
        "file": "1/5.jpg",
        "name": "A b.jpg",
        "articles": ["1/12", "3/77"],
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not well-formed XML"),
        (HEAD + "<image id='1'>", "not well-formed XML"),
        (HEAD + "<image><name>a & b.jpg</name></image>", "not well-formed XML"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><image><name>&a;</name></image>', "entities"),
        ('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><image><name>&a;</name></image>', "entities"),
        (HEAD + "<article/>", "no element <image>"),
    ],
)
def test_metadata_that_cannot_be_read(tmp_path, text, problem):
    (tmp_path / "5.xml").write_text(text, encoding="utf-8")
    found = read_image("5.xml", folder=str(tmp_path))
    assert isinstance(found, str)
    assert problem in found


def test_metadata_that_is_gone(tmp_path):
    assert read_image("5.xml", folder=str(tmp_path)) == "No such file or directory"


def test_names_of_files_lead_nowhere_else(tmp_path):
    for number, file in enumerate(("../../etc/passwd", "images/../../x.jpg", "", "/images/2/8.png")):
        (tmp_path / f"{number}.xml").write_text(metadata(file=file))
    found = [read_image(f"{number}.xml", folder=str(tmp_path))["file"] for number in range(4)]
    assert found == ["0.jpg", "1.jpg", "2.jpg", "2/8.png"]


@pytest.mark.parametrize(
    ("text", "title", "markup"),
    [
        ("'''Bare''' markup\n<ref>x</ref>", None, "'''Bare''' markup\n<ref>x</ref>"),
        ("<!-- a comment -->Text", None, "<!-- a comment -->Text"),
        (HEAD + "<article><title>T &amp; U</title><text>'''A''' [[b]]</text></article>", "T & U", "'''A''' [[b]]"),
        (
            '<page xmlns="http://www.mediawiki.org/xml/export-0.3/"><title>T</title><revision><id>7</id>'
            '<text xml:space="preserve">A &lt;ref&gt;b&lt;/ref&gt;</text></revision></page>',
            "T",
            "A <ref>b</ref>",
        ),
        (HEAD + '<article name="T">A [[b]]</article>', "T", "A [[b]]"),
        (HEAD + "<article><title>T</title><body>A<p>b</p></body></article>", "T", "Ab"),
        (HEAD + "<article><title>T</title></article>", "T", ""),
        ("\ufeff<article><text>É</text></article>", None, "É"),
    ],
)
def test_articles_in_markup_or_in_xml(tmp_path, text, title, markup):
    path = tmp_path / "1.xml"
    path.write_text(text, encoding="utf-8")
    assert article_markup(path) == (title, markup)


def test_articles_that_cannot_be_read(tmp_path):
    path = tmp_path / "1.xml"
    for data in (b"<article><text>cut", b'<!DOCTYPE a [<!ENTITY x "y">]><article>&x;</article>', b"\x00\x01\xff" * 50):
        path.write_bytes(data)
        with pytest.raises(DocumentError):
            article_markup(path)
    path.write_bytes(b"<article><text>cut")
    assert isinstance(article_images("1.xml", folder=str(tmp_path)), str)
    path.unlink()
    with pytest.raises(DocumentError, match=r"No such file"):
        article_markup(path)


def test_files_come_in_the_order_of_their_numbers(tmp_path):
    for name in ("10/2.xml", "2/100.xml", "2/30.xml", "2/.hidden", "x/a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert list(files_in(tmp_path)) == ["x/a", "2/30.xml", "2/100.xml", "10/2.xml"]


def test_parts_are_found_wherever_the_archives_were_unpacked(tmp_path):
    for name in ("all_text/text/en/1", "all_text/text/de", "all_metadata/metadata/1", "images/1", "images/en"):
        (tmp_path / name).mkdir(parents=True)
    assert part_of(tmp_path, "text/en", "x") == tmp_path / "all_text/text/en"
    assert part_of(tmp_path, "metadata", "x") == tmp_path / "all_metadata/metadata"
    assert part_of(tmp_path / "images", "images", "x") == tmp_path / "images"
    with pytest.raises(CorpusError, match=r"no folder metadata in it: unpack m.zip .*imageclef.org"):
        part_of(tmp_path / "images", "metadata", "m.zip")
    with pytest.raises(CorpusError, match=r"no folder images"):
        part_of(tmp_path / "nowhere", "images", "x")


def test_pictures_lie_in_numbered_folders_or_all_in_one(tmp_path):
    (tmp_path / "9").mkdir()
    (tmp_path / "9" / "5.jpg").touch()
    (tmp_path / "6.jpg").touch()
    assert image_place("9/5.jpg", tmp_path) == "9/5.jpg"
    assert image_place("9/6.jpg", tmp_path) == "6.jpg"
    assert image_place("9/7.jpg", tmp_path) is None
