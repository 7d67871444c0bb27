from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from iconotext import Document, Image, Sentence
from iconotext.errors import CorpusError, ShapeError
from iconotext.evaluate import Evaluation
from iconotext.features.regions import Regions, RegionSource
from iconotext_papers.analyses.examples import (
    Edge,
    Example,
    examples_page,
    main_concepts,
    representative,
    strongest_edges,
)
from tests.support.analyses import document_scores


def test_edges_are_those_of_the_best_assignment():
    random = np.random.default_rng(0)
    scores = random.random((4, 4))
    best = max(permutations(range(4)), key=lambda order: sum(scores[i, j] for i, j in enumerate(order)))
    edges = strongest_edges(scores, ((0, best[0]),), count=3)
    expected = sorted(((scores[i, j], i, j) for i, j in enumerate(best)), reverse=True)[:3]
    assert [(e.score, e.sentence, e.image) for e in edges] == expected
    assert {(e.sentence, e.image): e.gold for e in strongest_edges(scores, ((0, best[0]),))} == {
        (i, j): i == 0 for i, j in enumerate(best)
    }


def test_only_positive_edges_are_shown_and_unknown_links_stay_unknown():
    assert strongest_edges(np.array([[-0.5, 0.25], [-0.1, -0.2]]), None) == [Edge(0, 1, 0.25, None)]
    assert strongest_edges(np.array([[0.5, 0.1], [0.1, -0.4]]), None) == [Edge(0, 0, 0.5, None)]  # not two of 0.1
    assert strongest_edges(np.zeros((0, 3)), None) == []


def test_representative_documents_are_nearest_to_the_mean():
    aucs = {"a": 0.2, "b": 0.5, "c": 0.55, "d": 0.9}
    found = Evaluation(tuple(document_scores(name, auc) for name, auc in aucs.items()))
    assert [d.id for d in representative(found, 3)] == ["c", "b", "a"]
    with pytest.raises(CorpusError, match="gold links"):
        representative(Evaluation(()), 3)


@pytest.fixture
def example(picture):
    sentences = tuple(Sentence(f"Sentence <b>{i}</b> & more.") for i in range(30))
    images = (
        Image("a.png", picture("a.png", seed=1), alt='"><script>alert(1)</script>'),
        Image("b.png", picture("b.png", seed=2)),
        Image("gone.png", None, problem="not found"),
    )
    links = ((29, 0), (3, 1), (4, 1))
    scores = np.random.default_rng(3).uniform(-0.2, 0.2, (30, 3)).astype(np.float32)
    scores[29, 0], scores[12, 1] = 0.9, 0.6
    return Example(Document("doc <1>", sentences, images, links=links), scores, 0.71)


def test_page(example):
    page = examples_page([example], model="m & n", corpus="c.jsonl", mean_auc=0.7)
    assert page.count('<path class="gold"') == 2  # the key and one edge
    assert page.count('<path class="wrong"') >= 2
    assert "<script" not in page
    assert "m &amp; n" in page
    assert "doc &lt;1&gt;" in page
    assert "Sentence &lt;b&gt;29&lt;/b&gt;" in page
    assert "16 more sentences" in page
    assert page.count('src="data:image/') == 2
    assert "not drawn" not in page
    assert page.count(" author") >= 3  # the author's links in the matrix
    unknown = Example(Document("x", example.document.sentences, example.document.images), example.scores, None)
    page = examples_page([unknown], model="m", corpus="c", mean_auc=None)
    assert 'class="unknown"' in page
    assert 'class="gold"' not in page


def test_main_concepts_are_those_of_the_surest_regions():
    def regions(images):
        return [
            Regions(np.zeros((4, 2), np.float16), np.zeros((4, 4), np.float32), np.array([2, 0, 2, -1], np.int32),
                    np.array([0.3, 0.5, 0.3, 0.9], np.float32)),
            "there is none",
        ]  # fmt: skip

    source = RegionSource("s", 2, ("dog", "hat", "red ball"), regions)
    assert main_concepts(source, [Image("a"), Image("b")]) == [("red ball", "dog"), ()]
    assert main_concepts(None, [Image("a")]) == []


def test_concepts_stand_below_pictures_and_in_italics_where_sentences_have_them(example):
    document = replace(
        example.document, sentences=(Sentence("A Dog’s <ball>, a dog & red."), *example.document.sentences[1:])
    )
    shown = replace(example, document=document, concepts=(("red ball", "dog", "h<t"), (), ("cat",)))
    page = examples_page([shown], model="m", corpus="c", mean_auc=None)
    assert "<figcaption><i>red ball</i>, <i>dog</i>, h&lt;t</figcaption>" in page
    assert "<figcaption>cat</figcaption>" in page
    assert "A Dog’s &lt;<i>ball</i>&gt;, a <i>dog</i> &amp; <i>red</i>." in page
    assert "in <i>italics</i>" in page
    assert "italics" not in examples_page([example], model="m", corpus="c", mean_auc=None)


def test_page_of_empty_documents():
    for sentences, images in ((0, 0), (2, 0), (0, 1)):
        document = Document("e", (Sentence("a"),) * sentences, (Image("x"),) * images, links=())
        page = examples_page(
            [Example(document, np.zeros((sentences, images), np.float32), None)], model="m", corpus="c", mean_auc=None
        )
        assert "no edge is drawn" in page


def test_scores_that_do_not_fit_are_refused(example):
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        examples_page([Example(example.document, example.scores[:2], None)], model="m", corpus="c", mean_auc=None)


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_in_a_browser_edges_meet_their_ends(browser, example, tmp_path, width, scheme):
    path = tmp_path / "page.html"
    path.write_text(examples_page([example], model="m", corpus="c", mean_auc=0.7), encoding="utf-8")
    wrong: list[str] = []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("console", lambda message: wrong.append(message.text))
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else wrong.append(r.url))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ends = page.evaluate(
        """() => {
            const middle = (list, n) => {
                const box = document.querySelector(`.${list} li[value="${n}"]`).getBoundingClientRect();
                return (box.top + box.bottom) / 2;
            };
            return [...document.querySelectorAll('.edges path')].map(path => {
                const [, s, p] = path.textContent.match(/sentence (\\d+) to picture (\\d+)/);
                const m = path.getScreenCTM(), length = path.getTotalLength();
                const at = x => path.getPointAtLength(x).y * m.d + m.f;
                return [at(0) - middle('sentences', s), at(length) - middle('pictures', p)];
            });
        }"""
    )
    page.close()
    assert wrong == []
    assert len(ends) >= 2
    assert np.abs(ends).max() < 2  # pixels
