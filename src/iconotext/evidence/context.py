"""Context evidence: the sentences that another document links to an image, compared with every sentence.

It places images of one document into the text of another one, see ``iconotext.place``. An image has context sentences
c, each with the probability p_c that it is about the image. The feature of a sentence i of the text grows with what it
has in common with them, and there is a second one for its paragraph:

    log(1 + sum over c of p_c * m_ci ** 2 / LEAST),   m_ci = 0 (nothing in common) to 1 (the same sentence)

By the square, one context sentence that is repeated counts more than several that are somewhat similar. The caption,
else the alternative text, counts as one more context sentence, with the probability ``CAPTION``: the others may only
point at the picture ("Figure 3 shows it").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from iconotext.evidence.caption import compared, compared_text
from iconotext.evidence.cells import Cells, features_of_chosen
from iconotext.evidence.layout import block_ranks
from iconotext.types import Document, Image, LinkedSentence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from iconotext.evidence.caption import EvidenceInput
    from iconotext.evidence.cells import Features
    from iconotext.types import FloatMatrix

LEAST = 0.02
"""The sum of the formula up to which it hardly counts."""

CAPTION = 0.5
"""Probability with which a caption counts."""

SAME = 6.0
"""Cosine of a sentence with itself, in standard deviations above the mean of a document; 5.7 with MiniLM."""


def context_evidence(documents: Sequence[Document], inputs: Sequence[EvidenceInput]) -> list[Features]:
    """Compare the context of every image with every sentence.

    Returns:
        For each document, name to (S, V) float32, 0 for an image without a context: ``context.words``, with m by the
        words that two sentences have in common; ``context.meaning``, with m by the cosine of their vectors; and both
        for the best sentence of the block, ``context.words_near`` and ``context.meaning_near``. m is 0 for a heading.
    """

    def compute(batch: Sequence[Document], cells: Cells, numbers: Sequence[int]) -> Mapping[str, FloatMatrix]:
        quoted = [
            replace(document, images=tuple(Image("") for image in document.images for _ in _sentences(image)))
            for document in batch
        ]
        contexts = [_sentences(image) for document in batch for image in document.images]
        texts = [sentence.text for context in contexts for sentence in context]
        pairs = Cells.of(quoted)
        features = compared(quoted, pairs, texts, [inputs[n].reading for n in numbers], name="context")
        confidence = np.array([sentence.confidence for context in contexts for sentence in context])
        image_of = np.repeat(np.arange(len(contexts)), [len(context) for context in contexts])
        # Headings often repeat and never say what a picture shows: it belongs to the text below them.
        is_text = np.array([not sentence.heading for document in batch for sentence in document.sentences])
        similarities = {
            "words": np.minimum(features["context.dice"], 1) * is_text[pairs.sentence],
            "meaning": np.clip(features["context.cos"] / SAME, 0, 1) * is_text[pairs.sentence],
        }
        # A cell of ``pairs`` is a context sentence and a sentence of the text; this is the cell of the context's image.
        at = cells.begin[image_of[pairs.image]] + pairs.sentence - pairs.first_sentence[pairs.of_image[pairs.image]]
        columns: dict[str, FloatMatrix] = {}
        for name, values in similarities.items():
            for kind, similarity in ((name, values), (f"{name}_near", _block_tops(quoted, pairs, values))):
                total = np.bincount(at, confidence[pairs.image] * np.square(similarity), len(cells.image))
                columns[f"context.{kind}"] = np.log1p(total / LEAST).astype(np.float32)
        return columns

    return features_of_chosen(
        documents, [any(image.context for image in document.images) for document in documents], compute
    )


def _sentences(image: Image) -> tuple[LinkedSentence, ...]:
    """Return the context sentences of an image, the caption as the last one; empty without a context."""
    caption = compared_text(image) if image.context else None
    return (*image.context, LinkedSentence(caption, CAPTION)) if caption else image.context


def _block_tops(documents: Sequence[Document], pairs: Cells, values: FloatMatrix) -> NDArray[np.float32]:
    """Return (cells,) the maximum over the sentences of each cell's block."""
    ranks = block_ranks(documents)[pairs.sentence]
    begins = np.flatnonzero((np.diff(ranks, prepend=-1) != 0) | (np.diff(pairs.image, prepend=-1) != 0))
    lengths = np.diff(np.append(begins, len(ranks)))
    return np.repeat(np.maximum.reduceat(values, begins), lengths).astype(np.float32)
