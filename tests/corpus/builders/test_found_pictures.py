from __future__ import annotations

import hashlib

import pytest

from iconotext.corpus.found_images import FoundImages, address_name, distinct_names
from iconotext.errors import CorpusError


@pytest.fixture
def folder(tmp_path):
    for name in (
        "train/Cake_1_0.jpg",
        "val/pie.PNG",
        "a/x.jpg",
        "b/x.jpg",
        "bare",
        ".hidden/h.jpg",
        "n.json",
        "p.q.jpg",
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(b"x")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "file"),
    [("Cake_1_0.jpg", "train/Cake_1_0.jpg"), ("cake_1_0.JPG", "train/Cake_1_0.jpg"), ("pie.jpg", "val/pie.PNG"),
     ("x.jpg", "a/x.jpg"), ("p.q.png", "p.q.jpg"), ("p.q", "p.q.jpg"), ("bare.jpg", "bare"), ("h.jpg", None),
     ("n.jpg", None), ("../../etc/passwd", None), ("deep\\er/x.jpg", "a/x.jpg"), ("", None)],
)  # fmt: skip
def test_names(folder, name, file):
    assert FoundImages(folder).named(name) == (None if file is None else folder / file)


def test_addresses_by_digest_then_by_a_name_of_their_own(folder):
    here, there = "http://h.example/pie.png?w=1", "http://h.example/1.jpg"
    (folder / "1.jpg").write_bytes(b"x")
    found = FoundImages(folder)
    assert found.at(here, by_name=True) == folder / "val/pie.PNG"
    assert found.at(here, by_name=False) is None
    for digest in ("md5", "sha1", "sha256"):
        file = folder / f"{hashlib.new(digest, there.encode()).hexdigest()}.png"
        file.write_bytes(b"x")
        assert FoundImages(folder).at(there, by_name=True) == file
    assert found.at("http://[broken", by_name=True) is None


def test_names_that_two_addresses_share_say_nothing():
    addresses = [
        "http://a.example/x/1.jpg",
        "http://a.example/y/1.jpg?s=2",
        "http://b.example/2.jpg",
        "http://c.example/",
    ]
    assert distinct_names(addresses) == {"http://b.example/2.jpg", "http://c.example/"}
    assert distinct_names(["http://a.example/q.jpg", "http://a.example/q.png"]) == frozenset()
    assert address_name("http://a.example/b%20c.jpg?x=1#y") == "b c.jpg"


def test_no_folder(tmp_path):
    with pytest.raises(CorpusError, match="not a folder"):
        FoundImages(tmp_path / "gone")
