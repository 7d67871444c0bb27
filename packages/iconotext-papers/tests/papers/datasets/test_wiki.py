"""WIKI from a tree with the folders of ImageCLEF's collection."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from iconotext.errors import CorpusError
from iconotext_papers.datasets import wiki
from papers.support.builds import rows_of_build

HEAD = '<?xml version="1.0" encoding="UTF-8" ?>\n'


def text(count, start=0):
    return " ".join(f"This is sentence number {number} of it." for number in range(start, start + count))


class Tree:
    """A source that is made article by article."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("all_metadata/metadata", "all_text/text/en", "all_text/text/de/1", "images"):
            (folder / name).mkdir(parents=True)
        (folder / "all_text/text/de/1/1.xml").write_text("Deutsch.")

    def picture(self, number, name, articles=(), *, suffix="jpg", file=True, language="en"):
        part = str(number // 10)
        captions = "".join(f'<caption article="text/{language}/{article}">A caption.</caption>' for article in articles)
        path = self.folder / "all_metadata/metadata" / part / f"{number}.xml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f'{HEAD}<image id="{number}" file="images/{part}/{number}.{suffix}"><name>{name}</name>'
            f'<text xml:lang="{language}"><description /><comment />{captions}</text></image>',
            encoding="utf-8",
        )
        if file:
            target = self.folder / "images" / part / f"{number}.{suffix}"
            target.parent.mkdir(exist_ok=True)
            Pillow.new("RGB", (8, 8), (number % 256, 0, 0)).save(target)

    def article(self, way, markup, title=None):
        path = self.folder / "all_text/text/en" / f"{way}.xml"
        path.parent.mkdir(exist_ok=True)
        if title is not None:
            escaped = markup.replace("&", "&amp;").replace("<", "&lt;")
            markup = f"{HEAD}<article><title>{title}</title><text>{escaped}</text></article>"
        path.write_text(markup, encoding="utf-8")

    def many(self, count):
        """Articles with three pictures each, of which each names one itself."""
        for number in range(count):
            way = f"{number // 7}/{number}"
            self.article(way, f"[[Image:Picture {3 * number}.jpg|thumb|x]] {text(10, number)}")
            for picture in range(3):
                self.picture(3 * number + picture, f"Picture_{3 * number + picture}.jpg", [way] if picture else [])


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "clef")


def build(tree, output=None, *, workers=1, watcher=None, **rules):
    """Rows, report and what was dropped, as (rule, item)."""
    source = tree.folder if isinstance(tree, Tree) else tree
    output = output or source.parent / "out" / "wiki.jsonl"
    settings = wiki.Settings(source=source, **{"validation": 0, "test": 0, **rules})
    return rows_of_build(wiki, settings, output, workers=workers, **({} if watcher is None else {"watcher": watcher}))


def test_a_document_is_an_article_with_its_pictures(tree):
    tree.picture(11, "Named_twice.jpg", ["1/7"])
    tree.picture(12, "By caption.jpg", ["1/7.xml"])
    tree.picture(13, "In the gallery.png")
    tree.picture(14, "Elsewhere.jpg", ["1/8"])
    tree.picture(15, "German.jpg", ["1/7"], language="de")
    markup = (
        "{{Infobox | x = y}}\n'''Paris''' is a [[city|town]]<ref>Not this.</ref> on the Seine. "
        "[[Image:named twice.jpg|thumb|No sentence. Really.]]\n== History ==\n"
        f"<gallery>\nImage:In the gallery.png|Nor this.\n</gallery>\n{text(9)}\n* A list item &amp; more"
    )
    tree.article("1/7", markup, "Paris &amp; all")
    rows, report, dropped = build(tree)
    assert rows == [
        {
            "id": "1/7",
            "split": "train",
            "sentences": [
                "Paris is a town on the Seine.",
                *(f"This is sentence number {number} of it." for number in range(9)),
                "A list item & more",
            ],
            "images": [f"../clef/images/1/{number}.jpg" for number in (11, 13, 12)],
            "meta": {"title": "Paris & all", "language": "en"},
        }
    ]
    assert dropped == []
    assert report.stats.unknown == 1


def test_every_rule_drops_what_it_is_about(tree):
    for number, article in enumerate(["1/1", "1/2", "1/3", "1/4", "1/5"]):
        for picture in range(3):
            suffix = "svg" if (number, picture) == (2, 0) else "jpg"
            file = suffix == "jpg"
            name = f"P{number}{picture}.{suffix}"
            tree.picture(10 * number + picture, name, [article], suffix=suffix, file=file)
    (tree.folder / "images/2").mkdir(exist_ok=True)
    (tree.folder / "images/2/20.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    broken = tree.folder / "images/3/30.jpg"
    tree.article("1/1", text(10))
    tree.article("1/2", text(9))
    tree.article("1/3", text(10))
    tree.article("1/4", text(10))
    broken.write_bytes(broken.read_bytes()[:200])
    tree.article("1/5", HEAD + "<article><text>cut")
    tree.article("1/6", text(50))
    tree.article("2/7", "{{" * 60)
    for picture in (60, 61, 62):
        tree.picture(picture, f"P{picture}.jpg", ["2/7"])
    (tree.folder / "all_metadata/metadata/9").mkdir()
    (tree.folder / "all_metadata/metadata/9/90.xml").write_text("<image>")
    tree.picture(91, "Missing.jpg", ["1/1"], file=False)
    rows, report, dropped = build(tree)
    assert [row["id"] for row in rows] == ["1/1"]
    assert sorted(dropped) == sorted(
        [
            ("metadata that cannot be read", "9/90.xml"),
            ("article that cannot be read", "1/5.xml"),
            ("fewer than 3 images", "1/6.xml"),
            ("picture that cannot be used", "2/20.svg"),
            ("picture that cannot be used", "3/30.jpg"),
            ("picture that cannot be used", "9/91.jpg"),
            ("fewer than 3 images", "1/3.xml"),
            ("fewer than 3 images", "1/4.xml"),
            ("fewer than 10 sentences", "1/2.xml"),
            ("article that cannot be read", "2/7.xml"),
        ]
    )
    counts = {count.name: (count.number, count.published) for count in report.counts}
    assert counts["pictures in the metadata"] == (19, 237_434)
    assert counts["English articles"] == (7, None)
    assert counts["articles with 3 pictures in the collection"] == (5, None)
    assert counts["articles with 3 pictures that can be used"] == (3, None)
    assert counts["documents with 10 sentences"] == (1, 16_000)
    assert counts["documents: train"] == (1, 14_000)
    assert counts["different images"] == (3, 92_000)


def test_the_first_hundred_sentences_are_kept(tree):
    tree.many(1)
    tree.article("0/0", text(130))
    tree.picture(5, "More.jpg", ["0/0"])
    rows, _, _ = build(tree)
    assert len(rows[0]["sentences"]) == 100
    assert rows[0]["sentences"][99] == "This is sentence number 99 of it."
    assert len(build(tree, max_sentences=20)[0][0]["sentences"]) == 20


def test_links_are_unknown_not_none(tree):
    tree.many(2)
    rows, report, _ = build(tree)
    assert all("links" not in row or row["links"] is None for row in rows)
    assert report.stats.density is None


def test_shares_of_the_published_sizes(tree):
    tree.many(32)
    rows, _, _ = build(tree, validation=1 / 16, test=1 / 16)
    splits = [row["split"] for row in rows]
    assert (splits.count("train"), splits.count("validation"), splits.count("test")) == (28, 2, 2)
    assert [row["id"] for row in rows] == [f"{number // 7}/{number}" for number in range(32)]
    assert [row["split"] for row in build(tree, validation=1 / 16, test=1 / 16, seed=1)[0]] != splits


def test_what_is_missing_is_named(tree, tmp_path):
    with pytest.raises(CorpusError, match=r"no metadata in it, .*unpack all_metadata.zip .*imageclef"):
        build(tree)
    tree.picture(1, "A.jpg", ["1/1"])
    with pytest.raises(CorpusError, match=r"no articles in it, .*unpack all_text.zip"):
        build(tree)
    tree.article("1/1", text(10))
    with pytest.raises(CorpusError, match=r"no article has 3 pictures that are there"):
        build(tree)
    with pytest.raises(CorpusError, match=r"nowhere: not a folder; name the one that has the pictures"):
        build(tree, images=tmp_path / "nowhere")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CorpusError, match=r"no folder metadata in it: unpack all_metadata.zip"):
        build(empty)


def test_pictures_in_a_folder_of_their_own(tree, tmp_path):
    tree.many(1)
    (tree.folder / "images").rename(tmp_path / "pictures")
    rows, _, _ = build(tree, images=tmp_path / "pictures")
    assert rows[0]["images"] == [f"../pictures/0/{number}.jpg" for number in range(3)]


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "A.jpg", "B.jpg", "Ü.png"]), st.lists(st.sampled_from("xyz"), unique=True))
    ),
    st.lists(st.sampled_from(["A.jpg", "B.jpg", "Ü.png", "None.gif"]), unique=True),
)
def test_the_pictures_of_an_article_against_a_slow_oracle(metadata, names):
    pictures = wiki.Pictures()
    for number, (name, articles) in enumerate(metadata):
        pictures.add({"file": f"ä/{number}.jpg", "name": name, "articles": articles})
    expected = [next((i for i, (each, _) in enumerate(metadata) if each == name), None) for name in names]
    expected += [i for i, (_, articles) in enumerate(metadata) if "x" in articles]
    assert list(pictures.of("x", names)) == list(dict.fromkeys(i for i in expected if i is not None))
    assert pictures.files == [f"ä/{i}.jpg" for i in range(len(metadata))]
