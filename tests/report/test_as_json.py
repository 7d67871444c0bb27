from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from iconotext.errors import DocumentError
from iconotext.plain_text import readable
from iconotext.read import Failure
from iconotext.report.as_json import json_array, json_lines, json_object
from iconotext.types import Image, TextLine
from tests.support.linked import explained, link, make_linked

KEYS = {"id", "source", "model", "notes", "sentences", "images", "links", "similarity"}


def test_every_key_of_the_format(linked):
    found = json_object(linked)
    assert set(found) >= KEYS
    assert found["id"] == "doc"
    assert found["source"] is None
    assert found["model"] == "default"
    assert found["sentences"][0] | {"text": "On cats", "block": 0, "heading": True} == found["sentences"][0]
    assert found["sentences"][1]["heading"] is False
    shown = {"source": "img/gone.jpg", "alt": "Gone", "caption": None, "block": 10, "problem": "file not found"}
    assert found["images"][2] | shown == found["images"][2]
    assert found["links"][0] == {
        "sentence": 1,
        "image": 0,
        "score": 0.9,
        "confidence": 0.9,
        "paragraph_confidence": 0.95,
        "evidence": {"picture": 0.3, "layout": -1.25},
    }
    assert np.shape(found["similarity"]) == (9, 3)


def test_the_words_in_an_image_are_there_where_somebody_looked_for_them():
    line = TextLine("Exit", 0.875, (0.25, 0.5, 0.75, 1.0))
    images = [Image("a.png", lines=(line,)), Image("b.png", lines=()), Image("c.png")]
    found = json_object(make_linked(["One."], images, []))["images"]
    assert found[0]["lines"] == [{"text": "Exit", "confidence": 0.875, "box": [0.25, 0.5, 0.75, 1.0]}]
    assert found[1]["lines"] == []
    assert "lines" not in found[2]


def test_lists_and_lines_are_written_piece_by_piece(linked):
    failure = Failure(Path("in/broken.md"), DocumentError("in/broken.md: is no text"))
    results = [linked, failure, linked]
    broken = {"id": "broken", "source": "in/broken.md", "error": "in/broken.md: is no text"}
    expected = [json_object(linked), broken, json_object(linked)]
    assert json.loads("".join(json_array(results))) == expected
    assert [json.loads(line) for line in json_lines(results)] == expected
    assert all(line.count("\n") == 1 for line in json_lines(results))
    assert json.loads("".join(json_array([]))) == []
    assert json.loads("".join(json_array([linked]))) == [json_object(linked)]  # one is a list, too


def test_numbers_are_short_and_finite():
    made = make_linked(["a"], [], [])
    odd = replace(made, similarity=np.array([[1 / 3, np.nan, np.inf]], np.float32))
    assert json_object(odd)["similarity"] == [[0.333333, None, None]]
    made = make_linked(["a"], [Image("a.png")], [link(0, 0, 2 / 3)])
    assert '"confidence": 0.666667' in "".join(json_array([made]))


def test_letters_stay_letters():
    made = make_linked(["Grüße aus Köln, 你好"], [], [], source=Path("ä.md"))
    assert "Grüße aus Köln, 你好" in "".join(json_array([made]))
    assert json_object(made)["source"] == "ä.md"


def test_hostile_text_is_valid_utf8_and_reads_back(hostile):
    text, made = hostile
    read = json.loads("".join(json_lines([made])).encode())
    assert read["sentences"][0]["text"] == read["title"] == read["model"] == text.replace("\ud800", "\ufffd")


def test_no_text_acts_on_the_terminal_that_shows_it(hostile):
    _, made = hostile
    printed = "".join(json_array([made]))
    assert readable(printed) == printed


def test_no_sentences_and_no_images():
    assert json_object(make_linked([], [], []))["similarity"] == []
    assert json_object(make_linked(["a"], [], []))["similarity"] == [[]]


def test_explanations_stand_with_their_links(linked):
    assert all("explanation" not in each for each in json_object(linked)["links"])
    found = json_object(explained(linked))["links"][0]
    assert found["explanation"]["words"] == [(0, 1, 0.3), (2, 5, 0.1), (6, 12, 0.0333333)]
    assert found["explanation"]["regions"][1] == (0.5, 0.0, 1.0, 0.5, 0.1)
    assert {key: value for key, value in found.items() if key != "explanation"} == json_object(linked)["links"][0]
