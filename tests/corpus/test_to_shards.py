from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.corpus import convert
from iconotext.corpus.check import check_corpus
from iconotext.corpus.convert import _name, write_shards
from iconotext.corpus.formats.webdataset import tar_beside
from iconotext.corpus.store import read_corpus, read_rows
from iconotext.errors import CorpusError, OutputError, SettingError
from tests.support.shards import write_jsonl, write_tar


def row(name, *images, **more):
    return {"id": name, "sentences": ["A.", "B."], "images": list(images), "links": [[0, 0]], **more}


def corpus(path, *rows):
    return write_jsonl(path, rows)


def test_what_is_read_again_is_what_was_written(tmp_path, picture, monkeypatch):
    files = [picture(f"img/{n}.png", seed=n) for n in range(5)]
    relations = {"Story": True, "Visible": None}
    more = {"captions": ["A cat"], "positions": [1], "relations": relations, "meta": {"title": "T", "source": "x"}}
    rows = [row(f"d{n}", f"../../img/{n}.png", split="test", **more) for n in range(5)]
    path = corpus(tmp_path / "out/deep/c.jsonl", *rows)
    monkeypatch.setattr(convert, "BATCH_BYTES", 1)  # a row group for each document
    done = write_shards(read_corpus(path), tmp_path / "new/shards", size=2)
    assert (done.shards, done.documents, done.pictures, done.missing) == (3, 5, 5, 0)
    shards = sorted((tmp_path / "new").rglob("*"))
    assert [each.name for each in shards] == ["shards", "00000.parquet", "00001.parquet", "00002.parquet"]
    found = [document for shard in shards[1:] for document in read_corpus(shard)]
    for document, known, file in zip(found, read_corpus(path), files, strict=True):
        (image,) = document.images
        assert (image.file, image.problem, image.caption) == (file.read_bytes(), None, "A cat")
        assert image.source == f"img/{file.name}"
        assert (document.sentences, document.links, document.split) == (known.sentences, known.links, "test")
        assert document.meta == known.meta
        assert document.meta["relations"] == relations
    assert shards[0].stat().st_mode == (tmp_path / "out").stat().st_mode


def test_the_hugging_face_library_takes_them(tmp_path, picture, monkeypatch):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    picture("a.png", size=(31, 17))
    path = corpus(tmp_path / "c.jsonl", row("a", "a.png", relations={"Story": True}), row("b", links=None))
    write_shards(read_corpus(path), tmp_path / "shards")
    files = str(tmp_path / "shards/*.parquet")
    found = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path / "hf"))
    found = found.cast_column("images", datasets.List(datasets.Image()))
    assert found[0]["images"][0].size == (31, 17)
    assert [each["images"] for each in found][1] == []


def test_pictures_that_are_not_there_are_counted_and_keep_their_names(tmp_path, picture):
    picture("a.png")
    path = corpus(tmp_path / "c.jsonl", row("a", "a.png", "gone.png", "https://example.org/x.png"))
    done = write_shards(read_corpus(path), tmp_path / "shards")
    assert (done.pictures, done.missing) == (1, 2)
    (document,) = read_corpus(tmp_path / "shards/00000.parquet")
    assert [image.problem is None for image in document.images] == [True, False, False]
    assert [image.source for image in document.images] == ["a.png", "gone.png", "https://example.org/x.png"]


def test_it_is_all_or_nothing(tmp_path):
    folder = tmp_path / "shards"
    path = corpus(tmp_path / "c.jsonl", row("a", links=None))
    for times, message in ((0, "no documents"), (2, "'a' is also the id of document 1")):
        documents = [document for _ in range(times) for document in read_corpus(path)]
        with pytest.raises(CorpusError, match=message):
            write_shards(documents, folder, size=1)
        assert [each.name for each in tmp_path.iterdir()] == ["c.jsonl"]
    with pytest.raises(SettingError, match="at least one"):
        write_shards(read_corpus(path), folder, size=0)
    folder.mkdir()
    write_shards(read_corpus(path), folder)  # an empty folder is as good as a new one
    with pytest.raises(OutputError, match="is there already"):
        write_shards(read_corpus(path), folder)


@given(st.lists(st.text("ab./\\", min_size=1, max_size=8), unique=True, max_size=12))
def test_no_name_leads_out_and_none_stands_for_two_pictures(sources):
    names: dict[str, str] = {}
    led_out = [source for source in sources if ".." in source.replace("\\", "/").split("/") or source[0] in "/\\"]
    found = [_name(source, names) for source in led_out]
    assert len(set(found)) == len(found)
    assert all(name and name[0] != "/" and ".." not in name.split("/") and "\\" not in name for name in found)
    assert [_name(source, names) for source in led_out] == found


def test_a_tar_beside_a_corpus_has_its_pictures(tmp_path, picture):
    files = [picture(f"made/{n}.png", seed=n) for n in range(2)]
    path = corpus(tmp_path / "c.jsonl", row("a", "0.png", split="train"), row("b", "1.png", split="test"))
    write_tar(tmp_path / "c.tar", {f"img/{file.name}": file.read_bytes() for file in files})
    assert [document.images[0].file for document in read_corpus(path)] == [file.read_bytes() for file in files]
    assert check_corpus(path).problems == ()
    corpus(path, row("a", "0.png", "gone.png", split="train"), row("b", "0.png", split="test"))
    assert [(each.place, each.field) for each in check_corpus(path).problems] == [
        ("line 1", "images.1"),
        ("line 2", "images.0"),  # of the first split
    ]
    write_shards(read_corpus(path), tmp_path / "shards")
    problems = check_corpus(tmp_path / "shards/00000.parquet").problems
    assert [(each.place, each.field) for each in problems] == [("row 1", "images.1"), ("row 2", "images.0")]


def test_what_is_broken_in_tars_and_rows_is_found(tmp_path, picture):
    data = picture("made/a.png").read_bytes()
    path = corpus(tmp_path / "c.jsonl", row("a", "good.png", "bad.png"))
    write_tar(tmp_path / "c.tar", {"good.png": data, "bad.png": data[:40]})
    write_shards(read_corpus(path), tmp_path / "shards")
    for each in (path, tmp_path / "shards/00000.parquet"):
        (problem,) = check_corpus(each).problems
        assert problem.field == "images.1"
        assert check_corpus(each, decode_images=False).problems == ()
    whole = (tmp_path / "c.tar").read_bytes()
    (tmp_path / "c.tar").write_bytes(whole[: 512 + len(data) + 200])
    assert check_corpus(path).problems[0].place == "c.tar"
    (tmp_path / "c.tar").write_bytes(b"no tar")
    with pytest.raises(CorpusError, match=r"c\.tar: no tar that can be read"):
        list(read_corpus(path))


@pytest.mark.parametrize("name", ["00.parquet", "00.pq", "00.jsonl", "00.jsonl.gz", "00.jsonl.zst", "00.JSONL.ZIP"])
def test_which_tar_lies_beside(tmp_path, name):
    assert tar_beside(tmp_path / name) is None
    (tmp_path / "00.tar").touch()
    assert tar_beside(tmp_path / name) == tmp_path / "00.tar"
    assert tar_beside(tmp_path / "00.tar") == tmp_path / "00.tar"


def test_what_is_no_corpus_says_what_to_do(tmp_path):
    with pytest.raises(CorpusError, match="name the corpus file in it"):
        list(read_rows(tmp_path))
    (tmp_path / "_run.json").touch()
    with pytest.raises(CorpusError, match="name the shards that they were made of"):
        list(read_rows(tmp_path))
    (tmp_path / "a.tar").touch()
    with pytest.raises(CorpusError, match="no tar that can be read"):
        list(read_rows(tmp_path / "a.tar"))
