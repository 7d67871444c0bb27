"""Drafts: what a sentence says that a picture shows, which pictures get one, how they come back from JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.alt_text.drafts import CONFIDENT, LONGEST, VISIBLE, chosen, depicted, make_drafts, read_drafts, row
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


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Figure 3 shows a red barn beside a river.", "A red barn beside a river"),
        ("@fig-barn shows a red barn beside a river.", "A red barn beside a river"),
        ("For example, Fig. 2.4 depicts two old barns, which stood there until 1950.", "Two old barns"),
        ("The photo below shows a red barn (see Figure 4) beside a river [12].", "A red barn beside a river"),
        ("This 1910 map by the surveyor illustrates the course of the river (Miller 1998).", "The course of the river"),
        ("In the picture above you can see a red barn because the light was good.", "A red barn"),
        ("Here is a photo of a red barn at dawn.", "A red barn at dawn"),
        ("This is a diagram showing the gears of a clock:", "The gears of a clock"),
        ("A red barn beside a river is shown in Figure 3.", "A red barn beside a river"),
        ("The gears of a clock are pictured below, and they are made of brass.", "The gears of a clock"),
        ("Figure 1 illustrates the principle of phase detection.", "Phase detection"),
        ("The drawing shows the pump, the tank; the valve is missing.", "The pump, the tank"),
    ],
)
def test_what_is_said(sentence, said):
    assert depicted(sentence) == said


@pytest.mark.parametrize(
    "sentence",
    [
        "A red barn stands beside a river.",  # says nothing of a picture
        "Figure 3 shows that barns are red.",  # a claim, no thing
        "The photo below shows how we built the barn.",
        "Figure 3 shows it from behind.",
        "The photo below shows the result.",
        "This shows the same barn a year later.",  # leans on what came before
        "The image below shows our barn.",
        "The left panel of the figure shows a red barn.",  # a part of the picture
        "Figure 3a shows a red barn.",
        "A red barn is shown on the left in the first photo.",
        "The table shows red barns and their owners.",
        "As shown in Figure 3, barns are red.",
        "It shows red barns at dawn.",  # nobody knows what
        "Figure 3 shows barns.",  # too little
        "Figure 3 shows https://example.org/red barns at dawn.",
        "-time graphs of two barns are shown in Figure 3.",  # cut off before it came here
        "Figure 3 shows a red barn as seen in, because it burned.",  # cut off in the middle
        "Figure 3 shows the farmers and their red barn.",
        "Das Bild zeigt eine rote Scheune.",
        "",
    ],
)
def test_nothing_is_better_than_wrong(sentence):
    assert depicted(sentence) is None


def test_what_is_too_long_ends_at_a_clause_or_is_nothing():
    long = "a barn with walls of red boards and a roof of grey slate"
    assert depicted(f"Figure 3 shows {long} that {'leans to the left ' * 6}.") == f"A{long[1:]}"
    assert depicted(f"Figure 3 shows {'a barn of red boards beside ' * 6}a river.") is None


@given(
    st.lists(
        st.sampled_from("Figure 3 shows the a barn red of , which ( ) in below photo is shown that and [4] .".split()),
        max_size=40,
    )
)
def test_a_draft_is_a_short_part_of_its_sentence(parts):
    sentence = " ".join(parts)
    said = depicted(sentence)
    if said is not None:
        assert 0 < len(said) <= LONGEST
        assert said[0].isupper()
        left = iter(sentence.lower().split())  # its words come in the same order, and some are missing
        assert all(any(word.strip(".,()") == other.strip(".,()") for other in left) for word in said.lower().split())
        assert len(said.split()) < len(sentence.split())
