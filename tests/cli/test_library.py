from __future__ import annotations

import json

import pytest
from PIL import Image as Pillow

from iconotext.encoders import relation_model
from tests.support import program
from tests.support.photos import NAMES, Told, write_photos
from tests.support.program import printed as run
from tests.support.shards import row, write_jsonl


@pytest.fixture(autouse=True)
def _relation_model(monkeypatch):
    monkeypatch.setattr(relation_model, "load_relation_model", lambda *_, **__: Told())


@pytest.fixture
def photos(tmp_path):
    return write_photos(tmp_path / "photos")


def test_add_list_and_add_again(photos, tmp_path):
    lib = tmp_path / "lib"
    (photos / "broken.jpg").write_text("nothing")
    added = json.loads(run("library", "add", lib, photos, "--json"))
    assert {name: added[name] for name in ("added", "encoded", "documents", "removed", "failures")} == {
        "added": 4, "encoded": 4, "documents": 1, "removed": 0, "failures": [],
    }  # fmt: skip
    assert [left["path"] for left in added["left_out"]] == [str(photos / "broken.jpg")]
    told = json.loads(run("library", "list", lib, "--json"))
    assert (told["pictures"], told["documents"], told["model"], told["index"]) == (4, 1, "default", None)
    assert told["folders"] == [{"path": str(photos), "pictures": 4}]
    assert told["relations"] == list(NAMES)
    shown = run("library", "list", lib)
    for text in ("pictures", "documents", "exact", "default"):
        assert text in shown
    (photos / "0.png").unlink()
    again = run("library", "add", lib)
    assert "0 new pictures, 4 files unchanged, 1 removed, 1 picture left out" in again
    assert "1 document read" in run("library", "add", lib, "--k", 1)


@pytest.mark.slow
def test_a_broken_picture_of_a_document_is_named_once(photos, tmp_path):
    Pillow.effect_noise((200, 200), 80).save(photos / "walk" / "cut.jpg")
    (photos / "walk" / "cut.jpg").write_bytes((photos / "walk" / "cut.jpg").read_bytes()[:3000])
    document = photos / "walk" / "walk.md"
    document.write_text(document.read_text() + "\n![A cut](cut.jpg)\n")
    done = program.run("library", "add", tmp_path / "lib", document)
    assert done.stderr.startswith(f"iconotext: {document}: cut.jpg: cut off")
    assert "1 new picture, 1 document read, 1 picture left out" in done.stdout


def test_pages_of_the_web_are_not_taken(tmp_path):
    output = run("library", "add", tmp_path / "lib", "https://example.org/a.html", status=1)
    assert "https://example.org/a.html: a page on the web, of which a library takes none" in output
    assert not (tmp_path / "lib").exists()


def test_errors_are_one_line(photos, tmp_path):
    lib = tmp_path / "lib"
    assert "no library yet" in run("library", "add", lib, status=1)
    assert "no such file or folder" in run("library", "add", lib, tmp_path / "nothing", status=1)
    assert not lib.exists()
    assert "not a library; make one with" in run("library", "list", lib, status=1)
    assert "with other things in it" in run("library", "add", photos, lib.parent, status=1)
    run("library", "add", lib, photos)
    assert "vectors of two models do not compare" in run("library", "add", lib, "--model", "no-training", status=1)


def test_shards_are_told_as_shards(tmp_path):
    lib, shards = tmp_path / "lib", tmp_path / "shards"
    write_photos(shards)
    write_jsonl(shards / "0.jsonl", [row(0, ["0.png", "1.png"])])
    (shards / "notes.jsonl").write_text("nothing\nof\nthe kind\n")
    output = run("library", "add", lib, shards, "--json")
    assert [json.loads(output)[name] for name in ("shards", "shards_unchanged")] == [1, 0]
    output = run("library", "add", lib)
    assert "0 new pictures, 5 files unchanged, 1 shard unchanged, 1 shard left out\n" in output
    assert "1 (documents in shards are not counted)" in run("library", "list", lib)
    (shards / "0.jsonl").write_text("nothing\nof\nthe kind\n")
    output = run("library", "add", lib, status=1)
    assert f"{shards / '0.jsonl'}: not a corpus: its first lines are no JSON objects\n" in output
    assert "1 shard left out, 1 failed\n" in output


@pytest.mark.slow
def test_settings_hold_for_later_runs_and_where_the_relation_model_is_is_none_of_them(photos, tmp_path):
    lib = tmp_path / "lib"
    (photos / "walk" / "walk.md").rename(photos / "walk.md")
    text = (photos / "walk.md").read_text()
    (photos / "walk.md").write_text(text.replace("(tram.png)", "(/tram.png)"))
    output = run("library", "add", lib, photos / "walk.md", "--root", photos / "walk", "--k", 1)
    assert "1 new picture, 1 document read" in output
    assert "0 new pictures, 1 file unchanged\n" in run("library", "add", lib)
    kept = json.loads((lib / "library.json").read_text())["asked"]
    assert kept == {str(photos / "walk.md"): {"root": str(photos / "walk"), "k": 1}}
    assert "1 file unchanged" in run("library", "add", lib, "--relations", "default")
    assert "1 document read" in run("library", "add", lib, "--k", 2)
    assert "(1 picture)" in run("library", "list", lib)


@pytest.mark.slow
def test_remove(photos, tmp_path):
    lib = tmp_path / "lib"
    run("library", "add", lib, photos)
    photos.rename(tmp_path / "elsewhere")
    output = run("library", "add", lib, status=1)
    assert "no such file or folder; if it is gone for good: iconotext library remove" in output
    assert "1 failed" in output
    assert "nothing was added from there" in run("library", "remove", lib, tmp_path / "elsewhere", status=1)
    assert f"{lib}: 4 pictures removed\n" in run("library", "remove", lib, photos)
    assert json.loads(run("library", "list", lib, "--json"))["pictures"] == 0
    run("library", "add", lib, tmp_path / "elsewhere" / "0.png")
    assert json.loads(run("library", "remove", lib, tmp_path / "elsewhere", "--json"))["removed"] == 1


@pytest.mark.slow
def test_a_library_remembers_where_its_relation_model_is(photos, tmp_path, monkeypatch):
    asked = []

    def load(folder, **_):
        asked.append(folder)
        return Told()

    monkeypatch.setattr(relation_model, "load_relation_model", load)
    lib = tmp_path / "lib"
    (tmp_path / "mine").mkdir()
    run("library", "add", lib, photos, "--relations", tmp_path / "mine")
    run("library", "add", lib)
    run("search", lib, "A tram", "--json")
    assert asked == [tmp_path / "mine"] * 3
    run("library", "add", lib, "--relations", "none")
    assert json.loads(run("library", "list", lib, "--json"))["relations"] == []
    assert {"relations": {}}.items() <= json.loads(run("search", lib, "A tram", "--json"))[0].items()
    assert "made without a relation model" in run("search", lib, "A tram", "--relation", "story", status=1)
    assert len(asked) == 3
