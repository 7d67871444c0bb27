"""A small document and a text encoder made of words, for the tests of the links."""

import hashlib
import re
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from iconotext.evidence.caption import Reading
from iconotext.evidence.gather import gather_evidence
from iconotext.types import Document, Image, Sentence, TextLine


def encode(texts: Any) -> Any:
    """Unit vectors of hashed words: texts with common words are near, and nothing must be loaded."""
    vectors = np.zeros((len(texts), 32), np.float32)
    for row, text in zip(vectors, texts, strict=True):
        for word in re.findall(r"\w+", text.lower()):
            row[hashlib.md5(word.encode(), usedforsecurity=False).digest()[0] % 32] += 1
        row /= max(float(np.linalg.norm(row)), 1e-6)
    return vectors


READING = Reading(encode)


def document(texts: Any, images: Any, *, blocks: Any = None, kinds: Any = None, **fields: Any) -> Any:
    blocks = range(len(texts)) if blocks is None else blocks
    kinds = ["paragraph"] * len(texts) if kinds is None else kinds
    sentences = tuple(Sentence(t, b, k) for t, b, k in zip(texts, blocks, kinds, strict=True))
    return Document("d", sentences, tuple(images), **fields)


TEXTS = (
    "The weather stayed cold for weeks.",
    "We bought a new saw in town.",
    "Then the floor was sanded twice.",
    "My brother came over to help.",
    "Dinner was simple that evening.",
    "In June we painted the roof.",
)
BLOCKS = (0, 0, 1, 1, 2, 2)


def workshop(*images: Any) -> Any:
    """Six sentences in three paragraphs."""
    return document(
        TEXTS,
        images or (Image("a.jpg", caption="A brother helping.", position=2), Image("b.jpg", position=6)),
        blocks=BLOCKS,
    )


def features(of: Any, kind: Any = "caption", *, by: Any = encode, sentences: Any = None) -> Any:
    """What one kind of evidence says of one document."""
    (found,) = gather_evidence([of], [None], [Reading(by, sentences)], evidence=[kind])
    return dict(found.features.get(kind, {}))


_texts = st.sampled_from(
    ["Anna paints.", "The red house of Anna", "", "  ", "1945", "Figure 1: A house.", "見る。", "x" * 300]
)
_sentences = st.lists(_texts | st.sampled_from(TEXTS), max_size=5)
_images = st.lists(
    st.builds(
        lambda caption, alt, position, lines, problem: Image(
            "house.jpg", caption=caption, alt=alt, position=position, lines=lines, problem=problem
        ),
        caption=st.none() | _texts,
        alt=st.none() | _texts,
        position=st.integers(0, 5),
        lines=st.none() | st.lists(_texts.map(lambda text: TextLine(text, 0.9, (0, 0, 1, 1))), max_size=2).map(tuple),
        problem=st.sampled_from([None, None, "broken"]),
    ),
    max_size=4,
)


@st.composite
def documents(draw: Any) -> Any:
    """Any few sentences and images, with and without layout, texts, words in pictures and problems."""
    some = draw(_sentences)
    placed = [replace(i, position=min(i.position or 0, len(some))) for i in draw(_images)]
    blocks = np.cumsum(draw(st.lists(st.integers(0, 1), min_size=len(some), max_size=len(some)))).tolist()
    layout = draw(st.booleans())
    return document(some, placed, blocks=blocks if layout else [None] * len(some))
