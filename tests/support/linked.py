"""Linked documents: made by hand, and made up by hypothesis."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from iconotext.evidence.words import word_spans
from iconotext.linked import LinkedDocument
from iconotext.types import Document, Explanation, Image, Link, Sentence
from tests.support.images import noise


def photograph(seed: int = 0, size: tuple[int, int] = (96, 64)) -> bytes:
    """A small JPEG, different for every seed."""
    return noise(seed, size, "JPEG")


def link(
    sentence: int, image: int, confidence: float, score: float | None = None, paragraph: float | None = None
) -> Link:
    """A link; without ``paragraph``, its paragraph is as sure as its sentence."""
    both = confidence, confidence if paragraph is None else paragraph
    return Link(sentence, image, confidence if score is None else score, *both, {"picture": 0.3, "layout": -1.25})


def make_linked(
    texts: list[str | Sentence], images: list[Image], links: list[Link], **document: object
) -> LinkedDocument:
    sentences = tuple(t if isinstance(t, Sentence) else Sentence(t, block=n) for n, t in enumerate(texts))
    similarity = np.zeros((len(sentences), len(images)), np.float32)
    for each in links:
        similarity[each.sentence, each.image] = each.score
    ordered = tuple(sorted(links, key=lambda each: -each.score))
    made = Document("doc", sentences, tuple(images), **document)
    return LinkedDocument(made, ordered, similarity, "default")


def three_pictures() -> LinkedDocument:
    """Three pictures, two of them linked; headings, an item, a quotation and cells."""
    texts: list[str | Sentence] = [
        Sentence("On cats", 0, "heading"),
        Sentence("A cat sleeps.", 1),
        Sentence("It dreams of mice.", 1),
        Sentence("Milk", 2, "item"),
        Sentence("Fish", 3, "item"),
        Sentence("Meow, she said.", 4, "quote"),
        Sentence("left", 5, "cell"),
        Sentence("right", 6, "cell"),
        Sentence("The end.", 8),
    ]
    images = [
        Image("img/cat.jpg", photograph(1), alt="A cat", caption="Figure 1: asleep", block=7, position=8),
        Image("img/milk.jpg", photograph(2), alt=None, caption=None, block=9, position=9),
        Image("img/gone.jpg", None, alt="Gone", caption=None, block=10, position=9, problem="file not found"),
    ]
    links = [link(1, 0, 0.9, paragraph=0.95), link(2, 0, 0.4), link(3, 1, 0.6)]
    return make_linked(texts, images, links, title="On cats")


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><b>&amp;&lt;",
    "{{ 7 * 7 }}{% raw %}",
    "<!-- ]]> -->",
    "javascript:alert(1)",
    "\u2028\u2029",
    "a\x00b\x1b[31mred\x07\x9b",
    "lone \ud800 surrogate",
    "\u202emirrored",
    "مرحبا بالعالم",
    "x" * 3000,
    "[a](javascript:alert(1)) ![b](x) `c` *d* _e_ ~~f~~ | g",
    "# h",
    "1. one",
    "- minus",
    "https://example.org/a_b and www.example.org and a@example.org",
]


def hostile_document(text: str) -> LinkedDocument:
    """A document that says the same dangerous thing everywhere it can."""
    images = [
        Image(text, photograph(1), alt=text, caption=text, block=1, position=1),
        Image(text, None, alt=text, caption=text, block=2, position=1, problem=text),
    ]
    made = make_linked([text, Sentence(text, 1, "heading")], images, [link(0, 0, 0.5)], title=text, language="en")
    return LinkedDocument(made.document, made.links, made.similarity, text)


def explained(made: LinkedDocument) -> LinkedDocument:
    """The same document with every link explained: each word weighs less than the one before, of four regions the top
    left one most."""
    links = []
    for each in made.links:
        spans = word_spans(made.document.sentences[each.sentence].text)
        words = tuple((begin, end, 0.4 / (n + 1) - 0.1) for n, (begin, end) in enumerate(spans))
        regions = tuple((x / 2, y / 2, x / 2 + 0.5, y / 2 + 0.5, 0.3 - 0.2 * (x + y)) for y in (0, 1) for x in (0, 1))
        links.append(replace(each, explanation=Explanation(words, regions)))
    return replace(made, links=tuple(links))


WORDS = st.lists(st.sampled_from("a tram waits at the stop 図 <b> & é".split()), min_size=1, max_size=12).map(" ".join)


@st.composite
def linked_documents(draw: Any) -> LinkedDocument:
    """Any number of sentences and images, with and without layout, links and problems."""
    texts = draw(st.lists(st.tuples(WORDS, st.integers(0, 2), st.sampled_from(["paragraph", "heading", "item"]))))
    layout = draw(st.booleans())
    sentences, block = [], 0
    for text, step, kind in texts:
        block += step
        level = draw(st.sampled_from([None, 1, 2, 3])) if kind == "heading" else None
        sentences.append(Sentence(text, block if layout else None, kind, level=level))
    images = []
    for number in range(draw(st.integers(0, 6))):
        position = draw(st.integers(0, len(sentences))) if layout else None
        problem = draw(st.sampled_from([None, None, "file not found"]))
        images.append(Image(f"{number}.png", block=draw(st.integers(0, block)), position=position, problem=problem))
    similarity = np.zeros((len(sentences), len(images)), np.float32)
    links = []
    for j, image in enumerate(images):
        if image.problem is None:
            similarity[:, j] = draw(
                st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.6, 0.9]), min_size=len(sentences), max_size=len(sentences))
            )
            numbers, shares = st.integers(0, max(len(sentences) - 1, 0)), st.sampled_from([0.0, 0.1, 0.3, 0.6, 0.97])
            sure = draw(st.dictionaries(numbers, shares, max_size=3 if sentences else 0))
            for i, each in sure.items():
                beside = [sure[k] for k in sure if sentences[k].block == sentences[i].block]
                paragraph = min(1.0, 1.25 * sum(beside)) if layout else each
                links.append(Link(i, j, float(similarity[i, j]), each, paragraph, {}))
    document = Document("made-up", tuple(sentences), tuple(images))
    return LinkedDocument(document, tuple(sorted(links, key=lambda each: -each.score)), similarity, "default")
