"""Searching a library whose model is coherence-aware: its own word on relations, and selective refinement."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from iconotext.encoders.coherence_relations import Coherence, Refinement
from iconotext.errors import SettingError
from iconotext.library.search import Query, search
from iconotext.library.store import open_library
from tests.support.library import Colours, Relations, paint, update

# Log-odds of Story: 10 times how blue the picture is (length 1), less 2.
STORY = Coherence(("Story",), torch.nn.Linear(6, 1).requires_grad_(False))
STORY.layer.weight.data = torch.tensor([[0.0, 0.0, 0.0, 0.0, 0.0, 10.0]])
STORY.layer.bias.data = torch.tensor([-2.0])


@pytest.fixture
def photos(tmp_path) -> Path:
    """A bluish and a reddish picture that are about as green as each other, and a red one."""
    for name, colour in {"bluish": (0, 255, 90), "reddish": (85, 255, 0), "red": (255, 20, 0)}.items():
        paint(tmp_path / "photos" / f"{name}.png", colour)
    return tmp_path / "photos"


@pytest.fixture
def lib(tmp_path, photos) -> Path:
    update(tmp_path / "lib", photos, relations=Relations())
    return tmp_path / "lib"


def found(lib: Path, refinement: Refinement | None = None, **query):
    return search(open_library(lib), Query("green", **query), Colours().encoder(STORY), Relations(), refinement)


def order(results) -> list[str]:
    return [Path(result.image).stem for result in results]


def test_the_models_own_word_counts_for_the_relations_that_it_knows(lib):
    by_name = {Path(result.image).stem: result.relations for result in found(lib)}
    blue = 90 / math.hypot(255, 90)
    assert by_name["bluish"]["Story"] == pytest.approx(1 / (1 + math.exp(2 - 10 * blue)), abs=1e-3)
    assert by_name["red"]["Story"] == pytest.approx(1 / (1 + math.exp(2)), abs=1e-3)
    assert by_name["red"]["Visible"] == pytest.approx(0.5, abs=1e-6)  # the relation model's


def test_a_wanted_relation_that_it_knows_decides_by_its_word(lib):
    assert order(found(lib))[0] == "reddish"  # a little greener
    assert order(found(lib, relation="Story"))[0] == "bluish"


def test_hard_queries_are_refined_by_hand(lib):
    plain = found(lib)
    difference = plain[0].similarity - plain[1].similarity
    assert 0 < difference < 0.02
    refined = found(lib, Refinement(1.0, 0.05))
    assert order(refined)[0] == order(plain)[0]  # both are sure: of no story the one, of a story the other
    for result in refined:
        x = result.relations["Story"]
        assert result.score == pytest.approx(result.similarity * math.exp(abs(x - 0.5)), rel=1e-3)


def test_easy_queries_and_searches_for_a_relation_are_not_refined(lib):
    assert found(lib, Refinement(1.0, 1e-6)) == found(lib)
    assert found(lib, Refinement(1.0, 0.05), relation="Story") == found(lib, relation="Story")


def test_a_search_by_picture_knows_no_sentence_and_is_not_refined(lib):
    query = Query(None, picture=lib.parent / "photos" / "red.png")
    results = search(open_library(lib), query, Colours().encoder(STORY), Relations(), Refinement(1.0, 2.0))
    assert order(results)[0] == "red"
    assert [result.score for result in results] == pytest.approx([result.similarity for result in results])


def test_its_relations_can_be_asked_for_where_there_is_no_relation_model(tmp_path, photos):
    update(tmp_path / "lib", photos)
    encoder = Colours().encoder(replace(STORY, relations=("Weather",)))
    library = open_library(tmp_path / "lib")
    results = search(library, Query("green", relation="Weather"), encoder)
    assert order(results)[0] == "bluish"
    assert [list(result.relations) for result in results] == [["Weather"]] * 3
    with pytest.raises(SettingError, match="among the relations: Weather"):
        search(library, Query("green", relation="Story"), encoder)


def test_settings_of_a_refinement_without_a_model_that_tells_relations_change_nothing(lib):
    plain = search(open_library(lib), Query("green"), Colours().encoder(), Relations())
    refined = search(open_library(lib), Query("green"), Colours().encoder(), Relations(), Refinement(1.0, 2.0))
    assert refined == plain
