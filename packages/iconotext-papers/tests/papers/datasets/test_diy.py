"""DIY from a tree as people have it: pushshift's files, saved pages, pictures, and all that is wrong with them."""

from __future__ import annotations

import bz2
import hashlib
import json
from functools import partial

import numpy as np
import pytest
import zstandard
from PIL import Image as Pillow

from iconotext.corpus.builders.fetched import fetch_images, name_of
from iconotext.corpus.builders.report import dropped_path
from iconotext.errors import CorpusError, ImageError
from iconotext_papers.datasets import diy
from iconotext_papers.datasets.diy import image_hash
from papers.support.builds import rows_of_build, same_for_workers

LONG = "Here is the old door of oak."
SETTINGS = {"validation": 0, "test": 0}


def post(name, album, *, score=30, subreddit="DIY", created=1357000000, **more):
    url = f"http://imgur.com/a/{album}" if album else "http://i.imgur.com/Single1.jpg"
    values = {"id": name, "subreddit": subreddit, "score": score, "url": url, "title": f"Title of {name}"}
    return json.dumps(values | {"created_utc": created} | more)


def photograph(path, seed, size=(96, 72)):
    """A picture like no other of another seed."""
    small = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8)
    Pillow.fromarray(small).resize(size, Pillow.Resampling.BICUBIC).save(path, quality=95)


def page(folder, album, pictures):
    """A saved page with (id, caption, suffix) of each picture."""
    body = "".join(
        f'<div id="{name}" class="post-image-container" itemscope itemtype="http://schema.org/ImageObject">'
        f'<div class="post-image"><a href="//i.imgur.com/{name}.{suffix}"><img src="//i.imgur.com/{name}.{suffix}" '
        f'itemprop="contentURL"></a></div><div class="post-image-meta">'
        f'<p class="post-image-description" itemprop="description">{caption}</p></div></div>'
        for name, caption, suffix in pictures
    )
    (folder / "albums").mkdir(parents=True, exist_ok=True)
    (folder / "albums" / f"{album}.html").write_text(f"<html><body>{body}</body></html>", encoding="utf-8")


class Tree:
    """A source that is made album by album; every picture is another one unless it is told to be like one."""

    def __init__(self, folder):
        self.folder = folder
        self.posts = []
        (folder / "images" / "deep").mkdir(parents=True)

    def album(self, name, captions, *, files=True, moving=(), posted=True, **more):
        pictures = []
        for number, caption in enumerate(captions):
            picture = f"{name}{number:02d}"
            pictures.append((picture, caption, "gif" if number in moving else "jpg"))
            if files:
                self.picture(picture)
        page(self.folder, name, pictures)
        if posted:
            self.posts.append(post(f"p{name}", name, **more))

    def picture(self, name, like=None):
        deep = "deep/" if sum(map(ord, name)) % 2 else ""
        photograph(self.folder / "images" / f"{deep}{name}.jpg", list((like or name).encode()))

    def write(self):
        half = len(self.posts) // 2
        first, second = ("".join(f"{line}\n" for line in part) for part in (self.posts[:half], self.posts[half:]))
        (self.folder / "RS_2013-01.zst").write_bytes(zstandard.ZstdCompressor().compress(first.encode()))
        (self.folder / "RS_2013-02.bz2").write_bytes(bz2.compress(second.encode()))
        return self.folder


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "reddit")


def build(tree, output=None, *, workers=1, watcher=None, **settings):
    """Rows, report and what was dropped, as (rule, item)."""
    source = tree.folder if isinstance(tree, Tree) else tree
    output = output or source.parent / "out" / "diy.jsonl"
    values = diy.Settings(source=source, **{**SETTINGS, **settings})
    return rows_of_build(diy, values, output, workers=workers, **({} if watcher is None else {"watcher": watcher}))


def test_a_document_is_the_album_of_a_post(tree):
    captions = [LONG, "", "Türen &amp; Fenster: the new ones<br>look good.", "Done"]
    tree.album("Good1", captions, score=25, title="Title  of&nbsp;&quot;pGood1&quot;")
    tree.write()
    rows, report, dropped = build(tree)
    assert rows == [
        {
            "id": "Good1",
            "split": "train",
            "sentences": [LONG, "Türen & Fenster: the new ones look good.", "Done"],
            "images": [f"../reddit/images/{name}.jpg" for name in ways("Good1", 4)],
            "links": [[0, 0], [1, 2], [2, 3]],
            "meta": {
                "title": 'Title of "pGood1"',
                "post": "pGood1",
                "score": 25,
                "source": "https://imgur.com/a/Good1",
            },
        }
    ]
    assert dropped == []
    assert report.stats.documents == 1


def ways(album, count):
    names = [f"{album}{number:02d}" for number in range(count)]
    return [f"deep/{name}" if sum(map(ord, name)) % 2 else name for name in names]


def test_every_rule_drops_what_it_is_about(tree):
    tree.album("Good1", [LONG, LONG])
    tree.posts += [
        post("low", "Lowwy", score=24),
        post("none", "Nonee", score=None),
        post("single", None),
        post("again", "Good1", score=900),
        post("pGood1", "Other"),
        post("pics", "Picss", subreddit="pics"),
        post("early", "Early", created=1356998399),
        post("late", "Latee", created=1541030400),
        post("unsaved", "Unsav"),
        '{"subreddit": "DIY", "id": "cut',
    ]
    page(tree.folder, "Empty", [])
    tree.posts.append(post("today", "Empty"))
    (tree.folder / "albums" / "Blank.html").write_bytes(b"")
    tree.posts.append(post("blank", "Blank"))
    tree.album("Short", [LONG, "Four words are few", "and so on"])
    tree.album("Lone1", [LONG, LONG], files=False)
    tree.picture("Lone100")
    tree.album("Many1", ["Five words are just enough"] * 2 + [""] * 39)
    tree.album("Talky", ["Five words are just enough"] * 41, moving=range(10, 41))
    tree.album("Forty", ["Five words are just enough"] * 40)
    tree.write()
    rows, report, dropped = build(tree)
    assert [row["id"] for row in rows] == ["Good1", "Forty"]
    assert len(rows[1]["images"]) == len(rows[1]["sentences"]) == len(rows[1]["links"]) == 40
    pictures = [(rule, item) for rule, item in dropped if "/" in item]
    assert pictures == [("picture missing", "Lone1/Lone101")] + [
        ("GIF or film", f"Talky/Talky{number}") for number in range(10, 41)
    ]
    assert sorted(set(dropped) - set(pictures)) == sorted(
        [
            ("score below 25", "low"),
            ("score below 25", "none"),
            ("not an album of imgur", "single"),
            ("album that was posted before", "again"),
            ("post that came before", "pGood1"),
            ("line that is not JSON", "RS_2013-02.bz2, line 2"),
            ("album without a saved page", "Unsav"),
            ("album page without pictures", "Empty"),
            ("album page that cannot be read", "Blank"),
            ("fewer than 2 captions of 5 tokens", "Short"),
            ("fewer than 2 images", "Lone1"),
            ("more than 40 images or 40 captions", "Many1"),
            ("more than 40 images or 40 captions", "Talky"),
        ]
    )
    counts = {count.name: (count.number, count.published) for count in report.counts}
    assert counts["posts to r/DIY"] == (13, 241_000)
    assert counts["posts with a score of at least 25"] == (11, None)
    assert counts["different albums of imgur that they link"] == (9, None)
    assert counts["albums with pictures"] == (6, 13_000)
    assert counts["valid pictures"] == (2 + 3 + 1 + 41 + 10 + 40, 295_000)
    assert counts["documents without pictures that look like others"] == (6, None)
    assert counts["documents: train"] == (2, 6800)
    assert counts["different images"] == (42, 154_000)
    assert any("1 of 9 albums have no saved page" in note for note in report.notes)


def test_a_caption_whose_picture_is_discarded_stays_without_a_link(tree):
    tree.album("Good1", [LONG, "This one turns around and around.", LONG], moving={1})
    tree.album("Brokn", [LONG, LONG, "", LONG])
    for path in tree.folder.rglob("Brokn01.jpg"):
        path.write_bytes(path.read_bytes()[:500])
    for path in tree.folder.rglob("Brokn02.jpg"):
        Pillow.new("P", (20, 20)).save(path, "GIF")
    tree.write()
    rows, _, dropped = build(tree)
    assert [(len(row["sentences"]), len(row["images"]), row["links"]) for row in rows] == [
        (3, 2, [[0, 0], [2, 1]]),
        (3, 2, [[0, 0], [2, 1]]),
    ]
    assert dropped == [
        ("GIF or film", "Good1/Good101"),
        ("picture that cannot be decoded", "Brokn/Brokn01"),
        ("GIF or film", "Brokn/Brokn02"),
    ]


def test_documents_with_pictures_that_look_alike_are_dropped_both(tree):
    tree.album("Alpha", [LONG, LONG])
    tree.album("Bravo", [LONG, LONG])
    tree.album("Twins", [LONG, LONG])
    tree.album("Clean", [LONG, LONG])
    copy = next(tree.folder.rglob("Bravo01.jpg"))
    photograph(copy, list(b"Alpha00"), (60, 45))  # a smaller copy in another album
    photograph(next(tree.folder.rglob("Twins01.jpg")), list(b"Twins00"))  # twice in one
    tree.write()
    rows, _, dropped = build(tree)
    assert [row["id"] for row in rows] == ["Clean"]
    assert dropped == [("a picture that looks like another", name) for name in ("Alpha", "Bravo", "Twins")]
    assert [row["id"] for row in build(tree, distance=0)[0]] in (["Clean"], ["Alpha", "Bravo", "Clean"])


def test_each_document_says_which_picture_looks_like_which(tree):
    """Pictures are counted through all albums, also those that cannot be used."""
    tree.album("Alpha", [LONG, LONG, LONG], moving={0})
    tree.album("Bravo", [LONG, LONG])
    next(tree.folder.rglob("Bravo00.jpg")).unlink()
    photograph(next(tree.folder.rglob("Bravo01.jpg")), list(b"Alpha02"))
    tree.album("Clean", [LONG, LONG])
    tree.write()
    output = tree.folder.parent / "out" / "diy.jsonl"
    assert [row["id"] for row in build(tree, output)[0]] == ["Clean"]
    lines = [line.split("\t") for line in dropped_path(output).read_text("utf-8").splitlines()]
    assert [line[1:] for line in lines if line[0] == "a picture that looks like another"] == [
        ["Alpha", "Alpha02 looks like Bravo01 of Bravo"],
        ["Bravo", "Bravo01 looks like Alpha02 of Alpha"],
    ]


def test_names_that_differ_in_capitals_are_other_pictures(tree):
    tree.album("Abcde", [LONG, LONG])
    page(tree.folder, "Other", [("aBCDE00", LONG, "jpg"), ("aBCDE01", LONG, "jpg")])
    tree.posts.append(post("pOther", "Other"))
    tree.write()
    rows, _, dropped = build(tree)
    assert [row["id"] for row in rows] == ["Abcde"]
    assert ("picture missing", "Other/aBCDE00") in dropped


def test_imgurs_placeholder_is_no_picture(tmp_path, monkeypatch):
    path = tmp_path / "gone.png"
    Pillow.new("RGB", (161, 81)).save(path)
    assert image_hash(str(path)) == {"hash": "0" * 16}
    data = path.read_bytes()
    monkeypatch.setattr(diy, "PLACEHOLDER", (len(data), hashlib.md5(data).hexdigest()))
    assert image_hash(str(path))["rule"] == "picture missing"
    assert image_hash(str(tmp_path / "none.png"))["rule"] == "picture missing"


def test_shares_of_the_published_sizes_give_the_published_splits(tree):
    for number in range(44):
        tree.album(f"Alb{number:02d}", [LONG, LONG])
    tree.write()
    rows, _, _ = build(tree, validation=1000 / 8800, test=1000 / 8800)
    splits = [row["split"] for row in rows]
    assert (splits.count("train"), splits.count("validation"), splits.count("test")) == (34, 5, 5)
    other = build(tree, validation=1000 / 8800, test=1000 / 8800, seed=1)[0]
    assert [row["id"] for row in other] == [row["id"] for row in rows]
    assert [row["split"] for row in other] != splits
    assert diy.Settings(source=tree.folder).validation == pytest.approx(1000 / 8800)


@pytest.mark.slow
def test_two_workers_write_the_same_files(tree, tmp_path):
    for number in range(70):
        tree.album(f"Alb{number:02d}", [LONG, LONG, ""], moving={2} if number % 3 else ())
    tree.write()
    same_for_workers(partial(build, tree), tmp_path)


class Imgur:
    """Stands in for imgur: has pictures by address."""

    def __init__(self, pictures):
        self.pictures = pictures
        self.asked = []

    def __call__(self, addresses, folder, *, interval):
        def fetch(address):
            self.asked.append(address)
            if address not in self.pictures:
                raise ImageError("not fetched: i.imgur.com answered 404")
            return self.pictures[address]

        return fetch_images(addresses, folder, interval=interval, make_fetcher=lambda *_: fetch)


def test_missing_pictures_are_fetched_once(tree, tmp_path, monkeypatch):
    tree.album("Alpha", [LONG, LONG, LONG, "a film"], moving={3})
    for number in (0, 1, 2, 3):
        path = next(tree.folder.rglob(f"Alpha{number:02d}.jpg"))
        path.rename(tmp_path / path.name) if number else None
    tree.write()
    imgur = Imgur({"https://i.imgur.com/Alpha01.jpg": (tmp_path / "Alpha01.jpg").read_bytes()})
    monkeypatch.setattr("iconotext.corpus.builders.build.fetch_images", imgur)
    rows, _, dropped = build(tree, fetch=True)
    assert imgur.asked == ["https://i.imgur.com/Alpha01.jpg", "https://i.imgur.com/Alpha02.jpg"]
    fetched = name_of("https://i.imgur.com/Alpha01.jpg")
    assert rows[0]["images"] == [f"../reddit/images/{ways('Alpha', 1)[0]}.jpg", f"../reddit/images/{fetched}.jpg"]
    assert rows[0]["links"] == [[0, 0], [1, 1]]
    assert dropped == [("picture missing", "Alpha/Alpha02"), ("GIF or film", "Alpha/Alpha03")]
    imgur.asked.clear()
    assert build(tree, fetch=True)[0] == rows  # what is there is not asked for again, nor what is gone
    assert imgur.asked == []
    assert build(tree)[0] == rows  # and is used without --fetch too


def test_a_folder_of_its_own_for_the_pictures(tree, tmp_path):
    tree.album("Alpha", [LONG, LONG])
    tree.write()
    (tree.folder / "images").rename(tmp_path / "pictures")
    rows, _, _ = build(tree, images=tmp_path / "pictures")
    assert rows[0]["images"] == [f"../pictures/{name}.jpg" for name in ways("Alpha", 2)]
    with pytest.raises(CorpusError, match=r"no picture of the albums is there: .*images=.*fetch=True"):
        build(tree)
    with pytest.raises(CorpusError, match=r"nowhere: not a folder"):
        build(tree, images=tmp_path / "nowhere")


def test_what_is_missing_is_named(tmp_path):
    source = tmp_path / "reddit"
    source.mkdir()
    with pytest.raises(CorpusError, match=r"RS_2013-01.zst"):
        build(source)
    (source / "RS_2013-01.jsonl").write_text(post("low", "Alpha", score=3))
    with pytest.raises(CorpusError, match=r"none of 1 posts to r/DIY links an album"):
        build(source)
    (source / "RS_2013-01.jsonl").write_text(post("p", "Alpha"))
    with pytest.raises(CorpusError, match=r"none of the 1 albums has a saved page: .*albums.Alpha.html .*2019"):
        build(source)
    page(source, "Alpha", [])
    with pytest.raises(CorpusError, match=r"no picture of the albums is there"):
        build(source)


def test_other_rules_can_be_set(tree):
    tree.album("Alpha", ["One two", ""], score=1, subreddit="woodworking")
    tree.write()
    rows, report, _ = build(tree, subreddit="woodworking", min_score=0, min_captions=1, min_tokens=2)
    assert rows[0]["sentences"] == ["One two"]
    assert report.counts[0].name == "posts to r/woodworking"
