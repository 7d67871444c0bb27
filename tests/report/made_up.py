"""Linked documents that hypothesis makes up."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from iconotext.types import Document, Image, Link, LinkedDocument, Sentence

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
            for i in draw(st.lists(st.integers(0, max(len(sentences) - 1, 0)), max_size=3, unique=True)):
                if i < len(sentences):
                    links.append(
                        Link(i, j, float(similarity[i, j]), draw(st.sampled_from([0.0, 0.1, 0.3, 0.6, 0.97])), {})
                    )
    document = Document("made-up", tuple(sentences), tuple(images))
    return LinkedDocument(document, tuple(sorted(links, key=lambda each: -each.score)), similarity, "default")
