"""Drafts of a vision model: which replies become drafts, and what is wrong with the others."""

from __future__ import annotations

import pytest

from iconotext.alt_text.captioned import Refused, captioned_drafts, checked, cleaned
from iconotext.alt_text.captioner import Captioner, CaptionerSettings, NoReply, Reply
from iconotext.alt_text.drafts import Draft
from iconotext.alt_text.prompt import prompts
from iconotext.types import Image
from tests.support.captioner import completion, serving
from tests.support.linked import link, make_linked, photograph

SENTENCES = ["The tram waits at the stop by the river.", "A cat sleeps on the roof of the depot.", "Nobody wakes it."]
CAPTION = "Figure 1: Line 4 on its last day in service"


def linked(**document):
    images = [
        Image("tram.jpg", photograph(1), alt=None, caption=CAPTION, position=1),
        Image("cat.jpg", photograph(2), alt=None, caption=None, position=2),
        Image("bridge.jpg", photograph(3), alt="The old bridge, three arches of stone", caption=None, position=3),
    ]
    return make_linked(SENTENCES, images, [link(0, 0, 0.6), link(2, 0, 0.9), link(1, 1, 0.8)], **document)


def outcome(text, *others, complete=True, **document):
    """What becomes of a reply for the first picture, beside those for others."""
    given = linked(**document)
    replies = [Reply(each, True, 1) for each in others]
    asked = list(zip(prompts(given), [Reply(text, complete, 1), *replies], strict=False))
    return next(checked(given, "digest", asked, "seer"))


def test_a_draft_with_its_evidence():
    draft = outcome("A red tram with its doors open, seen from the left")
    assert isinstance(draft, Draft)
    assert (draft.id, draft.path, draft.sha256, draft.image, draft.source) == ("doc:0", "doc", "digest", 0, "tram.jpg")
    assert (draft.text, draft.draft) == ("A red tram with its doors open, seen from the left", True)
    assert (draft.caption, draft.model, draft.confidence) == (CAPTION, "seer", 0.9)
    assert [quote.sentence for quote in draft.sentences] == [2, 0]  # the most probable first


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (CAPTION, "says the caption again"),
        ("Line 4 on its last day in service", "says the caption again"),
        ("A cat sleeps on the roof of the depot", "says again what stands beside it"),
        ("Nobody wakes it.", "says again"),
        ("A tram " + "with open doors and a driver " * 12, "more than 300"),
        ("tram.jpg", "is the name of a file"),
        ("Picture", "says nothing of the picture"),
        ("The old bridge, three arches of stone", "another picture (picture 3) has the same"),
        ("Eine rote Bahn, die mit offenen Türen am Ufer des Flusses steht und auf Leute wartet", "another language"),
        ("NONE", "cannot tell what the picture shows"),
        ("NONE.", "cannot tell what the picture shows"),
        ("I'm sorry, but I can't assist with describing this image.", "the model refuses"),
        ("I’m unable to identify people in this picture.", "the model refuses"),
        ("Sorry, I cannot help with that.", "the model refuses"),
        ("Es tut mir leid, dabei kann ich nicht helfen.", "the model refuses"),
        ("", "said nothing"),
        (' "" ', "said nothing"),
        ("A tram, see http://203.0.113.9/a", "address or markup"),
        ("![A tram](a.png)", "address or markup"),
        ("A tram <script>alert(1)</script>", "address or markup"),
        ('{"alt": "A tram"}', "address or markup"),
    ],
)
def test_replies_that_make_no_draft(text, reason):
    refused = outcome(text)
    assert isinstance(refused, Refused)
    assert reason in refused.reason
    assert (refused.id, refused.source) == ("doc:0", "tram.jpg")
    assert refused.text == cleaned(text, "en")


@pytest.mark.parametrize("text", ["Sorry, we are closed: a sign on a red door", "A sign that says I cannot swim"])
def test_signs_that_excuse_themselves_are_described(text):
    assert isinstance(outcome(text), Draft)


def test_what_a_server_marks_as_refused_makes_no_draft():
    given = linked()
    asked = [(next(iter(prompts(given))), Reply("A red tram with its doors open", True, 1, refused=True))]
    assert "the model refuses" in next(checked(given, "digest", asked, "seer")).reason


def test_what_is_cut_off_makes_no_draft():
    assert "it was cut off; answer_tokens=..." in outcome("A red tram with its doors op", complete=False).reason


def test_the_same_reply_twice_makes_one_draft():
    given = linked()
    twice = [(prompt, Reply("A grey square of noise", True, 1)) for prompt in list(prompts(given))[:2]]
    first, second = checked(given, None, twice, "seer")
    assert isinstance(first, Draft)
    assert "another picture (picture 1) has the same" in second.reason


def test_other_languages_have_drafts():
    text = "Eine rote Bahn, die mit offenen Türen am Ufer des Flusses steht und auf Leute wartet"
    images = [Image("a.jpg", photograph(1), position=1)]
    sentences = ["Die Bahn ist mit dem Fahrer auf dem Weg in die Stadt, und das ist für die Leute gut."] * 3
    given = make_linked(sentences, images, [link(0, 0, 0.9)], language="de")
    ((prompt,)) = prompts(given)
    assert '"de"' in prompt.messages[0]["content"]
    (draft,) = checked(given, None, [(prompt, Reply(text, True, 1))], "seer")
    assert isinstance(draft, Draft)
    (refused,) = checked(given, None, [(prompt, Reply(f"Das Bild zeigt {text}", True, 1))], "seer")
    assert "begins with" in refused.reason


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("A red tram", "A red tram"),
        ('\n "A red\n tram"\n', "A red tram"),
        ("**Alt text:** A red tram", "A red tram"),
        ("Alternative text: “A red tram”", "A red tram"),
        ("Image of a red tram", "A red tram"),
        ("The image shows a red tram", "A red tram"),
        ("The image shows", "The image shows"),
        ("A red tram\x1b[31m\u202e", "A red tram[31m"),
    ],
)
def test_what_models_put_around_a_text(reply, text):
    assert cleaned(reply, "en") == text


def test_a_picture_without_a_reply():
    given = linked()
    prompt = next(prompts(given))
    assert list(checked(given, None, [(prompt, NoReply("no answer"))], "seer")) == [
        Refused("doc:0", "tram.jpg", "no answer")
    ]


def test_only_pictures_without_a_text_are_sent_of_each_document(tmp_path):
    with serving() as server:
        server.say = lambda asked, number: completion(f"Grey noise, the picture of number {len(asked.picture)}")
        captioner = Captioner(CaptionerSettings(url=server.url, model="seer"), folder=tmp_path)
        bare = make_linked(["No picture here."], [], [])
        made = list(captioned_drafts([(linked(), "one"), (bare, "two"), (linked(title="Trams"), "three")], captioner))
        assert [(draft.image, draft.sha256) for draft in made] == [(0, "one"), (1, "one"), (0, "three"), (1, "three")]
        assert len(server.asked) == 4
