"""What the cosines of a library are compared with: those of sentences that nobody asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from iconotext.library.ranking import LEAST_DEVIATION
from iconotext.library.settings import Background
from iconotext.library.store import Library

if TYPE_CHECKING:
    from iconotext.encoder import Encoder
    from iconotext.types import FloatMatrix

SENTENCES = 160
"""Made-up sentences."""

IMAGES = 2000
"""Pictures of a large library that are looked at; any two thousand give the same to the second digit."""


def made_up_sentences(encoder: Encoder) -> FloatMatrix:
    """(160, dim) vectors of short sentences about things of all kinds."""
    from iconotext.features import imagenet_classes

    draw = np.random.default_rng(0)
    names = [imagenet_classes()[i] for i in sorted(draw.choice(len(imagenet_classes()), SENTENCES, replace=False))]
    return encoder.encode_sentences([f"A photograph of {name.split(',')[0]}." for name in names])


def measure_background(library: Library, encoder: Encoder) -> Background:
    """The cosines of made-up sentences with what a library holds."""
    sentences = made_up_sentences(encoder)
    some = library.some(IMAGES)
    images = np.stack([item.vector for item in some])
    said = [item.said for item in some if item.said is not None]
    text = _of(sentences @ np.vstack(said).T) if said else (0.0, 1.0)
    return Background(_of(sentences @ images.T), text)


def _of(cosines: FloatMatrix) -> tuple[float, float]:
    return round(float(cosines.mean()), 4), round(max(LEAST_DEVIATION, float(cosines.std())), 4)
