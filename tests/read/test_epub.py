from __future__ import annotations

import pytest

from iconotext.errors import DocumentError, HostileDocumentError
from iconotext.read import Failure, ReadSettings, read_all
from iconotext.types import Document
from tests.support.epub import CONTAINER, book, page
from tests.support.pdf import jpeg
from tests.support.reading import read_as, texts


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
    assert texts(reading(tmp_path, data)) == ["هذه جملة.", "وهذه أخرى.", "これは文です。", "もう一つの文です。"]


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


AES = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"


def test_encrypted_members(tmp_path):
    def locked(member: str, algorithm: str) -> bytes:
        return book(members={"META-INF/encryption.xml": encryption(member, algorithm)})

    with pytest.raises(DocumentError, match="DRM"):
        reading(tmp_path, locked("OEBPS/text/two.xhtml", AES))
    assert reading(tmp_path, locked("OEBPS/img/a%20b.jpg", AES)).images[0].problem == "encrypted in the book"
    scrambled = locked("OEBPS/text/two.xhtml", "http://www.idpf.org/2008/embedding")  # fonts
    assert reading(tmp_path, scrambled).sentences


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
BOMB = f'<!DOCTYPE container [<!ENTITY l0 "ha">{LAUGHS}]>{CONTAINER.replace("OEBPS", "&l11;")}'


@pytest.mark.parametrize(
    ("chapters", "members", "message"),
    [
        (None, {"META-INF/container.xml": b""}, "not an EPUB"),
        (None, {"OEBPS/content.opf": b""}, "not an EPUB"),
        ({}, {}, "names no chapter"),
        ({"one": " "}, {}, "text or pictures"),
        (None, {"META-INF/container.xml": BOMB}, "declares XML entities"),
        (None, {"OEBPS/big.css": bytes(20_000_000)}, "200 times"),
    ],
)
def test_broken_and_hostile_books(tmp_path, chapters, members, message):
    with pytest.raises(DocumentError, match=message) as caught:
        reading(tmp_path, book(chapters, members=members))
    assert isinstance(caught.value, HostileDocumentError) == ("entities" in message or "times" in message)


def test_entities_in_a_chapter_do_no_harm(tmp_path):
    bomb = f'<!DOCTYPE html [<!ENTITY l0 "ha">{LAUGHS}]><html><body><p>Text &l11; here.</p></body></html>'
    document = reading(tmp_path, book(members={"OEBPS/text/one.xhtml": bomb}))
    assert sum(len(sentence.text) for sentence in document.sentences) < 2000


def test_members_with_names_that_climb(tmp_path):
    data = book(members={"../../../../evil.jpg": jpeg(1), "/evil.jpg": jpeg(2)})
    assert len(reading(tmp_path, data).sentences) == 7


def test_more_than_the_limit(tmp_path):
    with pytest.raises(HostileDocumentError, match="option max-bytes"):
        reading(tmp_path, book(), max_bytes=3_500)
