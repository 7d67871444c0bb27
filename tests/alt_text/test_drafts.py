"""Drafts: for whom there is one, what they must not repeat, and how they come back from JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from iconotext.alt_text.drafts import CONFIDENT, VISIBLE, chosen, make_drafts, read_drafts, row
from iconotext.errors import SettingError
from iconotext.types import Document, Image, Link, LinkedDocument, Sentence

SHOWS = "The photo below shows a red barn beside a river."
DRAFT = "A red barn beside a river"


def linked(*images: Image, sentences=(SHOWS, "Nothing else is said."), links=((0, 0, 0.9, 0.5),), language="en"):
    document = Document("a", tuple(Sentence(text, n) for n, text in enumerate(sentences)), images, language=language)
    found = tuple(Link(s, i, c, c, {}, relations={"Visible": v}) for s, i, c, v in links)
    return LinkedDocument(document, found, np.zeros((len(sentences), len(images)), np.float32), "m")


def texts(given: LinkedDocument) -> list[tuple[int, str]]:
    return [(draft.image, draft.text) for draft in make_drafts(given)]


def test_a_picture_without_a_text_has_a_draft():
    (draft,) = make_drafts(linked(Image("a.png", position=1)), "digest")
    assert (draft.id, draft.text, draft.draft, draft.confidence, draft.visible) == ("a:0", DRAFT, True, 0.9, 0.5)
    assert [quote.text for quote in draft.sentences] == [SHOWS]
    assert draft.sha256 == "digest"


@pytest.mark.parametrize(
    "image",
    [
        Image("a.png", alt="A barn", position=1),
        Image("a.png", problem="not found", position=1),
        Image("a.png", position=1, decorative=True),
        Image("a.png", caption="Figure 1: A red barn beside a river.", position=1),  # the same again
        Image("a.png", caption="A red barn, beside a river", position=1),
    ],
)
def test_no_draft(image):
    assert texts(linked(image)) == []


def test_no_draft_repeats_the_prose_or_another_text():
    assert texts(linked(Image("a.png"), sentences=(SHOWS, "A red barn beside a river."))) == []
    assert texts(linked(Image("a.png"), Image("b.png", alt="A red barn beside a river"))) == []
    other = "Figure 9 shows a red barn beside a river."
    twice = linked(Image("a.png"), Image("b.png"), sentences=(SHOWS, other), links=((0, 0, 0.9, 0.5), (1, 1, 0.8, 0.5)))
    assert texts(twice) == [(0, DRAFT)]


def test_a_sentence_serves_the_picture_it_belongs_to_most():
    both = ((0, 0, 0.6, 0.5), (0, 1, 0.9, 0.5))
    assert texts(linked(Image("a.png"), Image("b.png"), links=both)) == [(1, DRAFT)]
    assert texts(linked(Image("a.png"), Image("b.png", alt="Has one"), links=both)) == []


def test_bars():
    assert texts(linked(Image("a.png"), links=((0, 0, CONFIDENT, VISIBLE),))) == [(0, DRAFT)]
    assert texts(linked(Image("a.png"), links=((0, 0, CONFIDENT - 0.01, 0.9),))) == []
    assert texts(linked(Image("a.png"), links=((0, 0, 0.9, VISIBLE - 0.01),))) == []
    without = linked(Image("a.png"))
    assert make_drafts(replace(without, links=tuple(replace(k, relations=None) for k in without.links))) == []


def test_english_only():
    assert texts(linked(Image("a.png"), language="de")) == []


def test_there_and_back(tmp_path):
    drafts = make_drafts(linked(Image("a.png", position=1)), "digest")
    path = tmp_path / "drafts.json"
    rows = [row(each) for each in drafts]
    rows[0]["text"] = "  A barn,\nred "
    path.write_text(json.dumps(rows))
    (again,) = read_drafts(path)
    assert (again.id, again.text, again.image, again.sha256, again.draft) == ("a:0", "A barn, red", 0, "digest", False)
    assert chosen([again], []) == chosen([again], ["a:0"]) == [again]
    with pytest.raises(SettingError, match="no draft is called b:1; there are a:0"):
        chosen([again], ["b:1"])


@pytest.mark.parametrize(
    "content",
    ["{", "{}", "[3]", "[{}]", '[{"id": "a", "path": "a", "sha256": "x", "image": true, "source": "", "text": "x"}]',
     '[{"id": "a", "path": "a", "sha256": "x", "image": 1, "source": "", "text": " "}]'],
)  # fmt: skip
def test_other_json_is_refused(tmp_path, content):
    path = tmp_path / "drafts.json"
    path.write_text(content)
    with pytest.raises(SettingError, match=r"drafts\.json"):
        read_drafts(path)
