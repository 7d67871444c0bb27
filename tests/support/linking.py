"""A small document and a text encoder made of words, for the tests of the links."""

import hashlib
import re
from typing import Any

import numpy as np

from iconotext.evidence.caption import Reading
from iconotext.evidence.gather import gather_evidence
from iconotext.types import Document, Image, Sentence


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
