from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iconotext.errors import DocumentError, HostileDocumentError, IconotextError
from iconotext.read import Failure, ReadSettings, read_all
from iconotext.types import Document
from tests.support.epub import CONTAINER, book, page
from tests.support.pdf import jpeg
from tests.support.reading import read_as


def reading(tmp_path, data: bytes, **choices) -> Document:
    return read_as(tmp_path / "a.epub", data, **choices)


def test_a_book(tmp_path):
    document = reading(tmp_path, book())
    assert (document.title, document.language) == ("A Book", "en")
    assert [(s.text, s.targets) for s in document.sentences] == [
        ("The first", ()),
        ("A chapter with text.", ()),
        ("See the figure.", ("OEBPS/text/two.xhtml#fig1",)),
        ("The second", ()),
        ("Before it.", ()),
        ("After it, see above.", ("OEBPS/text/two.xhtml#fig1",)),
        ("No heading here.", ()),
    ]
    cover, figure, lost = document.images
    assert (cover.position, cover.file, cover.source) == (0, jpeg(), "OEBPS/img/a b.jpg")
    assert (figure.alt, figure.caption, figure.position) == ("colours", "Figure 1: Colours.", 5)
    assert figure.anchors == ("OEBPS/text/two.xhtml#fig1",)
    assert figure.problem == "the same picture as OEBPS/img/a b.jpg"
    assert lost.problem == "not in the book: its address leads to no file in it"


def test_chapters(tmp_path):
    path = tmp_path / "a.epub"
    path.write_bytes(book())
    documents = [d for d in read_all([path], ReadSettings(epub="chapters")) if not isinstance(d, Failure)]
    assert [(d.id, d.title) for d in documents] == [
        ("a/01-cover", "cover"),
        ("a/02-the-first", "The first"),
        ("a/03-the-second", "The second"),
        ("a/04-from-the-contents", "From the contents"),
    ]
    assert [len(d.sentences) for d in documents] == [0, 3, 3, 1]


def test_encodings_and_directions(tmp_path):
    words = {"one": "<p dir='rtl'>هذه جملة. وهذه أخرى.</p>", "two": "<p>これは文です。もう一つの文です。</p>"}
    data = book(words, members={"OEBPS/text/two.xhtml": page(words["two"]).replace("utf-8", "utf-16").encode("utf-16")})
    found = [sentence.text for sentence in reading(tmp_path, data).sentences]
    assert found == ["هذه جملة.", "وهذه أخرى.", "これは文です。", "もう一つの文です。"]


def test_pictures_from_outside_the_book_stay_outside(tmp_path):
    (tmp_path / "secret.jpg").write_bytes(jpeg())
    body = '<img src="../../../secret.jpg"/><img src="file:///etc/passwd"/><img src="http://example.org/a.jpg"/>'
    images = reading(tmp_path, book({"one": body})).images
    assert [image.file for image in images] == [None] * 3
    assert all(image.problem for image in images)


def encryption(member: str, algorithm: str) -> str:
    return (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
        f'<e:EncryptedData><e:EncryptionMethod Algorithm="{algorithm}"/><e:CipherData><e:CipherReference URI="{member}"/>'
        "</e:CipherData></e:EncryptedData></encryption>"
    )


def test_drm(tmp_path):
    locked = encryption("OEBPS/text/two.xhtml", "http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    with pytest.raises(DocumentError, match="DRM"):
        reading(tmp_path, book(members={"META-INF/encryption.xml": locked}))


def test_scrambled_fonts_are_no_drm(tmp_path):
    fonts = encryption("OEBPS/text/two.xhtml", "http://www.idpf.org/2008/embedding")
    assert reading(tmp_path, book(members={"META-INF/encryption.xml": fonts})).sentences


def test_an_encrypted_picture(tmp_path):
    locked = encryption("OEBPS/img/a%20b.jpg", "http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    document = reading(tmp_path, book(members={"META-INF/encryption.xml": locked}))
    assert document.images[0].problem == "encrypted in the book"


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ("META-INF/container.xml", "not an EPUB"),
        ("OEBPS/content.opf", "not an EPUB"),
    ],
)
def test_what_it_cannot_do_without(tmp_path, member, message):
    with pytest.raises(DocumentError, match=message):
        reading(tmp_path, book(members={member: b""}))


def test_no_chapters(tmp_path):
    with pytest.raises(DocumentError, match="names no chapter"):
        reading(tmp_path, book({}))
    with pytest.raises(DocumentError, match="text or pictures"):
        reading(tmp_path, book({"one": " "}))


def test_entities_in_the_package(tmp_path):
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE container [<!ENTITY l0 "ha">{laughs}]>' + CONTAINER.replace("OEBPS", "&l11;")
    with pytest.raises(HostileDocumentError):
        reading(tmp_path, book(members={"META-INF/container.xml": bomb}))


def test_entities_in_a_chapter_do_no_harm(tmp_path):
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<!DOCTYPE html [<!ENTITY l0 "ha">{laughs}]><html><body><p>Text &l11; here.</p></body></html>'
    document = reading(tmp_path, book(members={"OEBPS/text/one.xhtml": bomb}))
    assert sum(len(sentence.text) for sentence in document.sentences) < 2000


def test_members_with_names_that_climb(tmp_path):
    data = book(members={"../../../../evil.jpg": jpeg(1), "/evil.jpg": jpeg(2)})
    assert len(reading(tmp_path, data).sentences) == 7


def test_bombs(tmp_path):
    with pytest.raises(HostileDocumentError, match="200 times"):
        reading(tmp_path, book(members={"OEBPS/big.css": bytes(20_000_000)}))
    with pytest.raises(HostileDocumentError, match="max_bytes"):
        reading(tmp_path, book(), max_bytes=3_500)


def test_cut_off_anywhere(tmp_path):
    data = book()
    for end in range(4, len(data), 211):
        with pytest.raises(DocumentError) as caught:
            reading(tmp_path, data[:end])
        assert "\n" not in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(noise=st.binary(min_size=1, max_size=60), share=st.floats(0, 1))
def test_noise(tmp_path_factory, noise, share):
    data = book()
    at = int(share * len(data))
    try:
        reading(tmp_path_factory.mktemp("noise"), data[:at] + noise + data[at + len(noise) :])
    except IconotextError as error:
        assert "\n" not in str(error)
