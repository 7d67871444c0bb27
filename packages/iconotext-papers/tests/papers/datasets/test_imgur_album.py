"""Saved pages of albums: pictures and captions, whatever people and time did to the pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from iconotext.errors import DocumentError
from iconotext_papers.datasets.diy import AlbumImage, album_id, read_album, saved_albums


def page(tmp_path, body, name="Ab3dE.html"):
    path = tmp_path / name
    path.write_text(f"<!doctype html><html><head><title>x</title></head><body>{body}</body></html>", encoding="utf-8")
    return path


def container(name, caption="", suffix="jpg"):
    return (
        f'<div id="{name}" class="post-image-container" itemscope itemtype="http://schema.org/ImageObject">'
        f'<div class="post-image"><a href="//i.imgur.com/{name}.{suffix}" class="zoom">'
        f'<img src="//i.imgur.com/{name}.{suffix}" itemprop="contentURL"></a></div>'
        f'<div class="post-image-meta">{caption}</div></div>'
    )


def described(text):
    return f'<p class="post-image-description" itemprop="description">{text}</p>'


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("http://imgur.com/a/Ab3dE", "Ab3dE"),
        ("https://imgur.com/a/Ab3dE", "Ab3dE"),
        ("https://www.imgur.com/a/Ab3dE/", "Ab3dE"),
        ("http://m.imgur.com/a/Ab3dE", "Ab3dE"),
        ("https://i.imgur.com/a/Ab3dE", "Ab3dE"),
        ("http://imgur.com/a/Ab3dE#0", "Ab3dE"),
        ("http://imgur.com/a/Ab3dE?gallery&amp;x=1", "Ab3dE"),
        ("http://imgur.com/a/Ab3dE/layout/blog", "Ab3dE"),
        ("HTTP://IMGUR.COM/a/ab3De", "ab3De"),
        (" http://imgur.com/a/Ab3dE7f\n", "Ab3dE7f"),
        ("https://imgur.com/a/my-new-door-Ab3dE7f", "Ab3dE7f"),
        ("http://imgur.com/gallery/Ab3dE", None),
        ("http://i.imgur.com/Ab3dE.jpg", None),
        ("http://imgur.com/Ab3dE", None),
        ("http://notimgur.com/a/Ab3dE", None),
        ("http://example.org/http://imgur.com/a/Ab3dE", None),
        ("http://imgur.com/a/", None),
        ("", None),
    ],
)
def test_albums_are_known_by_their_addresses(address, name):
    assert album_id(address) == name


@pytest.mark.parametrize(
    ("body", "images"),
    [
        (
            container("aaaaaa1", described("Before.")) + container("bbbbbb2"),
            [AlbumImage("aaaaaa1", "Before."), AlbumImage("bbbbbb2", None)],
        ),
        (
            container("aaaaaa1", described("First.")) + container("aaaaaa1", described("Again.")),
            [AlbumImage("aaaaaa1", "First.")],
        ),
        (container("aaaaaa1") + container("AAAAAA1"), [AlbumImage("aaaaaa1", None), AlbumImage("AAAAAA1", None)]),
        (
            container("aaaaaa1", described('<a href="http://i.imgur.com/bbbbbb2.gif">turning</a>')),
            [AlbumImage("aaaaaa1", "turning")],  # a link in a caption does not make a picture move
        ),
        ('<div id="root"></div><script src="main.js"></script>', []),  # a page of today
    ],
)
def test_pictures_come_in_order_each_once_with_their_captions(tmp_path, body, images):
    assert read_album(page(tmp_path, body)) == images


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("Oak &amp; ash, 3&quot; thick&nbsp;&hellip;", 'Oak & ash, 3" thick …'),
        ("One<br>two<br/>three", "One two three"),
        ("a\n   b\t c", "a b c"),
        ('See <a href="http://imgur.com/zzzzzz9.gif">this</a>, it moves', "See this, it moves"),
        ("<b>Bo</b>ld", "Bold"),
        ("Türschloß – 日本", "Türschloß – 日本"),
        ("  ", None),
        ("<!-- nothing -->", None),
    ],
)
def test_captions_are_text_on_one_line(tmp_path, written, text):
    assert read_album(page(tmp_path, container("aaaaaa1", described(written)))) == [AlbumImage("aaaaaa1", text)]


def test_other_ways_to_write_the_page(tmp_path):
    body = (
        '<div class="post-image-container post-image-container--first">'
        '<meta itemprop="contentURL" content="https://i.imgur.com/aaaaaa1.png?1"><div class="post-image"></div>'
        '<div class="post-image-description">A door.</div></div>'
        '<div id="bbbbbb2" class="post-image-container"><p itemprop="description">A window.</p></div>'
        '<div class="post-image-container"><p>nothing that is a picture</p></div>'
        '<div class="not-post-image-container" id="cccccc3"></div>'
    )
    assert read_album(page(tmp_path, body)) == [AlbumImage("aaaaaa1", "A door."), AlbumImage("bbbbbb2", "A window.")]


def test_films_and_gifs_move(tmp_path):
    film = (
        '<div id="bbbbbb2" class="post-image-container"><div class="video-container">'
        '<video><source src="//i.imgur.com/bbbbbb2.mp4" type="video/mp4"></video></div></div>'
    )
    body = container("aaaaaa1", suffix="gif") + film + container("cccccc3", suffix="gifv") + container("dddddd4")
    assert [image.moving for image in read_album(page(tmp_path, body))] == [True, True, True, False]


def test_broken_pages(tmp_path):
    cut = page(tmp_path, "")
    cut.write_text("<html><body>" + container("aaaaaa1", described("Before."))[:-12], encoding="utf-8")
    assert read_album(cut) == [AlbumImage("aaaaaa1", "Before.")]
    cut.write_bytes(b"")
    with pytest.raises(DocumentError):
        read_album(cut)
    with pytest.raises(DocumentError):
        read_album(tmp_path / "none.html")


def test_pages_are_found_by_the_albums_names(tmp_path):
    (tmp_path / "albums" / "Ab3dE_files").mkdir(parents=True)
    (tmp_path / "more" / ".hidden").mkdir(parents=True)
    for name in ("albums/Ab3dE.html", "albums/zzzzz", "albums/Ab3dE_files/x.js", "more/QQQQQ.HTM", "more/plain"):
        (tmp_path / name).write_text("x")
    (tmp_path / "more/.hidden/h.html").write_text("x")
    found = saved_albums(tmp_path)
    assert {name: Path(path).relative_to(tmp_path).as_posix() for name, path in found.items()} == {
        "Ab3dE": "albums/Ab3dE.html",
        "zzzzz": "albums/zzzzz",
        "QQQQQ": "more/QQQQQ.HTM",
    }
