from __future__ import annotations

import numpy as np
import pytest

from iconotext.encoders.coherence_relations import Refinement
from iconotext.evaluate.pair_vectors import pair_vectors
from iconotext_papers.analyses.examples import WordWeight, attention_of
from iconotext_papers.analyses.top_images import Search, ask, top_images_page
from tests.support.pairs import pair, stand_in


@pytest.fixture
def search(image):
    labels = {"Story": True, "Meta": False}
    pairs = pair_vectors(stand_in(), [pair(f"d{n}", f"Text <{n}>.", image(f"{n}.png"), labels) for n in range(4)])
    scores = np.array([[0.9, 0.1, 0.2, 0.3], [0.5, 0.4, 0.3, 0.2], [0.0, 0.0, 0.0, 0.0], [0.1, 0.2, 0.3, 0.4]])
    return Search("mine", stand_in(), pairs, lambda queries, images: scores[np.ix_(queries, images)])


def words(text):
    return [WordWeight("once", known=True, weight=0.2), WordWeight("upon", known=False, weight=0.8)]


def test_what_each_model_finds(search):
    asked = ask([search, search._replace(model="other")], {1: ("Story",), 2: ()}, {"mine": words}, count=2)
    assert [(each.number, each.relations, [ranking.model for ranking in each.results]) for each in asked] == [
        (1, ("Story",), ["mine", "other"]), (2, (), ["mine", "other"]),
    ]  # fmt: skip
    first = asked[0].results[0]
    assert (first.images, first.similarities, first.rank) == ((0, 1), (0.5, 0.4), 2)
    assert asked[1].results[0].rank == 2.5  # all are equal
    assert first.words == words("")
    assert asked[0].results[1].words == []


def test_the_page_shows_pictures_relations_and_weights(search):
    refined = search._replace(model="other <b>", refinement=Refinement(0.12, 0.1))
    asked = ask([search, refined], {1: ("Story",)}, {"mine": words}, count=2)
    page = top_images_page(asked, search.pairs, corpus="pairs.jsonl", drawn="They were drawn.")
    assert "Text &lt;1&gt;." in page
    assert "other &lt;b&gt;" in page
    assert "labelled: Story</p>" in page
    assert page.count('<li class="own">') == 2
    assert "own picture: place 2 of 4" in page
    assert '<td class="h8"><span dir="auto">(upon)</span><br>0.80</td>' in page
    assert page.count("are refined (λ = 0.12, T = 0.1)") == 1
    assert page.count("How much each word counts") == 1
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")  # the name of what the icon is drawn in


def test_a_picture_that_cannot_be_shown_has_its_name(search):
    search.pairs.images[0].file.unlink()
    page = top_images_page(ask([search], {1: ()}, {}, count=2), search.pairs, corpus="c", drawn="")
    assert '<span class="noimage" dir="auto">0.png<br>(' in page
    assert page.count('class="noimage"') == 3  # the others are no pictures
    assert str(search.pairs.images[1].file) not in page


def test_models_without_attention_have_none():
    assert attention_of("no-training") is None
    assert attention_of("default") is None
