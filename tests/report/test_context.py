from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iconotext.errors import SettingError
from iconotext.linked import LinkedDocument
from iconotext.report.context import context, contexts
from iconotext.report.flow import count_words, document_text
from iconotext.types import Image, Link, Sentence, TextLine
from tests.support.linked import link, linked_documents, make_linked

TEXTS = [
    Sentence("Trams", 0, "heading", level=1),
    Sentence("A tram waits.", 1),
    Sentence("The driver drinks his coffee now.", 1),
    Sentence("Nobody is in a hurry here.", 1),
    Sentence("Depot", 2, "heading", level=2),
    Sentence("A cat sleeps.", 3),
]


def article(**image: object) -> LinkedDocument:
    """0.9 for the second sentence, then 0.4, and scores for what is not linked."""
    made = make_linked(
        TEXTS, [Image("a.png", block=4, position=6, **image)], [link(2, 0, 0.9, paragraph=0.95), link(5, 0, 0.4)]
    )
    similarity = np.array([[0.9], [0.05], [0.8], [0.1], [0.7], [0.5]], np.float32)
    return LinkedDocument(made.document, made.links, similarity, "default")


def test_by_hand():
    lines = (TextLine("Line 7", 0.9, (0, 0, 1, 1)), TextLine("Depot", 0.9, (0, 0, 1, 1)))
    linked = article(caption="Figure 1: A tram", alt="A tram", lines=lines, page=3)
    found = linked.context(0, 9)  # 6 words, then 3; the next likeliest has 6
    assert [s.sentence for s in found.sentences] == [2, 5]
    assert found.text == "The driver drinks his coffee now.\nA cat sleeps."
    assert (found.headings, found.caption, found.alt) == (("Trams",), "Figure 1: A tram", "A tram")
    assert (found.words_in_picture, found.page) == ("Line 7 Depot", 3)
    assert (found.by, found.paragraph_confidence, found.relation) == ("links", 0.95, None)
    assert [s.confidence for s in found.sentences] == [0.9, 0.4]
    found = linked.context(linked.document.images[0], 12)  # 6 + 3 leave 3: the third one is too long, the fourth fits
    assert [(s.sentence, s.confidence) for s in found.sentences] == [(1, None), (2, 0.9), (5, 0.4)]
    assert found.text == "A tram waits. The driver drinks his coffee now.\nA cat sleeps."
    assert linked.context(0, 2).sentences == ()
    assert [s.sentence for s in linked.context(0).sentences] == [1, 2, 3, 5]  # headings stand beside it


def test_without_links_the_next_likeliest_and_the_nearest():
    linked = article()
    unsure = LinkedDocument(linked.document, (), linked.similarity, "default")
    assert (unsure.context(0, 3).by, unsure.context(0, 3).text) == ("score", "A cat sleeps.")
    nothing = LinkedDocument(linked.document, (), np.zeros_like(linked.similarity), "default")
    found = nothing.context(0, 9)
    assert (found.by, found.paragraph_confidence, found.text) == (
        "place",
        None,
        "Nobody is in a hurry here.\nA cat sleeps.",
    )
    # 3 and 6 words, the next nearest has 6: one of 3 words behind that would fit, and is no neighbour.
    assert [s.sentence for s in nothing.context(0, 12).sentences] == [3, 5]
    lost = make_linked(TEXTS, [Image("a.png", problem="file not found")], [])
    assert (lost.context(0).by, lost.context(0).problem, lost.context(0).text) == ("nothing", "file not found", "")


def test_what_is_far_less_likely_is_left_out():
    linked = article()
    similarity = np.array([[0.0], [0.029], [0.99], [0.028], [0.0], [0.5]], np.float32)  # 9 / 300 are odds of 0.03
    found = LinkedDocument(linked.document, linked.links, similarity, "default").context(0)
    assert [s.sentence for s in found.sentences] == [2, 5]
    below = LinkedDocument(linked.document, (), -similarity, "default").context(0)  # cosines may be below 0
    assert [s.sentence for s in below.sentences] == [1, 2, 3, 5]
    similarity[1] = 0.0293
    found = LinkedDocument(linked.document, linked.links, similarity, "default").context(0)
    assert [s.sentence for s in found.sentences] == [1, 2, 5]


def test_the_relation_that_says_something():
    shown = Link(2, 0, 0.9, 0.9, 0.9, {}, relations={"Visible": 0.95, "Story": 0.6})
    linked = LinkedDocument(article().document, (shown,), article().similarity, "default")
    found = linked.context(0)
    assert found.relation == "Visible"
    assert [s.relations for s in found.sentences if s.sentence == 2] == [{"Visible": 0.95, "Story": 0.6}]


@given(linked_documents(), st.integers(1, 40))
def test_a_context_is_bounded_whole_and_in_order(linked, words):
    text, _ = document_text(linked.document)
    found = contexts(linked, words)
    assert [each.image for each in found] == list(range(len(linked.document.images)))
    for each in found:
        assert sum(count_words(s.text) for s in each.sentences) <= words
        assert count_words(each.text) == sum(count_words(s.text) for s in each.sentences)
        assert [s.sentence for s in each.sentences] == sorted({s.sentence for s in each.sentences})
        assert all(
            text[s.start : s.end] == s.text == linked.document.sentences[s.sentence].text for s in each.sentences
        )
        left_out = {x.sentence: x for x in linked.links if x.image == each.image} | {}
        chosen = {s.sentence for s in each.sentences}
        room = words - sum(count_words(s.text) for s in each.sentences)
        # Nothing surer would have fitted beside what was chosen.
        weaker = [s for s in each.sentences if s.confidence is None]
        sure = {x.sentence: (x.paragraph_confidence, x.confidence) for x in linked.links if x.image == each.image}
        for sentence, found_link in left_out.items():
            if sentence not in chosen:
                size = count_words(linked.document.sentences[sentence].text)
                less = sum(count_words(s.text) for s in weaker) + sum(
                    count_words(s.text)
                    for s in each.sentences
                    if s.confidence is not None and sure[s.sentence] < sure[found_link.sentence]
                )
                assert size > room + less


@given(linked_documents())
def test_a_longer_context_misses_nothing_that_is_surest(linked):
    for each in contexts(linked, 400):
        assert {x.sentence for x in linked.links if x.image == each.image} <= {s.sentence for s in each.sentences}
        assert context(linked, each.image, 400) == each


def test_words_in_scripts_without_spaces():
    assert count_words("図1に示す。 Yes, two") == 8
    assert count_words("한국어") == 3
    assert count_words("") == 0


@pytest.mark.parametrize("image", [-1, 1, Image("other.png")])
def test_no_such_picture(image):
    with pytest.raises(SettingError, match="no such image"):
        article().context(image)
    with pytest.raises(SettingError, match="words is 0"):
        article().context(0, 0)
