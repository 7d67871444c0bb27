"""OCR evidence: the words in an image, compared with every sentence in the same way as captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iconotext.evidence.caption import compared
from iconotext.evidence.cells import Cells, features_of_chosen
from iconotext.types import Document, Image

if TYPE_CHECKING:
    from iconotext.evidence.caption import EvidenceInput
    from iconotext.evidence.cells import Features
    from iconotext.types import FloatMatrix

USED = frozenset(f"ocr.{name}" for name in ("cos", "own", "share"))
"""The features of ``compared`` that are used: few, since few pictures have words to fit weights on, and none that
depends on the length of sentences."""


def text_in(image: Image) -> str | None:
    """Return the lines of text in an image, joined; None without any."""
    return " ".join(line.text for line in image.lines or ()) or None


def ocr_evidence(documents: Sequence[Document], inputs: Sequence[EvidenceInput]) -> list[Features]:
    """Compare the words in every image with every sentence; the features are 0 where an image has no words."""

    def compute(batch: Sequence[Document], cells: Cells, numbers: Sequence[int]) -> dict[str, FloatMatrix]:
        words = [text_in(image) for document in batch for image in document.images]
        features = compared(batch, cells, words, [inputs[n].reading for n in numbers], name="ocr")
        return {name: values for name, values in features.items() if name in USED}

    return features_of_chosen(documents, [any(map(text_in, document.images)) for document in documents], compute)
