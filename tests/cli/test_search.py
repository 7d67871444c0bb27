from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from iconotext.cli import output
from iconotext.encoders import relation_model
from tests.support import program
from tests.support.photos import NAMES, Told, write_photos
from tests.support.program import printed as run


@pytest.fixture(autouse=True)
def _relation_model(monkeypatch):
    monkeypatch.setattr(relation_model, "load_relation_model", lambda *_, **__: Told())


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    """Photographs and the library made of them, for every test that only asks it."""
    folder = tmp_path_factory.mktemp("album")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(relation_model, "load_relation_model", lambda *_, **__: Told())
        patched.setenv("ICONOTEXT_CACHE", str(folder / "cache"))
        patched.setenv("ICONOTEXT_CONFIG", os.devnull)
        run("library", "add", folder / "lib", write_photos(folder / "photos"))
    return folder


@pytest.fixture
def lib(album):
    return album / "lib"


@pytest.fixture
def photos(album):
    return album / "photos"


def test_json_has_the_format_of_the_documentation(lib, photos):
    found = json.loads(run("search", lib, "A red tram", "--json", "--top", "3"))
    assert len(found) == 3
    scores = [result["score"] for result in found]
    assert scores == sorted(scores, reverse=True)
    assert set(found[0]) >= {"image", "score", "document", "caption", "relations"}
    tram = next(r for r in json.loads(run("search", lib, "A red tram", "--json")) if r["document"])
    assert tram["image"] == str(photos / "walk" / "tram.png")
    assert tram["document"] == str(photos / "walk" / "walk.md")
    assert tram["alt"] == "A red tram"
    assert tram["sentences"][0]["text"] == "Yesterday a red tram came by."
    assert 0 < tram["sentences"][0]["confidence"] <= 1
    assert list(tram["relations"]) == list(NAMES)


def test_a_relation_by_its_short_name_and_filters(lib, photos):
    wanted = json.loads(run("search", lib, "Anything", "--relation", "story", "--folder", photos / "walk", "--json"))
    assert [result["image"] for result in wanted] == [str(photos / "walk" / "tram.png")]
    assert wanted[0]["relations"]["Story"] > 0.5  # "Yesterday a red tram came by."
    assert json.loads(run("search", lib, "Anything", "--until", "1990", "--json")) == []
    assert "No picture satisfies the filters." in run("search", lib, "Anything", "--until", "1990")


def test_table_and_page(lib, tmp_path):
    shown = run("search", lib, "A red tram", "--html", tmp_path / "found.html")
    assert "tram.png" in shown.replace("\n", "")
    page = (tmp_path / "found.html").read_text()
    assert "A red tram" in page
    assert page.count("data:image/") >= 4
    assert "exists already" in run("search", lib, "A red tram", "--html", tmp_path / "found.html", status=1)
    run("search", lib, "A red tram", "--html", tmp_path / "found.html", "--force")


def test_errors_are_one_line(lib, tmp_path):
    assert "not a library; make one with" in run("search", tmp_path / "none", "x", status=1)
    assert "nothing to search for" in run("search", lib, status=1)
    assert "not a date; write a year" in run("search", lib, "x", "--since", "soon", status=1)
    assert "friendship: not among the relations: visible (Visible), reaction (Subjective)" in run(
        "search", lib, "x", "--relation", "friendship", status=1
    )
    assert "file not found" in run("search", lib, "--picture", tmp_path / "none.png", status=1)
    run("search", lib, "x", "--top", "0", status=2)


def test_a_question_without_a_good_match_says_so_and_does_not_fill_the_places(lib):
    asked = ["search", str(lib), "Parliament debates the budget"]
    shown = program.run(*asked)
    assert shown.stderr == "No picture matches well; the nearest:\n"
    assert shown.stdout.count("weak") == 3
    assert [result["match"] for result in json.loads(run(*asked, "--json"))] == ["weak"] * 3
    assert len(json.loads(run(*asked, "--anyway", "--json"))) == 4


def test_words_in_an_alternative_text_decide_and_are_named(lib, photos):
    first, *_ = json.loads(run("search", lib, "red tram", "--json"))
    assert first["image"] == str(photos / "walk" / "tram.png")
    assert (first["match"] != "weak", first["why"]["words"]) == (True, ["red", "tram"])
    assert "words: red tram" in run("search", lib, "red tram").replace("\n", " ")


@pytest.mark.slow
def test_documents_are_told_apart_and_names_stay_whole_on_a_narrow_terminal(tmp_path, monkeypatch):
    photos = write_photos(tmp_path / "photos")
    name = "walk/the-old-tram-on-its-way-through-the-long-and-narrow-streets-below-the-castle.png"
    (photos / "walk" / "tram.png").rename(photos / name)
    text = (photos / "walk" / "walk.md").read_text().replace("tram.png", Path(name).name)
    (photos / "walk" / "index.md").write_text(text)
    (photos / "walk" / "walk.md").unlink()
    (photos / "other").mkdir()
    shutil.copy(photos / "2.png", photos / "other" / "lake.png")
    (photos / "other" / "index.md").write_text("![A lake](lake.png)\n\nWe swam in the lake.\n")
    monkeypatch.chdir(photos.parent)
    run("library", "add", "lib", "photos")
    monkeypatch.setattr(output, "WIDE", 80)
    shown = run("search", "lib", "red tram", "--relation", "visible", "--anyway")
    assert shown.splitlines()[0].endswith(f"  photos/{name}")
    assert "        in photos/walk/index.md\n        Yesterday a red tram" in shown
    assert "        in photos/other/index.md\n        We swam" in shown
    monkeypatch.chdir(photos)
    assert "        in walk/index.md\n" in run("search", "../lib", "red tram", "--html", "found.html")
    page = (photos / "found.html").read_text()
    assert (">walk/index.md<" in page, ">other/index.md<" in page) == (True, True)
