"""Builders of data sets that come as shards, on shards as they are published, with what is wrong with some."""

from __future__ import annotations

import hashlib
import json
import zipfile
from functools import partial

import pytest

from iconotext.corpus.builders import WEB_PAGES, build
from iconotext.corpus.builders.fetched import fetch_images
from iconotext.corpus.builders.run import build_corpus
from iconotext.corpus.builders.web_pages import with_images
from iconotext.corpus.store import read_corpus
from iconotext.errors import CorpusError, SettingError
from iconotext.read.web.polite import PoliteFetcher
from tests.support.corpora import PAGE, entry, page, png, table
from tests.support.shards import write_jsonl
from tests.support.web import Time, serving


def line(number, *, images=2, sentences=3, url=True, **more):
    infos = [
        {
            "image_name": f"{number:04}{i}.png",
            "raw_url": f"https://host.example/{number}/{i}.png",
            "face_detections": None,
            "matched_text_index": i % sentences if sentences else None,
            "matched_sim": 0.2 + 0.1 * i,
        }
        for i in range(images)
    ]
    value = {
        "text_list": [f"Sentence {i} of café {number}." for i in range(sentences)],
        "image_info": infos,
        "similarity_matrix": [[0.25] * sentences] * images,
        "could_have_url_duplicate": 0,
    }
    return value | ({"url": f"https://page.example/{number}"} if url else {}) | more


@pytest.fixture
def source(tmp_path):
    """Two shards, one in an archive: repeated addresses, none, broken lines, pages without images or sentences."""
    folder = tmp_path / "shards"
    rows = [line(1), "{broken", line(2, images=0), line(1), line(3, url=False), ""]
    write_jsonl(folder / "docs_no_face_shard_1_v3.jsonl", rows)
    with zipfile.ZipFile(folder / "docs_no_face_shard_0_v3.jsonl.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        rows = [line(1), line(4, sentences=0, images=1), line(5)]
        archive.writestr("docs_no_face_shard_0_v3.jsonl", "\n".join(map(json.dumps, rows)))
    (folder / "README.md").write_text("no shard")
    return folder


def built(data_set, source, output, *, workers=1, force=False, **settings):
    kind, documents = next(builder for builder in WEB_PAGES if builder.name == data_set).load()
    return build_corpus("x", documents, kind(source=source, **settings), output, workers=workers, force=force)


def test_shards_of_mmc4_in_the_order_of_their_names(source, tmp_path):
    report = built("mmc4", source, tmp_path / "c.jsonl")
    documents = list(read_corpus(tmp_path / "c.jsonl"))
    assert [document.id for document in documents] == [
        "https://page.example/1",
        "https://page.example/5",
        "https://page.example/1#2",
        "https://page.example/1#3",
        "docs_no_face_shard_1_v3-line-5",
    ]
    first = documents[0]
    assert first.links == ((0, 0), (1, 1))
    assert [image.source for image in first.images] == ["https://host.example/1/0.png", "https://host.example/1/1.png"]
    assert first.meta["mmc4"]["similarity_matrix"] == [[0.25] * 3] * 2
    assert first.meta["image_info"][0]["image_name"] == "00010.png"
    assert report.dropped == {"no sentence": 1, "row cannot be read": 1, "no image": 1}
    assert [(count.name, count.number) for count in report.counts] == [
        ("shards", 2),
        ("documents in them", 8),
        ("documents with sentences and images", 5),
        ("their images", 10),
    ]


@pytest.mark.slow
def test_any_number_of_workers_gives_the_same_file(source, tmp_path):
    for workers in (1, 2):
        built("mmc4", source, tmp_path / f"{workers}.jsonl", workers=workers)
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


def test_packed_shards(tmp_path):
    write_jsonl(tmp_path / "shards/a.jsonl.gz", [line(1)])
    built("mmc4", tmp_path / "shards", tmp_path / "c.jsonl")
    assert [document.id for document in read_corpus(tmp_path / "c.jsonl")] == ["https://page.example/1"]


def test_links_may_need_a_similarity(source, tmp_path):
    built("mmc4", source, tmp_path / "c.jsonl", min_similarity=0.25, similarities=False)
    first = next(read_corpus(tmp_path / "c.jsonl"))
    assert first.links == ((1, 1),)
    assert "similarity_matrix" not in first.meta["mmc4"]


def test_pictures_are_found_by_name_and_by_digest_of_their_address(source, tmp_path):
    pictures = tmp_path / "pictures/deep"
    pictures.mkdir(parents=True)
    (pictures / "00010.png").write_bytes(png())
    digest = hashlib.md5(b"https://host.example/5/1.png").hexdigest()
    (pictures / f"{digest}.jpg").write_bytes(png())
    built("mmc4", source, tmp_path / "out/c.jsonl", images=tmp_path / "pictures")
    one, five, *_ = read_corpus(tmp_path / "out/c.jsonl")
    assert [image.source for image in one.images] == [
        "../pictures/deep/00010.png", "https://host.example/1/1.png",
    ]  # fmt: skip
    assert [image.problem is None for image in five.images] == [False, True]
    report = built("mmc4", source, tmp_path / "d.jsonl", images=tmp_path / "pictures", only_found=True)
    found = {document.id: document for document in read_corpus(tmp_path / "d.jsonl")}
    assert list(found) == ["https://page.example/1", "https://page.example/5", "https://page.example/1#2",
                           "https://page.example/1#3"]  # fmt: skip
    five = found["https://page.example/5"]
    assert five.links == ((1, 0),)
    assert [info["image_name"] for info in five.meta["image_info"]] == ["00051.png"]
    assert len(five.meta["mmc4"]["similarity_matrix"]) == 1
    assert report.dropped["picture not there"] == 6
    assert report.dropped["too few pictures there"] == 1


def test_pictures_beside_a_shard_are_used(source, tmp_path):
    folder = source / "docs_no_face_shard_1_v3_images"
    folder.mkdir()
    (folder / "00010.png").write_bytes(png())
    built("mmc4", source, tmp_path / "c.jsonl")
    documents = list(read_corpus(tmp_path / "c.jsonl"))
    assert documents[2].images[0].source == "shards/docs_no_face_shard_1_v3_images/00010.png"
    assert documents[2].images[0].problem is None
    assert documents[0].images[0].problem is not None  # the other shard has no such folder


def test_missing_pictures_are_fetched(tmp_path, monkeypatch):
    with serving() as web:
        address = web.put("a.example/1.png", png())
        gone = web.address("a.example/gone.png")
        made = Time()

        def make(sleep):
            return PoliteFetcher(lookup=web.lookup, clock=made.clock, sleep=made.sleep).fetch

        monkeypatch.setattr(build, "fetch_images", partial(fetch_images, make_fetcher=make))
        source = table(tmp_path / "a.parquet", page("A.", entry(address), entry(gone)), page(entry(gone), "B."))
        options = {"images": tmp_path / "new", "fetch": True, "only_found": True}
        report = built("obelics", source, tmp_path / "c.jsonl", **options)
        (document,) = read_corpus(tmp_path / "c.jsonl")
        assert [image.problem for image in document.images] == [None]
        assert document.images[0].source == f"new/{hashlib.sha256(address.encode()).hexdigest()}.png"
        assert document.images[0].position == 1
        assert report.dropped == {"picture not there": 2, "too few pictures there": 1}
        assert ("pictures fetched now", 1) in [(count.name, count.number) for count in report.counts]
        assert "answered 404" in (tmp_path / "c.dropped.tsv").read_text()
        again = built("obelics", source, tmp_path / "c.jsonl", force=True, **options)
        assert web.asked["a.example/1.png"] == 1
        assert again.counts[0].number == 0


def test_shards_of_obelics(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    table(folder / "train-00001-of-00002.parquet", PAGE, page("Only words."))
    table(
        folder / "train-00000-of-00002.parquet", page("A.", entry("http://x.example/1"), url=""), PAGE, row_group_size=1
    )
    report = built("obelics", folder, tmp_path / "c.parquet")
    documents = list(read_corpus(tmp_path / "c.parquet"))
    assert [document.id for document in documents] == [
        "train-00000-of-00002-page-1", "https://a.example/p", "https://a.example/p#2",
    ]  # fmt: skip
    assert [image.position for image in documents[1].images] == [4, 4, 6]
    assert documents[1].has_layout
    assert report.dropped == {"no image": 1}
    few = built("obelics", folder, tmp_path / "d.jsonl", min_images=2, min_sentences=3)
    assert few.dropped == {"too few images": 1, "no image": 1}


def test_a_damaged_shard_is_told_and_the_others_are_read(source, tmp_path):
    whole = (source / "docs_no_face_shard_0_v3.jsonl.zip").read_bytes()
    (source / "docs_no_face_shard_0_v3.jsonl.zip").write_bytes(whole[: len(whole) // 2])
    report = built("mmc4", source, tmp_path / "c.jsonl")
    assert report.dropped["shard damaged"] == 1
    assert len(list(read_corpus(tmp_path / "c.jsonl"))) == 3


def test_a_row_that_json_cannot_keep_is_told_and_the_others_are_used(tmp_path):
    large = json.dumps(line(2, quality=0)).replace('"quality": 0', '"quality": 1e999')
    write_jsonl(tmp_path / "shards/s.jsonl", [line(1), line(3, title="\ud800"), large, line(4)])
    report = built("mmc4", tmp_path / "shards", tmp_path / "c.jsonl")
    assert report.dropped == {"row cannot be read": 2}
    assert report.first["row cannot be read"].startswith("s.jsonl, line 2: ")
    assert [document.id[-1] for document in read_corpus(tmp_path / "c.jsonl")] == ["1", "4"]


def test_what_the_build_and_its_fetching_write_is_no_shard(source, tmp_path):
    built("mmc4", source, tmp_path / "c.jsonl")
    output = source / "c.jsonl"
    built("mmc4", source, output)
    (source / "fetched.jsonl").write_text('{"address": "https://host.example/1/0.png", "problem": "gone"}\n')
    report = built("mmc4", source, output, force=True)
    assert report.counts[0].number == 2
    assert output.read_bytes() == (tmp_path / "c.jsonl").read_bytes()


def test_a_picture_beside_a_shard_is_in_its_folder(tmp_path):
    folder = tmp_path / "shards"
    (folder / "s_images").mkdir(parents=True)
    (folder / "secret.png").write_bytes(png())
    names = ["../secret.png", "x" * 5000, "a\0.png"]
    infos = [{"image_name": name, "raw_url": f"https://h.example/{i}"} for i, name in enumerate(names)]
    write_jsonl(folder / "s.jsonl", [{"text_list": ["A."], "image_info": infos, "url": "https://p.example"}])
    built("mmc4", folder, tmp_path / "c.jsonl")
    (document,) = read_corpus(tmp_path / "c.jsonl")
    assert [image.source for image in document.images] == [f"https://h.example/{i}" for i in range(3)]


def test_wrong_sources_say_what_is_expected(source, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match=r"ends in \.jsonl or \.jsonl\.zip.*jmhessel/mmc4-ff"):
        built("mmc4", tmp_path / "empty", tmp_path / "c.jsonl")
    with pytest.raises(CorpusError, match=r"HuggingFaceM4/OBELICS"):
        built("obelics", source, tmp_path / "c.jsonl")
    with pytest.raises(CorpusError, match="not a folder"):
        built("mmc4", source, tmp_path / "c.jsonl", images=tmp_path / "gone")
    with pytest.raises(SettingError, match="fetch=True needs images"):
        built("mmc4", source, tmp_path / "c.jsonl", fetch=True)


def test_columns_of_images_that_are_left():
    values = {"links": [[0, 0], [1, 2]], "positions": [0, 1, 2], "alts": ["a", None, "c"], "meta": {"x": 1}}
    assert with_images(values, [2]) == {"links": [(1, 0)], "positions": [2], "alts": ["c"], "meta": {"x": 1}}
