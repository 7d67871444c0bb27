from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from iconotext.errors import ImageError, LibraryError
from iconotext.library import search as searcher
from iconotext.library.search import Query, Searcher
from iconotext.library.store import open_library
from tests.support.library import Colours, Relations, paint, update


@pytest.fixture
def lib(tmp_path) -> Path:
    paint(tmp_path / "photos" / "red.png", "red")
    paint(tmp_path / "photos" / "green.png", "green")
    update(tmp_path / "lib", tmp_path / "photos")
    return tmp_path / "lib"


@pytest.fixture
def loaded(monkeypatch):
    """The models that were loaded."""
    models: list[str] = []

    def load(name, *, cache):
        assert not cache  # what is asked is kept nowhere
        models.append(name)
        return Colours(open_library_space[0]).encoder()

    open_library_space = ["colours"]
    monkeypatch.setattr(searcher, "library_encoder", load)
    monkeypatch.setattr(searcher, "relation_model_of", lambda name: None)
    return models, open_library_space


def names(searches: Searcher, text: str) -> list[str]:
    return [Path(result.image).name for result in searches.find(Query(text, anyway=True)).results]


def test_a_change_is_seen_and_models_are_kept(lib, tmp_path, loaded):
    searches = Searcher(lib)
    assert loaded[0] == []
    assert names(searches, "red")[0] == "red.png"
    opened = searches.library
    assert names(searches, "green")[0] == "green.png"
    assert searches.library is opened
    paint(tmp_path / "photos" / "blue.png", "blue")
    update(lib, tmp_path / "photos")
    assert names(searches, "blue")[0] == "blue.png"
    assert searches.library is not opened
    (tmp_path / "photos" / "blue.png").unlink()
    update(lib, tmp_path / "photos")
    assert sorted(names(searches, "blue")) == ["green.png", "red.png"]
    assert loaded[0] == ["default"]


def test_another_library_in_its_place_gets_its_own_models(lib, tmp_path, loaded):
    searches = Searcher(lib)
    assert names(searches, "red")[0] == "red.png"
    lib.rename(tmp_path / "old")
    with pytest.raises(LibraryError, match="not a library"):
        searches.find(Query("red"))
    update(lib, tmp_path / "photos", colours=Colours("other"))
    loaded[1][0] = "other"
    assert names(searches, "red")[0] == "red.png"
    assert len(loaded[0]) == 2


def test_a_picture_of_the_library_is_not_like_itself(lib, loaded):
    searches = Searcher(lib)
    red = searches.find(Query("red")).results[0]
    assert [Path(each.image).name for each in searches.find(Query(picture=red.digest, top=1)).results] == ["green.png"]
    both = searches.find(Query("red", picture=red.digest)).results
    assert [each.match for each in both] == [None]
    with pytest.raises(ImageError, match="not in the library"):
        searches.find(Query(picture="0" * 32))


def test_an_example_is_compared_by_what_it_shows(lib, tmp_path, loaded):
    results = Searcher(lib).find(Query(picture=paint(tmp_path / "x.png", "red"))).results
    assert [Path(each.image).name for each in results] == ["red.png", "green.png"]


def test_relations_are_those_of_the_library(lib, tmp_path, loaded, monkeypatch):
    assert Searcher(lib).relations == ()
    update(tmp_path / "other", tmp_path / "photos", relations=Relations())
    monkeypatch.setattr(searcher, "relation_model_of", lambda name: Relations())
    searches = Searcher(tmp_path / "other")
    assert searches.relations == ("Visible", "Story")
    answer = searches.find(Query("a red story", relation="story"))
    assert answer.query.relation == "Story"
    assert answer.note is None
    german = Query("Das ist ein rotes Boot, und das hier ist der Hafen.")
    assert searches.find(german).note is None
    assert searches.find(replace(german, relation="story")).note == searcher.NOT_ENGLISH
    assert open_library(tmp_path / "other").settings.relations == ("Visible", "Story")
